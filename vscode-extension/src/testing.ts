/** Scenarios in the Testing view: run, debug, coverage. What they mean and whether they pass, the command tells. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import * as vscode from "vscode";
import type { Missing } from "./missing";
import type { Tool } from "./tool";

const PATTERN = "**/*.scenario.yaml";
const EXCLUDED = "**/{node_modules,.venv,venv,.git}/**";
const MAX_FILES = 5000;

interface Difference {
  readonly at: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

interface Played {
  readonly path: string;
  readonly outcome: "passed" | "failed" | "error";
  readonly differences: readonly Difference[];
  readonly messages?: readonly string[];
}

/** `workfile test --format json`. */
export interface Report {
  readonly scenarios: readonly Played[];
}

interface CoveredPlace {
  readonly kind: string;
  readonly path: string;
  readonly outcome: string;
  readonly line: number;
  readonly column: number;
  readonly hits: number;
}

interface CoveredFile {
  readonly path: string;
  readonly places: readonly CoveredPlace[];
}

/** What a test run has come to, for code lenses and tests. */
export interface Summary {
  passed: number;
  failed: number;
  errored: number;
}

export class Scenarios implements vscode.Disposable {
  readonly controller = vscode.tests.createTestController("workfile", "Workfile Scenarios");
  private readonly details = new WeakMap<vscode.FileCoverage, vscode.FileCoverageDetail[]>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly runProfile: vscode.TestRunProfile;
  private readonly debugProfile: vscode.TestRunProfile;
  private found: Promise<void> | undefined;

  constructor(
    private readonly tool: Tool,
    private readonly missing: Missing,
  ) {
    const { controller } = this;
    controller.resolveHandler = (item) => (item === undefined ? this.discover() : undefined);
    controller.refreshHandler = () => this.discover(true);
    const kind = vscode.TestRunProfileKind;
    this.runProfile = controller.createRunProfile("Run", kind.Run, async (request, token) => void (await this.run(request, token, false)), true);
    this.debugProfile = controller.createRunProfile("Debug", kind.Debug, (request) => this.debug(request), true);
    const coverage = controller.createRunProfile("Run with Coverage", kind.Coverage, async (request, token) => void (await this.run(request, token, true)), true);
    coverage.loadDetailedCoverage = (_run, file) => Promise.resolve(this.details.get(file) ?? []);
    const watcher = vscode.workspace.createFileSystemWatcher(PATTERN);
    this.subscriptions.push(
      controller,
      watcher,
      watcher.onDidCreate((uri) => this.add(uri)),
      watcher.onDidDelete((uri) => this.remove(uri)),
      watcher.onDidChange((uri) => controller.invalidateTestResults(this.item(uri))),
    );
  }

  /** Finds the scenario files of the workspace. */
  discover(again = false): Promise<void> {
    if (again) {
      this.found = undefined;
    }
    this.found ??= this.search();
    return this.found;
  }

  private async search(): Promise<void> {
    const files = await vscode.workspace.findFiles(PATTERN, EXCLUDED, MAX_FILES);
    this.controller.items.replace([]);
    files.map((uri) => uri.fsPath).sort().forEach((path) => this.add(vscode.Uri.file(path)));
  }

  /** Adds a file below the items of its folders; a single folder for all needs no item of its own. */
  private add(uri: vscode.Uri): vscode.TestItem {
    const name = uri.path.split("/").at(-1) ?? "";
    const folder = vscode.Uri.joinPath(uri, "..");
    let parent = this.controller.items.get(folder.toString());
    if (parent === undefined) {
      parent = this.controller.createTestItem(folder.toString(), vscode.workspace.asRelativePath(folder) || "scenarios", folder);
      this.controller.items.add(parent);
    }
    const item = this.controller.createTestItem(uri.toString(), name.replace(/\.scenario\.yaml$/, ""), uri);
    item.range = new vscode.Range(0, 0, 0, 0);
    item.sortText = name;
    parent.children.add(item);
    return item;
  }

  private remove(uri: vscode.Uri): void {
    const folder = vscode.Uri.joinPath(uri, "..").toString();
    const parent = this.controller.items.get(folder);
    parent?.children.delete(uri.toString());
    if (parent?.children.size === 0) {
      this.controller.items.delete(folder);
    }
  }

