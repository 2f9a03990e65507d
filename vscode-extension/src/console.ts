/** Keeps the focus in the Debug Console when a command there moves the run, and the view at the place that it moved to. */
import * as vscode from "vscode";
import { DEBUG_TYPE } from "./debug";

/** The workbench takes in the frames that it has asked for, and then moves the focus if it does. */
const SETTLE_MS = 100;

interface Message {
  readonly type?: string;
  readonly event?: string;
  readonly command?: string;
  readonly arguments?: { readonly context?: string };
  readonly body?: { readonly preserveFocusHint?: boolean };
}

export class ConsoleFocus implements vscode.Disposable, vscode.DebugAdapterTrackerFactory {
  private readonly subscriptions: vscode.Disposable[];
  private sessions = 0;

  constructor() {
    this.subscriptions = [
      vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, this),
      vscode.debug.onDidStartDebugSession(() => (this.sessions += 1)),
      vscode.debug.onDidTerminateDebugSession(() => (this.sessions = Math.max(0, this.sessions - 1))),
    ];
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let typed = false;
    let stop: "stays" | "moves" | undefined;
    return {
      onWillReceiveMessage: (message: Message): void => {
        if (message.command === "evaluate" && message.arguments?.context === "repl") {
          typed = true;
        } else if (MOVES.has(message.command ?? "") || OWN.test(message.command ?? "")) {
          typed = false;
        }
      },
      onDidSendMessage: (message: Message): void => {
        if (message.type === "event" && message.event === "stopped") {
          stop = message.body?.preserveFocusHint === true ? "stays" : "moves";
        } else if (message.type === "response" && message.command === "stackTrace" && stop !== undefined) {
          const stays = stop === "stays";
          stop = undefined;
          if (stays || typed) {
            setTimeout(() => void this.show(session, stays, typed), SETTLE_MS);
          }
        }
      },
    };
  }

  /** Looks at the frame where the run stands; the workbench does not when it is asked to leave the focus where it is. */
  private async show(session: vscode.DebugSession, stays: boolean, typed: boolean): Promise<void> {
    if (vscode.debug.activeDebugSession?.id !== session.id) {
      return;
    }
    const alone = this.sessions === 1;
    if (stays) {
      // The first leaves the focus alone, and looks at whichever session is stopped.
      await vscode.commands.executeCommand(`workbench.action.debug.${alone ? "focusProcess" : "callStackTop"}`);
    }
    if (typed && !(stays && alone)) {
      await vscode.commands.executeCommand("workbench.debug.action.focusRepl");
    }
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }
}

/** What the toolbar and the panel ask for: the console has not moved the run then. */
const OWN = /^workfile\/(?!timeline$)/;
const MOVES = new Set(["continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause", "goto", "restartFrame", "restart"]);
