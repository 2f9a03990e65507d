/** What is said when the command is not there. */
import * as vscode from "vscode";
import { NotFound, type Tool } from "./tool";

const INSTALL = "Install";
const SELECT = "Select Interpreter…";
const SETTINGS = "Open Settings";

/** Tells once how to get the command. */
export class Missing {
  private asking = false;

  constructor(private readonly tool: Tool) {}

  /** Handles an error of `tool.find()` if it is one; whether it was. */
  async handle(error: unknown): Promise<boolean> {
    if (!(error instanceof NotFound)) {
      return false;
    }
    if (!this.asking) {
      this.asking = true;
      try {
        await this.ask(error.message);
      } finally {
        this.asking = false;
      }
    }
    return true;
  }

  private async ask(tried: string): Promise<void> {
    const named = tried.startsWith("the setting");
    const where = tried === "" ? "" : ` (tried: ${tried})`;
    const answer = named
      ? await vscode.window.showErrorMessage(`Workfile Tools were not found by ${tried}. Correct the setting, or leave it empty.`, SETTINGS, SELECT)
      : await vscode.window.showWarningMessage(
          `The command \`workfile\` was not found${where}. It checks, simulates and debugs Workfiles; it can be installed in an environment of its own.`,
          INSTALL,
          SELECT,
        );
    if (answer === INSTALL) {
      await vscode.commands.executeCommand("workfile.install");
    } else if (answer === SELECT) {
      await vscode.commands.executeCommand("workfile.selectInterpreter");
    } else if (answer === SETTINGS) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "@ext:workfile-tools.workfile");
    }
  }

  /** Lets the user choose an interpreter and keeps it in the setting. */
  async selectInterpreter(): Promise<void> {
    const chosen = await vscode.window.showOpenDialog({
      title: "Python interpreter that has Workfile Tools",
      openLabel: "Use",
      canSelectMany: false,
    });
    const path = chosen?.[0]?.fsPath;
    if (path !== undefined) {
      const target = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
      await vscode.workspace.getConfiguration("workfile").update("interpreter", path, target);
      this.tool.reset();
    }
  }
}
