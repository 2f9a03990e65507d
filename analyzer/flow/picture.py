"""The control flow of a Workfile as people draw it: a box for each step, frames for scopes, loops and states.

The picture leaves out what every step has (its success, its failure); the graph of ``analyzer.flow.graph`` has it all.
``draw`` makes the data; ``analyzer.flow.mermaid`` and ``analyzer.flow.dot`` write it down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from analyzer.flow.analysis import Flow
from analyzer.flow.facts import always_runs
from analyzer.flow.graph import handler_label, list_label
from analyzer.flow.machine import may_find_no_route, taken_routes
from analyzer.flow.redo import ScopeRedo, members, suffix
from analyzer.language.durations import format_duration
from analyzer.model.nodes import Owner, Recovery, State, Step, StepList, Workflow, walk_steps
from analyzer.syntax.nodes import Node, Scalar

MAX_TEXT: Final = 44
MAX_REDO_EDGES: Final = 24
MAX_MEETING: Final = 2

#: Shapes of boxes, for the writers.
SHAPES: Final = ("action", "wait", "call", "value", "choice", "fork", "point", "loop", "state", "start", "end", "stop")
#: Marks of boxes and frames: a finding of that severity, part of a redo set, an action that must not be repeated, a
#: step whose failure brings the redo about.
MARKS: Final = ("error", "warning", "information", "redone", "unsafe", "failing")
#: Styles of arrows.
STYLES: Final = ("next", "back", "catch", "timer", "redo")


@dataclass(slots=True, eq=False)
class Box:
    """One box; ``lines`` is its text, ``frame`` the number of its frame or -1."""

    name: str
    shape: str
    lines: list[str]
    frame: int
    path: str = ""
    marks: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Frame:
    """A frame around boxes and other frames; ``kind`` is ``scope`` (recovery), ``state``, ``loop`` or ``part``."""

    name: str
    kind: str
    lines: list[str]
    outer: int
    path: str = ""
    marks: list[str] = field(default_factory=list)


class Arrow(NamedTuple):
    """From one box to another. ``frame`` is the frame that the arrow leaves as a whole, or -1."""

    source: str
    target: str
    style: str
    label: str = ""
    frame: int = -1


@dataclass(slots=True, eq=False)
class Picture:
    """All of it, in document order."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def outline(self) -> Iterator[tuple[int, Box | Frame | None]]:
        """Frames and boxes as they are nested, each with its depth from 0; None ends the frame that is open.

        Without recursion: frames may be nested deeply.
        """
        inner: dict[int, list[int]] = {}
        for number, frame in enumerate(self.frames):
            inner.setdefault(frame.outer, []).append(number)
        boxes: dict[int, list[Box]] = {}
        for box in self.boxes:
            boxes.setdefault(box.frame, []).append(box)
        stack: list[tuple[int, int, bool]] = [(-1, 0, False)]
        while stack:
            current, depth, closing = stack.pop()
            if closing:
                yield depth, None
                continue
            if current >= 0:
                yield depth, self.frames[current]
                stack.append((current, depth, True))
            for box in boxes.get(current, ()):
                yield depth + 1, box
            stack += [(each, depth + 1, False) for each in reversed(inner.get(current, ()))]


class Out(NamedTuple):
    """A loose end: what comes next is drawn from here."""

    source: str
    label: str = ""
    style: str = "next"
    frame: int = -1


#: For each step or recovery, the (severity, rule) of its findings.
Notes = Mapping[Step | State | Recovery, list[tuple[str, str]]]


def draw(flow: Flow, scopes: list[ScopeRedo], notes: Notes, redo: list[ScopeRedo]) -> Picture:
    """The picture of an analysed Workfile: ``notes`` are marked, the redo sets of ``redo`` highlighted."""
    return _Painter(flow, scopes, notes, redo).picture()


