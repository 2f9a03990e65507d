/** Installs the Python package in an environment of the extension's own. */
import { readdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { execute, Failed, pythonOf, reason, type Tool, which } from "./tool";

const OLDEST = [3, 11] as const;
const NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
const PYTHON_PAGE = "https://www.python.org/downloads/";
const STEP_MS = 10 * 60_000;

/** A Python that is new enough; undefined when there is none. */
export async function findPython(): Promise<string[] | undefined> {
  const candidates = NAMES.map((name) => which(name)).filter((path) => path !== undefined).map((path) => [path]);
  if (process.platform === "win32") {
    candidates.unshift(["py", "-3"]);
  }
  for (const candidate of candidates) {
    if (await isNewEnough(candidate)) {
      return candidate;
    }
  }
  return undefined;
}

async function isNewEnough([command, ...args]: string[]): Promise<boolean> {
  try {
    const test = `import sys, venv; sys.exit(sys.version_info < (${OLDEST.join(", ")}))`;
    return (await execute(command ?? "", [...args, "-c", test], { timeoutMs: 20_000 })).code === 0;
  } catch {
    return false;
  }
}

/** Makes the environment and installs the package there, with progress; tells what is wrong if it fails. */
export async function install(context: vscode.ExtensionContext, tool: Tool, log: vscode.LogOutputChannel): Promise<boolean> {
  const python = await findPython();
  if (python === undefined) {
    const answer = await vscode.window.showErrorMessage(
      `Python ${OLDEST.join(".")} or newer was not found on this machine. Install Python, then try again; or select an interpreter that is not on the PATH.`,
      "Get Python",
      "Select Interpreter…",
    );
    if (answer === "Get Python") {
      await vscode.env.openExternal(vscode.Uri.parse(PYTHON_PAGE));
    } else if (answer !== undefined) {
      await vscode.commands.executeCommand("workfile.selectInterpreter");
    }
    return false;
  }
  const requirement = wanted(context);
  try {
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Workfile Tools", cancellable: true },
      (progress, token) => make(tool.ownEnvironment, python, requirement, log, (message) => progress.report({ message }), token),
    );
  } catch (error) {
    await rm(tool.ownEnvironment, { recursive: true, force: true });
    if (error instanceof vscode.CancellationError) {
      return false;
    }
    const answer = await vscode.window.showErrorMessage(
      `Workfile Tools could not be installed: ${error instanceof Error ? error.message : String(error)}`,
      "Show Log",
    );
    if (answer !== undefined) {
      log.show();
    }
    return false;
  }
  tool.reset();
  return true;
}

/** What pip is asked for: the setting if it is set, else the wheel that came with the extension, else the package. */
function wanted(context: vscode.ExtensionContext): string[] {
  const setting = vscode.workspace.getConfiguration("workfile.install").inspect<string>("package");
  const given = setting?.workspaceFolderValue ?? setting?.workspaceValue ?? setting?.globalValue;
  if (given) {
    return [given];
  }
  const folder = join(context.extensionPath, "wheels");
  try {
    const wheel = readdirSync(folder).find((name) => /^workfile_tools-.*\.whl$/.test(name));
    if (wheel !== undefined) {
      return ["--find-links", folder, join(folder, wheel)];
    }
  } catch {
    // no wheels came with it
  }
  return [setting?.defaultValue ?? "workfile-tools"];
}

async function make(
  environment: string,
  [python, ...pythonArgs]: string[],
  requirement: string[],
  log: vscode.LogOutputChannel,
  say: (message: string) => void,
  token: vscode.CancellationToken,
): Promise<void> {
  const step = async (title: string, command: string, args: string[]): Promise<void> => {
    say(title);
    log.info(`${command} ${args.join(" ")}`);
    const progress = (line: string): void => log.info(line);
    const done = await execute(command, args, { token, progress, timeoutMs: STEP_MS });
    if (token.isCancellationRequested) {
      throw new vscode.CancellationError();
    }
    if (done.code !== 0) {
      log.error(done.stdout);
      throw new Failed(reason(done.stderr) || reason(done.stdout) || `exit code ${done.code}`);
    }
  };
  await rm(environment, { recursive: true, force: true });
  await mkdir(environment, { recursive: true });
  await step("making an environment…", python ?? "", [...pythonArgs, "-m", "venv", environment]);
  const quiet = ["--disable-pip-version-check", "--no-input"];
  await step("installing…", pythonOf(environment), ["-m", "pip", "install", ...quiet, ...requirement]);
}
