/** The crash matrix: steps down, records across, and in each cell what a crash before and after that record leads to. */
import type { CrashPoint, Exploration, ExploreFinding, FromMatrix, ToMatrix } from "../shared/messages";
import { arrowKeys, button, connect, h, pathLink, render, root } from "./dom";

const api = connect<never>();
const post = (message: FromMatrix): void => api.postMessage(message);
const open = (path: string): void => post({ type: "open", path });

let last: ToMatrix | undefined;
let chosen: CrashPoint | undefined;
/** Whether crash points are shown that come only after something else has gone otherwise. */
let all = false;

/** From what must not be to what is fine; a cell shows the worst of its outcomes. */
const RANK = ["failed", "aborted", "held", "cancelled", "suspended", "stopped", "succeeded"];
const SIGNS: Record<string, string> = { succeeded: "✓", stopped: "■", suspended: "…", held: "‖", cancelled: "⊘", failed: "✕", aborted: "⊗" };
const TONES: Record<string, string> = { succeeded: "good", stopped: "good", suspended: "wait", held: "held", cancelled: "muted", failed: "bad", aborted: "bad" };

function worst(outcomes: readonly string[]): string {
  return RANK.find((each) => outcomes.includes(each)) ?? outcomes[0] ?? "";
}

function draw(): void {
  switch (last?.type) {
    case undefined:
      break;
    case "running":
      render(root(), h("div", { class: "empty", role: "status" }, h("p", {}, `Exploring ${last.name}…`), h("progress", { "aria-label": "Exploring" }), h("p", { class: "muted" }, last.line)));
      break;
    case "error":
      render(root(), h("div", { class: "page" }, h("p", { class: "error", role: "alert" }, last.text), button("Try again", () => post({ type: "again" }), { class: "primary" })));
      break;
    case "result":
      result(last.name, last.scenario, last.result);
  }
}

function result(name: string, scenario: string | null, found: Exploration): void {
  const outcomes = Object.entries(found.outcomes).map(([outcome, count]) => h("span", { class: `chip ${TONES[outcome] ?? ""}` }, `${SIGNS[outcome] ?? "?"} ${outcome} ${count}`));
  render(
    root(),
    h(
      "div",
      { class: "page" },
      h("div", { class: "head" }, h("h1", {}, name), h("span", { class: "muted" }, scenario ?? "no scenario"), h("span", { class: "spacer" }), button("Scenario…", () => post({ type: "scenario" })), button("Explore again", () => post({ type: "again" }))),
      h("p", { class: "facts" }, `${found.states} states`, ...outcomes, !found.complete && h("span", { class: "chip held", title: "The budget or the number of states was reached: what is shown is not all." }, "not complete")),
      findings(found.findings),
      crashes(found.crash_points),
      never(found.never),
      found.not_covered !== undefined && h("p", { class: "muted" }, `Not covered: ${found.not_covered.join("; ")}.`),
    ),
  );
}

function findings(all: readonly ExploreFinding[]): HTMLElement {
  if (all.length === 0) {
    return h("p", { class: "good" }, "✓ No effect happens twice, and none is lost against the profile.");
  }
  const row = (finding: ExploreFinding): HTMLElement => {
    const { scenario } = finding;
    return h(
      "tr",
      {},
      h("td", { class: "bad" }, `✕ ${finding.kind}`),
      h("td", {}, pathLink(finding.path, open)),
      h("td", {}, finding.message, ...(finding.steps ?? []).map((step) => h("div", { class: "muted" }, step))),
      h("td", { class: "actions" }, scenario !== null && button("Debug", () => post({ type: "debugScenario", scenario }), { class: "primary" }), scenario !== null && button("Open", () => post({ type: "openScenario", scenario }))),
    );
  };
  return h("table", { class: "findings" }, h("thead", {}, h("tr", {}, ...["Finding", "Step", "What", "Counterexample"].map((each) => h("th", { scope: "col" }, each)))), h("tbody", {}, ...all.map(row)));
}

