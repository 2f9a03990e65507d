/** Workfile for VS Code: what is contributed in package.json, wired to the `workfile` command. */
import { basename, dirname, join, relative } from "node:path";
import * as vscode from "vscode";
import { Client } from "./client";
import { ConsoleFocus } from "./console";
import { AdapterFactory, Configurations, DEBUG_TYPE, DebugActions, launchOf } from "./debug";
import { Feed } from "./feed";
import { GraphPreview } from "./graph";
import { HistoryEditor } from "./history";
import { Reports, showImpact } from "./impact";
import { install } from "./install";
import { CrashMatrix } from "./matrix";
import { Missing } from "./missing";
import { Places } from "./places";
import type { Exploration } from "./shared/messages";
import { SimulationView } from "./simulation";
import { debugScenario, type Report, Scenarios, type Summary } from "./testing";
import { Tool } from "./tool";
import { Worlds } from "./worlds";

/** What other extensions, and the tests of this one, can use. */
export interface Api {
  readonly scenarios: vscode.TestController;
  runScenarios(uris: readonly vscode.Uri[]): Promise<Summary>;
  explore(uri: vscode.Uri, scenario?: string): Promise<Exploration | undefined>;
  readonly feed: Feed;
  ready(): Promise<void>;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("Workfile", { log: true });
  const tool = new Tool(context.globalStorageUri, log);
  const missing = new Missing(tool);
  const client = new Client(tool, missing, log);
  const places = new Places(client);
  const feed = new Feed(log);
  const worlds = new Worlds(client, context.workspaceState);
  const configurations = new Configurations(worlds);
  const matrix = new CrashMatrix(context.extensionUri, context.globalStorageUri, tool, missing, places);
  const actions = new DebugActions(feed, (result, file) => matrix.show(result as Exploration, file));
  const graph = new GraphPreview(context.extensionUri, places, feed);
  const scenarios = new Scenarios(tool, missing);
  const history = new HistoryEditor(context.extensionUri, tool, missing);
  context.subscriptions.push(
    log,
    tool,
    feed,
    new ConsoleFocus(),
    matrix,
    graph,
    scenarios,
    { dispose: () => client.dispose() },
    new SimulationView(context.extensionUri, feed, actions, places),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, new AdapterFactory(tool, missing)),
    vscode.window.registerCustomEditorProvider(HistoryEditor.viewType, history),
    Reports.register(),
    ...actions.register(),
    ...commands({ context, log, tool, missing, client, worlds, matrix, graph, scenarios }),
    tool.onDidChange(() => void client.restart()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => tool.reset()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("workfile.path") || event.affectsConfiguration("workfile.interpreter")) {
        tool.reset();
      }
    }),
  );
  const started = client.restart();
  return {
    scenarios: scenarios.controller,
    runScenarios: (uris) => scenarios.runFiles(uris),
    explore: (uri, scenario) => matrix.explore(uri, scenario),
    feed,
    ready: () => started,
  };
}

interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly tool: Tool;
  readonly missing: Missing;
  readonly client: Client;
  readonly worlds: Worlds;
  readonly matrix: CrashMatrix;
  readonly graph: GraphPreview;
  readonly scenarios: Scenarios;
}

