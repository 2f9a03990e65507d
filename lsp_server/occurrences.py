"""Where things are named: every definition and every use in one file, by the thing that is meant.

Definition, references, rename, highlight and semantic tokens all read this. A thing is told apart by its kind, the file
that defines it, and its name or place there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from analyzer.expressions.ast import Expr, Member, Name
from analyzer.expressions.parser import parse_expression
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Env
from analyzer.expressions.walk import walk
from analyzer.language.vocabulary import REFERENCE
from analyzer.model.nodes import Call, InputDecl, Step, Workflow, all_steps
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence
from analyzer.workspace.manifests import TriggerDecl
from lsp_server.nodes import content_span
from lsp_server.scopes import Scopes, interpolations
from lsp_server.snapshot import Snapshot, Span

Kind = Literal["step", "input", "state", "loop", "connector", "action", "trigger", "workflow"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A thing that has a name. ``path`` is the file that defines it, ``at`` the offset there, if that tells apart."""

    kind: Kind
    path: str
    name: str
    at: int = -1


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place that names a symbol; ``definition`` when it is where the name comes from."""

    symbol: Symbol
    span: Span
    definition: bool = False


def occurrences(snapshot: Snapshot, target: Snapshot | None = None) -> list[Occurrence]:
    """Every occurrence in a file, in document order. For a scenario ``target`` is the Workfile that it runs."""
    if snapshot.kind == "scenario":
        found = [] if target is None else list(_in_scenario(snapshot, target))
    elif snapshot.workflow is not None:
        found = list(_in_workflow(snapshot, snapshot.workflow))
    else:
        found = list(_in_manifest(snapshot))
    unique = dict.fromkeys(found)
    return sorted(unique, key=lambda each: (each.span, not each.definition))


def at(found: list[Occurrence], offset: int) -> Occurrence | None:
    """The occurrence at an offset; at the border of two the one that begins there."""
    touching = [each for each in found if each.span[0] <= offset <= each.span[1]]
    return max(touching, key=lambda each: each.span[0], default=None)


# ---- Workfiles ---------------------------------------------------------------------------------


def _in_workflow(snapshot: Snapshot, workflow: Workflow) -> Iterator[Occurrence]:
    path = workflow.path
    groups = step_groups(workflow)
    for step in all_steps(workflow):
        yield from _own(step.id_node, step_symbol(step, path, groups), definition=True)
        yield from _in_step(snapshot, step)
    for name, decl in workflow.inputs.items():
        start, end = content_span(_scalar(decl.entry.key))
        yield Occurrence(Symbol("input", path, name), (start, min(start + len(name), end)), True)
    yield from _states(workflow)
    if workflow.name is not None and workflow.name_node is not None:
        yield from _own(workflow.name_node, Symbol("workflow", path, workflow.name), definition=True)
    yield from _connectors(snapshot, workflow)
    yield from _in_expressions(snapshot, groups)


def _scalar(node: Node) -> Scalar:
    assert isinstance(node, Scalar)
    return node


def _own(node: Node, symbol: Symbol, *, definition: bool = False) -> Iterator[Occurrence]:
    if isinstance(node, Scalar) and node.origin is None and not node.broken and node.end > node.start:
        yield Occurrence(symbol, content_span(node), definition)


def _in_step(snapshot: Snapshot, step: Step) -> Iterator[Occurrence]:
    for call in (step.call, step.undo):
        if call is not None:
            yield from _call(snapshot.text, call)
    if step.kind == "wf.wait_for" and step.subject is not None:
        yield from _trigger(snapshot.text, step.subject.value, step.trigger)
    if step.kind == "wf.call" and step.subject is not None and step.callee is not None:
        callee = step.callee
        symbol = Symbol("workflow", callee.path, callee.name or "")
        yield from _own(step.subject.value, symbol)
        inputs = step.keys.get("inputs")
        for entry in inputs.value.entries if inputs is not None and isinstance(inputs.value, Mapping) else ():
            if isinstance(entry.key, Scalar) and entry.key.text in callee.inputs:
                yield from _own(entry.key, Symbol("input", callee.path, entry.key.text))
    if step.kind == "wf.for_each" and "as" in step.keys:
        node = step.keys["as"].value
        yield from _own(node, _loop(snapshot.path, node, step.loop_name), definition=True)


def _loop(path: str, node: Node, name: str) -> Symbol:
    return Symbol("loop", path, name, node.start)


def _call(text: str, call: Call) -> Iterator[Occurrence]:
    path = call.manifest.path if call.manifest is not None else ""
    action = Symbol("action", path, call.reference) if call.action is not None else None
    yield from _dotted(text, call.entry.key, Symbol("connector", path, call.connector), action)


def _trigger(text: str, node: Node, trigger: TriggerDecl | None) -> Iterator[Occurrence]:
    match = REFERENCE.match(node.text) if isinstance(node, Scalar) else None
    if match is None:
        return
    path = trigger.path if trigger is not None else ""
    symbol = Symbol("trigger", path, match[0]) if trigger is not None else None
    yield from _dotted(text, node, Symbol("connector", path, match[1]), symbol)


def _dotted(text: str, node: Node, connector: Symbol, member: Symbol | None) -> Iterator[Occurrence]:
    """``connector.member``: two names in one scalar."""
    if not isinstance(node, Scalar) or node.origin is not None:
        return
    start, end = content_span(node)
    middle = start + len(connector.name)
    if text[start:middle] != connector.name:
        return
    if connector.path:
        yield Occurrence(connector, (start, middle))
    if member is not None:
        yield Occurrence(member, (middle + 1, end))


def _connectors(snapshot: Snapshot, workflow: Workflow) -> Iterator[Occurrence]:
    listed = workflow.root.get("connectors")
    for entry in listed.entries if isinstance(listed, Mapping) else ():
        if isinstance(entry.key, Scalar):
            result = snapshot.project.connector(workflow.path, entry.key.text, entry)
            if result.manifest is not None:
                yield from _own(entry.key, Symbol("connector", result.path, entry.key.text))
    trigger = workflow.trigger_entry
    if trigger is not None and isinstance(trigger.value, Mapping):
        source = trigger.value.get("source")
        if source is not None:
            yield from _trigger(snapshot.text, source, workflow.trigger)


def _states(workflow: Workflow) -> Iterator[Occurrence]:
    states = workflow.states or {}
    named: list[tuple[str | None, Node | None]] = [(workflow.initial, workflow.initial_node)]
    for state in states.values():
        symbol = Symbol("state", workflow.path, state.name)
        yield from _own(state.entry.key, symbol, definition=True)
        named += [(timer.to, timer.to_node) for timer in state.timers]
        named += [(route.to, route.to_node) for route in state.routes]
    for name, node in named:
        if name in states and node is not None:
            yield from _own(node, Symbol("state", workflow.path, name))


# ---- expressions -------------------------------------------------------------------------------


def _in_expressions(snapshot: Snapshot, groups: dict[int, Step]) -> Iterator[Occurrence]:
    scopes = snapshot.scopes
    if scopes is None:
        return
    for scalar, env in scopes.scalars():
        site = Site(snapshot.source, scalar)
        for part in interpolations(scalar):
            for start, end, symbol in names_in(part.expr, env, scopes, groups):
                yield Occurrence(symbol, site.span(start, end))


def names_in(root: Expr, env: Env, scopes: Scopes, groups: dict[int, Step]) -> Iterator[tuple[int, int, Symbol]]:
    """What the names and members of an expression mean: offsets in its scalar, and the symbol."""
    for expr in walk(root):
        if isinstance(expr, Name):
            symbol = _meaning(expr, env, scopes.workflow, groups)
            if symbol is not None:
                yield expr.start, expr.end, symbol
        elif isinstance(expr, Member) and expr.name:
            field = scopes.type_of(expr.target, scopes.env_inside(root, expr, env)).fields.get(expr.name)
            symbol = None if field is None else source_symbol(field.source, scopes.workflow.path, groups)
            if symbol is not None:
                yield expr.name_start, expr.name_end, symbol


def _meaning(expr: Name, env: Env, workflow: Workflow, groups: dict[int, Step]) -> Symbol | None:
    binding = env.lookup(expr.name)
    if binding is None:
        return None
    symbol = source_symbol(binding.source, workflow.path, groups)
    if symbol is not None or binding.node is None:
        return symbol
    state = (workflow.states or {}).get(expr.name)
    if state is not None and state.entry.key is binding.node:
        return Symbol("state", workflow.path, expr.name)
    if isinstance(binding.node, Scalar) and binding.node.value == expr.name:
        return _loop(workflow.path, binding.node, expr.name)
    return None


def source_symbol(source: object, path: str, groups: dict[int, Step]) -> Symbol | None:
    """The symbol of what a binding or a field comes from."""
    if isinstance(source, Step):
        return step_symbol(source, path, groups)
    if isinstance(source, InputDecl):
        return Symbol("input", path, source.name)
    return None


def step_symbol(step: Step, path: str, groups: dict[int, Step]) -> Symbol:
    """A step's symbol. The steps of one id in the branches of one ``wf.if`` or ``wf.switch`` are read as one."""
    first = groups.get(id(step), step)
    return Symbol("step", path, step.id, first.id_node.start)


