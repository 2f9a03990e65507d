/** A debug adapter without a debug session: how a recorded history is read, with the words that the debugger has for it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Run } from "./shared/messages";
import type { Command } from "./tool";

const PATIENCE_MS = 60_000;
const RECORDS = 10_000;

interface Message {
  readonly type: string;
  readonly request_seq?: number;
  readonly success?: boolean;
  readonly message?: string;
  readonly event?: string;
  readonly body?: unknown;
}

/** The run of a history file. Rejects with the adapter's words when the history cannot be used. */
export async function readHistory(tool: Command, history: string): Promise<Run> {
  const adapter = new Adapter(tool);
  try {
    // Before anything is asked: an event may come together with the answer before it.
    const ready = adapter.event("initialized");
    const stopped = adapter.event("stopped");
    await adapter.request("initialize", { adapterID: "workfile", linesStartAt1: true, columnsStartAt1: true });
    const attached = adapter.request("attach", { history });
    await Promise.race([ready, attached.then(() => ready)]);
    await adapter.request("configurationDone", {});
    await attached;
    await stopped;
    return (await adapter.request("workfile/timeline", { limit: RECORDS })) as Run;
  } finally {
    adapter.end();
  }
}

class Adapter {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly answers = new Map<number, { resolve: (body: unknown) => void; reject: (error: Error) => void }>();
  private readonly events = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  private readonly timer: NodeJS.Timeout;
  private seq = 0;
  private buffer = Buffer.alloc(0);
  private said = "";

  constructor(tool: Command) {
    this.child = spawn(tool.command, [...tool.args, "dap"], { windowsHide: true });
    this.child.stdout.on("data", (chunk: Buffer) => this.take(chunk));
    this.child.stderr.on("data", (chunk: Buffer) => (this.said = (this.said + chunk.toString("utf8")).slice(-2000)));
    this.child.on("error", (error) => this.fail(error.message));
    this.child.on("close", () => this.fail(this.said.trim().split("\n").at(-1) || "the debug adapter has ended"));
    this.child.stdin.on("error", () => undefined); // `close` tells
    this.timer = setTimeout(() => this.fail("the debug adapter does not answer"), PATIENCE_MS);
  }

  request(command: string, args: object): Promise<unknown> {
    const seq = ++this.seq;
    const body = Buffer.from(JSON.stringify({ seq, type: "request", command, arguments: args }));
    this.child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.child.stdin.write(body);
    return new Promise((resolve, reject) => this.answers.set(seq, { resolve, reject }));
  }

  event(name: string): Promise<void> {
    const promise = new Promise<void>((resolve, reject) => this.events.set(name, { resolve, reject }));
    promise.catch(() => undefined); // the request that it belongs to fails as well, and tells
    return promise;
  }

  end(): void {
    clearTimeout(this.timer);
    this.child.stdin.end();
    this.child.kill();
  }

  private take(chunk: Buffer): void {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      const size = /Content-Length: (\d+)/i.exec(this.buffer.subarray(0, Math.max(head, 0)).toString("ascii"))?.[1];
      const end = head + 4 + Number(size ?? 0);
      if (head < 0 || size === undefined || this.buffer.length < end) {
        return;
      }
      const message = JSON.parse(this.buffer.subarray(head + 4, end).toString("utf8")) as Message;
      this.buffer = this.buffer.subarray(end);
      this.dispatch(message);
    }
  }

  private dispatch(message: Message): void {
    if (message.type === "event") {
      this.events.get(message.event ?? "")?.resolve();
      return;
    }
    const waiting = this.answers.get(message.request_seq ?? 0);
    this.answers.delete(message.request_seq ?? 0);
    if (message.success === true) {
      waiting?.resolve(message.body);
    } else {
      waiting?.reject(new Error(message.message ?? "the debug adapter refuses"));
    }
  }

  private fail(reason: string): void {
    const error = new Error(reason);
    [...this.answers.values(), ...this.events.values()].forEach((each) => each.reject(error));
    this.answers.clear();
  }
}
