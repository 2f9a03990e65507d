/** The Simulation panel. All it knows comes with the last message; what it wants it asks for. */
import type { Effect, FromSimulation, Happened, Hold, Run, Subscription, Timer, ToSimulation } from "../shared/messages";
import { button, connect, h, pathLink, render, root } from "./dom";
import { clock } from "./time";
import { timeline } from "./timeline";

interface State {
  readonly view: "timeline" | "records";
  readonly advance: string;
}

const api = connect<State>();
let state: State = api.getState() ?? { view: "timeline", advance: "1h" };
let run: Run | null = null;
let ended = true;
let busy = false;
let actor = "operator";
let problem = "";
/** What is being written in forms, by the form's name, so that a new state of the run does not throw it away. */
const drafts = new Map<string, string>();

function post(message: FromSimulation): void {
  problem = "";
  api.postMessage(message);
}

function keep(changes: Partial<State>): void {
  state = { ...state, ...changes };
  api.setState(state);
  draw();
}

const open = (path: string): void => post({ type: "open", path });

function draw(): void {
  if (run === null) {
    render(
      root(),
      h(
        "div",
        { class: "empty" },
        h("p", {}, "No simulated run yet. Open a Workfile or a scenario and press F5: the run appears here, with its virtual time, what it waits for, and what the outside world saw."),
        button("Debug a simulated run", () => post({ type: "start" }), { class: "primary" }),
      ),
    );
    return;
  }
  render(
    root(),
    header(run),
    h("p", { class: "error problem", role: "alert", hidden: problem === "" }, problem),
    h("div", { class: "columns" }, h("section", { class: "history", "aria-label": "What happened" }, happened(run)), h("div", { class: "side" }, ...cards(run))),
  );
  const lanes = document.querySelector(".timeline");
  lanes?.scrollTo({ left: lanes.scrollWidth, top: lanes.scrollTop });
}

// ---- the head ------------------------------------------------------------------------------------

const TONES: Record<string, string> = { succeeded: "good", failed: "bad", aborted: "bad", held: "held", suspended: "wait", stopped: "good", cancelled: "bad" };

function header(run: Run): HTMLElement {
  const status = run.down ? "executor down" : run.status;
  const tone = run.down ? "bad" : (TONES[run.status] ?? "muted");
  const said = run.failure !== null ? `${run.failure.code}: ${run.failure.message}` : (run.stop?.text ?? "");
  return h(
    "header",
    {},
    h(
      "div",
      { class: "facts" },
      h("span", { class: `chip ${tone}`, role: "status" }, status),
      h("time", { datetime: run.clock.now, title: `Virtual time; the run began at ${run.clock.start}` }, `${clock(run.clock.now)} (+${run.clock.elapsed})`),
      run.generation > 0 && h("span", { class: "chip" }, `generation ${run.generation}`),
      run.future > 0 && h("span", { class: "chip wait", title: "Going on another way drops them." }, `${run.future} later record${run.future === 1 ? "" : "s"}`),
      run.mode === "history" && h("span", { class: "chip" }, "recorded history"),
      ended && h("span", { class: "chip" }, "session ended"),
      said !== "" && h("span", { class: "said", title: said }, said),
    ),
    controls(run),
  );
}

function controls(run: Run): HTMLElement {
  const live = !ended && !busy;
  const can = (name: keyof Run["can"]): boolean => live && run.can[name];
  const duration = h("input", {
    value: state.advance,
    size: 6,
    "data-key": "advance-by",
    "aria-label": "Duration to advance by",
    title: "A duration, such as 30s, 2h or 1d12h",
    disabled: !can("advance"),
    onchange: (event) => keep({ advance: (event.target as HTMLInputElement).value }),
    onkeydown: (event) => {
      if ((event as KeyboardEvent).key === "Enter") {
        keep({ advance: (event.target as HTMLInputElement).value });
        post({ type: "advance", by: state.advance });
      }
    },
  });
  const control = (label: string, name: keyof Run["can"], message: FromSimulation, title: string, kind = ""): HTMLElement =>
    button(label, () => post(message), { disabled: !can(name), title, class: kind, "data-key": `control-${label}` });
  return h(
    "div",
    { class: "toolbar", role: "toolbar", "aria-label": "Controls of the run" },
    control("Step", "continue", { type: "next" }, "Go on to the next step"),
    control("Back", "stepBack", { type: "stepBack" }, "Undo the last step of the debugger"),
    run.down
      ? control("Resume", "resume", { type: "resume" }, "The executor comes back, with its state from the history", "primary")
      : control("Crash", "crash", { type: "crash" }, "The executor dies: its memory is gone, its history stays", "danger"),
    h("span", { class: "group" }, control("Advance", "advance", { type: "advance", by: state.advance }, "Move the clock; what is due on the way happens"), duration),
    control("Cancel run", "cancel", { type: "cancel", reason: "" }, "Cancel the run"),
    control("Explore", "explore", { type: "explore" }, "What can happen from here: every crash and every outcome"),
  );
}

