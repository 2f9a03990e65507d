/** The Simulation panel: the debugged run over virtual time, what it waits for, and what one can do to it. */
import { userInfo } from "node:os";
import * as vscode from "vscode";
import type { DebugActions } from "./debug";
import type { Feed } from "./feed";
import { pageOf, webviewOptions } from "./page";
import type { Places } from "./places";
import type { FromSimulation, ToSimulation } from "./shared/messages";

export class SimulationView implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = "workfile.simulation";
  private view: vscode.WebviewView | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly feed: Feed,
    private readonly actions: DebugActions,
    private readonly places: Places,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(SimulationView.id, this, { webviewOptions: { retainContextWhenHidden: true } }),
      feed.onDidChange(() => this.update()),
      feed.onDidMove(() => this.post({ type: "busy" })),
      vscode.debug.onDidStartDebugSession((session) => this.started(session)),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = webviewOptions(this.extension);
    view.webview.onDidReceiveMessage((message: FromSimulation) => void this.received(message));
    view.onDidDispose(() => (this.view = undefined));
    view.webview.html = pageOf(view.webview, this.extension, "simulation", "Simulation");
  }

  private started(session: vscode.DebugSession): void {
    const show = vscode.workspace.getConfiguration("workfile.simulation").get("openOnDebug", true);
    if (session.type === "workfile" && show && session.configuration["noDebug"] !== true) {
      void vscode.commands.executeCommand(`${SimulationView.id}.focus`, { preserveFocus: true });
    }
  }

  private update(): void {
    const state = this.feed.state;
    this.post({ type: "run", run: state?.run ?? null, ended: state?.ended ?? true, actor: actor() });
    if (this.view !== undefined) {
      const waiting = state === undefined || state.ended ? 0 : state.run.holds.length;
      this.view.badge = waiting > 0 ? { value: waiting, tooltip: waiting === 1 ? "A hold waits for a decision" : `${waiting} holds wait for decisions` } : undefined;
      this.view.description = state?.run.workflow ?? "";
    }
  }

  private async received(message: FromSimulation): Promise<void> {
    try {
      await this.carryOut(message);
    } catch (error) {
      this.post({ type: "error", text: error instanceof Error ? error.message : String(error) });
    }
  }

  private async carryOut(message: FromSimulation): Promise<void> {
    const file = this.feed.state?.run.file;
    switch (message.type) {
      case "ready":
        this.update();
        break;
      case "open":
        if (typeof file === "string") {
          await this.places.open(vscode.Uri.file(file), message.path);
        }
        break;
      case "start":
        await vscode.commands.executeCommand("workfile.simulate");
        break;
      default:
        await this.actions.carryOut(message);
    }
  }

  private post(message: ToSimulation): void {
    void this.view?.webview.postMessage(message);
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }
}

function actor(): string {
  try {
    return userInfo().username;
  } catch {
    return "operator";
  }
}
