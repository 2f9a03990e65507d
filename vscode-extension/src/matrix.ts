/** The crash matrix: what a crash at each record of a run leads to, as `workfile explore` found out. */
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { Missing } from "./missing";
import { pageOf, webviewOptions } from "./page";
import type { Places } from "./places";
import type { Exploration, FromMatrix, ToMatrix } from "./shared/messages";
import { debugScenario } from "./testing";
import type { Tool } from "./tool";

export class CrashMatrix implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private file = "";
  private scenario: string | undefined;
  private last: ToMatrix | undefined;
  private running: vscode.CancellationTokenSource | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly storage: vscode.Uri,
    private readonly tool: Tool,
    private readonly missing: Missing,
    private readonly places: Places,
  ) {}

  /** Explores a Workfile, under a scenario if one is named, and shows what comes of it. */
  async explore(uri: vscode.Uri, scenario?: string): Promise<Exploration | undefined> {
    this.file = uri.fsPath;
    this.scenario = scenario;
    this.open();
    return this.again();
  }

  /** Shows what was explored elsewhere, from a point of a debugged run. */
  show(result: Exploration, file: string): void {
    this.file = file;
    this.open();
    this.post({ type: "result", name: basename(file), scenario: "from this point of the run", result });
  }

  private open(): void {
    if (this.panel === undefined) {
      const panel = vscode.window.createWebviewPanel("workfile.matrix", "Crash Matrix", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {
        ...webviewOptions(this.extension),
        retainContextWhenHidden: true,
      });
      panel.iconPath = vscode.Uri.joinPath(this.extension, "media", "simulation.svg");
      panel.webview.onDidReceiveMessage((message: FromMatrix) => void this.received(message));
      panel.onDidDispose(() => {
        this.panel = undefined;
        this.running?.cancel();
      });
      panel.webview.html = pageOf(panel.webview, this.extension, "matrix", "Crash matrix");
      this.panel = panel;
    }
    this.panel.title = `Crashes: ${basename(this.file)}`;
    this.panel.reveal(undefined, true);
  }

  private async again(): Promise<Exploration | undefined> {
    this.running?.cancel();
    const running = (this.running = new vscode.CancellationTokenSource());
    const name = basename(this.file);
    this.post({ type: "running", name, line: "" });
    try {
      await vscode.workspace.saveAll(false);
      const result = await vscode.window.withProgress({ location: { viewId: "workfile.simulation" } }, async () =>
        this.tool.json<Exploration>(await this.args(), {
          cwd: dirname(this.file),
          token: running.token,
          progress: (line) => this.post({ type: "running", name, line }),
        }),
      );
      this.post({ type: "result", name, scenario: this.scenario === undefined ? null : basename(this.scenario), result });
      return result;
    } catch (error) {
      if (!(error instanceof vscode.CancellationError)) {
        void this.missing.handle(error);
        this.post({ type: "error", text: error instanceof Error ? error.message : String(error) });
      }
      return undefined;
    }
  }

  private async args(): Promise<string[]> {
    const settings = vscode.workspace.getConfiguration("workfile.explore");
    const found = this.counterexamples();
    await rm(found, { recursive: true, force: true });
    await mkdir(found, { recursive: true });
    return [
      "explore",
      "--format",
      "json",
      "--crashes",
      String(settings.get("crashes", 1)),
      "--budget",
      settings.get("budget", "60s"),
      "--write-counterexamples",
      found,
      ...(this.scenario === undefined ? [] : ["--scenario", this.scenario]),
      "--",
      this.file,
    ];
  }

  /** Where counterexamples are written: beside nothing of the user's. */
  private counterexamples(): string {
    return join(this.storage.fsPath, "counterexamples");
  }

  private async received(message: FromMatrix): Promise<void> {
    switch (message.type) {
      case "ready":
        if (this.last !== undefined) {
          this.post(this.last);
        }
        break;
      case "again":
        await this.again();
        break;
      case "scenario":
        await this.chooseScenario();
        break;
      case "open":
        await this.places.open(vscode.Uri.file(this.file), message.path);
        break;
      case "openScenario":
        await vscode.window.showTextDocument(vscode.Uri.file(this.whole(message.scenario)), { viewColumn: vscode.ViewColumn.One });
        break;
      case "debugScenario":
        await debugScenario(vscode.Uri.file(this.whole(message.scenario)));
        break;
      case "debugPoint":
        await debugScenario(await this.crashScenario(message));
    }
  }

  private whole(scenario: string): string {
    if (isAbsolute(scenario)) {
      return scenario;
    }
    const beside = join(dirname(this.file), scenario);
    return existsSync(beside) ? beside : join(this.counterexamples(), scenario);
  }

  private async chooseScenario(): Promise<void> {
    const found = await vscode.workspace.findFiles("**/*.scenario.yaml", "**/{node_modules,.venv,venv}/**");
    const items = found.map((uri) => ({ label: basename(uri.fsPath), description: vscode.workspace.asRelativePath(uri), path: uri.fsPath as string | undefined }));
    items.sort((left, right) => left.label.localeCompare(right.label));
    items.unshift({ label: "No scenario", description: "every action succeeds, nothing else happens", path: undefined });
    const picked = await vscode.window.showQuickPick(items, { title: "Explore under a scenario", matchOnDescription: true });
    if (picked !== undefined) {
      this.scenario = picked.path;
      await this.again();
    }
  }

  /** A scenario that crashes at one point. JSON is YAML, so nothing has to be quoted by hand. */
  private async crashScenario(point: { path: string; point: "before" | "after"; record: string }): Promise<vscode.Uri> {
    const folder = vscode.Uri.joinPath(this.storage, "points");
    await mkdir(folder.fsPath, { recursive: true });
    const crash = { [point.point]: { record: point.record, path: point.path } };
    const name = `${basename(this.file).replace(/\.workfile\.ya?ml$/, "")}-${point.point}-${point.record}`.replace(/[^\w.-]/g, "-");
    const uri = vscode.Uri.joinPath(folder, `${name}.scenario.yaml`);
    await writeFile(uri.fsPath, `${JSON.stringify({ workfile: this.file, crashes: [crash] }, null, 2)}\n`);
    return uri;
  }

  private post(message: ToMatrix): void {
    this.last = message;
    void this.panel?.webview.postMessage(message);
  }

  dispose(): void {
    this.running?.cancel();
    this.panel?.dispose();
  }
}
