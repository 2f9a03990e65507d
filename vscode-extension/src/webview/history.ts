/** A recorded run: its timeline, its records, and what was asked about it. */
import type { FromHistory, Happened, Run, ToHistory } from "../shared/messages";
import { button, connect, h, render, root } from "./dom";
import { clock } from "./time";
import { timeline } from "./timeline";

const PAGE = 500;

const api = connect<never>();
const post = (message: FromHistory): void => api.postMessage(message);

let name = "";
let run: Run | null = null;
let problem: string | null = null;
let view: "timeline" | "records" = "timeline";
let filter = "";
let pages = 1;
let chosen: number | null = null;
let json = "";
let answer: Extract<ToHistory, { type: "answer" }> | null = null;
let busy: string | null = null;

function choose(record: Happened): void {
  chosen = record.seq;
  json = "";
  post({ type: "record", seq: record.seq });
  draw();
}

function draw(): void {
  if (run === null) {
    const text = problem === null ? h("p", { class: "muted", role: "status" }, "Reading the history…") : h("p", { class: "error", role: "alert" }, problem);
    render(root(), h("div", { class: "page" }, h("h1", {}, name), text, problem !== null && button("Open as text", () => post({ type: "source" }))));
    return;
  }
  render(root(), head(run), h("div", { class: "columns" }, h("section", { class: "left", "aria-label": "What happened" }, tabs(run), view === "timeline" ? lanes(run) : table(run)), side()));
}

const TONES: Record<string, string> = { succeeded: "good", failed: "bad", aborted: "bad", held: "held", suspended: "wait" };

function head(run: Run): HTMLElement {
  return h(
    "header",
    {},
    h(
      "div",
      { class: "facts" },
      h("h1", {}, run.workflow),
      h("span", { class: "muted path" }, run.run),
      h("span", { class: `chip ${TONES[run.status] ?? ""}` }, run.status),
      h("span", {}, `${clock(run.clock.start)} to ${clock(run.clock.now)} (${run.clock.elapsed})`),
      h("span", { class: "muted" }, `${run.recordsTotal} record${run.recordsTotal === 1 ? "" : "s"}`),
    ),
    h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "History" },
      button("Debug", () => post({ type: "debug", seq: null }), { class: "primary", title: "Walk through it in the debugger, on and back" }),
      button("Re-evaluate", () => post({ type: "reevaluate", other: false }), { title: "Decide everything again on the pinned definition" }),
      button("Re-evaluate on…", () => post({ type: "reevaluate", other: true }), { title: "On a Workfile of this workspace" }),
      button("Impact of an edit…", () => post({ type: "impact" }), { title: "What an edit means for the runs in this folder" }),
      button("Open as text", () => post({ type: "source" }), { class: "quiet" }),
    ),
  );
}

function tabs(run: Run): HTMLElement {
  const tab = (each: typeof view, label: string): HTMLElement =>
    button(
      label,
      () => {
        view = each;
        draw();
      },
      { role: "tab", "aria-selected": String(view === each), class: `tab${view === each ? " on" : ""}`, "data-key": `tab-${each}` },
    );
  const search = h("input", {
    type: "search",
    placeholder: "Filter by step or record",
    "aria-label": "Filter by step or record",
    "data-key": "filter",
    oninput: () => {
      filter = search.value;
      pages = 1;
      draw();
      const again = document.querySelector<HTMLInputElement>("[data-key=filter]");
      again?.setSelectionRange(filter.length, filter.length);
    },
  });
  search.value = filter;
  const left = run.recordsTotal - run.records.length;
  return h("div", { class: "tabs", role: "tablist" }, tab("timeline", "Timeline"), tab("records", "Records"), search, left > 0 && h("span", { class: "muted" }, `the last ${run.records.length} records`));
}

function fitting(run: Run): readonly Happened[] {
  const wanted = filter.trim().toLowerCase();
  return wanted === "" ? run.records : run.records.filter((record) => `${record.path} ${record.kind} ${record.text ?? ""}`.toLowerCase().includes(wanted));
}

function lanes(run: Run): HTMLElement {
  const all = fitting(run).slice(-3000);
  const paths = new Set(all.map((record) => record.path));
  return timeline(all, run.bars.filter((bar) => paths.has(bar.path)), { position: chosen ?? run.position.seq, crashes: run.crashes, open: choose });
}

function table(run: Run): HTMLElement {
  const all = fitting(run);
  const shown = all.slice(0, pages * PAGE);
  const row = (record: Happened): HTMLElement =>
    h(
      "tr",
      { class: record.seq === chosen ? "chosen" : record.seq === answer?.seq ? "marked" : "" },
      h("td", { class: "num" }, button(String(record.seq), () => choose(record), { class: "link", "data-key": `record-${record.seq}` })),
      h("td", { class: "time" }, clock(record.at)),
      h("td", { class: "path" }, record.kind),
      h("td", { class: "path" }, record.path || "the run"),
      h("td", { class: record.tone }, record.text ?? ""),
    );
  const more = (): void => {
    pages += 1;
    draw();
  };
  return h(
    "div",
    { class: "scroll", "data-scroll": "records" },
    h("table", {}, h("thead", {}, h("tr", {}, ...["#", "Time", "Record", "Step", "What"].map((each) => h("th", { scope: "col" }, each)))), h("tbody", {}, ...shown.map(row))),
    shown.length < all.length && button(`Show more (${all.length - shown.length} left)`, more, { "data-key": "more" }),
  );
}

function side(): HTMLElement {
  const seq = chosen;
  const parts: HTMLElement[] = [];
  if (busy !== null) {
    parts.push(h("p", { class: "muted", role: "status" }, `${busy}…`));
  } else if (answer !== null) {
    parts.push(h("section", { "aria-label": answer.title }, h("h2", {}, answer.title), h("pre", { class: answer.tone, role: "status" }, answer.text)));
  }
  if (seq !== null) {
    parts.push(
      h(
        "section",
        { "aria-label": `Record ${seq}` },
        h("h2", {}, `Record ${seq}`),
        h("div", { class: "toolbar" }, button("State here", () => post({ type: "state", seq }), { "data-key": "state" }), button("Debug from here", () => post({ type: "debug", seq }), { "data-key": "debug" })),
        h("pre", {}, json),
      ),
    );
  }
  if (parts.length === 0) {
    parts.push(h("p", { class: "muted" }, "Choose a record to see its data, and the state of the run there."));
  }
  return h("div", { class: "side", "data-scroll": "side" }, ...parts);
}

window.addEventListener("message", ({ data }: MessageEvent<ToHistory>) => {
  switch (data.type) {
    case "history":
      ({ name, run, problem } = data);
      break;
    case "record":
      json = data.seq === chosen ? data.json : json;
      break;
    case "busy":
      busy = data.title;
      break;
    case "answer":
      busy = null;
      answer = data;
  }
  draw();
});

draw();
post({ type: "ready" });
