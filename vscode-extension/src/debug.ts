/** Debug sessions: configurations out of nothing, the adapter, and the requests of our own. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Feed } from "./feed";
import type { Missing } from "./missing";
import type { FromSimulation } from "./shared/messages";
import type { Tool } from "./tool";
import type { Worlds } from "./worlds";

export const DEBUG_TYPE = "workfile";

/** Completes configurations: F5 in a Workfile, a scenario or a history needs none. */
export class Configurations implements vscode.DebugConfigurationProvider {
  constructor(private readonly worlds: Worlds) {}

  async provideDebugConfigurations(): Promise<vscode.DebugConfiguration[]> {
    const found = await this.forFile(vscode.window.activeTextEditor?.document);
    return [found ?? { type: DEBUG_TYPE, request: "launch", name: "Simulate this Workfile", program: "${file}", stopOnEntry: true }];
  }

  async resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    given: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (given.type || given.request || given.name) {
      return { ...given, type: DEBUG_TYPE };
    }
    const found = await this.forFile(vscode.window.activeTextEditor?.document);
    if (found === undefined) {
      void vscode.window.showErrorMessage("Open a Workfile or a scenario to debug it, or make a launch configuration.");
    }
    return found;
  }

  resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    given: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration | undefined {
    const program = text(given, "program");
    const scenario = text(given, "scenario");
    if (given.request === "launch" && given["stopAtEnd"] === undefined) {
      // After the outcome one wants to look around, and to step back.
      given = { ...given, stopAtEnd: true };
    }
    if (given.request === "launch" && program?.endsWith(".scenario.yaml")) {
      // `"program": "${file}"` with a scenario in the editor: it names its Workfile itself.
      const { program: _, ...rest } = given;
      return { ...rest, scenario: program };
    }
    for (const path of [program, scenario, text(given, "history")]) {
      if (path !== undefined && !existsSync(path)) {
        void vscode.window.showErrorMessage(`The launch configuration \`${given.name}\` names \`${path}\`, which does not exist.`);
        return undefined;
      }
    }
    return given;
  }

  private async forFile(document: vscode.TextDocument | undefined): Promise<vscode.DebugConfiguration | undefined> {
    const uri = document?.uri;
    if (uri === undefined) {
      return undefined;
    }
    const name = basename(uri.fsPath);
    switch (document?.languageId) {
      case "workfile":
        return launchOf(uri, await this.worlds.of(uri));
      case "workfile-scenario":
        return { type: DEBUG_TYPE, request: "launch", name: `Simulate ${name}`, scenario: uri.fsPath, stopOnEntry: true };
      case "workfile-history":
        return { type: DEBUG_TYPE, request: "attach", name: `Look at ${name}`, history: uri.fsPath };
      default:
        return undefined;
    }
  }
}

/** The configuration that simulates a Workfile, under a scenario or none. */
export function launchOf(workfile: vscode.Uri, scenario: string | undefined): vscode.DebugConfiguration {
  const program = workfile.fsPath;
  const under = scenario === undefined ? "" : ` under ${basename(scenario).replace(/\.scenario\.yaml$/, "")}`;
  const world = scenario === undefined ? {} : { scenario };
  return { type: DEBUG_TYPE, request: "launch", name: `Simulate ${basename(program)}${under}`, program, ...world, stopOnEntry: true };
}

function text(given: vscode.DebugConfiguration, key: string): string | undefined {
  const value: unknown = given[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Starts `workfile dap`. */
export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  constructor(
    private readonly tool: Tool,
    private readonly missing: Missing,
  ) {}

  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    try {
      const { command, args } = await this.tool.find();
      const cwd = session.workspaceFolder?.uri.fsPath;
      return new vscode.DebugAdapterExecutable(command, [...args, "dap"], cwd === undefined ? undefined : { cwd });
    } catch (error) {
      void this.missing.handle(error);
      const why = error instanceof Error && error.message !== "" ? ` (${error.message})` : "";
      throw new Error(`The debugger needs the command \`workfile\`, which was not found${why}.`);
    }
  }
}

type Action = Exclude<FromSimulation["type"], "ready" | "open" | "start">;
type ActionMessage = Extract<FromSimulation, { type: Action }>;

/** What one can do to the run of the session in view, from the panel and from commands. */
export class DebugActions {
  constructor(
    private readonly feed: Feed,
    private readonly explored: (result: unknown, file: string) => void,
  ) {}

