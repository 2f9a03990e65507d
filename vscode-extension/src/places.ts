/** Where steps stand in a Workfile: the language server knows, and the views ask here. */
import * as vscode from "vscode";
import type { Client } from "./client";

interface Position {
  readonly line: number;
  readonly character: number;
}

interface PlainRange {
  readonly start: Position;
  readonly end: Position;
}

export interface Place {
  readonly path: string;
  readonly kind: string;
  readonly range: PlainRange;
  readonly keyRange: PlainRange;
}

export interface Drawing {
  readonly dot: string;
  readonly places: readonly Place[];
}

/** The path of a step in the file, of one in a run: without the numbers of iterations, and without the child's part. */
export function staticPath(path: string): string {
  return (path.split("/")[0] ?? "").replace(/\[\d+\]/g, "[]");
}

export function rangeOf(range: PlainRange): vscode.Range {
  return new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
}

export class Places {
  constructor(private readonly client: Client) {}

  /** The graph of a Workfile as it stands in the editor; undefined when there is none. */
  drawing(uri: vscode.Uri, redo = false): Promise<Drawing | null | undefined> {
    return this.client.ask<Drawing | null>("workfile.server.graph", uri.toString(), { redo });
  }

  /** Shows the step of a path; tells in the status bar when it is not there. */
  async open(uri: vscode.Uri, path: string, column?: vscode.ViewColumn): Promise<void> {
    await vscode.workspace.openTextDocument(uri);
    const drawing = await this.drawing(uri);
    const place = drawing?.places.find((each) => each.path === staticPath(path));
    const selection = place === undefined ? undefined : rangeOf(place.keyRange);
    await vscode.window.showTextDocument(uri, {
      viewColumn: column ?? columnOf(uri),
      ...(selection === undefined ? {} : { selection }),
    });
    if (place === undefined && path !== "") {
      vscode.window.setStatusBarMessage(`There is no step \`${path}\` in this Workfile.`, 5000);
    }
  }
}

/** The column in which a file is open already; the first one otherwise. */
export function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const open = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  return open?.viewColumn ?? vscode.ViewColumn.One;
}

/** The innermost place around a position. */
export function placeAt(places: readonly Place[], position: vscode.Position): Place | undefined {
  let best: Place | undefined;
  for (const place of places) {
    const range = rangeOf(place.range);
    if (range.contains(position) && (best === undefined || rangeOf(best.range).contains(range))) {
      best = place;
    }
  }
  return best;
}
