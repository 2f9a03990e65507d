/**
 * Draws what happened over virtual time: a row for each step, a mark for each record, lines for crashes and for where
 * one is. Time is not to scale, since simulated work takes none: what happens at one instant is spread in its order,
 * and the time between instants is compressed.
 */
import type { Bar, Crash, Happened } from "../shared/messages";
import { arrowKeys, h, s } from "./dom";
import { clock, length, micros } from "./time";

export interface TimelineOptions {
  /** The last record that has happened. */
  readonly position: number;
  readonly crashes: readonly Crash[];
  readonly now?: string;
  readonly open: (record: Happened) => void;
}

const ROW = 22;
const SLOT = 15;
const HEAD = 34;
const MAX_ROWS = 300;
const GAP_MIN = 34;

/** What is drawn of the records, and how many rows are left out. */
export function timeline(records: readonly Happened[], bars: readonly Bar[], options: TimelineOptions): HTMLElement {
  const axis = axisOf(records, options.now);
  const all = rowsOf(records, bars);
  const rows = all.slice(0, MAX_ROWS);
  const height = HEAD + rows.length * ROW + 6;
  const width = axis.width + 14;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Timeline over virtual time" });
  drawGaps(svg, axis, height);
  const ends = endsOf(records);
  rows.forEach((row, index) => svg.append(drawRow(row, HEAD + index * ROW, axis, ends, options)));
  drawLines(svg, axis, height, options);
  arrowKeys(svg, ".mark");
  [...svg.querySelectorAll(".mark")].at(-1)?.setAttribute("tabindex", "0");
  const labels = h("div", { class: "labels" }, ...rows.map((row) => h("div", { class: "label path", title: row.path || "the run" }, row.path || "the run")));
  return h(
    "div",
    { class: "timeline", "data-scroll": "timeline" },
    labels,
    h("div", { class: "lanes" }, svg),
    all.length > rows.length && h("p", { class: "muted" }, `Rows that are not drawn: ${all.length - rows.length}.`),
  );
}

interface Row {
  readonly path: string;
  readonly marks: Happened[];
  readonly bars: Bar[];
}

interface Gap {
  readonly x: number;
  readonly width: number;
  readonly text: string;
}

interface Axis {
  readonly x: Map<number, number>;
  readonly gaps: Gap[];
  readonly ticks: { readonly x: number; readonly text: string }[];
  readonly width: number;
}

/** Places for the records: those with words take room, those that only keep the books stand where the next one does. */
function axisOf(records: readonly Happened[], now: string | undefined): Axis {
  const x = new Map<number, number>();
  const gaps: Gap[] = [];
  const ticks: { x: number; text: string }[] = [];
  let at = 12;
  let before: number | undefined;
  const pass = (instant: string): void => {
    const time = micros(instant);
    if (before === undefined) {
      ticks.push({ x: at, text: clock(instant) });
    } else if (time > before) {
      const passed = time - before;
      const width = Math.min(GAP_MIN + 5 * Math.log10(passed / 1000 + 1), 96);
      gaps.push({ x: at, width, text: length(passed) });
      at += width + SLOT / 2;
    }
    before = time;
  };
  for (const record of records) {
    pass(record.at);
    x.set(record.seq, at);
    at += record.text === null ? 0 : SLOT;
  }
  if (now !== undefined && records.length > 0) {
    pass(now);
  }
  return { x, gaps, ticks, width: Math.max(at + SLOT, 140) };
}

/** A row for each path, in the order in which they began; iterations have one only if something is told of them. */
function rowsOf(records: readonly Happened[], bars: readonly Bar[]): Row[] {
  const rows = new Map<string, Row>();
  const began = new Map(bars.map((bar) => [bar.seq, bar]));
  const rowOf = (path: string): Row => {
    const row = rows.get(path) ?? { path, marks: [], bars: [] };
    rows.set(path, row);
    return row;
  };
  for (const record of records) {
    const bar = began.get(record.seq);
    if (bar !== undefined && bar.kind !== "iteration") {
      rowOf(bar.path).bars.push(bar);
    }
    if (record.text !== null) {
      rowOf(record.path).marks.push(record);
    }
  }
  return [...rows.values()];
}