class _Painter:
    def __init__(self, flow: Flow, scopes: list[ScopeRedo], notes: Notes, redo: list[ScopeRedo]) -> None:
        self.flow = flow
        self.scopes = {scope.recovery: scope for scope in scopes}
        self.notes = notes
        self.redo = redo
        self.result = Picture(flow.workflow.name or "workflow")
        self.of_step: dict[Step, str] = {}
        self.headers: dict[State, str] = {}
        self.redone: set[Step] = set()
        self.unsafe: set[Step] = set()
        self.failing: set[Step | State] = set()
        for scope in redo:
            lists = [(step, [*step.lists, *_other_lists(step)]) for step in members(scope)]
            self.redone.update(step for step, _ in lists)
            self.redone.update(inner for _, each in lists for inner in walk_steps(each))
            self.unsafe.update(each.step for each in scope.unsafe)
            self.failing.update(each.step for each in scope.failures)

    def picture(self) -> Picture:
        workflow = self.flow.workflow
        start = self.box("start", "start", [workflow.name or "start"], -1)
        frame = self.scope_frame(workflow, -1, "the run")
        if workflow.states is not None:
            self.machine(workflow, start, frame)
        elif workflow.steps is not None:
            self.finish(self.sequence(workflow.steps, [Out(start)], frame))
        for scope in self.redo:
            self.redo_arrows(scope)
        return self.result

    def finish(self, outs: list[Out]) -> None:
        if outs:
            self.connect(outs, self.box("succeeded", "end", ["succeeded"], -1))

    # ---- drawing ---------------------------------------------------------------------------------

    def box(self, name: str, shape: str, lines: list[str], frame: int, part: Step | State | None = None) -> str:
        box = Box(f"n{len(self.result.boxes)}_{name}", shape, lines, frame)
        if isinstance(part, Step):
            box.path = part.path
            box.marks += [mark for mark, among in self._step_marks() if part in among]
        elif isinstance(part, State):
            box.path = part.name
            box.marks += ["failing"] if part in self.failing else []
        if part is not None:
            self.annotate(box, part)
        self.result.boxes.append(box)
        return box.name

    def _step_marks(self) -> list[tuple[str, set[Step]]]:
        failing = {step for step in self.failing if isinstance(step, Step)}
        return [("redone", self.redone), ("unsafe", self.unsafe), ("failing", failing)]

    def annotate(self, drawn: Box | Frame, part: Step | State | Recovery) -> None:
        """Mark the findings of a part: the worst severity, and each rule with its number."""
        found = self.notes.get(part, [])
        if not found:
            return
        severities = [severity for severity, _ in found]
        drawn.marks.append(next(each for each in MARKS if each in severities))
        counts: dict[str, int] = {}
        for _, rule in found:
            counts[rule] = counts.get(rule, 0) + 1
        drawn.lines += [f"⚠ {rule}" + (f" ×{count}" if count > 1 else "") for rule, count in counts.items()]

    def frame(self, name: str, kind: str, lines: list[str], outer: int, path: str = "") -> int:
        number = len(self.result.frames)
        self.result.frames.append(Frame(f"f{number}_{name}", kind, lines, outer, path))
        return number

    def scope_frame(self, owner: Owner, outer: int, name: str) -> int:
        """A frame for the recovery of an owner, or the outer one when it has none."""
        recovery = owner.recovery
        if recovery is None:
            return outer
        path = "" if isinstance(owner, Workflow) else owner.path if isinstance(owner, Step) else owner.name
        lines = [f"↻ {name}: {recovery_words(recovery)}"]
        number = self.frame(name.replace(" ", "_"), "scope", lines, outer, path)
        frame = self.result.frames[number]
        if any(scope.recovery is recovery for scope in self.redo):
            frame.marks.append("redone")
        self.annotate(frame, recovery)
        return number

    def connect(self, outs: list[Out], target: str) -> None:
        for out in outs:
            self.result.arrows.append(Arrow(out.source, target, out.style, out.label, out.frame))

    def meet(self, outs: list[Out], frame: int) -> list[Out]:
        """Bring many loose ends together in a point, so that they do not all cross to what follows."""
        if len(outs) <= MAX_MEETING:
            return outs
        point = self.box("meet", "point", [], frame)
        self.connect(outs, point)
        return [Out(point)]

    # ---- steps -----------------------------------------------------------------------------------

    def sequence(self, steps: StepList, ins: list[Out], frame: int) -> list[Out]:
        for step in steps.steps:
            ins = self.step(step, ins, frame)
        return ins

    def step(self, step: Step, ins: list[Out], frame: int) -> list[Out]:
        inner = self.scope_frame(step, frame, step.id)
        first = len(self.result.boxes)
        if step.kind in ("wf.if", "wf.switch"):
            outs = self.choice(step, ins, inner)
        elif step.kind == "wf.parallel" and step.lists:
            outs = self.parallel(step, ins, inner)
        elif step.kind == "wf.for_each" and step.lists:
            outs = self.loop(step, ins, inner)
        elif step.kind in ("wf.group", "wf.wait_for") and any(each.steps for each in step.lists):
            outs = self.nested(step, ins, inner, framed=inner == frame)
        else:
            outs = self.leaf(step, ins, inner)
        self.of_step[step] = self.result.boxes[first].name
        outs = outs + self.handlers(step, frame, inner if inner != frame else -1)
        return self.meet(outs, frame)

    def leaf(self, step: Step, ins: list[Out], frame: int) -> list[Out]:
        ends = step.kind in ("wf.stop", "wf.fail")
        name = self.box(step.id, _shape(step), step_lines(step), frame, step)
        self.connect(ins, name)
        if not ends:
            return [Out(name)]
        return [] if always_runs(step) else [*ins]

    def choice(self, step: Step, ins: list[Out], frame: int) -> list[Out]:
        name = self.box(step.id, "choice", step_lines(step), frame, step)
        self.connect(ins, name)
        outs: list[Out] = []
        for each in step.lists:
            outs += self.sequence(each, [Out(name, short(list_label(each)))], frame)
        otherwise = "else" if step.kind == "wf.if" else "default"
        if step.list_of(otherwise) is None:
            outs.append(Out(name, otherwise))
        return outs

    def parallel(self, step: Step, ins: list[Out], frame: int) -> list[Out]:
        fork = self.box(step.id, "fork", step_lines(step), frame, step)
        self.connect(ins, fork)
        outs: list[Out] = []
        for each in step.lists:
            outs += self.sequence(each, [Out(fork, each.label)], frame)
        if not outs:
            return []
        join = self.box("join", "fork", ["join"], frame)
        self.connect(outs, join)
        return [Out(join)]

    def loop(self, step: Step, ins: list[Out], frame: int) -> list[Out]:
        number = self.frame(step.id, "loop", [f"{step.id}: each {step.loop_name}"], frame, step.path)
        head = self.box(step.id, "loop", step_lines(step), number, step)
        self.connect(ins, head)
        for out in self.sequence(step.lists[0], [Out(head, "each")], number):
            self.result.arrows.append(Arrow(out.source, head, "back", out.label or "next", out.frame))
        return [Out(head, "done")]

    def nested(self, step: Step, ins: list[Out], frame: int, *, framed: bool) -> list[Out]:
        """A group, or a wait whose steps run once it is subscribed."""
        number = self.frame(step.id, "part", step_lines(step)[:2], frame, step.path) if framed else frame
        if framed:
            self.annotate(self.result.frames[number], step)
        outs = self.sequence(step.lists[0], ins, number)
        if step.kind == "wf.wait_for" and outs:
            name = self.box(step.id, "wait", step_lines(step), number, None if framed else step)
            self.connect(outs, name)
            return [Out(name)]
        return outs

    def handlers(self, step: Step, frame: int, whole: int) -> list[Out]:
        """The handlers that a failure can enter, with dotted arrows from the step, or from its frame as a whole."""
        outs: list[Out] = []
        facts = self.flow.steps[step]
        for position, handler in enumerate(step.handlers):
            if handler.steps is None or not handler.steps.steps:
                continue
            if position < len(facts.entered) and facts.entered[position]:
                words = f"on {handler_label(step, position)}"
                outs += self.sequence(handler.steps, [Out(self.of_step[step], words, "catch", whole)], frame)
        return outs

    # ---- states ----------------------------------------------------------------------------------

    def machine(self, workflow: Workflow, start: str, outer: int) -> None:
        states = workflow.states or {}
        outs: dict[State, tuple[list[Out], int]] = {}
        for state in states.values():
            frame = self.state_frame(state, outer)
            header = self.box(state.name, "state", [f"enter {state.name}"], frame, state)
            self.headers[state] = header
            loose = [Out(header)]
            for each in state.lists:
                loose = self.sequence(each, loose, frame)
            outs[state] = loose, frame
        initial = states.get(workflow.initial or "")
        if initial is not None:
            self.connect([Out(start)], self.headers[initial])
        final: list[Out] = []
        for state, (loose, frame) in outs.items():
            if state.final:
                final += loose
            elif loose:
                self.routes(state, loose, states, frame)
            for timer in state.timers:
                if timer.to in states and timer.after_us is not None:
                    words = f"{timer.name} after {format_duration(timer.after_us)}"
                    self.connect([Out(self.headers[state], words, "timer", frame)], self.headers[states[timer.to]])
        self.finish(final)

    def state_frame(self, state: State, outer: int) -> int:
        number = self.frame(state.name, "state", [state.name + (" (final)" if state.final else "")], outer, state.name)
        frame = self.result.frames[number]
        if state.recovery is not None:
            frame.lines.append(f"↻ {recovery_words(state.recovery)}")
            self.annotate(frame, state.recovery)
            if any(scope.recovery is state.recovery for scope in self.redo):
                frame.marks.append("redone")
        return number

    def routes(self, state: State, loose: list[Out], states: Mapping[str, State], frame: int) -> None:
        routes = taken_routes(state)
        if len(routes) > 1 or len(loose) > 1:
            point = self.box("routes", "point", [], frame)
            self.connect(loose, point)
            loose = [Out(point)]
        for route in routes:
            if route.to is not None and route.to in states:
                words = "otherwise" if route.when is None and len(routes) > 1 else condition(route.when)
                self.connect([Out(out.source, words or out.label) for out in loose], self.headers[states[route.to]])
        if may_find_no_route(state):
            nowhere = self.box("no_route", "stop", ["no route: fails"], frame)
            self.connect([Out(out.source, "none holds") for out in loose], nowhere)

    # ---- redo sets -------------------------------------------------------------------------------

    def redo_arrows(self, scope: ScopeRedo) -> None:
        """From each failed step to where its redo set begins, as far as that is readable."""
        drawn: dict[tuple[str, str], None] = {}
        for failed in dict.fromkeys(each.step for each in scope.failures):
            source = self.headers.get(failed, "") if isinstance(failed, State) else self.of_step.get(failed, "")
            target = self.redo_start(scope, failed)
            if source and target and source != target:
                drawn.setdefault((source, target))
        for source, target in list(drawn)[:MAX_REDO_EDGES]:
            self.result.arrows.append(Arrow(source, target, "redo", "redo"))

    def redo_start(self, scope: ScopeRedo, failed: Step | State) -> str:
        owner, redo = scope.owner, scope.recovery.redo
        if redo == "this_step" or (isinstance(failed, State) and redo != "whole_group"):
            return self.headers.get(failed, "") if isinstance(failed, State) else self.of_step.get(failed, "")
        if isinstance(owner, Workflow) and owner.states is not None:
            states = list(owner.states.values())
            here = next((state for state in states if isinstance(failed, Step) and _holds(state, failed)), states[0])
            initial = owner.states.get(owner.initial or "", states[0])
            return self.headers[initial if redo == "whole_group" else here]
        if redo == "whole_group" or isinstance(failed, State):
            steps = members(scope)
            return self.of_step.get(steps[0], "") if steps else ""
        return self.of_step.get(suffix(owner, failed)[0], "")


