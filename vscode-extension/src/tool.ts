/** Finds the `workfile` command and runs it. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import * as vscode from "vscode";

/** How the command is started. `origin` tells in words where it was found. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly origin: string;
  readonly version: string;
}

/** What a process has left. `code` is null when it was ended by a signal. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string | undefined;
  readonly input?: string;
  readonly token?: vscode.CancellationToken;
  readonly timeoutMs?: number;
  /** Is told each line of standard error as it comes. */
  readonly progress?: (line: string) => void;
}

/** There is no command; the message says what was tried. */
export class NotFound extends Error {}

/** The command said no: its last line of standard error. */
export class Failed extends Error {}

const MAX_OUTPUT = 64 * 1024 * 1024;
/** A first start on a busy machine, before anything is cached, takes its time. */
const VERSION_MS = 90_000;
const WINDOWS = process.platform === "win32";

/** Runs a process to its end. Rejects when it cannot be started. */
export function execute(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      env: { ...process.env, PYTHONUTF8: "1", PYTHONUNBUFFERED: "1", NO_COLOR: "1" },
      windowsHide: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let size = 0;
    let pending = "";
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => child.kill(), options.timeoutMs);
    const cancel = options.token?.onCancellationRequested(() => child.kill());
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT) {
        child.kill();
      } else {
        out.push(chunk);
      }
    });
    child.stderr.on("data", (chunk: Buffer) => {
      err.push(chunk);
      if (options.progress) {
        const lines = (pending + chunk.toString("utf8")).split(/\r?\n/);
        pending = lines.pop() ?? "";
        lines.forEach(options.progress);
      }
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      cancel?.dispose();
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      cancel?.dispose();
      if (size > MAX_OUTPUT) {
        reject(new Failed("`workfile` answered with more than can be shown."));
        return;
      }
      resolve({ code, stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8") });
    });
    child.stdin.on("error", () => undefined); // it ended without reading: its exit code tells
    child.stdin.end(options.input ?? "");
  });
}

/** The interpreter inside an environment. */
export function pythonOf(environment: string): string {
  return WINDOWS ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}

function scriptOf(environment: string): string {
  return WINDOWS ? join(environment, "Scripts", "workfile.exe") : join(environment, "bin", "workfile");
}

interface Candidate {
  readonly command: string;
  readonly args: readonly string[];
  readonly origin: string;
}

/** The command that is in use, and what depends on it. */
export class Tool implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** Another command may be in use from here on. */
  readonly onDidChange = this.changed.event;
  private found: Promise<Command> | undefined;

  constructor(
    private readonly storage: vscode.Uri,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The environment that the extension makes for itself. */
  get ownEnvironment(): string {
    return join(this.storage.fsPath, "environment");
  }

  /** Look again. */
  reset(): void {
    this.found = undefined;
    this.changed.fire();
  }

  /** The command. Rejects with `NotFound`. */
  find(): Promise<Command> {
    this.found ??= this.search();
    this.found.catch(() => (this.found = undefined));
    return this.found;
  }

  /** Runs a `workfile` command. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const tool = await this.find();
    this.log.debug(`workfile ${args.join(" ")}`);
    return execute(tool.command, [...tool.args, ...args], options);
  }

  /** Runs a `workfile` command that answers with one JSON object, also when its exit code is 1. */
  async json<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (options.token?.isCancellationRequested) {
      throw new vscode.CancellationError();
    }
    if (code === 0 || code === 1) {
      try {
        return JSON.parse(stdout) as T;
      } catch {
        // findings of severity error come as text: they are what went wrong
      }
    }
    throw new Failed(reason(stderr) || reason(stdout) || `\`workfile ${args[0] ?? ""}\` ended with exit status ${code}.`);
  }

  private async search(): Promise<Command> {
    const tried: string[] = [];
    for (const candidate of await this.candidates()) {
      const words = [candidate.command, ...candidate.args].join(" ");
      const answer = await this.version(candidate);
      if ("version" in answer) {
        this.log.info(`workfile ${answer.version}: ${candidate.origin} (${words})`);
        return { ...candidate, version: answer.version };
      }
      this.log.warn(`${words}: ${answer.problem}`);
      tried.push(`${candidate.origin}: ${answer.problem}`);
    }
    this.log.warn(`The command \`workfile\` was not found. Tried: ${tried.join("; ")}.`);
    throw new NotFound(tried.join("; "));
  }

  private async version(candidate: Candidate): Promise<{ version: string } | { problem: string }> {
    try {
      const done = await execute(candidate.command, [...candidate.args, "--version"], { timeoutMs: VERSION_MS });
      if (done.code === null) {
        return { problem: `no answer within ${VERSION_MS / 1000} s` };
      }
      const version = /(\d+\.\d+\S*)/.exec(done.stdout)?.[1];
      return done.code === 0 && version !== undefined ? { version } : { problem: reason(done.stderr) || `exit status ${done.code}` };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }

  private async candidates(): Promise<Candidate[]> {
    const settings = vscode.workspace.getConfiguration("workfile");
    const path = expanded(settings.get<string>("path", ""));
    if (path) {
      // What the user has named is used or reported as wrong, never passed over.
      return [{ command: path, args: [], origin: "the setting `workfile.path`" }];
    }
    const interpreter = expanded(settings.get<string>("interpreter", ""));
    if (interpreter) {
      return [{ command: interpreter, args: ["-m", "workfile_cli"], origin: "the setting `workfile.interpreter`" }];
    }
    const found: Candidate[] = [];
    if (vscode.workspace.isTrusted) {
      const selected = await selectedInterpreter();
      if (selected !== undefined) {
        found.push({ command: selected, args: ["-m", "workfile_cli"], origin: "the selected Python interpreter" });
      }
      for (const folder of vscode.workspace.workspaceFolders ?? []) {
        for (const name of [".venv", "venv"]) {
          const script = scriptOf(join(folder.uri.fsPath, name));
          if (existsSync(script)) {
            found.push({ command: script, args: [], origin: `\`${name}\` of the folder \`${folder.name}\`` });
          }
        }
      }
    }
    const own = pythonOf(this.ownEnvironment);
    if (existsSync(own)) {
      found.push({ command: own, args: ["-m", "workfile_cli"], origin: "the extension's own environment" });
    }
    const onPath = which("workfile");
    if (onPath !== undefined) {
      found.push({ command: onPath, args: [], origin: "the `PATH`" });
    }
    return found;
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** The last line that says something. */
export function reason(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return (lines.at(-1) ?? "").replace(/^workfile: error: /, "").trim();
}

/** A program's path; undefined when there is none of that name. */
export function which(name: string): string | undefined {
  const endings = WINDOWS ? [".exe", ".cmd", ".bat"] : [""];
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    for (const ending of endings) {
      const path = join(folder, name + ending);
      if (folder !== "" && existsSync(path)) {
        return path;
      }
    }
  }
  return undefined;
}

function expanded(value: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return value.trim().replaceAll("${workspaceFolder}", folder);
}

/** The interpreter that the Python extension has selected, when it is there. */
async function selectedInterpreter(): Promise<string | undefined> {
  const python = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (python === undefined) {
    return undefined;
  }
  try {
    const api = python.isActive ? python.exports : await python.activate();
    const path = api.environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri).path;
    if (path === undefined || path === "python") {
      return undefined;
    }
    const environment = await api.environments?.resolveEnvironment(path);
    return environment?.executable.uri?.fsPath ?? path;
  } catch {
    return undefined;
  }
}

interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: string): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}