// ---- what happened -------------------------------------------------------------------------------

function happened(run: Run): HTMLElement {
  const tab = (view: State["view"], label: string): HTMLElement =>
    button(label, () => keep({ view }), { role: "tab", "aria-selected": String(state.view === view), class: `tab${state.view === view ? " on" : ""}`, "data-key": `tab-${view}` });
  const left = run.recordsTotal - run.records.length;
  return h(
    "div",
    { class: "fill" },
    h("div", { class: "tabs", role: "tablist" }, tab("timeline", "Timeline"), tab("records", "Records"), left > 0 && h("span", { class: "muted" }, `the last ${run.records.length} of ${run.recordsTotal} records`)),
    state.view === "timeline"
      ? timeline(run.records, run.bars, { position: run.position.seq, crashes: run.crashes, now: run.clock.now, open: (record) => open(record.path) })
      : records(run.records),
  );
}

function records(all: readonly Happened[]): HTMLElement {
  const shown = all.filter((record) => record.text !== null).slice(-500).reverse();
  const row = (record: Happened): HTMLElement =>
    h("tr", {}, h("td", { class: "num muted" }, String(record.seq)), h("td", { class: "time" }, clock(record.at)), h("td", {}, pathLink(record.path, open)), h("td", { class: record.tone }, record.text));
  return h("div", { class: "scroll", "data-scroll": "records" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { class: "num" }, "#"), h("th", {}, "Time"), h("th", {}, "Step"), h("th", {}, "What"))), h("tbody", {}, ...shown.map(row))));
}

// ---- what is pending -----------------------------------------------------------------------------

function cards(run: Run): HTMLElement[] {
  const found: HTMLElement[] = [];
  if (run.holds.length > 0) {
    found.push(card("Holds", run.holds.map((hold) => holdItem(hold, run))));
  }
  const pending = [...run.subscriptions.map((each) => subscriptionItem(each, run)), ...run.timers.map((each) => timerItem(each, run))];
  found.push(card("Waits for", pending.length > 0 ? pending : [h("p", { class: "muted" }, "No timer and no subscription is pending.")]));
  if (run.effects !== null) {
    found.push(card("Effects outside", [effects(run.effects)]));
  }
  return found;
}

function card(title: string, children: HTMLElement[]): HTMLElement {
  return h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...children);
}

function timerItem(timer: Timer, run: Run): HTMLElement {
  return h(
    "div",
    { class: "item" },
    h("span", { class: "wait", "aria-hidden": "true" }, "◷"),
    h("div", { class: "grow" }, pathLink(timer.path, open), " ", h("span", { class: "muted", title: timer.deadline }, `in ${timer.in}`)),
    button("Advance to it", () => post({ type: "advanceTo", to: timer.deadline }), { disabled: ended || busy || !run.can.advance, "data-key": `timer-${timer.path}-${timer.timer}` }),
  );
}

function subscriptionItem(wait: Subscription, run: Run): HTMLElement {
  const name = `deliver ${wait.path}`;
  const shown = Object.keys((wait.match as object | null) ?? {}).length > 0 ? JSON.stringify(wait.match) : "";
  const idle = ended || busy || !run.can.deliver;
  return h(
    "div",
    { class: "item" },
    h("span", { class: "wait", "aria-hidden": "true" }, "✉"),
    h(
      "div",
      { class: "grow" },
      h("span", { class: "path" }, wait.trigger),
      " at ",
      pathLink(wait.path, open),
      shown !== "" && h("div", { class: "muted path match" }, shown),
      form(name, "Deliver…", idle, JSON.stringify(wait.example, null, 2), "Payload (JSON)", "Deliver", (payload) => post({ type: "deliver", trigger: wait.trigger, payload, id: "" })),
    ),
  );
}