def _holds(state: State, step: Step) -> bool:
    owner = step.parent.owner
    while isinstance(owner, Step):
        owner = owner.parent.owner
    return owner is state


def _other_lists(step: Step) -> list[StepList]:
    found = [handler.steps for handler in step.handlers if handler.steps is not None]
    if step.reconcile is not None and step.reconcile.steps is not None:
        found.append(step.reconcile.steps)
    return found


def _shape(step: Step) -> str:
    shapes = {"wf.wait": "wait", "wf.wait_for": "wait", "wf.call": "call", "wf.stop": "stop", "wf.fail": "stop"}
    return shapes.get(step.kind, "action" if step.kind == "action" else "value")


# ---- words -------------------------------------------------------------------------------------


def step_lines(step: Step) -> list[str]:
    """The text of a step's box: its id, what it does, and the modifiers that change the flow."""
    lines = [step.id, *_does(step)]
    guard = step.keys.get("when")
    if guard is not None:
        lines.append(short(f"when {condition(guard.value)}"))
    if step.undo is not None:
        lines.append(short(f"undo: {step.undo.reference}"))
    if step.retry is not None and step.retry.attempts > 1:
        lines.append(f"{step.retry.attempts} attempts")
    if step.on_unknown is not None:
        lines.append(f"on_unknown: {step.on_unknown}")
    if step.on_fail != "fail":
        lines.append(f"on_fail: {step.on_fail}")
    handled = [position for position, handler in enumerate(step.handlers) if handler.steps is None]
    lines += [short(f"catches {handler_label(step, position)}") for position in handled]
    return lines


