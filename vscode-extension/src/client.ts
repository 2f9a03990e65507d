/** The language client: starts `workfile lsp`, and tells in the status bar how it is. */
import * as vscode from "vscode";
import { type DynamicFeature, LanguageClient, type LanguageClientOptions, State, type StaticFeature, Trace, TransportKind } from "vscode-languageclient/node";
import type { Missing } from "./missing";
import type { Tool } from "./tool";

export const LANGUAGES = ["workfile", "workfile-connector", "workfile-scenario"];

/** The commands of the server stay with the server: those of the same names here are this extension's own. */
class Server extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if ("registrationType" in feature && feature.registrationType.method === "workspace/executeCommand") {
      return;
    }
    super.registerFeature(feature);
  }
}

export class Client implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<void> = Promise.resolve();
  private readonly status: vscode.StatusBarItem;

  constructor(
    private readonly tool: Tool,
    private readonly missing: Missing,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.status = vscode.window.createStatusBarItem("workfile.status", vscode.StatusBarAlignment.Right, 50);
    this.status.name = "Workfile";
    this.show("$(loading~spin) Workfile", "The language server is starting.", "workfile.showLog");
  }

  /** Starts the server, or starts it again; calls come one after the other. */
  restart(): Promise<void> {
    this.starting = this.starting.then(() => this.again()).catch((error: unknown) => this.log.error(String(error)));
    return this.starting;
  }

  /** Asks the server to carry out a command; undefined while there is no server, or it does not know the command. */
  async ask<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
    await this.starting;
    const client = this.client;
    if (client === undefined || !client.isRunning()) {
      return undefined;
    }
    const known = client.initializeResult?.capabilities.executeCommandProvider?.commands ?? [];
    if (!known.includes(command)) {
      this.log.warn(`This version of Workfile Tools has no \`${command}\`.`);
      return undefined;
    }
    return client.sendRequest<T>("workspace/executeCommand", { command, arguments: args });
  }

  private async again(): Promise<void> {
    await this.stop();
    let found;
    try {
      found = await this.tool.find();
    } catch (error) {
      this.show("$(warning) Workfile", "The command `workfile` was not found. Click to install it.", "workfile.install", true);
      await vscode.commands.executeCommand("setContext", "workfile.ready", false);
      void this.missing.handle(error);
      return;
    }
    const server = { command: found.command, args: [...found.args, "lsp"], transport: TransportKind.stdio };
    const client = new Server("workfile", "Workfile", server, this.options());
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.show("$(check) Workfile", `Workfile Tools ${found.version}, from ${found.origin}.`, "workfile.showLog");
      } else if (newState === State.Stopped) {
        this.show("$(error) Workfile", "The language server has stopped. Click to start it again.", "workfile.restart", true);
      }
    });
    this.client = client;
    await client.start();
    await this.trace();
    await vscode.commands.executeCommand("setContext", "workfile.ready", true);
  }

  private options(): LanguageClientOptions {
    const settings = vscode.workspace.getConfiguration("workfile");
    const told = { inlayHints: settings.get("inlayHints"), codeLens: settings.get("codeLens"), clientCommands: true };
    return {
      documentSelector: LANGUAGES.flatMap((language) => ["file", "untitled"].map((scheme) => ({ language, scheme }))),
      initializationOptions: told,
      synchronize: { configurationSection: "workfile" },
      outputChannel: this.log,
      markdown: { isTrusted: false },
    };
  }

  private async trace(): Promise<void> {
    const level = vscode.workspace.getConfiguration("workfile").get<string>("trace.server", "off");
    await this.client?.setTrace(Trace.fromString(level));
  }

  private show(text: string, tooltip: string, command: string, warning = false): void {
    this.status.text = text;
    this.status.tooltip = tooltip;
    this.status.command = command;
    this.status.backgroundColor = warning ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.status.accessibilityInformation = { label: tooltip };
    this.status.show();
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.log.debug(String(error)); // it had not started
    }
  }

  async dispose(): Promise<void> {
    this.status.dispose();
    await this.stop();
  }
}