def step_groups(workflow: Workflow) -> dict[int, Step]:
    """For each step of a branch, the first step of the same id in any branch of its construct."""
    groups: dict[int, Step] = {}
    for owner in all_steps(workflow):
        if owner.kind not in ("wf.if", "wf.switch"):
            continue
        first: dict[str, Step] = {}
        for steps in owner.lists:
            for step in steps.steps:
                groups[id(step)] = first.setdefault(step.id, step)
    return groups


def members_of(workflow: Workflow, symbol: Symbol) -> list[Step]:
    """The steps that a step's symbol stands for."""
    groups = step_groups(workflow)
    return [step for step in all_steps(workflow) if step_symbol(step, workflow.path, groups) == symbol]


# ---- manifests ---------------------------------------------------------------------------------


def _in_manifest(snapshot: Snapshot) -> Iterator[Occurrence]:
    root = snapshot.root
    key = {"connector": "connector", "overlay": "overlay"}.get(snapshot.kind)
    node = root.get(key) if root is not None and key is not None else None
    if root is None or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return
    connector = node.value
    path = snapshot.path
    if snapshot.kind == "overlay":
        result = snapshot.project.connector(snapshot.path, connector, None)
        path = result.path or snapshot.path
    yield from _own(node, Symbol("connector", path, connector), definition=snapshot.kind == "connector")
    kinds: tuple[tuple[str, Kind], ...] = (("actions", "action"), ("triggers", "trigger"))
    for part, kind in kinds:
        table = root.get(part)
        for entry in table.entries if isinstance(table, Mapping) else ():
            if isinstance(entry.key, Scalar):
                symbol = Symbol(kind, path, f"{connector}.{entry.key.text}")
                yield from _own(entry.key, symbol, definition=snapshot.kind == "connector")


