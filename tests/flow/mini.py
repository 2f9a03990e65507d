"""Small Workfiles for the flow tests: plain data, and the model objects that the analyzer reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer.model.nodes import (
    Call,
    Handler,
    Owner,
    Reconcile,
    Recovery,
    Route,
    State,
    Step,
    StepList,
    Timer,
    Workflow,
    child_lists,
)
from analyzer.syntax.nodes import Entry, Mapping, Scalar, Sequence

SCOPES = ("group", "if", "parallel", "each")


@dataclass
class Node:
    """One step. ``lists`` are then and else, the branches, the body; ``guard`` may skip it, ``fault`` may fail it."""

    kind: str
    id: str
    guard: bool = False
    fault: bool = False
    lists: list[list[Node]] = field(default_factory=list)
    handlers: list[tuple[tuple[str, ...] | None, list[Node]]] = field(default_factory=list)
    on_fail: str = "fail"
    redo: str = ""
    then: str = "hold"
    keep_going: bool = False
    concurrency: int = 1
    count: int | None = None
    idempotency: str = "none"
    undo: bool = False
    output: bool = False
    unknown: str = ""
    probes: list[Node] = field(default_factory=list)
    child: Program | None = None
    timeout: bool = False


@dataclass
class MiniState:
    """One state; a route is (guarded, may fault, target)."""

    on_enter: list[Node] = field(default_factory=list)
    steps: list[Node] = field(default_factory=list)
    routes: list[tuple[bool, bool, str]] = field(default_factory=list)
    timers: list[str] = field(default_factory=list)
    final: bool = False
    redo: str = ""
    then: str = "hold"


@dataclass
class Program:
    """A Workfile: steps, or states of which the first is the initial one."""

    steps: list[Node] = field(default_factory=list)
    states: dict[str, MiniState] = field(default_factory=dict)
    redo: str = ""
    then: str = "hold"
    result_fault: bool = False


def nodes_below(steps: list[Node]) -> Iterator[Node]:
    """Every step of a list and below; called programs aside."""
    for node in steps:
        yield node
        for inner in (*node.lists, *(steps for _, steps in node.handlers), node.probes):
            yield from nodes_below(inner)


def nodes_of(program: Program) -> Iterator[Node]:
    """Every step of a program; called programs aside."""
    yield from nodes_below(program.steps)
    for state in program.states.values():
        yield from nodes_below(state.on_enter)
        yield from nodes_below(state.steps)


def every_node(program: Program) -> Iterator[Node]:
    """Every step of a program and of those that it calls."""
    programs = [program]
    while programs:
        for node in nodes_of(programs.pop()):
            yield node
            if node.child is not None:
                programs.append(node.child)


# ---- model objects ---------------------------------------------------------------------------------


class Declared:
    """Stands for a manifest's action declaration."""

    def __init__(self, node: Node) -> None:
        self.name = node.id
        self.effect = "write"
        self.idempotency = node.idempotency
        self.output = object() if node.output else None
        self.errors = {"x": True}