function crashes(points: readonly CrashPoint[]): HTMLElement {
  if (points.length === 0) {
    return h("p", { class: "muted" }, "There was no point at which the executor could crash.");
  }
  const expected = points.filter((point) => point.expected !== false);
  const shown = all || expected.length === 0 ? points : expected;
  const toggle = (label: string, value: boolean, count: number): HTMLElement =>
    button(
      `${label} (${count})`,
      () => {
        all = value;
        draw();
      },
      { class: `tab${all === value ? " on" : ""}`, "aria-pressed": String(all === value), "data-key": `all-${value}` },
    );
  return h(
    "section",
    { "aria-label": "Crash points" },
    h("div", { class: "toolbar" }, h("h2", {}, "Crash points"), toggle("of the expected run", false, expected.length), toggle("of every run", true, points.length)),
    details(),
    table(shown),
    legend(),
  );
}

function table(points: readonly CrashPoint[]): HTMLElement {
  const records = [...new Set(points.map((point) => point.record))];
  const rows = new Map<string, Map<string, CrashPoint[]>>();
  for (const point of points) {
    const row = rows.get(point.path) ?? new Map<string, CrashPoint[]>();
    row.set(point.record, [...(row.get(point.record) ?? []), point]);
    rows.set(point.path, row);
  }
  const head = h("tr", {}, h("th", { scope: "col", class: "corner" }, "Crash at"), ...records.map((record) => h("th", { scope: "col" }, h("span", { class: "record" }, record))));
  const body = [...rows].map(([path, row]) => h("tr", {}, h("th", { scope: "row" }, pathLink(path, open)), ...records.map((record) => h("td", {}, ...(row.get(record) ?? []).map(cell)))));
  const grid = h("table", { class: "matrix" }, h("thead", {}, head), h("tbody", {}, ...body));
  arrowKeys(grid, ".cell");
  return h("div", { class: "scroll", "data-scroll": "matrix" }, grid);
}

function cell(point: CrashPoint): HTMLElement {
  const outcome = worst(point.outcomes);
  const same = chosen !== undefined && key(chosen) === key(point);
  const what = `A crash ${point.point} ${point.record} of ${point.path || "the run"}: ${point.outcomes.join(" or ")}`;
  const choose = (): void => {
    chosen = point;
    draw();
  };
  return button(`${point.point === "before" ? "‹" : ""}${SIGNS[outcome] ?? "?"}${point.point === "after" ? "›" : ""}`, choose, {
    class: `cell ${TONES[outcome] ?? ""}${same ? " chosen" : ""}`,
    title: what,
    "aria-label": what,
    "aria-pressed": String(same),
    "data-key": key(point),
  });
}

function key(point: CrashPoint): string {
  return `${point.path} ${point.record} ${point.point}`;
}

function details(): HTMLElement {
  const point = chosen;
  if (point === undefined) {
    return h("p", { class: "muted details" }, "Choose a cell to see what the crash leads to.");
  }
  const debugThis = (): void => {
    const { scenario, path, point: side, record } = point;
    post(scenario ? { type: "debugScenario", scenario } : { type: "debugPoint", path, point: side, record });
  };
  return h(
    "div",
    { class: "details", role: "status" },
    h("span", {}, `The executor dies ${point.point} `, h("code", {}, point.record), " of ", pathLink(point.path, open), ": "),
    ...point.outcomes.map((outcome) => h("span", { class: `chip ${TONES[outcome] ?? ""}`, title: point.why?.[outcome] ?? "" }, `${SIGNS[outcome] ?? "?"} ${outcome}`)),
    ...Object.values(point.why ?? {}).map((why) => h("span", { class: "muted" }, why)),
    (point.decided ?? []).length > 0 && h("span", { class: "muted" }, `after a decision: ${point.decided?.join(", ")}`),
    button("Debug this crash", debugThis, { class: "primary", "data-key": "debug-point" }),
  );
}

function legend(): HTMLElement {
  return h("p", { class: "legend muted" }, "‹ before the record is written, its effect may have taken place   › after it", ...[...RANK].reverse().map((outcome) => h("span", { class: TONES[outcome] ?? "" }, ` ${SIGNS[outcome]} ${outcome}`)));
}

function never(paths: readonly string[]): HTMLElement | null {
  return paths.length === 0 ? null : h("p", {}, "Never reached: ", ...paths.flatMap((path, index) => [index > 0 ? ", " : "", pathLink(path, open)]));
}

window.addEventListener("message", ({ data }: MessageEvent<ToMatrix>) => {
  if (data.type !== "result" || last?.type !== "result" || data.name !== last.name) {
    chosen = undefined;
  }
  last = data;
  draw();
});

post({ type: "ready" });