const REASONS: Record<string, string> = {
  ambiguous: "the outcome is not known",
  recovery_limit: "the recovery limit is spent",
  undo_failed: "a compensation failed",
  undo_ambiguous: "the outcome of a compensation is not known",
  reissue: "sending it again may repeat an effect",
  unsafe_continuation: "going on may repeat an effect",
};
const WAYS: Record<string, string> = { succeed: "It succeeded…", fail: "It failed…", reissue: "Send again", authorize_recovery: "Authorize recovery", abort: "Abort" };

function holdItem(hold: Hold, run: Run): HTMLElement {
  const idle = ended || busy || !run.can.decide;
  const decide = (decision: unknown): void => post({ type: "decide", on: hold.path, actor, decide: typeof decision === "string" ? decision : JSON.stringify(decision) });
  const way = (name: string): HTMLElement => {
    const label = WAYS[name] ?? name;
    if (name === "succeed") {
      return form(`${name} ${hold.path}`, label, idle, JSON.stringify(hold.example ?? {}, null, 2), "Its result (JSON)", "Decide", (text) => decide(`{"succeed": ${text}}`));
    }
    if (name === "fail") {
      const failure = { code: hold.code ?? "no_effect", message: "Decided by an operator.", retryable: false };
      return form(`${name} ${hold.path}`, label, idle, JSON.stringify(failure, null, 2), "Its failure (JSON)", "Decide", (text) => decide(`{"fail": ${text}}`));
    }
    return button(label, () => decide(JSON.stringify(name)), { disabled: idle, "data-key": `decide-${name}-${hold.path}` });
  };
  return h(
    "div",
    { class: "item" },
    h("span", { class: "held", "aria-hidden": "true" }, "‖"),
    h("div", { class: "grow" }, pathLink(hold.path, open), h("div", {}, `${hold.reason}: ${REASONS[hold.reason] ?? ""}`), h("div", { class: "ways" }, ...hold.allowed.map(way))),
  );
}

/** A button that opens a text field; what is written there is sent by the second button. */
function form(name: string, label: string, idle: boolean, initial: string, field: string, verb: string, send: (text: string) => void): HTMLElement {
  const draft = drafts.get(name);
  if (draft === undefined) {
    const start = (): void => {
      drafts.set(name, initial);
      draw();
      document.querySelector<HTMLElement>(`[data-key="${CSS.escape(`text ${name}`)}"]`)?.focus();
    };
    return button(label, start, { disabled: idle, "data-key": `form ${name}`, class: "opens" });
  }
  const text = h("textarea", { rows: Math.min(draft.split("\n").length, 10), "aria-label": field, spellcheck: "false", "data-key": `text ${name}`, oninput: () => drafts.set(name, text.value) });
  text.value = draft;
  const submit = (): void => {
    drafts.delete(name);
    send(text.value);
  };
  const close = (): void => {
    drafts.delete(name);
    draw();
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      submit();
    } else if (event.key === "Escape") {
      close();
    }
  });
  return h("div", { class: "form" }, h("label", {}, field), text, h("div", { class: "toolbar" }, button(verb, submit, { class: "primary", disabled: idle }), button("Close", close)));
}

function effects(all: readonly Effect[]): HTMLElement {
  if (all.length === 0) {
    return h("p", { class: "muted" }, "The outside world was not called yet.");
  }
  const row = (effect: Effect): HTMLElement =>
    h("tr", {}, h("td", {}, h("span", { class: "path" }, effect.action), h("div", {}, pathLink(effect.path, open))), h("td", { class: "num" }, String(effect.count)), h("td", { class: "num" }, String(effect.invocations)));
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("th", {}, "Action"), h("th", { class: "num", title: "Effects that took place" }, "Effects"), h("th", { class: "num", title: "Calls that arrived" }, "Calls"))),
    h("tbody", {}, ...all.map(row)),
  );
}

window.addEventListener("message", ({ data }: MessageEvent<ToSimulation>) => {
  switch (data.type) {
    case "run":
      if (data.run?.run !== run?.run) {
        drafts.clear();
      }
      run = data.run;
      ended = data.ended;
      actor = data.actor;
      busy = false;
      break;
    case "busy":
      busy = true;
      break;
    case "error":
      problem = data.text;
      busy = false;
  }
  draw();
});

draw();
post({ type: "ready" });