class Modeller:
    """Builds model objects; every node gets a place of its own, in document order."""

    def __init__(self) -> None:
        self.at = 0

    def scalar(self, text: str) -> Scalar:
        self.at += 10
        return Scalar(self.at, self.at + 5, text, text)

    def entry(self, key: str, value: str = "") -> Entry:
        return Entry(self.scalar(key), self.scalar(value))

    def workflow(self, program: Program, name: str = "main") -> Workflow:
        result = Workflow(f"/{name}.workfile.yaml", Mapping(0, 0, []), name)
        result.result_may_fault = program.result_fault
        if program.redo:
            result.recovery = self.recovery(program.redo, program.then, result)
        if program.states:
            result.states = {key: self.state(key, state) for key, state in program.states.items()}
            result.initial = next(iter(program.states))
        else:
            result.steps = self.list(program.steps, "steps", "", "", result)
        return result

    def recovery(self, redo: str, then: str, owner: Owner) -> Recovery:
        return Recovery(self.entry("recovery"), owner, redo, then, self.scalar(then), 2, 60_000_000)

    def state(self, name: str, mini: MiniState) -> State:
        state = State(name, self.entry(name), final=mini.final)
        if mini.redo:
            state.recovery = self.recovery(mini.redo, mini.then, state)
        if mini.on_enter:
            state.on_enter = self.list(mini.on_enter, "on_enter", "", f"{name}.", state)
        state.steps = self.list(mini.steps, "steps", "", f"{name}.", state)
        for position, target in enumerate(mini.timers):
            state.timers.append(Timer(f"t{position}", self.entry(f"t{position}"), 1, target, self.scalar(target)))
        for guarded, fault, target in mini.routes:
            when = self.scalar("{{ x }}") if guarded else None
            state.routes.append(Route(self.scalar(""), when, target, self.scalar(target), fault))
        return state

    def list(self, nodes: list[Node], role: str, label: str, prefix: str, owner: Owner) -> StepList:
        result = StepList(role, label, prefix, self.scalar(""), self.entry(role), owner)
        for position, node in enumerate(nodes):
            result.steps.append(self.step(node, result, position))
        return result

    def step(self, node: Node, parent: StepList, index: int) -> Step:
        step = Step(node.id, self.entry(node.id), parent, index, parent.prefix + node.id)
        step.may_fault = node.fault
        step.on_fail = node.on_fail
        if node.guard:
            step.keys["when"] = self.entry("when", "{{ x }}")
        if node.redo:
            step.recovery = self.recovery(node.redo, node.then, step)
        _KINDS[node.kind](self, node, step)
        for position, (codes, steps) in enumerate(node.handlers):
            inner = self.list(steps, "catch", str(position), f"{step.path}.(catch:{position}).", step)
            listed = None if codes is None else [self.scalar(code) for code in codes]
            step.handlers.append(Handler(position, self.scalar(""), listed, inner, None))
        return step

    def action(self, node: Node, step: Step) -> None:
        step.kind = "action"
        step.subject = self.entry(f"c.{node.id}")
        step.call = Call(step.subject, "c", node.id, step.subject.value)
        step.call.action = Declared(node)  # type: ignore[assignment]
        if node.undo:
            step.undo_entry = self.entry("undo")
        step.on_unknown = node.unknown or None
        if node.unknown == "reconcile":
            step.reconcile = Reconcile(self.entry("reconcile"), None, None, None)
            step.reconcile.steps = self.list(node.probes, "reconcile", "", f"{step.path}.(reconcile).", step)

    def construct(self, node: Node, step: Step) -> None:
        step.kind = {"each": "wf.for_each"}.get(node.kind, f"wf.{node.kind}")
        step.subject = self.entry(step.kind, "{{ x }}" if node.kind in ("if", "each") else "1s")
        step.keys[step.kind] = step.subject
        if node.kind == "wait" and node.fault:
            step.subject.value = self.scalar("{{ x }}")

    def nested(self, node: Node, step: Step) -> None:
        self.construct(node, step)
        roles = {
            "if": ("then", "else"),
            "group": ("group",),
            "each": ("steps",),
            "wait_for": ("steps",),
            "parallel": ("branch",) * len(node.lists),
        }[node.kind]
        for position, steps in enumerate(node.lists):
            label = f"b{position}" if node.kind == "parallel" else ""
            role = roles[position]
            part = {"then": ".(then).", "else": ".(else).", "branch": f".b{position}."}.get(role, ".")
            step.lists.append(self.list(steps, role, label, step.path + part, step))
            if role in ("then", "else"):
                step.keys[role] = self.entry(role)

    def parallel(self, node: Node, step: Step) -> None:
        self.nested(node, step)
        step.on_branch_fail = "continue" if node.keep_going else "fail"

    def each(self, node: Node, step: Step) -> None:
        self.nested(node, step)
        step.on_iteration_fail = "continue" if node.keep_going else "fail"
        step.concurrency = node.concurrency
        if node.count is not None:
            assert step.subject is not None
            items = [self.scalar(str(position)) for position in range(node.count)]
            step.subject.value = Sequence(0, 0, list(items))

    def wait_for(self, node: Node, step: Step) -> None:
        self.nested(node, step)
        step.keys["match"] = self.entry("match", "{{ x }}" if node.fault else "literal")

    def call(self, node: Node, step: Step) -> None:
        self.construct(node, step)
        assert node.child is not None
        if node.timeout:
            step.keys["timeout"] = self.entry("timeout", "1m")
        step.callee = self.workflow(node.child, node.id)


_KINDS = {
    "act": Modeller.action,
    "let": Modeller.construct,
    "wait": Modeller.construct,
    "stop": Modeller.construct,
    "fail": Modeller.construct,
    "if": Modeller.nested,
    "group": Modeller.nested,
    "wait_for": Modeller.wait_for,
    "parallel": Modeller.parallel,
    "each": Modeller.each,
    "call": Modeller.call,
}


def model(program: Program) -> Workflow:
    """The Workfile that the analyzer reads."""
    return Modeller().workflow(program)


def steps_by_id(workflow: Workflow) -> dict[str, Step]:
    """Every step by its id."""
    found: dict[str, Step] = {}
    lists = list(workflow.top_lists)
    while lists:
        for step in lists.pop().steps:
            found[step.id] = step
            lists.extend(child_lists(step))
    return found