def _does(step: Step) -> list[str]:
    value = step.subject.value if step.subject is not None else None
    if step.call is not None:
        return [short(step.call.reference)]
    if step.kind in ("wf.if", "wf.switch"):
        return [condition(value)]
    if step.kind == "wf.wait":
        return [short(f"wait {condition(value)}")]
    if step.kind == "wf.wait_for":
        timeout = step.keys.get("timeout")
        words = [short(f"wait for {condition(value)}")]
        return words if timeout is None else [*words, short(f"at most {condition(timeout.value)}")]
    if step.kind == "wf.call":
        return [short(f"call {condition(value)}")]
    if step.kind == "wf.for_each":
        at_once = f", {step.concurrency} at once" if step.concurrency > 1 else ""
        more = ["on_iteration_fail: continue"] if step.on_iteration_fail == "continue" else []
        return [short(f"for each {condition(value) or 'item'}{at_once}"), *more]
    if step.kind == "wf.parallel":
        return ["parallel", *(["on_branch_fail: continue"] if step.on_branch_fail == "continue" else [])]
    return [step.kind.removeprefix("wf.")] if step.kind else []


def condition(node: Node | None) -> str:
    """An expression or literal without its braces, shortened."""
    if not isinstance(node, Scalar):
        return ""
    text = node.text.strip()
    if text.startswith("{{") and text.endswith("}}") and text.count("{{") == 1:
        text = text[2:-2].strip()
    return short(text)


def short(text: str) -> str:
    """One line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def recovery_words(recovery: Recovery) -> str:
    """A recovery in one line: what it redoes, how often, and what then."""
    words = [recovery.redo]
    if recovery.failures is not None:
        within = f" in {format_duration(recovery.within_us)}" if recovery.within_us is not None else ""
        words.append(f"{recovery.failures}×{within}")
    if recovery.delay_us:
        words.append(f"after {format_duration(recovery.delay_us)}")
    return ", ".join(words) + (f", then {recovery.then}" if recovery.then else "")
