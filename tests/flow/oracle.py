"""What can happen, by trying everything: an interpreter of small Workfiles written from the language page alone.

A run is a set of decisions (``History``): how each attempt ended, how each guard came out, which route was taken. The
interpreter evaluates the whole Workfile against the decisions so far and says which ones are open; the search takes
every open one every way, in every order, so all interleavings at step granularity are tried. When a failure stands at
a recovery scope, the redo set is worked out on the paths of what has happened, and what succeeded in it is collected;
then the scope recovers (the decisions of the redo set are forgotten and the run goes on) or gives up.

Nothing is shared with ``analyzer.flow``: no graph, no sets of possible successes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.flow.mini import MiniState, Node, Program, every_node

Path = tuple[Any, ...]
History = dict[Path, Any]
Covers = Callable[[Path], bool]

FAULTS = ("fault.kind", "fault.division")
ALL_FAULTS = (
    "fault.null_member",
    "fault.missing_member",
    "fault.kind",
    "fault.division",
    "fault.range",
    "fault.conversion",
    "fault.limit",
)
MAX_ENTRIES = 5
MAX_REDOS = 1


class TooBig(Exception):
    """The search has more states than the test wants to pay for."""


@dataclass
class Choice:
    """An open decision; ``passes`` when time goes by until it is taken."""

    key: Path
    options: list[Any]
    passes: bool = False


@dataclass
class Decide:
    """A failure stands at a recovery scope."""

    scope: Node | MiniState | Program
    path: Path
    failed: Path
    passes: bool = True


@dataclass
class Outcome:
    """How far a part has come: ``done``, ``open``, ``failed`` or ``ended``."""

    kind: str
    open: list[Choice | Decide] = field(default_factory=list)
    failed: Path = ()
    code: str = ""
    escalating: bool = False
    how: str = ""
    held: bool = False


DONE = Outcome("done")


def pending(key: Path, options: list[Any], passes: bool = False) -> Outcome:
    return Outcome("open", [Choice(key, options, passes)])


def failure(path: Path, code: str, escalating: bool = False) -> Outcome:
    return Outcome("failed", failed=path, code=code, escalating=escalating)


class Left(NamedTuple):
    """That a timer led to another state, or that a call was over its time (``to`` is then empty): what was out then."""

    to: str
    calls_out: tuple[Path, ...]


class Interpreter:
    """Evaluates a program against a history."""

    def __init__(self, program: Program, history: History, codes: tuple[str, ...]) -> None:
        self.program = program
        self.history = history
        self.codes = codes
        self.late: list[History] = []

    def run(self) -> Outcome:
        return self.root(self.program, ())

    # ---- roots and states --------------------------------------------------------------------------

    def root(self, program: Program, path: Path) -> Outcome:
        out = self.machine(program, path) if program.states else self.list(program.steps, path, bool(program.redo))
        if out.kind == "failed" and program.redo:
            return self.recover(program, path, out, scoped=False)
        if out.kind == "done" and program.result_fault:
            return self.fault((*path, "result"), path)
        return out

    def machine(self, program: Program, path: Path) -> Outcome:
        name = next(iter(program.states))
        for number in range(1, MAX_ENTRIES + 1):
            state = program.states[name]
            here = (*path, ("entry", number, name))
            left = self.history.get((*here, "timer"))
            if left is not None:
                name = left.to
                continue
            scoped = bool(state.redo or program.redo)
            out = self.list([*state.on_enter, *state.steps], here, scoped)
            if state.timers and (out.kind == "failed" or out.how == "abort outside"):
                out = self.last_boundary(state, here, out)
            if out.kind == "failed" and state.redo:
                out = self.recover(state, here, out, scoped=bool(program.redo))
            if out.kind == "done" and state.timers and state.final:
                out = self.last_boundary(state, here, out)
            elif out.kind == "done" and not state.final:
                out = self.route(state, here)
            if out.kind == "open":
                out_now = self.calls_out(out.open, here)
                options = [Left(to, out_now) for to in state.timers]
                timers: list[Choice | Decide] = [Choice((*here, "timer"), [option], True) for option in options]
                return Outcome("open", [*out.open, *timers], held=out.held)
            if out.kind != "routed":
                return out
            name = out.how
        return Outcome("open")

    def calls_out(self, found: list[Choice | Decide], here: Path) -> tuple[Path, ...]:
        """The actions below a place whose outcome is not known while time passes."""
        if not all(choice.passes for choice in found):
            return ()
        keys = [choice.key for choice in found if isinstance(choice, Choice)]
        keys += [key for key, value in self.history.items() if value == "unknown" and key[: len(here)] == here]
        waiting = {key[:-1] for key in keys if key[-1] in ("act", "settled")}
        return tuple(sorted((path for path in waiting if (*path, "settled") not in self.history), key=repr))

    def last_boundary(self, state: MiniState, here: Path, out: Outcome) -> Outcome:
        """A timer may have elapsed while the last step was in progress: the state is then left all the same."""
        taken = self.history.get((*here, "finish"))
        if taken is None:
            return pending((*here, "finish"), ["end", *state.timers])
        return out if taken == "end" else Outcome("routed", how=taken)

    def route(self, state: MiniState, here: Path) -> Outcome:
        options: list[Any] = []
        for guarded, may_fault, target in state.routes:
            options.append(("to", target))
            if may_fault:
                options += [("code", code) for code in FAULTS]
            if not guarded:
                break
        else:
            options.append(("code", "route.none"))
        taken = self.history.get((*here, "route"))
        if taken is None:
            return pending((*here, "route"), options)
        if taken[0] == "to":
            return Outcome("routed", how=taken[1])
        return failure(here, taken[1])

    # ---- lists and steps ---------------------------------------------------------------------------

    def list(self, steps: list[Node], path: Path, scoped: bool) -> Outcome:
        for node in steps:
            out = self.step(node, (*path, node.id), scoped)
            if out.kind != "done":
                return out
        return DONE

    def step(self, node: Node, path: Path, scoped: bool) -> Outcome:
        if node.guard:
            runs = self.history.get((*path, "when"))
            if runs is None:
                return pending((*path, "when"), [True, False])
            if not runs:
                return DONE
        more = ("config.invalid",) if node.kind in ("wait", "wait_for") else ()
        out = self.fault((*path, "own"), path, more) if node.fault else DONE
        if out.kind == "done":
            out = self.body(node, path, scoped)
            if out.kind == "failed" and node.redo:
                out = self.recover(node, path, out, scoped)
        if out.kind == "failed" and not out.escalating:
            return self.policy(node, path, out, scoped)
        return out

    def fault(self, key: Path, path: Path, more: tuple[str, ...] = ()) -> Outcome:
        found = self.history.get(key)
        if found is None:
            return pending(key, ["fine", *FAULTS, *more])
        return DONE if found == "fine" else failure(path, found)

    def policy(self, node: Node, path: Path, out: Outcome, scoped: bool) -> Outcome:
        """Catch, then on_fail.

        An abort is "outside" when the step in progress was another one, inside: a sibling's failure keeps it standing.
        """
        attempt = node.kind == "act"
        for position, (codes, steps) in enumerate(node.handlers):
            if codes is None or out.code in codes:
                handled = self.list(steps, (*path, ("catch", position)), scoped)
                if handled.kind != "failed" or handled.escalating:
                    return handled
                out = failure(path, handled.code)
                attempt = False
                break
        if node.on_fail == "continue":
            return DONE
        return Outcome("ended", how="abort" if attempt else "abort outside") if node.on_fail == "abort" else out

    def recover(self, scope: Node | MiniState | Program, path: Path, out: Outcome, scoped: bool) -> Outcome:
        if (*path, "gave up") not in self.history:
            return Outcome("open", [Decide(scope, path, out.failed)])
        if scope.then == "hold":
            return Outcome("open", held=True)
        if scope.then == "escalate" and scoped:
            return failure(out.failed, out.code, escalating=True)
        return failure(path, out.code)

    # ---- what a step does ---------------------------------------------------------------------------

    def body(self, node: Node, path: Path, scoped: bool) -> Outcome:
        inner = scoped or bool(node.redo)
        if node.kind == "act":
            return self.action(node, path, scoped)
        if node.kind in ("let", "wait"):
            key = (*path, "pass")
            return DONE if key in self.history else pending(key, [True], node.kind == "wait")
        if node.kind in ("stop", "fail"):
            key = (*path, "pass")
            return Outcome("ended", how=node.kind) if key in self.history else pending(key, [True])
        if node.kind == "group":
            return self.list(node.lists[0], path, inner)
        if node.kind == "wait_for":
            out = self.list(node.lists[0], path, inner)
            key = (*path, "pass")
            return out if out.kind != "done" or key in self.history else pending(key, [True], True)
        if node.kind == "if":
            return self.choice(node, path, inner)
        if node.kind == "parallel":
            return self.parallel(node, path, inner)
        if node.kind == "each":
            return self.each(node, path, inner)
        return self.call(node, path)

    def action(self, node: Node, path: Path, scoped: bool) -> Outcome:
        options = ["ok", "fail:z", *(f"fail:{code}" for code in self.codes)]
        if node.unknown == "fail":
            options += ["effect:z", *(f"effect:{code}" for code in self.codes)]
        if node.output:
            options.append("effect:output.invalid")
        if node.unknown == "reconcile":
            options.append("unknown")
        elif not node.unknown and node.idempotency == "none":
            options.append("abort")
        ended = self.history.get((*path, "act"))
        if ended is None:
            return pending((*path, "act"), options, True)
        if ended == "unknown":
            out = self.list(node.probes, (*path, "reconcile"), scoped)
            if out.kind in ("open", "ended") or (out.kind == "failed" and out.escalating):
                return out
            ended = self.history.get((*path, "settled"))
            if ended is None:
                return pending((*path, "settled"), ["ok", "fail:z", *(f"fail:{code}" for code in self.codes)], True)
        if ended == "abort":
            return Outcome("ended", how="abort")
        return DONE if ended == "ok" else failure(path, ended.partition(":")[2])

    def choice(self, node: Node, path: Path, scoped: bool) -> Outcome:
        taken = self.history.get((*path, "branch"))
        if taken is None:
            return pending((*path, "branch"), [0, 1])
        if taken >= len(node.lists):
            return DONE
        return self.list(node.lists[taken], (*path, ("branch", taken)), scoped)

    def parallel(self, node: Node, path: Path, scoped: bool) -> Outcome:
        outs = [self.list(steps, (*path, ("branch", i)), scoped) for i, steps in enumerate(node.lists)]
        return self.joined(outs, path, node.keep_going)

    def each(self, node: Node, path: Path, scoped: bool) -> Outcome:
        count = node.count
        if count is None:
            count = self.history.get((*path, "count"))
            if count is None:
                return pending((*path, "count"), [0, 1, 2])
        if count == 0:
            return DONE if (*path, "pass") in self.history else pending((*path, "pass"), [True])
        outs: list[Outcome] = []
        running = 0
        for number in range(count):
            if running >= node.concurrency:
                outs.append(Outcome("open"))
                break
            out = self.list(node.lists[0], (*path, number), scoped)
            outs.append(out)
            running += not self.is_over(out, node.keep_going)
        return self.joined(outs, path, node.keep_going)

    @staticmethod
    def is_over(out: Outcome, keep_going: bool) -> bool:
        return out.kind == "done" or (out.kind == "failed" and keep_going and not out.escalating)

    def joined(self, outs: list[Outcome], path: Path, keep_going: bool) -> Outcome:
        failed = [
            number for number, out in enumerate(outs) if out.kind == "failed" and not self.is_over(out, keep_going)
        ]
        ended = [out for out in outs if out.kind == "ended" and not (failed and out.how == "abort outside")]
        if ended:
            return ended[0]
        if failed:
            first = self.history.get((*path, "first"), failed[0])
            self.note_late(outs, (*path, "first"), first)
            return outs[first]
        if all(self.is_over(out, keep_going) for out in outs):
            return DONE
        found = [choice for out in outs for choice in out.open]
        return Outcome("open", found, held=any(out.held for out in outs))

    def note_late(self, outs: list[Outcome], key: Path, first: int) -> None:
        """A sibling's attempt under way when the first failure was recorded may still fail having taken effect."""
        for out in outs:
            for choice in out.open:
                if isinstance(choice, Choice):
                    effects = [option for option in choice.options if str(option).startswith("effect")]
                    self.late += [{choice.key: effect, key: first} for effect in effects]

    def call(self, node: Node, path: Path) -> Outcome:
        assert node.child is not None
        refused = self.history.get((*path, "call"))
        if refused is None:
            return pending((*path, "call"), ["started", "input.invalid", *self.codes])
        if refused != "started":
            return failure(path, refused)
        if (*path, "late") in self.history:
            return failure(path, "timeout")
        out = self.root(node.child, (*path, "child"))
        if out.kind == "failed":
            return failure(path, out.code)
        if out.kind == "ended":
            return DONE if out.how == "stop" else failure(path, "child.aborted")
        waits = out.held or any(choice.passes for choice in out.open)
        if node.timeout and out.kind == "open" and waits and all(choice.passes for choice in out.open):
            cut = Left("", self.calls_out(out.open, path))
            return Outcome("open", [*out.open, Choice((*path, "late"), [cut], True)], held=out.held)
        return out

    # ---- redo sets ---------------------------------------------------------------------------------

    def redo_set(self, decide: Decide) -> Covers:
        scope, path, failed = decide.scope, decide.path, decide.failed
        if scope.redo == "this_step":
            return under(failed)
        if scope.redo == "whole_group":
            return under(path)
        if isinstance(scope, Program) and scope.states:
            entry = failed[: len(path) + 1]
            return self.entry_again(scope, entry, failed)
        if isinstance(scope, Program):
            return self.list_after(scope.steps, path, failed)
        if isinstance(scope, MiniState):
            return self.list_after([*scope.on_enter, *scope.steps], path, failed)
        segment = failed[len(path)]
        if scope.kind == "parallel":
            return self.again(scope, path, failed)
        if scope.kind == "each":
            return self.iteration_after(scope, path, segment, failed)
        if scope.kind == "if":
            return self.list_after(scope.lists[segment[1]], (*path, segment), failed)
        return self.list_after(scope.lists[0], path, failed)

    def entry_again(self, program: Program, entry: Path, failed: Path) -> Covers:
        if failed == entry:
            return under(entry)
        state = program.states[entry[-1][2]]
        child = next(node for node in [*state.on_enter, *state.steps] if node.id == failed[len(entry)])
        stay = self.staying(child, (*entry, child.id), failed)
        return lambda at: under(entry)(at) and not any(under(each)(at) for each in stay)

    def list_after(self, steps: list[Node], path: Path, failed: Path) -> Covers:
        position = next(i for i, node in enumerate(steps) if node.id == failed[len(path)])
        child = steps[position]
        here = (*path, child.id)
        later = [under((*path, node.id)) for node in steps[position + 1 :]]
        first = self.again(child, here, failed)
        if len(failed) > len(here):
            segment = failed[len(here)]
            if child.kind == "if" and segment[0] == "branch":
                first = self.list_after(child.lists[segment[1]], (*here, segment), failed)
            elif child.kind == "each" and isinstance(segment, int):
                first = self.iteration_after(child, here, segment, failed)
        return lambda at: first(at) or any(each(at) for each in later)

    def iteration_after(self, node: Node, path: Path, number: int, failed: Path) -> Covers:
        inside = self.list_after(node.lists[0], (*path, number), failed)
        stopped = [
            under((*path, other))
            for other in range(2 if node.count is None else node.count)
            if other != number and not self.completed(node.lists[0], (*path, other), node.keep_going)
        ]
        return lambda at: inside(at) or any(each(at) for each in stopped)

    def again(self, node: Node, path: Path, failed: Path) -> Covers:
        stay = self.staying(node, path, failed)
        return lambda at: under(path)(at) and not any(under(each)(at) for each in stay)

    def staying(self, node: Node, path: Path, failed: Path) -> list[Path]:
        """The completed branches of the parallels on the way to the failed step."""
        if len(failed) <= len(path):
            return []
        segment = failed[len(path)]
        found: list[Path] = []
        rest: tuple[list[Node], Path] | None = None
        if isinstance(segment, tuple) and segment[0] == "branch":
            rest = node.lists[segment[1]], (*path, segment)
            if node.kind == "parallel":
                for i, steps in enumerate(node.lists):
                    here = (*path, ("branch", i))
                    if i != segment[1] and self.completed(steps, here, node.keep_going):
                        found.append(here)
        elif isinstance(segment, tuple) and segment[0] == "catch":
            rest = node.handlers[segment[1]][1], (*path, segment)
        elif segment == "reconcile":
            rest = node.probes, (*path, segment)
        elif isinstance(segment, int):
            rest = node.lists[0], (*path, segment)
        else:
            rest = node.lists[0], path
        steps, here = rest
        if len(failed) > len(here):
            child = next(each for each in steps if each.id == failed[len(here)])
            found += self.staying(child, (*here, child.id), failed)
        return found

    def completed(self, steps: list[Node], path: Path, keep_going: bool) -> bool:
        return self.is_over(self.list(steps, path, True), keep_going)