function commands(parts: Parts): vscode.Disposable[] {
  const { context, log, tool, missing, client, worlds, matrix, graph, scenarios } = parts;
  const command = (name: string, run: (...args: unknown[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`workfile.${name}`, async (...args: unknown[]) => {
      try {
        return await run(...args);
      } catch (error) {
        if (!(error instanceof vscode.CancellationError) && !(await missing.handle(error))) {
          log.error(String(error));
          void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
        }
        return undefined;
      }
    });
  return [
    command("simulate", (target, scenario) => simulate(worlds, needed(uriOf(target)), pathOf(scenario), false)),
    command("simulateToEnd", (target, scenario) => simulate(worlds, needed(uriOf(target)), pathOf(scenario), true)),
    command("simulateUnder", async (target) => {
      const workfile = needed(uriOf(target));
      return (await worlds.choose(workfile)) ? simulate(worlds, workfile, undefined, false) : undefined;
    }),
    command("explore", async (target, scenario) => void (await matrix.explore(needed(uriOf(target)), pathOf(scenario)))),
    command("graph", (target) => graph.open(needed(uriOf(target)))),
    command("impact", (target) => showImpact(tool, needed(uriOf(target)))),
    command("runScenario", (target) => runScenarios(client, scenarios, needed(uriOf(target)))),
    command("debugScenario", (target) => debugScenario(needed(uriOf(target)))),
    command("showSimulation", () => vscode.commands.executeCommand(`${SimulationView.id}.focus`)),
    command("openHistory", (target) => vscode.commands.executeCommand("vscode.openWith", needed(uriOf(target)), HistoryEditor.viewType)),
    command("newScenario", (target) => newScenario(needed(uriOf(target)))),
    command("explainRule", () => explain(tool)),
    command("install", () => install(context, tool, log)),
    command("selectInterpreter", () => missing.selectInterpreter()),
    command("restart", () => tool.reset()),
    command("showLog", () => log.show()),
  ];
}

/** The file that a command is about: what it was given, be it a URI or its text, or else the active editor's. */
function uriOf(target: unknown): vscode.Uri | undefined {
  if (target instanceof vscode.Uri) {
    return target;
  }
  if (typeof target === "string" && target !== "") {
    return target.includes("://") ? vscode.Uri.parse(target) : vscode.Uri.file(target);
  }
  return vscode.window.activeTextEditor?.document.uri;
}

function needed(uri: vscode.Uri | undefined): vscode.Uri {
  if (uri === undefined) {
    throw new Error("Open a Workfile first.");
  }
  return uri;
}

function pathOf(scenario: unknown): string | undefined {
  return typeof scenario === "string" && scenario !== "" ? uriOf(scenario)?.fsPath : undefined;
}

async function simulate(worlds: Worlds, workfile: vscode.Uri, scenario: string | undefined, toEnd: boolean): Promise<void> {
  const configuration = launchOf(workfile, scenario ?? (await worlds.of(workfile)));
  await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(workfile), configuration, toEnd ? { noDebug: true } : {});
}

/** Runs a scenario, or all of a Workfile. The server does it, which then tells in code lenses how they went. */
async function runScenarios(client: Client, scenarios: Scenarios, uri: vscode.Uri): Promise<void> {
  const report = await client.ask<Report>("workfile.server.test", uri.toString());
  if (report === undefined) {
    await scenarios.runFiles([uri]);
  } else {
    await scenarios.take(report, dirname(uri.fsPath));
  }
}

/** A scenario beside the Workfile, or in `scenarios` where there is such a folder, with what is mostly wanted. */
async function newScenario(workfile: vscode.Uri): Promise<void> {
  const folder = dirname(workfile.fsPath);
  const inside = vscode.Uri.file(join(folder, "scenarios"));
  const exists = await vscode.workspace.fs.stat(inside).then(
    () => true,
    () => false,
  );
  const stem = basename(workfile.fsPath).replace(/\.workfile\.ya?ml$/, "");
  const parent = exists ? inside.fsPath : folder;
  const reference = relative(parent, workfile.fsPath).replaceAll("\\", "/");
  const target = vscode.Uri.file(join(parent, `${stem}-new.scenario.yaml`)).with({ scheme: "untitled" });
  const document = await vscode.workspace.openTextDocument(target);
  const editor = await vscode.window.showTextDocument(document);
  const snippet = `# \${1:What happens.}\nworkfile: ${reference}\ninputs: { $2 }\nexpect:\n  status: \${3|succeeded,failed,held,suspended,stopped|}\n`;
  await editor.insertSnippet(new vscode.SnippetString(snippet));
}

async function explain(tool: Tool): Promise<void> {
  const list = await tool.run(["explain"]);
  const rules = list.stdout.split("\n").flatMap((line) => {
    const [, rule, rest] = /^\s*([a-z][a-z0-9-]+)\s+(.*)$/.exec(line) ?? [];
    return rule === undefined ? [] : [{ label: rule, description: rest ?? "" }];
  });
  const picked = await vscode.window.showQuickPick(rules, { title: "Explain a rule", matchOnDescription: true });
  if (picked !== undefined) {
    const page = await tool.run(["explain", picked.label]);
    await Reports.show(picked.label, page.stdout || page.stderr, "markdown");
  }
}