  /** Carries one out. Rejects with what the adapter says when it refuses. */
  async carryOut(message: ActionMessage): Promise<void> {
    switch (message.type) {
      case "continue":
        return this.builtin("workbench.action.debug.continue");
      case "next":
        return this.builtin("workbench.action.debug.stepOver");
      case "stepBack":
        return this.builtin("workbench.action.debug.stepBack");
      case "crash":
      case "resume":
        await this.request(message.type, {});
        return;
      case "explore":
        await this.explore();
        return;
      case "advance":
        await this.request("advance", { by: message.by });
        return;
      case "advanceTo":
        await this.request("advance", { to: message.to });
        return;
      case "cancel":
        await this.request("cancel", message.reason === "" ? {} : { reason: message.reason });
        return;
      case "deliver": {
        const payload = parsed(message.payload, "The payload");
        const id = message.id === "" ? {} : { id: message.id };
        const reply = (await this.request("deliver", { trigger: message.trigger, payload, ...id })) as { accepted?: boolean; reason?: string | null };
        if (reply.accepted === false) {
          throw new Error(`The event was refused: ${reply.reason ?? "nothing waits for it"}.`);
        }
        return;
      }
      case "decide":
        await this.request("decide", { on: message.on, actor: message.actor, decide: decision(message.decide) });
    }
  }

  private async builtin(command: string): Promise<void> {
    await vscode.commands.executeCommand(command);
  }

  private async explore(): Promise<void> {
    const file = this.feed.state?.run.file ?? "";
    const result = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: "Exploring from here…" }, () =>
      Promise.resolve(this.request("explore", {})),
    );
    this.explored(result, file);
  }

  private async request(name: string, args: object): Promise<unknown> {
    const session = this.feed.live;
    if (session === undefined) {
      throw new Error("No simulated run is being debugged: start one with F5.");
    }
    return session.customRequest(`workfile/${name}`, args);
  }

  /** The commands of the palette, which ask for what they need. */
  register(): vscode.Disposable[] {
    const command = (name: string, make: () => Promise<ActionMessage | undefined>): vscode.Disposable =>
      vscode.commands.registerCommand(`workfile.debug.${name}`, async () => {
        try {
          const message = await make();
          if (message !== undefined) {
            await this.carryOut(message);
          }
        } catch (error) {
          void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
        }
      });
    return [
      command("crash", async () => ({ type: "crash" })),
      command("resume", async () => ({ type: "resume" })),
      command("explore", async () => ({ type: "explore" })),
      command("advance", () => this.askAdvance()),
      command("deliver", () => this.askDeliver()),
      command("decide", () => this.askDecide()),
      command("cancel", async () => {
        const reason = await vscode.window.showInputBox({ title: "Cancel the run", prompt: "Reason (may be empty)" });
        return reason === undefined ? undefined : { type: "cancel", reason };
      }),
    ];
  }

  private async askAdvance(): Promise<ActionMessage | undefined> {
    const timers = this.feed.state?.run.timers ?? [];
    const items = [
      ...timers.map((timer) => ({ label: `to \`${timer.path}\``, description: `in ${timer.in}`, to: timer.deadline })),
      { label: "by a duration…", description: "", to: "" },
    ];
    const picked = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: "Advance the clock" });
    if (picked === undefined) {
      return undefined;
    }
    if (picked.to !== "") {
      return { type: "advanceTo", to: picked.to };
    }
    const by = await vscode.window.showInputBox({ title: "Advance the clock", prompt: "A duration, such as 30s, 2h or 1d12h", value: "1h" });
    return by ? { type: "advance", by } : undefined;
  }

  private async askDeliver(): Promise<ActionMessage | undefined> {
    const open = this.feed.state?.run.subscriptions ?? [];
    if (open.length === 0) {
      throw new Error("The run waits for no event now.");
    }
    const picked = await vscode.window.showQuickPick(
      open.map((each) => ({ label: each.trigger, description: `at ${each.path}`, each })),
      { title: "Deliver an event" },
    );
    if (picked === undefined) {
      return undefined;
    }
    const payload = await vscode.window.showInputBox({ title: `Payload of ${picked.label}`, prompt: "JSON", value: JSON.stringify(picked.each.example) });
    return payload === undefined ? undefined : { type: "deliver", trigger: picked.label, payload, id: "" };
  }

  private async askDecide(): Promise<ActionMessage | undefined> {
    const holds = (this.feed.state?.run.holds ?? []).flatMap((hold) => hold.allowed.map((way) => ({ label: way, description: `${hold.path || "the run"}: ${hold.reason}`, hold })));
    if (holds.length === 0) {
      throw new Error("The run is not held: there is nothing to decide.");
    }
    const picked = await vscode.window.showQuickPick(holds, { title: "Decide at a hold" });
    if (picked === undefined) {
      return undefined;
    }
    const { hold, label } = picked;
    const template = label === "succeed" ? { succeed: hold.example ?? {} } : label === "fail" ? { fail: { code: hold.code ?? "decided", retryable: false } } : label;
    const decide =
      typeof template === "string"
        ? JSON.stringify(template)
        : await vscode.window.showInputBox({ title: `Decide ${label}`, prompt: "JSON", value: JSON.stringify(template) });
    return decide === undefined ? undefined : { type: "decide", on: hold.path, actor: "operator", decide };
  }
}

function parsed(source: string, what: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function decision(source: string): unknown {
  return parsed(source, "The decision");
}
