/** Lays graphs out with Graphviz, in a thread of its own so that the extension host never waits. */
import { instance } from "@viz-js/viz";
import { parentPort } from "node:worker_threads";
import type { LayoutAnswer, LayoutRequest } from "./shared/messages";

const port = parentPort;
if (port !== null) {
  const viz = instance();
  const answer = (message: LayoutAnswer): void => port.postMessage(message);
  port.on("message", ({ id, dot }: LayoutRequest) => {
    viz
      .then((ready) => answer({ id, svg: ready.renderString(dot, { format: "svg", engine: "dot" }) }))
      .catch((error: unknown) => answer({ id, error: error instanceof Error ? error.message : String(error) }));
  });
}
