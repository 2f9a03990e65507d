/** What an edit means for runs under way: the words of `workfile history impact`, in a document. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import * as vscode from "vscode";
import { chooseWorkfile } from "./history";
import { Failed, reason, type Tool } from "./tool";

const SCHEME = "workfile-report";

/** Texts that are shown and not kept. */
export class Reports implements vscode.TextDocumentContentProvider {
  private static readonly texts = new Map<string, string>();

  static register(): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, new Reports());
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return Reports.texts.get(uri.toString()) ?? "";
  }

  static async show(title: string, text: string, language = "workfile-report"): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}`, query: String(Reports.texts.size) });
    Reports.texts.set(uri.toString(), text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, language);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }
}

/** Compares an earlier state of a Workfile with the one in the editor. `histories` is a folder of recorded runs. */
export async function showImpact(tool: Tool, uri?: vscode.Uri, histories?: string): Promise<void> {
  const edited = uri?.fsPath ?? (await chooseWorkfile("The edited Workfile"));
  if (edited === undefined) {
    return;
  }
  await vscode.workspace.saveAll(false);
  const old = await earlier(edited);
  if (old === undefined) {
    return;
  }
  try {
    const found = histories ?? (await historiesOf());
    const options = found === undefined ? [] : ["--histories", found];
    const done = await tool.run(["history", "impact", ...options, "--", old.path, edited], { cwd: dirname(edited) });
    if (done.code !== 0 && done.code !== 1) {
      throw new Failed(reason(done.stderr) || `\`workfile history impact\` ended with exit status ${done.code}.`);
    }
    await Reports.show(`Impact on runs of ${basename(edited)}`, [done.stdout, done.stderr].filter((each) => each.trim() !== "").join("\n"));
  } finally {
    if (old.temporary !== undefined) {
      await rm(old.temporary, { recursive: true, force: true });
    }
  }
}

interface Earlier {
  readonly path: string;
  /** The folder that is removed afterwards. */
  readonly temporary: string | undefined;
}

/** The Workfile as it was: of the last commit, or another file. */
async function earlier(edited: string): Promise<Earlier | undefined> {
  const head = { label: "The last commit", description: basename(edited) };
  const other = { label: "Another file…", description: "" };
  const committed = await isCommitted(edited);
  const picked = committed ? await vscode.window.showQuickPick([head, other], { title: "Compare with" }) : other;
  if (picked === head) {
    const temporary = await mkdtemp(join(tmpdir(), "workfile-earlier-"));
    return { path: await lastCommit(edited, temporary), temporary };
  }
  const chosen = picked === undefined ? undefined : await chooseWorkfile("The Workfile as it was");
  return chosen === undefined ? undefined : { path: chosen, temporary: undefined };
}

async function isCommitted(path: string): Promise<boolean> {
  try {
    await git(dirname(path), ["cat-file", "-e", `HEAD:./${basename(path)}`]);
    return true;
  } catch {
    return false; // no git, no repository, or not in it
  }
}

/** What tells how a Workfile is read: manifests and called Workfiles are those of that commit too. */
const READ = ["*.yaml", "*.yml", "Workfile", "*/Workfile", "*workfile.toml", "*pyproject.toml"];

/** Writes the files of the last commit below a folder; the path of the Workfile there. An index of its own leaves the user's alone. */
async function lastCommit(path: string, folder: string): Promise<string> {
  const cwd = dirname(path);
  const prefix = (await git(cwd, ["rev-parse", "--show-prefix"])).trim();
  const root = (await git(cwd, ["rev-parse", "--show-toplevel"])).trim();
  const index = { GIT_INDEX_FILE: join(folder, ".index") };
  await git(root, ["read-tree", "HEAD"], index);
  const files = await git(root, ["ls-files", "-z", "--", ...READ], index);
  await git(root, ["checkout-index", "-z", "--stdin", `--prefix=${folder}/`], index, files);
  return join(folder, prefix, basename(path));
}

function git(cwd: string, args: readonly string[], env: Record<string, string> = {}, input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024, windowsHide: true };
    const child = execFile("git", [...args], options, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
    child.stdin?.on("error", () => undefined); // its exit code tells
    child.stdin?.end(input);
  });
}

async function historiesOf(): Promise<string | undefined> {
  const found = await vscode.workspace.findFiles("**/*.history.jsonl", "**/{node_modules,.venv,venv}/**", 1000);
  const folders = [...new Set(found.map((uri) => dirname(uri.fsPath)))].sort();
  if (folders.length < 2) {
    return folders[0];
  }
  return (await vscode.window.showQuickPick(folders.map((path) => ({ label: vscode.workspace.asRelativePath(path), path })), { title: "Recorded runs" }))?.path;
}
