/** Installs the Python package in an environment of the extension's own. */
import { readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as vscode from "vscode";
import { execute, Failed, pythonOf, type Tool, which } from "./tool";

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

/** The installation under way in this window: who asks again waits for it. */
let underWay: Promise<boolean> | undefined;

/** Makes the environment and installs the package there, with progress; tells what is wrong if it fails. */
export function install(context: vscode.ExtensionContext, tool: Tool, log: vscode.LogOutputChannel): Promise<boolean> {
  underWay ??= installOnce(context, tool, log).finally(() => (underWay = undefined));
  return underWay;
}

async function installOnce(context: vscode.ExtensionContext, tool: Tool, log: vscode.LogOutputChannel): Promise<boolean> {
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
  const lock = `${tool.ownEnvironment}.lock`;
  if (!(await taken(lock))) {
    void vscode.window.showInformationMessage("Workfile Tools are being installed by another window. When that is done, use them here with the command Workfile: Restart Language Server.");
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
    if (!(error instanceof vscode.CancellationError)) {
      log.error(String(error));
      void tellFailure(error instanceof Failed ? error.message : "something went wrong that the log tells", log);
    }
    return false;
  } finally {
    await rm(lock, { force: true });
  }
  tool.reset();
  return true;
}

/** Says why it failed, and offers the ways that are left. */
async function tellFailure(why: string, log: vscode.LogOutputChannel): Promise<void> {
  const [setting, interpreter, show] = ["Set What Is Installed…", "Select Interpreter…", "Show Log"] as const;
  const answer = await vscode.window.showErrorMessage(
    `Workfile Tools could not be installed: ${why}. Name a wheel, a folder or another package in the setting \`workfile.install.package\`, or select an interpreter that has Workfile Tools.`,
    setting,
    interpreter,
    show,
  );
  if (answer === setting) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "workfile.install.package");
  } else if (answer === interpreter) {
    await vscode.commands.executeCommand("workfile.selectInterpreter");
  } else if (answer === show) {
    log.show();
  }
}

/** Takes the lock of the environment, which all windows share; whether it was free. One that was left behind is. */
async function taken(lock: string): Promise<boolean> {
  await mkdir(dirname(lock), { recursive: true });
  for (let turn = 0; turn < 2; turn += 1) {
    try {
      await writeFile(lock, String(process.pid), { flag: "wx" });
      return true;
    } catch {
      const owner = Number(await readFile(lock, "utf8").catch(() => ""));
      if (Number.isInteger(owner) && owner > 0 && owner !== process.pid && lives(owner)) {
        return false;
      }
      await rm(lock, { force: true });
    }
  }
  return false;
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** What a step of the installation says in words when it fails. */
export function failureWords(step: "environment" | "package", requirement: readonly string[], output: string): string {
  const named = `\`${basename(requirement.at(-1) ?? "")}\``;
  if (step === "environment") {
    return /ensurepip is not available|python3?[\d.]*-venv/.test(output)
      ? "Python cannot make an environment here, as its module `ensurepip` is missing (on Debian and Ubuntu: install `python3-venv`)"
      : "Python could not make an environment";
  }
  if (/NewConnectionError|Max retries|timed out|ProxyError|SSLError|Name or service not known|name resolution/i.test(output)) {
    return `pip could not reach the package index for ${named}`;
  }
  if (/No matching distribution found|Could not find a version that satisfies/.test(output)) {
    return `the package index does not have ${named}, or none of its versions fits this Python`;
  }
  if (/No such file or directory|does not exist|Invalid requirement|is not a valid wheel/i.test(output)) {
    return `${named} is no package, wheel or folder that pip can read`;
  }
  return `pip could not install ${named}`;
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
  const step = async (kind: "environment" | "package", title: string, command: string, args: string[]): Promise<void> => {
    say(title);
    log.info(`${command} ${args.join(" ")}`);
    const progress = (line: string): void => log.info(line);
    const done = await execute(command, args, { token, progress, timeoutMs: STEP_MS });
    if (token.isCancellationRequested) {
      throw new vscode.CancellationError();
    }
    if (done.code !== 0) {
      log.error(done.stdout);
      throw new Failed(failureWords(kind, requirement, done.stdout + done.stderr));
    }
  };
  await rm(environment, { recursive: true, force: true });
  await mkdir(environment, { recursive: true });
  await step("environment", "making an environment…", python ?? "", [...pythonArgs, "-m", "venv", environment]);
  const quiet = ["--disable-pip-version-check", "--no-input"];
  await step("package", "installing…", pythonOf(environment), ["-m", "pip", "install", ...quiet, ...requirement]);
}
