/** The graph preview: the control flow beside the editor, following the cursor and the debugger. */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as vscode from "vscode";
import type { Feed } from "./feed";
import { pageOf, webviewOptions } from "./page";
import { columnOf, type Drawing, placeAt, type Places, staticPath } from "./places";
import type { FromGraph, LayoutAnswer, ToGraph } from "./shared/messages";

const PAUSE_MS = 250;
/** The first layout compiles Graphviz, which takes long on a busy machine. */
const LAYOUT_MS = 60_000;

export class GraphPreview implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private uri: vscode.Uri | undefined;
  private drawing: Drawing | undefined;
  private timer: NodeJS.Timeout | undefined;
  private layout: Layout | undefined;
  private version = 0;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly places: Places,
    private readonly feed: Feed,
  ) {
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor((editor) => this.follow(editor)),
      vscode.workspace.onDidChangeTextDocument((event) => this.edited(event.document)),
      vscode.window.onDidChangeTextEditorSelection((event) => this.cursor(event.textEditor)),
      vscode.languages.onDidChangeDiagnostics((event) => event.uris.some((uri) => this.shows(uri)) && this.later()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("workfile.graph") && this.later()),
      feed.onDidChange(() => this.debugged()),
    ];
  }

  /** Opens the preview for a Workfile. */
  open(uri: vscode.Uri): void {
    this.uri = uri;
    if (this.panel === undefined) {
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      this.panel = vscode.window.createWebviewPanel("workfile.graph", "Graph", column, {
        ...webviewOptions(this.extension),
        retainContextWhenHidden: true,
      });
      this.panel.iconPath = vscode.Uri.joinPath(this.extension, "media", "graph.svg");
      this.panel.onDidDispose(() => {
        this.panel = undefined;
        this.layout?.dispose();
        this.layout = undefined;
      });
      this.panel.webview.onDidReceiveMessage((message: FromGraph) => void this.received(message));
      this.panel.webview.html = pageOf(this.panel.webview, this.extension, "graph", "Graph");
    } else {
      this.panel.reveal(undefined, true);
    }
    void this.draw();
  }

  private shows(uri: vscode.Uri): boolean {
    return this.panel !== undefined && this.uri?.toString() === uri.toString();
  }

  private follow(editor: vscode.TextEditor | undefined): void {
    if (this.panel !== undefined && editor?.document.languageId === "workfile" && !this.shows(editor.document.uri)) {
      this.uri = editor.document.uri;
      void this.draw();
    }
  }

  private edited(document: vscode.TextDocument): void {
    if (this.shows(document.uri)) {
      this.later();
    }
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.draw(), PAUSE_MS);
  }

  private async draw(): Promise<void> {
    const { panel, uri } = this;
    if (panel === undefined || uri === undefined) {
      return;
    }
    const version = ++this.version;
    const name = uri.path.split("/").at(-1) ?? "";
    panel.title = `Graph: ${name}`;
    try {
      await vscode.workspace.openTextDocument(uri);
      const redo = vscode.workspace.getConfiguration("workfile.graph").get("redo", false);
      const drawing = await this.places.drawing(uri, redo);
      if (version !== this.version) {
        return;
      }
      if (!drawing) {
        this.post({ type: "message", text: `There is nothing to draw in \`${name}\` yet.` });
        return;
      }
      this.layout ??= new Layout(join(this.extension.fsPath, "dist", "layout.js"));
      const svg = await this.layout.svg(drawing.dot);
      if (version === this.version) {
        this.drawing = drawing;
        this.post({ type: "graph", svg, name });
        this.cursor(vscode.window.visibleTextEditors.find((editor) => this.shows(editor.document.uri)));
        this.debugged();
      }
    } catch (error) {
      if (version === this.version) {
        this.post({ type: "message", text: `The graph cannot be drawn: ${error instanceof Error ? error.message : String(error)}` });
      }
    }
  }

  private cursor(editor: vscode.TextEditor | undefined): void {
    if (editor === undefined || !this.shows(editor.document.uri) || this.drawing === undefined) {
      return;
    }
    if (vscode.workspace.getConfiguration("workfile.graph").get("followCursor", true)) {
      const place = placeAt(this.drawing.places, editor.selection.active);
      this.post({ type: "cursor", path: place?.path ?? null });
    }
  }

  private debugged(): void {
    const state = this.feed.state;
    const here = state !== undefined && this.uri !== undefined && this.feed.isAbout(this.uri);
    this.post({
      type: "debug",
      current: here ? state.current.map(staticPath) : [],
      done: here ? state.finished.map(staticPath) : [],
      failed: here ? state.failed.map(staticPath) : [],
    });
  }

  private async received(message: FromGraph): Promise<void> {
    if (message.type === "ready") {
      await this.draw();
    } else if (this.uri !== undefined) {
      await this.places.open(this.uri, message.path, columnOf(this.uri));
    }
  }

  private post(message: ToGraph): void {
    void this.panel?.webview.postMessage(message);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((each) => each.dispose());
    this.panel?.dispose();
  }
}

interface Waiting {
  readonly resolve: (svg: string) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A worker with Graphviz. Each request has a number, which its answer has too. */
class Layout {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;

  constructor(private readonly script: string) {}

  svg(dot: string): Promise<string> {
    const worker = (this.worker ??= this.start());
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(`the layout took more than ${LAYOUT_MS / 1000} s`), LAYOUT_MS);
      this.waiting.set(id, { resolve, reject, timer });
      worker.postMessage({ id, dot });
    });
  }

  private start(): Worker {
    const worker = new Worker(this.script);
    worker.on("message", ({ id, svg, error }: LayoutAnswer) => {
      const asked = this.waiting.get(id);
      this.waiting.delete(id);
      clearTimeout(asked?.timer);
      if (svg === undefined) {
        asked?.reject(new Error(error ?? "no picture"));
      } else {
        asked?.resolve(svg);
      }
    });
    worker.on("error", (error) => this.worker === worker && this.fail(String(error)));
    worker.on("exit", () => this.worker === worker && this.fail("the layout has ended"));
    return worker;
  }

  private fail(reason: string): void {
    const worker = this.worker;
    this.worker = undefined;
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.waiting.clear();
    void worker?.terminate();
  }

  dispose(): void {
    this.fail("the preview was closed");
  }
}
