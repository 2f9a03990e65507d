/** What the debug session that is in view knows of its run; asked for at each stop. */
import * as vscode from "vscode";
import type { Run } from "./shared/messages";

/** The run, and what of it the graph marks. */
export interface DebugState {
  readonly run: Run;
  readonly current: readonly string[];
  readonly finished: readonly string[];
  readonly failed: readonly string[];
  /** Whether the session has ended; the run is shown as it was. */
  readonly ended: boolean;
}

const LIMIT = 2000;

export class Feed implements vscode.Disposable, vscode.DebugAdapterTrackerFactory {
  private readonly changed = new vscode.EventEmitter<void>();
  /** The state is another one. */
  readonly onDidChange = this.changed.event;
  private readonly moving = new vscode.EventEmitter<void>();
  /** The run moves: the state is out of date until the next change. */
  readonly onDidMove = this.moving.event;
  private readonly states = new Map<string, DebugState>();
  private session: vscode.DebugSession | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.subscriptions = [
      vscode.debug.registerDebugAdapterTrackerFactory("workfile", this),
      vscode.debug.onDidChangeActiveDebugSession((session) => this.choose(session)),
      vscode.debug.onDidTerminateDebugSession((session) => this.ended(session)),
    ];
  }

  /** The state of the session in view. */
  get state(): DebugState | undefined {
    return this.session === undefined ? undefined : this.states.get(this.session.id);
  }

  /** The session in view, if it still runs. */
  get live(): vscode.DebugSession | undefined {
    return this.state?.ended ? undefined : this.session;
  }

  /** Whether the session in view runs this Workfile. */
  isAbout(uri: vscode.Uri): boolean {
    const file = this.state?.run.file;
    return typeof file === "string" && vscode.Uri.file(file).toString() === uri.toString();
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    return {
      onDidSendMessage: (message: { type?: string; event?: string }): void => {
        if (message.type !== "event") {
          return;
        }
        if (message.event === "stopped") {
          void this.ask(session);
        } else if (message.event === "continued") {
          this.moving.fire();
        }
      },
      onWillReceiveMessage: (message: { command?: string }): void => {
        if (MOVES.has(message.command ?? "")) {
          this.moving.fire();
        }
      },
    };
  }

  private choose(session: vscode.DebugSession | undefined): void {
    if (session?.type === "workfile" && session.id !== this.session?.id) {
      this.session = session;
      this.changed.fire();
    }
  }

  private async ask(session: vscode.DebugSession): Promise<void> {
    try {
      const run = (await session.customRequest("workfile/timeline", { limit: LIMIT })) as Run;
      this.states.set(session.id, { ...marks(run), run, ended: false });
      this.session = session;
      this.changed.fire();
    } catch (error) {
      this.log.debug(`workfile/timeline: ${String(error)}`); // the session has ended meanwhile
    }
  }

  private ended(session: vscode.DebugSession): void {
    const state = this.states.get(session.id);
    if (session.id !== this.session?.id) {
      this.states.delete(session.id);
    } else if (state !== undefined) {
      this.states.clear();
      this.states.set(session.id, { ...state, current: [], ended: true });
      this.changed.fire();
    }
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
    this.changed.dispose();
    this.moving.dispose();
  }
}

const MOVES = new Set(["continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue"]);

function marks(run: Run): Pick<DebugState, "current" | "finished" | "failed"> {
  const last = new Map<string, string>();
  for (const { kind, path } of run.records) {
    if (kind.startsWith("step.") || kind.startsWith("action.")) {
      last.set(path, kind);
    }
  }
  const of = (...kinds: string[]): string[] => [...last].filter(([, kind]) => kinds.includes(kind)).map(([path]) => path);
  const waiting = run.over ? [] : run.waiting.map((each) => each.path);
  return {
    current: run.over ? [] : [run.position.path, ...waiting].filter((path) => path !== ""),
    finished: of("step.succeeded", "action.succeeded"),
    failed: of("step.failed", "action.failed", "action.ambiguous"),
  };
}
