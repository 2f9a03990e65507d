/** Lays graphs out with Graphviz, in a thread of its own so that the extension host never waits. */
import { instance } from "@viz-js/viz";
import { parentPort } from "node:worker_threads";

const port = parentPort;
if (port !== null) {
  const viz = instance();
  port.on("message", (dot: string) => {
    viz
      .then((ready) => port.postMessage({ svg: ready.renderString(dot, { format: "svg", engine: "dot" }) }))
      .catch((error: unknown) => port.postMessage({ error: error instanceof Error ? error.message : String(error) }));
  });
}
