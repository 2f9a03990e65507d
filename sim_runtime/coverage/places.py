"""What can happen in a Workfile, one place for each: the list that coverage counts against.

A place stands where people would look for it: a step at its id, a branch at its key, a guard at ``when``. What the
static model excludes is no place: a read is never ambiguous, a literal guard has one side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from analyzer.model.nodes import Handler, Recovery, State, Step, StepList, Workflow, child_lists
from analyzer.syntax.nodes import Node, Scalar
from sim_runtime.history.paths import case_segment

#: Where a place is: the step path with ``[]`` for positions (a state's name, ``""`` for the root), kind and outcome.
Key: TypeAlias = tuple[str, str, str]

#: The kinds of places, in the order in which reports count them.
KINDS: Final = (
    "state",
    "step",
    "branch",
    "guard",
    "action",
    "wait",
    "handler",
    "reconcile",
    "undo",
    "recovery",
    "route",
    "timer",
)

#: The outcome of a ``wf.if`` or ``wf.switch`` that takes none of its branches.
NO_BRANCH: Final = "no branch"


@dataclass(slots=True, eq=False)
class Place:
    """One thing that can happen. ``missed`` says in words that it did not; the span is in code points.

    ``parent`` is the place without which this one cannot happen. ``hits`` counts how often it happened, ``scenarios``
    holds the numbers of the scenarios in which it did, each once and in order.
    """

    kind: str
    path: str
    outcome: str
    missed: str
    start: int
    end: int
    parent: Place | None = None
    hits: int = 0
    scenarios: list[int] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What it is found by."""
        return self.path, self.kind, self.outcome


def places_of(workflow: Workflow) -> list[Place]:
    """Every place of a resolved Workfile without error findings, in document order."""
    reader = _Reader()
    if workflow.recovery is not None:
        reader.recovery("", workflow.recovery, None)
    if workflow.states is not None:
        for state in workflow.states.values():
            reader.state(state)
    elif workflow.steps is not None:
        reader.steps(workflow.steps, None)
    return sorted(reader.found.values(), key=lambda place: place.start)