# ---- scenarios ---------------------------------------------------------------------------------

#: Keys of a scenario whose text is a step path, and those whose text is a binding path.
_STEP_PATHS: Final = frozenset({"after", "path", "on", "holds", "waiting"})
_SEGMENT = re.compile(r"[^./]+")


def workfile_of(snapshot: Snapshot) -> str | None:
    """The path of the Workfile that a scenario runs."""
    node = snapshot.root.get("workfile") if snapshot.root is not None else None
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
        return None
    return os.path.normpath(os.path.join(os.path.dirname(snapshot.path), node.value))  # noqa: PTH118, PTH120


def _in_scenario(snapshot: Snapshot, target: Snapshot) -> Iterator[Occurrence]:
    workflow, root = target.workflow, snapshot.root
    if workflow is None or root is None:
        return
    inputs = root.get("inputs")
    for entry in inputs.entries if isinstance(inputs, Mapping) else ():
        if isinstance(entry.key, Scalar) and entry.key.text in workflow.inputs:
            yield from _own(entry.key, Symbol("input", workflow.path, entry.key.text))
    reader = _ScenarioReader(snapshot, target, workflow)
    for key in ("actions", "events", "crashes", "operator", "expect"):
        node = root.get(key)
        if node is not None:
            yield from reader.read(key, node)


