/** History files as a timeline, with what can be asked about a recorded run. */
import { readFile, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import { readHistory } from "./adapter";
import { showImpact } from "./impact";
import type { Missing } from "./missing";
import { pageOf, webviewOptions } from "./page";
import type { FromHistory, ToHistory } from "./shared/messages";
import type { Tool } from "./tool";

const MAX_BYTES = 256 * 1024 * 1024;

interface Divergence {
  readonly seq: number;
  readonly kind: string;
  readonly path: string;
  readonly cause: string;
  readonly recorded: unknown;
  readonly evaluated: unknown;
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
  readonly boundary: { readonly seq: number } | "header";
}

interface Reevaluated {
  readonly histories: readonly { readonly outcome: "compatible" | "divergent" | "refused"; readonly divergence: Divergence | null; readonly refusal: Refusal | null }[];
}

export class HistoryEditor implements vscode.CustomReadonlyEditorProvider {
  static readonly viewType = "workfile.history";

  constructor(
    private readonly extension: vscode.Uri,
    private readonly tool: Tool,
    private readonly missing: Missing,
  ) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): void {
    const { webview } = panel;
    const history = new OpenHistory(document.uri.fsPath, this.tool, this.missing, (message) => void webview.postMessage(message));
    webview.options = webviewOptions(this.extension);
    webview.onDidReceiveMessage((message: FromHistory) => void history.received(message));
    const pattern = new vscode.RelativePattern(vscode.Uri.file(dirname(document.uri.fsPath)), basename(document.uri.fsPath));
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    watcher.onDidChange(() => void history.show());
    panel.onDidDispose(() => watcher.dispose());
    webview.html = pageOf(webview, this.extension, "history", "History");
  }
}

/** One history that is looked at. */
class OpenHistory {
  private lines: string[] = [];

  constructor(
    private readonly path: string,
    private readonly tool: Tool,
    private readonly missing: Missing,
    private readonly post: (message: ToHistory) => void,
  ) {}

  async received(message: FromHistory): Promise<void> {
    try {
      await this.carryOut(message);
    } catch (error) {
      if (!(error instanceof vscode.CancellationError)) {
        void this.missing.handle(error);
        this.post({ type: "answer", title: "That did not work", tone: "bad", text: error instanceof Error ? error.message : String(error), seq: null });
      }
    }
  }

  async show(): Promise<void> {
    const name = basename(this.path);
    try {
      const { size } = await stat(this.path);
      if (size > MAX_BYTES) {
        throw new Error("The file is too large to be shown; `workfile history` works with it all the same.");
      }
      this.lines = (await readFile(this.path, "utf8")).split("\n").filter((line) => line !== "");
      const run = await readHistory(await this.tool.find(), this.path);
      this.post({ type: "history", name, run, problem: null });
    } catch (error) {
      void this.missing.handle(error);
      this.post({ type: "history", name, run: null, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  private async carryOut(message: FromHistory): Promise<void> {
    switch (message.type) {
      case "ready":
        return this.show();
      case "record":
        this.post({ type: "record", seq: message.seq, json: this.record(message.seq) });
        return;
      case "state": {
        const state = await this.ask<object>(["reconstruct", "--at", String(message.seq), "--", this.path], `The state at record ${message.seq}`);
        const refused = (state as { refusal?: Refusal }).refusal;
        this.answer(`The state at record ${message.seq}`, refused ? "bad" : "plain", refused?.message ?? JSON.stringify(state, null, 2), message.seq);
        return;
      }
      case "reevaluate":
        return this.reevaluate(message.other);
      case "impact":
        return showImpact(this.tool, undefined, dirname(this.path));
      case "debug": {
        const at = message.seq === null ? {} : { at: message.seq };
        await vscode.debug.startDebugging(undefined, { type: "workfile", request: "attach", name: basename(this.path), history: this.path, ...at });
        return;
      }
      case "source":
        await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(this.path), "default");
    }
  }

  private record(seq: number): string {
    const line = this.lines[seq]; // the header comes first, and records count from 1
    try {
      return JSON.stringify(JSON.parse(line ?? "null"), null, 2);
    } catch {
      return line ?? "";
    }
  }

  private async reevaluate(other: boolean): Promise<void> {
    const title = other ? "Re-evaluated on another definition" : "Re-evaluated";
    const definition = other ? await chooseWorkfile("Re-evaluate on this definition") : undefined;
    if (other && definition === undefined) {
      return;
    }
    const options = definition === undefined ? [] : ["--definition", definition];
    const answer = await this.ask<Reevaluated>(["reevaluate", ...options, "--", this.path], title);
    const [found] = answer.histories;
    if (found?.outcome === "divergent" && found.divergence !== null) {
      const { seq, kind, path, cause, recorded, evaluated } = found.divergence;
      const text = [`It diverges at record ${seq}: ${kind} of \`${path}\` (${cause}).`, "", "recorded:", JSON.stringify(recorded, null, 2), "", "evaluated:", JSON.stringify(evaluated, null, 2)].join("\n");
      this.answer(title, "bad", text, seq);
    } else if (found?.outcome === "compatible") {
      this.answer(title, "good", "Compatible: every recorded decision comes out the same again.", null);
    } else {
      const refusal = found?.refusal;
      const seq = refusal && refusal.boundary !== "header" ? refusal.boundary.seq : null;
      this.answer(title, "bad", refusal?.message ?? "The history was refused.", seq);
    }
  }

  private ask<T>(args: string[], title: string): Promise<T> {
    this.post({ type: "busy", title });
    const [operation, ...rest] = args;
    return this.tool.json<T>(["history", operation ?? "", "--format", "json", ...rest], { cwd: dirname(this.path) });
  }

  private answer(title: string, tone: "plain" | "good" | "bad", text: string, seq: number | null): void {
    this.post({ type: "answer", title, tone, text, seq });
  }
}

/** Lets the user choose a Workfile of the workspace. */
export async function chooseWorkfile(title: string): Promise<string | undefined> {
  const found = await vscode.workspace.findFiles("**/{Workfile,*.workfile.yaml,*.workfile.yml}", "**/{node_modules,.venv,venv}/**");
  const items = found.map((uri) => ({ label: basename(uri.fsPath), description: vscode.workspace.asRelativePath(uri), path: uri.fsPath }));
  items.sort((left, right) => left.description.localeCompare(right.description));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.path;
}