class _Reader:
    def __init__(self) -> None:
        self.found: dict[Key, Place] = {}

    def add(self, kind: str, path: str, outcome: str, missed: str, node: Node, parent: Place | None = None) -> Place:
        place = Place(kind, path, outcome, missed, node.start, node.end, parent)
        return self.found.setdefault(place.key, place)

    def state(self, state: State) -> None:
        entered = self.add("state", state.name, "entered", "is never entered", state.entry.key)
        if state.recovery is not None:
            self.recovery(state.name, state.recovery, entered)
        for each in state.lists:
            self.steps(each, entered)
        for timer in state.timers:
            self.add("timer", state.name, timer.name, f"the timer `{timer.name}` never fires", timer.entry.key, entered)
        for number, route in enumerate(state.routes):
            words = f"the route to `{route.to}` is never taken" if route.to else f"route {number} is never taken"
            self.add("route", state.name, str(number), words, route.node, entered)

    def recovery(self, path: str, recovery: Recovery, parent: Place | None) -> None:
        node = recovery.entry.key
        acts = self.add("recovery", path, "acts", "never recovers", node, parent)
        then = f"its recovery never reaches its limit (`then: {recovery.then}`)"
        self.add("recovery", path, "limit", then, recovery.then_node or node, acts)

    def steps(self, steps: StepList, parent: Place | None) -> None:
        for step in steps.steps:
            self.step(step, parent)

    def step(self, step: Step, parent: Place | None) -> None:
        run = self.add("step", step.path, "run", "is never run", step.id_node, parent)
        when = step.keys.get("when")
        if when is not None:
            self.guard(step, when.value, run)
        ambiguous = self.action(step, run) if step.call is not None else run
        if step.kind == "wf.wait_for":
            assert step.subject is not None
            self.add("wait", step.path, "received", "never receives its event", step.subject.key, run)
            timeout = step.keys.get("timeout")
            node = step.subject.key if timeout is None else timeout.key
            self.add("wait", step.path, "timeout", "never times out", node, run)
        if step.recovery is not None:
            self.recovery(step.path, step.recovery, run)
        if step.undo_entry is not None:
            self.add("undo", step.path, "undone", "is never undone", step.undo_entry.key, run)
        branches = self.branches(step, run)
        handlers = {id(each.steps): self.handler(step, each, run) for each in step.handlers}
        if step.reconcile is not None:
            node = step.reconcile.entry.key
            self.add("reconcile", step.path, "succeeded", "never finds out that it succeeded", node, ambiguous)
            self.add("reconcile", step.path, "no_effect", "never finds out that it had no effect", node, ambiguous)
        for each in child_lists(step):
            inside = branches.get(id(each)) or handlers.get(id(each))
            self.steps(each, inside or (ambiguous if each.role == "reconcile" else run))

    def guard(self, step: Step, value: Node, run: Place) -> None:
        literal = value.value if isinstance(value, Scalar) and isinstance(value.value, bool) else None
        for outcome in (True, False):
            if literal in (None, outcome):
                word = "true" if outcome else "false"
                self.add("guard", step.path, word, f"its guard is never {word}", value, run)

    def action(self, step: Step, run: Place) -> Place:
        """The outcomes of an action; gives the place that reconciliation needs."""
        assert step.call is not None
        assert step.subject is not None
        name, node, action = step.call.reference, step.subject.key, step.call.action
        self.add("action", step.path, "succeeded", f"`{name}` never succeeds", node, run)
        if action is None:
            return run
        write = action.effect == "write"
        timed_out = step.timeout_us is not None and not write
        if action.errors or timed_out or (write and step.on_unknown == "fail"):
            self.add("action", step.path, "failed", f"`{name}` never fails", node, run)
        if not write:
            return run
        return self.add("action", step.path, "ambiguous", f"`{name}` is never ambiguous", node, run)

    def handler(self, step: Step, handler: Handler, run: Place) -> Place:
        codes = ", ".join(f"`{code.value}`" for code in handler.codes) if handler.codes is not None else "any failure"
        words = f"the handler of {codes} is never entered"
        return self.add("handler", step.path, str(handler.index), words, handler.node, run)

    def branches(self, step: Step, run: Place) -> dict[int, Place]:
        """The branches by the identity of their lists."""
        if step.kind not in ("wf.if", "wf.switch"):
            return {}
        assert step.subject is not None
        found: dict[int, Place] = {}
        for each in step.lists:
            segment = branch_segment(each)
            words = f"never takes `{each.role}`" if each.role != "case" else f"never takes the case `{each.label}`"
            node = each.entry.key if each.entry is not None else each.node
            found[id(each)] = self.add("branch", step.path, segment, words, node, run)
        if _may_take_none(step):
            words = "its condition is never false" if step.kind == "wf.if" else "always takes a case"
            self.add("branch", step.path, NO_BRANCH, words, step.subject.key, run)
        return found


def branch_segment(steps: StepList) -> str:
    """The path segment of a branch of ``wf.if`` or ``wf.switch``, as ``branch.selected`` has it."""
    return case_segment(steps.label) if steps.role == "case" else f"({steps.role})"


def _may_take_none(step: Step) -> bool:
    if step.kind == "wf.if":
        return step.list_of("else") is None
    if step.list_of("default") is not None:
        return False
    if set(_cases(step)) == {True, False}:
        return False
    # Typing gives the way that takes no case last, binding nothing; there is none when the cases cover an enum.
    binding = step.binding
    return binding is None or (binding.kind != "never" and not (binding.ways and binding.ways[-1]))


def _cases(step: Step) -> Iterator[object]:
    for each in step.lists:
        if each.entry is not None and isinstance(each.entry.key, Scalar):
            value = each.entry.key.value
            yield value if isinstance(value, bool) else str(value)