def under(prefix: Path) -> Covers:
    return lambda at: at[: len(prefix)] == prefix


def succeeded_in(history: History) -> list[Path]:
    """The paths of the actions that have succeeded."""
    return [key[:-1] for key, value in history.items() if key and key[-1] in ("act", "settled") and value == "ok"]


def in_doubt_in(history: History) -> list[Path]:
    """The paths of the actions of which an attempt that was no success may have taken effect."""
    found = [
        key[:-1]
        for key, value in history.items()
        if key[-1:] == ("act",) and (value == "abort" or str(value).startswith("effect"))
    ]
    return found + [path for value in history.values() if isinstance(value, Left) for path in value.calls_out]


@dataclass
class Answer:
    """Pairs of a scope's identity and an action id; the scopes that a failure reached."""

    succeeded: set[tuple[int, str]] = field(default_factory=set)
    in_doubt: set[tuple[int, str]] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)
    states: int = 0


def forget(history: History, decide: Decide, covers: Covers) -> History:
    """The history once the redo set is superseded; scopes between that had given up are active again."""
    kept: History = {}
    for key, value in history.items():
        at = key[:-1]
        if key[-1:] == ("redos",):
            continue
        if key[-1] in ("gave up", "first") and len(at) >= len(decide.path) and decide.failed[: len(at)] == at:
            continue
        if covers(at) and not (at == decide.path and key[-1] in ("when", "own")):
            continue
        kept[key] = value
    kept[("redos",)] = history.get(("redos",), 0) + 1
    return kept


