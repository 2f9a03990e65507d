/** What the extension and its webviews say to each other. */

export type Tone = "plain" | "good" | "bad" | "wait";

/** One thing that happened; `text` is null for what only keeps the books. */
export interface Happened {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly path: string;
  readonly generation: number;
  readonly text: string | null;
  readonly tone: Tone;
}

interface Placed {
  readonly path: string;
  readonly file?: string | null;
  readonly line?: number | null;
}

export interface Timer extends Placed {
  readonly timer: string;
  readonly deadline: string;
  readonly in: string;
}

export interface Subscription extends Placed {
  readonly trigger: string;
  readonly match: unknown;
  readonly deadline?: string | null;
  readonly example: unknown;
}

export interface Hold extends Placed {
  readonly reason: string;
  readonly code?: string | null;
  readonly allowed: readonly string[];
  readonly example?: unknown;
}

export interface Effect {
  readonly action: string;
  readonly key?: string | null;
  readonly path: string;
  readonly count: number;
  readonly invocations: number;
}

export interface Crash {
  readonly at: string;
  readonly seq: number;
  readonly back: string | null;
}

/** One execution of a step or state. `to` is null while it is in progress. */
export interface Bar extends Placed {
  readonly kind: string;
  readonly generation: number;
  readonly seq: number;
  readonly to: string | null;
  readonly state: string;
  readonly superseded: boolean;
}

export type Control = "stepBack" | "continue" | "crash" | "resume" | "advance" | "deliver" | "decide" | "cancel" | "explore";

/** The answer of `workfile/timeline` (docs/debugging.md): a debugged run as data. */
export interface Run {
  readonly version: number;
  /** The Workfile; null where only the definition that is pinned in a history is shown. */
  readonly file: string | null;
  readonly workflow: string;
  readonly run: string;
  readonly mode: "live" | "history";
  readonly status: string;
  readonly down: boolean;
  readonly over: boolean;
  readonly clock: { readonly start: string; readonly now: string; readonly elapsed: string };
  readonly position: Placed & { readonly seq: number; readonly next: number | null };
  readonly stop: { readonly reason: string; readonly text: string | null } | null;
  readonly waiting: readonly { readonly kind: string; readonly path: string; readonly deadline?: string | null }[];
  readonly timers: readonly Timer[];
  readonly subscriptions: readonly Subscription[];
  readonly holds: readonly Hold[];
  readonly effects: readonly Effect[] | null;
  readonly bars: readonly Bar[];
  readonly records: readonly Happened[];
  readonly recordsTotal: number;
  readonly future: number;
  readonly crashes: readonly Crash[];
  readonly generation: number;
  readonly result: unknown;
  readonly failure: { readonly code: string; readonly message: string; readonly path: string } | null;
  readonly can: Readonly<Record<Control, boolean>>;
}

export type ToSimulation =
  | { readonly type: "run"; readonly run: Run | null; readonly ended: boolean; readonly actor: string }
  | { readonly type: "busy" }
  | { readonly type: "error"; readonly text: string };

export type FromSimulation =
  | { readonly type: "ready" }
  | { readonly type: "open"; readonly path: string }
  | { readonly type: "start" }
  | { readonly type: "crash" }
  | { readonly type: "resume" }
  | { readonly type: "continue" }
  | { readonly type: "next" }
  | { readonly type: "stepBack" }
  | { readonly type: "cancel"; readonly reason: string }
  | { readonly type: "explore" }
  | { readonly type: "advance"; readonly by: string }
  | { readonly type: "advanceTo"; readonly to: string }
  | { readonly type: "deliver"; readonly trigger: string; readonly payload: string; readonly id: string }
  | { readonly type: "decide"; readonly on: string; readonly actor: string; readonly decide: string };

export type ToGraph =
  | { readonly type: "graph"; readonly svg: string; readonly name: string }
  | { readonly type: "cursor"; readonly path: string | null }
  | { readonly type: "debug"; readonly current: readonly string[]; readonly done: readonly string[]; readonly failed: readonly string[] }
  | { readonly type: "message"; readonly text: string };

export type FromGraph = { readonly type: "ready" } | { readonly type: "open"; readonly path: string };

/** `workfile explore --format json`. */
export interface CrashPoint {
  readonly path: string;
  readonly point: "before" | "after";
  readonly record: string;
  readonly outcomes: readonly string[];
  /** What comes of it when an operator has decided. */
  readonly decided?: readonly string[];
  /** By outcome, why. */
  readonly why?: Readonly<Record<string, string>>;
  /** Whether the run comes by when nothing else goes otherwise. */
  readonly expected?: boolean;
  readonly scenario?: string | null;
}

export interface ExploreFinding {
  readonly kind: string;
  readonly path: string;
  readonly message: string;
  readonly scenario: string | null;
  readonly steps?: readonly string[];
}

export interface Exploration {
  readonly version: number;
  readonly complete: boolean;
  readonly states: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly crash_points: readonly CrashPoint[];
  readonly never: readonly string[];
  readonly findings: readonly ExploreFinding[];
  readonly not_covered?: readonly string[];
}

export type ToMatrix =
  | { readonly type: "running"; readonly name: string; readonly line: string }
  | { readonly type: "result"; readonly name: string; readonly scenario: string | null; readonly result: Exploration }
  | { readonly type: "error"; readonly text: string };

export type FromMatrix =
  | { readonly type: "ready" }
  | { readonly type: "again" }
  | { readonly type: "scenario" }
  | { readonly type: "open"; readonly path: string }
  | { readonly type: "openScenario"; readonly scenario: string }
  | { readonly type: "debugScenario"; readonly scenario: string }
  | { readonly type: "debugPoint"; readonly path: string; readonly point: "before" | "after"; readonly record: string };

export type ToHistory =
  | { readonly type: "history"; readonly name: string; readonly run: Run | null; readonly problem: string | null }
  | { readonly type: "record"; readonly seq: number; readonly json: string }
  | { readonly type: "answer"; readonly title: string; readonly tone: Tone; readonly text: string; readonly seq: number | null }
  | { readonly type: "busy"; readonly title: string };

export type FromHistory =
  | { readonly type: "ready" }
  | { readonly type: "record"; readonly seq: number }
  | { readonly type: "state"; readonly seq: number }
  | { readonly type: "reevaluate"; readonly other: boolean }
  | { readonly type: "impact" }
  | { readonly type: "debug"; readonly seq: number | null }
  | { readonly type: "source" };

/** What the layout's worker is asked, and what it answers. */
export interface LayoutRequest {
  readonly id: number;
  readonly dot: string;
}

export interface LayoutAnswer {
  readonly id: number;
  readonly svg?: string;
  readonly error?: string;
}