class _ScenarioReader:
    """Finds names of actions, triggers and steps in a scenario."""

    def __init__(self, snapshot: Snapshot, target: Snapshot, workflow: Workflow) -> None:
        self.text = snapshot.text
        self.target = target
        self.workflow = workflow
        self.groups = step_groups(workflow)
        self.calls: dict[str, Call] = {}
        self.triggers: dict[str, TriggerDecl] = {}
        for step in all_steps(workflow):
            for call in (step.call, step.undo):
                if call is not None:
                    self.calls.setdefault(call.reference, call)
            if step.trigger is not None and step.subject is not None and isinstance(step.subject.value, Scalar):
                self.triggers.setdefault(step.subject.value.text, step.trigger)

    def read(self, key: str, node: Node) -> Iterator[Occurrence]:
        if key in ("actions", "effects", "invocations") and isinstance(node, Mapping):
            for entry in node.entries:
                yield from self._action_or_path(entry.key)
        elif key in ("bindings", "absent"):
            nodes = [entry.key for entry in node.entries] if isinstance(node, Mapping) else _items(node)
            for each in nodes:
                yield from self._binding_path(each)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                yield from self._entry(entry)
        elif isinstance(node, Sequence):
            for item in node.items:
                yield from self.read(key, item)
        elif key in _STEP_PATHS:
            yield from self._step_path(node)

    def _entry(self, entry: Entry) -> Iterator[Occurrence]:
        name = entry.key.text if isinstance(entry.key, Scalar) else ""
        if name in ("payload", "result", "details", "where"):
            return
        if name == "deliver" and isinstance(entry.value, Scalar):
            yield from _trigger(self.text, entry.value, self.triggers.get(entry.value.text))
        elif name == "action":
            yield from self._action_or_path(entry.value)
        else:
            yield from self.read(name, entry.value)

    def _action_or_path(self, node: Node) -> Iterator[Occurrence]:
        call = self.calls.get(node.text) if isinstance(node, Scalar) else None
        if call is not None:
            path = call.manifest.path if call.manifest is not None else ""
            action = Symbol("action", path, call.reference) if call.action is not None else None
            yield from _dotted(self.text, node, Symbol("connector", path, call.connector), action)
        else:
            yield from self._step_path(node)

    def _step_path(self, node: Node) -> Iterator[Occurrence]:
        """``decide.(then).pay``, ``call/step``: each prefix that is a step's path names that step."""
        if not isinstance(node, Scalar) or node.origin is not None:
            return
        start, end = content_span(node)
        if self.text[start:end] != node.text:
            return
        workflow: Workflow | None = self.workflow
        begin = 0
        while workflow is not None:
            groups = step_groups(workflow)
            paths = {step.path: step for step in all_steps(workflow)}
            slash = node.text.find("/", begin)
            part = node.text[begin : slash if slash >= 0 else len(node.text)]
            last: Step | None = None
            for found in _SEGMENT.finditer(part):
                step = paths.get(part[: found.end()])
                state = (workflow.states or {}).get(found[0]) if found.start() == 0 else None
                place = (start + begin + found.start(), start + begin + found.end())
                if step is not None:
                    last = step
                    yield Occurrence(step_symbol(step, workflow.path, groups), place)
                elif state is not None:
                    yield Occurrence(Symbol("state", workflow.path, state.name), place)
            workflow = last.callee if last is not None and slash >= 0 else None
            begin = slash + 1

    def _binding_path(self, node: Node) -> Iterator[Occurrence]:
        scopes = self.target.scopes
        if not isinstance(node, Scalar) or node.origin is not None or scopes is None:
            return
        start, end = content_span(node)
        if self.text[start:end] != node.text:
            return
        expr, _ = parse_expression(node.text)
        for first, last, symbol in names_in(expr, scopes.final(), scopes, self.groups):
            yield Occurrence(symbol, (start + first, start + last))


def _items(node: Node) -> list[Node]:
    return list(node.items) if isinstance(node, Sequence) else []