def enumerate_runs(program: Program, limit: int = 4000, redos: int = MAX_REDOS) -> Answer:
    """Try everything. Raises TooBig past ``limit`` states."""
    answer = Answer()
    codes = codes_of(program)
    stack: list[History] = [{}]
    seen: set[frozenset[tuple[Path, Any]]] = set()
    while stack:
        history = stack.pop()
        mark = frozenset(history.items())
        if mark in seen:
            continue
        seen.add(mark)
        answer.states += 1
        if answer.states > limit:
            raise TooBig
        interpreter = Interpreter(program, history, codes)
        found = interpreter.run()
        stack.extend({**history, **late} for late in interpreter.late)
        for choice in found.open:
            if isinstance(choice, Choice):
                stack.extend({**history, choice.key: option} for option in choice.options)
                continue
            covers = interpreter.redo_set(choice)
            scope = id(choice.scope)
            answer.reached.add(scope)
            answer.succeeded |= {(scope, action_at(at)) for at in succeeded_in(history) if covers(at)}
            answer.in_doubt |= {(scope, action_at(at)) for at in in_doubt_in(history) if covers(at)}
            stack.append({**history, (*choice.path, "gave up"): True})
            if history.get(("redos",), 0) < redos:
                stack.append(forget(history, choice, covers))
    return answer


def codes_of(program: Program) -> tuple[str, ...]:
    """The codes that make a difference: those that some handler names, as far as an attempt can have them."""
    named = {code for node in every_node(program) for codes, _ in node.handlers for code in codes or ()}
    return tuple(code for code in ("x", "fault.kind", "output.invalid") if code in named)


def action_at(path: Path) -> str:
    return str(path[-1])