  private item(uri: vscode.Uri): vscode.TestItem | undefined {
    return this.controller.items.get(vscode.Uri.joinPath(uri, "..").toString())?.children.get(uri.toString());
  }

  private chosen(request: vscode.TestRunRequest): vscode.TestItem[] {
    const all: vscode.TestItem[] = [];
    const excluded = new Set(request.exclude);
    const visit = (item: vscode.TestItem): void => {
      if (excluded.has(item)) {
        return;
      }
      if (item.children.size === 0) {
        all.push(item);
      }
      item.children.forEach(visit);
    };
    if (request.include === undefined) {
      this.controller.items.forEach(visit);
    } else {
      request.include.forEach(visit);
    }
    return [...new Set(all)];
  }

  /** Runs scenario files as the Testing view does. */
  async runFiles(uris: readonly vscode.Uri[], debug = false): Promise<Summary> {
    await this.discover();
    const items = uris.map((uri) => this.item(uri) ?? this.add(uri));
    const request = new vscode.TestRunRequest(items, undefined, debug ? this.debugProfile : this.runProfile);
    if (debug) {
      await this.debug(request);
      return { passed: 0, failed: 0, errored: 0 };
    }
    return this.run(request, new vscode.CancellationTokenSource().token, false);
  }

  /** Shows the results of scenarios that were run elsewhere. */
  async take(report: Report, cwd: string): Promise<void> {
    await this.discover();
    const played = report.scenarios.map((each) => {
      const uri = vscode.Uri.file(resolve(cwd, each.path));
      return [this.item(uri) ?? this.add(uri), each] as const;
    });
    const run = this.controller.createTestRun(new vscode.TestRunRequest(played.map(([item]) => item), undefined, this.runProfile));
    for (const [item, each] of played) {
      await this.report(run, item, each, { passed: 0, failed: 0, errored: 0 });
    }
    run.end();
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken, coverage: boolean): Promise<Summary> {
    const summary: Summary = { passed: 0, failed: 0, errored: 0 };
    await this.discover();
    const items = this.chosen(request);
    const run = this.controller.createTestRun(request);
    items.forEach((item) => run.started(item));
    const folder = await mkdtemp(join(tmpdir(), "workfile-tests-"));
    try {
      await vscode.workspace.saveAll(false);
      for (const [cwd, group] of byFolder(items)) {
        await this.play(run, cwd, group, coverage ? join(folder, `${summary.passed + summary.failed + summary.errored}.json`) : undefined, token, summary);
      }
    } catch (error) {
      if (!(error instanceof vscode.CancellationError)) {
        void this.missing.handle(error);
        const message = new vscode.TestMessage(error instanceof Error ? error.message : String(error));
        items.forEach((item) => run.errored(item, message));
        summary.errored = items.length;
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
      run.end();
    }
    return summary;
  }

  private async play(
    run: vscode.TestRun,
    cwd: string,
    items: readonly vscode.TestItem[],
    coverage: string | undefined,
    token: vscode.CancellationToken,
    summary: Summary,
  ): Promise<void> {
    const paths = items.map((item) => relative(cwd, item.uri?.fsPath ?? ""));
    const options = coverage === undefined ? [] : ["--coverage-json", coverage];
    const answer = await this.tool.json<Report>(["test", "--format", "json", ...options, "--", ...paths], { cwd, token });
    const byPath = new Map(answer.scenarios.map((played) => [resolve(cwd, played.path), played]));
    for (const item of items) {
      await this.report(run, item, byPath.get(item.uri?.fsPath ?? ""), summary);
    }
    if (coverage !== undefined) {
      const read = JSON.parse(await readFile(coverage, "utf8")) as { workfiles: CoveredFile[] };
      read.workfiles.forEach((file) => run.addCoverage(this.covered(cwd, file)));
    }
  }

  private async report(run: vscode.TestRun, item: vscode.TestItem, played: Played | undefined, summary: Summary): Promise<void> {
    const shownPath = item.uri === undefined ? item.label : vscode.workspace.asRelativePath(item.uri);
    run.appendOutput(`${played?.outcome ?? "error"}  ${shownPath}\r\n`, undefined, item);
    switch (played?.outcome) {
      case "passed":
        run.passed(item);
        summary.passed += 1;
        break;
      case "failed": {
        const text = item.uri === undefined ? "" : await readFile(item.uri.fsPath, "utf8");
        run.failed(item, played.differences.map((difference) => messageOf(item, difference, text)));
        summary.failed += 1;
        break;
      }
      default: {
        const texts = played?.messages ?? ["The command said nothing about this scenario."];
        run.errored(item, texts.map((each) => located(item, each)));
        summary.errored += 1;
      }
    }
  }

  private covered(cwd: string, file: CoveredFile): vscode.FileCoverage {
    const uri = vscode.Uri.file(isAbsolute(file.path) ? file.path : join(cwd, file.path));
    const details: vscode.StatementCoverage[] = [];
    const byPath = new Map<string, vscode.StatementCoverage>();
    for (const place of file.places) {
      const position = new vscode.Position(place.line - 1, place.column - 1);
      const step = byPath.get(place.path);
      if (step === undefined) {
        const statement = new vscode.StatementCoverage(place.hits, position, []);
        byPath.set(place.path, statement);
        details.push(statement);
      } else {
        step.branches.push(new vscode.BranchCoverage(place.hits, position, `${place.kind} ${place.outcome}`));
      }
    }
    const coverage = vscode.FileCoverage.fromDetails(uri, details);
    this.details.set(coverage, details);
    return coverage;
  }

  private async debug(request: vscode.TestRunRequest): Promise<void> {
    await this.discover();
    for (const item of this.chosen(request)) {
      const uri = item.uri;
      if (uri !== undefined) {
        await debugScenario(uri);
      }
    }
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }
}

/** Starts a session for a scenario, and waits until it has ended. */
export async function debugScenario(uri: vscode.Uri): Promise<void> {
  const name = uri.path.split("/").at(-1) ?? "";
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  const ended = new Promise<void>((settle) => {
    const listening = vscode.debug.onDidTerminateDebugSession((session) => {
      if (session.configuration["scenario"] === uri.fsPath) {
        listening.dispose();
        settle();
      }
    });
  });
  const configuration = { type: "workfile", request: "launch", name: `Scenario ${name}`, scenario: uri.fsPath, stopOnEntry: true };
  if (await vscode.debug.startDebugging(folder, configuration)) {
    await ended;
  }
}

function byFolder(items: readonly vscode.TestItem[]): Map<string, vscode.TestItem[]> {
  const groups = new Map<string, vscode.TestItem[]>();
  for (const item of items) {
    const uri = item.uri;
    if (uri !== undefined) {
      const cwd = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? join(uri.fsPath, "..");
      groups.set(cwd, [...(groups.get(cwd) ?? []), item]);
    }
  }
  return groups;
}

function messageOf(item: vscode.TestItem, difference: Difference, text: string): vscode.TestMessage {
  const message = vscode.TestMessage.diff(`\`${difference.at}\` is not as expected`, shown(difference.expected), shown(difference.actual));
  if (item.uri !== undefined) {
    message.location = new vscode.Location(item.uri, new vscode.Position(lineOf(text, difference.at), 0));
  }
  return message;
}

/** The line of `expect`, or better the one below it that has the key; only where a message is shown depends on it. */
function lineOf(text: string, at: string): number {
  const lines = text.split(/\r\n|\r|\n/);
  const expect = lines.findIndex((line) => /^expect\s*:/.test(line));
  const key = at.split(".")[0] ?? "";
  const below = lines.findIndex((line, number) => number > expect && line.trimStart().startsWith(`${key}:`));
  return Math.max(expect >= 0 && below >= 0 ? below : expect, 0);
}

/** `path:line:column: rule: text`, as the command writes findings. */
function located(item: vscode.TestItem, text: string): vscode.TestMessage {
  const [, line, column, rest] = /^.*?:(\d+):(\d+): ([\s\S]*)$/.exec(text) ?? [];
  const message = new vscode.TestMessage(rest ?? text);
  if (item.uri !== undefined) {
    message.location = new vscode.Location(item.uri, new vscode.Position(Number(line ?? 1) - 1, Number(column ?? 1) - 1));
  }
  return message;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "nothing");
}
