/** Which scenario a Workfile is simulated under when nobody says: the one of last time, or the first that runs it. */
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Client } from "./client";

const KEY = "workfile.world:";
/** What is remembered when the user wants no scenario. */
const NONE = "";

export class Worlds {
  constructor(
    private readonly client: Client,
    private readonly memory: vscode.Memento,
  ) {}

  /** The scenario's path; undefined for none. */
  async of(workfile: vscode.Uri): Promise<string | undefined> {
    const all = await this.all(workfile);
    const last = this.memory.get<string>(KEY + workfile.toString());
    return last === NONE ? undefined : (all.find((path) => path === last) ?? all[0]);
  }

  /** Lets the user choose; false when the choice was left. */
  async choose(workfile: vscode.Uri): Promise<boolean> {
    const all = await this.all(workfile);
    const items = all.map((path) => ({ label: basename(path), description: vscode.workspace.asRelativePath(path), path }));
    items.push({ label: "No scenario", description: "every action succeeds, nothing else happens", path: NONE });
    const picked = await vscode.window.showQuickPick(items, { title: `Simulate ${basename(workfile.fsPath)} under`, matchOnDescription: true });
    if (picked !== undefined) {
      await this.memory.update(KEY + workfile.toString(), picked.path);
    }
    return picked !== undefined;
  }

  private async all(workfile: vscode.Uri): Promise<string[]> {
    const uris = (await this.client.ask<string[]>("workfile.server.scenarios", workfile.toString())) ?? [];
    return uris.map((uri) => vscode.Uri.parse(uri).fsPath).sort();
  }
}