/** By path the numbers of the records that end an execution. */
function endsOf(records: readonly Happened[]): Map<string, number[]> {
  const ends = new Map<string, number[]>();
  for (const { kind, path, seq } of records) {
    if (kind === "step.succeeded" || kind === "step.failed" || kind === "step.skipped" || kind === "route.selected") {
      ends.set(path, [...(ends.get(path) ?? []), seq]);
    }
  }
  return ends;
}

function drawGaps(svg: SVGElement, axis: Axis, height: number): void {
  for (const gap of axis.gaps) {
    const left = gap.x - SLOT / 4;
    svg.append(
      s("rect", { class: "gap", x: left, y: 16, width: gap.width, height: height - 16 }),
      s("text", { class: "gap-text", x: left + gap.width / 2, y: 29, "text-anchor": "middle" }, gap.text),
    );
  }
  for (const tick of axis.ticks) {
    svg.append(s("text", { class: "tick", x: Math.max(tick.x - 8, 2), y: 12 }, tick.text));
  }
}

const BAR_TONES: Record<string, string> = { succeeded: "good", failed: "bad", held: "held", waiting: "wait", out: "wait", retry: "wait", child: "wait" };

function drawRow(row: Row, top: number, axis: Axis, ends: Map<string, number[]>, options: TimelineOptions): SVGGElement {
  const middle = top + ROW / 2;
  const group = s("g", { class: "row" }, s("line", { class: "lane", x1: 0, x2: axis.width, y1: top + ROW, y2: top + ROW }));
  for (const [index, bar] of row.bars.entries()) {
    const from = axis.x.get(bar.seq) ?? 0;
    const ended = ends.get(bar.path)?.find((seq) => seq >= bar.seq);
    const next = row.bars[index + 1]?.seq;
    const to = ended !== undefined ? axis.x.get(ended) : bar.to === null ? axis.width - SLOT : axis.x.get((next ?? options.position + 1) - 1);
    const tone = `${BAR_TONES[bar.state] ?? "plain"}${bar.to === null ? " open" : ""}${bar.superseded ? " superseded" : ""}`;
    const what = `${bar.path}: ${bar.superseded ? "superseded, " : ""}${bar.state}`;
    group.append(s("line", { class: `bar ${tone}`, x1: from, x2: Math.max(to ?? from, from + 4), y1: middle, y2: middle }, s("title", {}, what)));
  }
  for (const record of row.marks) {
    group.append(markOf(record, axis.x.get(record.seq) ?? 0, middle, options));
  }
  return group;
}

function markOf(record: Happened, x: number, y: number, options: TimelineOptions): SVGGElement {
  const what = `${record.path || "the run"}: ${record.text ?? record.kind} (${clock(record.at)}, record ${record.seq})`;
  const mark = s("g", { class: `mark ${record.tone}`, tabindex: -1, role: "button", "aria-label": what }, s("title", {}, what), shape(record, x, y));
  mark.classList.toggle("last", record.seq === options.position);
  mark.addEventListener("click", () => options.open(record));
  mark.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      options.open(record);
      event.preventDefault();
    }
  });
  return mark;
}

/** The form tells as much as the colour does: round is plain, filled good, a cross bad, a ring waits. */
function shape(record: Happened, x: number, y: number): SVGElement {
  switch (record.tone) {
    case "bad":
      return s("path", { d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}` });
    case "good":
      return s("circle", { cx: x, cy: y, r: 4.5 });
    case "wait":
      return s("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7, transform: `rotate(45 ${x} ${y})` });
    default:
      return s("circle", { cx: x, cy: y, r: 3 });
  }
}

function drawLines(svg: SVGElement, axis: Axis, height: number, options: TimelineOptions): void {
  const after = (seq: number): number => {
    let place = 4;
    for (const [number, x] of axis.x) {
      if (number <= seq) {
        place = x + SLOT / 2;
      }
    }
    return place;
  };
  for (const crash of options.crashes) {
    const x = after(crash.seq);
    const what = `The executor crashed at ${clock(crash.at)}${crash.back === null ? "" : `, back at ${clock(crash.back)}`}`;
    svg.append(s("g", { class: "crash" }, s("title", {}, what), s("line", { x1: x, x2: x, y1: 16, y2: height }), s("text", { x: x + 3, y: 12 }, "✕")));
  }
  const here = after(options.position);
  svg.append(s("line", { class: "here", x1: here, x2: here, y1: 16, y2: height }));
}
