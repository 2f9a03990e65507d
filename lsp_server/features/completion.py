"""Completion: everywhere the language knows what may stand there, in text that is being typed above all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from analyzer.expressions.scope import Binding, Env
from analyzer.expressions.types import Type, describe, mismatch
from analyzer.language.vocabulary import ALLOWED_KEYS, CONSTRUCTS, FAULT_CODES, MODIFIERS, WAITABLE_SOURCES, KeySpec
from analyzer.model.build import build_workflow
from analyzer.model.nodes import State, Step, Workflow, all_steps
from analyzer.model.problems import Problems
from analyzer.model.resolve import Resolver
from analyzer.rules.registry import all_rules, families
from analyzer.syntax.nodes import Mapping, Scalar
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source
from analyzer.workspace.files import CONNECTOR_SUFFIX, FileKind
from analyzer.workspace.manifests import ActionDecl, Manifest, TriggerDecl
from analyzer.workspace.project import Project
from lsp_server.cursor import MARK, Cursor, cursor_at
from lsp_server.features.completion_expressions import expression_items
from lsp_server.features.completion_items import Item, argument_skeleton, key_insert, quoted, value_skeleton
from lsp_server.features.hover import action_text, spec_text, trigger_text
from lsp_server.nodes import Crumb, key_text, scalar_at, trail
from lsp_server.scopes import RecordingTyper
from lsp_server.shapes import Shape, Shapes, description_of, property_schema
from lsp_server.snapshot import Span

MAX_ITEMS: Final = 1_000
_DURATIONS: Final = ("30s", "1m", "5m", "1h", "24h", "7d")
_TYPES: Final = (
    "string",
    "integer",
    "number",
    "boolean",
    "timestamp",
    "duration",
    "object",
    "any",
    "list[string]",
    "map[string]",
    "enum[a, b]",
)
_SCHEMA_KEYS: Final = ("type", "properties", "required", "items", "enum", "additionalProperties", "description")


@dataclass(slots=True)
class Request:
    """What is asked: a place in a text of a file, and what is known from before.

    ``last`` is the Workfile as it was when it was analysed last: of a large file the steps before the one at hand are
    taken from there.
    """

    path: str
    kind: FileKind
    project: Project
    text: str
    offset: int
    tree: Tree | None = None
    last: Workflow | None = None
    target: Workflow | None = None
    snippets: bool = True
    siblings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Place:
    """The finished text, read: the way to the word, and the model around it."""

    request: Request
    cursor: Cursor
    source: Source
    crumbs: list[Crumb]
    shapes: list[Shape]
    workflow: Workflow | None
    typer: RecordingTyper | None = field(default=None)

    @property
    def shape(self) -> Shape:
        """The shape of the word itself."""
        return self.shapes[-1]

    def env(self, step: Step | None) -> Env | None:
        """What can be read at a step."""
        if self.workflow is None:
            return None
        if self.typer is None:
            self.typer = _Continued(self.workflow, self.source, _earlier(self.request.last, self.cursor.before))
            self.typer.run()
        if step is None:
            return self.typer.final
        return self.typer.inside.get(step) or self.typer.before.get(step)


class _Continued(RecordingTyper):
    """Types part of a Workfile, after steps that are known from before."""

    def __init__(self, workflow: Workflow, source: Source, earlier: dict[str, Binding]) -> None:
        self.earlier = earlier
        super().__init__(workflow, source)

    def _root_env(self) -> Env:
        env = super()._root_env()
        return env.child(self.earlier) if self.earlier else env


def _earlier(last: Workflow | None, before: tuple[str, ...] | None) -> dict[str, Binding]:
    if last is None or not before or last.steps is None:
        return {}
    steps = {step.id: step for step in last.steps.steps}
    return {
        name: Binding(name, binding, steps[name].id_node, steps[name])
        for name in before
        if name in steps and (binding := steps[name].binding) is not None
    }


def complete(request: Request) -> tuple[Span, list[Item]]:
    """The span that is replaced, and what may stand there, best first."""
    inside = scalar_at(request.tree.root, request.offset) if request.tree is not None else None
    runs_on = inside is not None and "{{" in request.text[inside.start : request.offset]
    cursor = cursor_at(request.text, request.offset, runs_on)
    if cursor is None:
        return (request.offset, request.offset), []
    span = (cursor.start, cursor.end)
    if cursor.kind == "comment":
        return span, list(_rule_items())
    place = _read(request, cursor)
    if place is None:
        return span, []
    items = _expression(place) if cursor.kind == "expression" else _structure(place)
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.label, item)
    ranked = sorted(found.values(), key=lambda item: (item.rank, item.label))
    return span, ranked[:MAX_ITEMS]


def _read(request: Request, cursor: Cursor) -> _Place | None:
    source = Source(cursor.text, request.path)
    tree = parse(source)
    crumbs = trail(tree.root, cursor.mark)
    if not crumbs or not isinstance(crumbs[-1].node, Scalar) or MARK not in crumbs[-1].node.text:
        return None
    workflow = request.target
    if request.kind == "workflow":
        problems = Problems()
        workflow = build_workflow(request.path, tree.root, problems)
        known = {step.callee.name: step.callee for step in _callers(request.last) if step.callee is not None}
        by_path = {callee.path: callee for callee in known.values()}
        Resolver(workflow, request.project, problems, by_path.get).run()
    shapes = Shapes(request.kind, workflow).along(crumbs)
    return _Place(request, cursor, source, crumbs, shapes, workflow)


def _callers(workflow: Workflow | None) -> Iterator[Step]:
    if workflow is not None:
        yield from (step for step in all_steps(workflow) if step.callee is not None)


def _expression(place: _Place) -> Iterable[Item]:
    scalar = place.crumbs[-1].node
    assert isinstance(scalar, Scalar)
    place.env(None)
    typer = place.typer
    if typer is None:
        return []
    found = typer.seen.get(id(scalar))
    env = found[1] if found is not None else None
    if env is None:
        step = next((shape.step for shape in reversed(place.shapes) if shape.step is not None), None)
        env = place.env(step)
    return [] if env is None else expression_items(scalar, env, typer.expressions, _hidden(place))


def _hidden(place: _Place) -> set[int]:
    """The steps, by identity, that are not bound yet at the cursor: those around it and those after them.

    A scope is the same for a whole list, and has all of its names once the list has been typed.
    """
    step = next((shape.step for shape in reversed(place.shapes) if shape.step is not None), None)
    undo = None if step is None else step.undo_entry
    in_undo = undo is not None and undo.key.start <= place.cursor.mark <= undo.value.end
    readable = step if in_undo else None
    hidden: set[int] = set()
    while step is not None:
        owner = step.parent.owner
        ordered = owner.all_steps if isinstance(owner, State) else step.parent.steps
        hidden.update(id(each) for each in ordered[ordered.index(step) :] if each is not readable)
        step = owner if isinstance(owner, Step) else None
    return hidden


# ---- structure -----------------------------------------------------------------------------------


def _structure(place: _Place) -> Iterable[Item]:
    holder = place.crumbs[-2] if len(place.crumbs) > 1 else None
    if holder is None:
        return _root_words(place)
    if holder.on_key:
        shape = place.shapes[-2]
        assert isinstance(holder.node, Mapping)
        taken = {key_text(entry) for entry in holder.node.entries if entry is not holder.entry}
        return _keys(place, shape, taken)
    return _values(place, place.shape)


def _root_words(place: _Place) -> Iterable[Item]:
    return _table_items(place, Shapes(place.request.kind, None).along([Crumb(place.crumbs[0].node)])[0], set())


def _keys(place: _Place, shape: Shape, taken: set[str]) -> Iterable[Item]:
    if shape.kind == "keys":
        return _table_items(place, shape, taken)
    if shape.kind == "body":
        return _body_items(place, shape, taken)
    if shape.kind == "step":
        return _new_steps(place)
    if shape.kind == "call":
        return [*_action_items(place, skeleton=True), *_spec_items(place, {"connection": MODIFIERS["connection"].key})]
    if shape.kind == "typed":
        return _argument_items(place, shape, taken)
    if shape.kind == "names":
        return _name_items(place, shape, taken)
    if shape.kind == "type":
        return [Item(name, "property", insert=key_insert(name, "", place.cursor.colon)) for name in _SCHEMA_KEYS]
    if shape.kind == "value":
        return _values(place, shape)  # the first word behind a dash: of a list of values it is one of them
    return []


def _table_items(place: _Place, shape: Shape, taken: set[str]) -> list[Item]:
    table = shape.table or {}
    return _spec_items(place, {name: spec for name, spec in table.items() if name not in taken})


def _spec_items(place: _Place, table: dict[str, KeySpec], rank: int = 20) -> list[Item]:
    items: list[Item] = []
    for position, (name, spec) in enumerate(table.items()):
        required = 0 if spec.required else 5
        insert = key_insert(name, value_skeleton(spec), place.cursor.colon)
        items.append(
            Item(name, "property", _detail(spec), spec_text(spec), insert, rank + required + position / 100, True)
        )
    return items


def _detail(spec: KeySpec) -> str:
    if spec.required:
        return "required"
    return f"default {spec.default}" if spec.default is not None else ""


def _body_items(place: _Place, shape: Shape, taken: set[str]) -> Iterable[Item]:
    step = shape.step
    subject = step is not None and step.kind != "" and step.subject is not None and _is_real(step)
    if not subject:
        yield from _action_items(place, skeleton=True)
        for number, construct in enumerate(CONSTRUCTS.values()):
            insert = key_insert(construct.name, "", place.cursor.colon)
            yield Item(construct.name, "keyword", "construct", construct.doc, insert, 10 + number / 100, True)
        modifiers = {name: modifier.key for name, modifier in MODIFIERS.items() if "action" in modifier.on}
        yield from _spec_items(place, {name: spec for name, spec in modifiers.items() if name not in taken}, 30)
        return
    assert step is not None
    action = step.call.action if step.call is not None else None
    allowed = {name: spec for name, spec in ALLOWED_KEYS[step.kind].items() if name not in taken}
    if action is not None and action.idempotency != "keyed":
        allowed.pop("idempotency_key", None)
    if action is not None and action.effect == "read":
        for name in ("on_unknown", "reconcile", "undo"):
            allowed.pop(name, None)
    yield from _spec_items(place, allowed)


def _is_real(step: Step) -> bool:
    return step.subject is not None and MARK not in key_text(step.subject)


def _new_steps(place: _Place) -> Iterator[Item]:
    """Whole steps, each on one line: an action with its arguments, or a construct."""
    if place.cursor.colon:
        return
    for reference, action in _actions(place):
        name = action.name
        insert = f"${{1:{name}}}: {{ {reference}: {argument_skeleton(action.input, 2)} }}"
        yield Item(f"{reference}", "function", "new step", action_text(reference, action), insert, 1, True)
    for number, (construct, body) in enumerate(_CONSTRUCT_STEPS.items()):
        doc = CONSTRUCTS[construct].doc
        yield Item(construct, "keyword", "new step", doc, f"${{1:step}}: {{ {body} }}", 5 + number / 100, True)


_CONSTRUCT_STEPS: Final = {
    "wf.wait": "wf.wait: ${2:5m}",
    "wf.wait_for": "wf.wait_for: ${2:connector.trigger}, match: { $3 }, timeout: ${4:24h}",
    "wf.call": "wf.call: ${2:workflow}, inputs: { $3 }",
    "wf.let": 'wf.let: { ${2:name}: "{{ $3 }}" }',
    "wf.if": 'wf.if: "{{ $2 }}", then: [ { $3 } ]',
    "wf.switch": 'wf.switch: "{{ $2 }}", cases: { ${3:value}: [ { $4 } ] }',
    "wf.for_each": 'wf.for_each: "{{ $2 }}", as: ${3:element}, steps: [ { $4 } ]',
    "wf.group": "wf.group: [ { $2 } ]",
    "wf.parallel": "wf.parallel: { ${2:left}: [ { $3 } ], ${4:right}: [ { $5 } ] }",
    "wf.fail": "wf.fail: { code: ${2:code} }",
    "wf.stop": 'wf.stop: { reason: "$2" }',
}


def _argument_items(place: _Place, shape: Shape, taken: set[str]) -> Iterator[Item]:
    fields = shape.type.fields if shape.type is not None else {}
    for position, (name, each) in enumerate(fields.items()):
        if name in taken:
            continue
        doc = description_of(property_schema(shape.schema, name))
        rank = (10 if each.optional else 0) + position / 100
        insert = key_insert(name, value_skeleton(each.type), place.cursor.colon)
        detail = describe(each.type) + (", optional" if each.optional else "")
        yield Item(name, "field", detail, doc, insert, rank, True)


def _name_items(place: _Place, shape: Shape, taken: set[str]) -> Iterator[Item]:
    request = place.request
    if shape.what == "connector":
        for name in request.project.connector_names(request.path):
            yield Item(name, "module", "connector", "", key_insert(name, "", place.cursor.colon), 1, True)
    workflow = place.workflow
    if request.kind != "scenario" or workflow is None:
        return
    if shape.what in ("answered", "action"):
        for reference, action in used_actions(workflow).items():
            if reference not in taken:
                doc = action_text(reference, action)
                yield Item(reference, "function", "action", doc, key_insert(reference, "", place.cursor.colon), 1, True)
    if shape.what == "answered":
        for step in all_steps(workflow):
            if step.call is not None and step.path not in taken:
                insert = key_insert(step.path, "", place.cursor.colon)
                yield Item(step.path, "reference", step.call.reference, "", insert, 2, True)
    if shape.what == "binding":
        for step in workflow.top_lists[0].steps if workflow.top_lists else ():
            yield Item(step.id, "variable", "binding", "", key_insert(step.id, "", place.cursor.colon), 1, True)


# ---- values --------------------------------------------------------------------------------------


def _values(place: _Place, shape: Shape) -> Iterator[Item]:
    if shape.kind == "typed":
        yield from _typed_values(place, shape)
        return
    if shape.kind in ("type", "names") or (shape.kind == "any" and place.shapes[-2].what == "input"):
        yield from (Item(name, "class", "type") for name in _TYPES)
        return
    spec = shape.spec
    if spec is None:
        yield from _paths(place, shape.what)
        return
    if spec.values:
        for number, value in enumerate(spec.values):
            detail = "default" if value == spec.default else ""
            yield Item(value, "enumMember", detail, spec_text(spec), value, number / 100)
    yield from _of_kind(place, shape, spec)


def _of_kind(place: _Place, shape: Shape, spec: KeySpec) -> Iterator[Item]:
    kind = spec.kind
    if kind == "boolean":
        yield from (Item(word, "keyword") for word in ("true", "false"))
    elif kind in ("duration", "positive-duration", "timeout", "wait-timeout", "moment"):
        yield from (Item(each, "value", "duration", rank=number) for number, each in enumerate(_DURATIONS))
    elif kind == "standard-version":
        yield Item("1.0", "value", insert=quoted("1.0", place.cursor.quoted))
    elif kind == "state":
        states = (place.request.last or place.workflow or Workflow("", Mapping(0, 0, []))).states or {}
        yield from (Item(name, "class", "state") for name in states)
    elif kind == "codes":
        yield from _codes(shape)
    elif kind == "connection":
        yield from _connections(place, shape)
    elif kind == "name" and (spec.name == "wf.call"):
        for name in place.request.project.workflows():
            if place.workflow is None or name != place.workflow.name:
                yield Item(name, "module", "workflow")
    elif kind == "reference":
        yield from _triggers(place, waitable=spec.name == "wf.wait_for")
    elif kind == "map-of-types":
        yield from (Item(name, "class", "type") for name in _TYPES)
    if kind.endswith("expression") or kind in ("expression", "boolean-expression"):
        yield Item("{{ }}", "snippet", "expression", "", _braces(place), 90, True)
    yield from _paths(place, spec.name)


def _braces(place: _Place) -> str:
    return "{{ $1 }}" if place.cursor.quoted else '"{{ $1 }}"'


def _typed_values(place: _Place, shape: Shape) -> Iterator[Item]:
    wanted = shape.type
    for value in (wanted.values or ()) if wanted is not None else ():
        text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
        yield Item(text, "enumMember", insert=text, rank=0)
    if wanted is not None and wanted.kind == "boolean" and wanted.values is None:
        yield from (Item(word, "keyword", rank=1) for word in ("true", "false"))
    if place.request.kind != "workflow":
        return
    yield Item("{{ }}", "snippet", "expression", "", _braces(place), 90, True)
    env = place.env(shape.step)
    if env is None:
        return
    for name, type_ in _readable(env, _hidden(place)):
        fits = wanted is None or wanted.kind == "any" or mismatch(type_, wanted) is None
        if fits and type_.kind not in ("any", "never", "null"):
            inner = "{{ " + name + " }}"
            insert = inner if place.cursor.quoted else f'"{inner}"'
            yield Item(name, "variable", describe(type_), "", insert, 10 if wanted is not None else 50)


def _readable(env: Env, hidden: set[int]) -> Iterator[tuple[str, Type]]:
    for name, binding in env.visible().items():
        if id(binding.source) in hidden:
            continue
        yield name, binding.type
        for member, each in binding.type.fields.items():
            yield f"{name}.{member}", each.type.with_null() if each.optional else each.type


def _codes(shape: Shape) -> Iterator[Item]:
    step = shape.step
    action = step.call.action if step is not None and step.call is not None else None
    for code, retryable in (action.errors if action is not None else {}).items():
        yield Item(code, "enumMember", "retryable" if retryable else "not retryable", rank=0)
    for code in FAULT_CODES:
        yield Item(code, "enumMember", "fault of an expression", rank=5)


def _connections(place: _Place, shape: Shape) -> Iterator[Item]:
    step = shape.step
    connector = step.call.connector if step is not None and step.call is not None else ""
    if step is not None and step.kind == "wf.wait_for" and step.subject is not None:
        connector = step.subject.value.text.partition(".")[0] if isinstance(step.subject.value, Scalar) else ""
    declared = place.request.project.connections(connector)
    if declared is not None:
        for name in declared.names:
            yield Item(name, "value", "default" if name == declared.default else "connection")


def _paths(place: _Place, name: str) -> Iterator[Item]:
    request = place.request
    workflow = place.workflow
    if request.kind == "scenario" and workflow is not None and name in ("path", "on", "after"):
        for step in all_steps(workflow):
            yield Item(step.path, "reference", step.call.reference if step.call is not None else step.kind)
    if request.kind == "scenario" and workflow is not None and name == "deliver":
        yield from _triggers(place, waitable=True)
    wanted = {"manifest": CONNECTOR_SUFFIX, "overlay": ".overlay.yaml", "workfile": ".workfile.yaml"}.get(name, "")
    if wanted and (name != "workfile" or request.kind == "scenario"):
        for path in request.siblings:
            if path.endswith(wanted):
                shown = os.path.relpath(path, os.path.dirname(request.path)).replace(os.sep, "/")  # noqa: PTH120
                yield Item(shown, "file", insert=shown)


def _triggers(place: _Place, *, waitable: bool) -> Iterator[Item]:
    for reference, trigger in _declared_triggers(place):
        if not waitable or trigger.source in WAITABLE_SOURCES:
            yield Item(reference, "event", trigger.source, trigger_text(reference, trigger), reference, 1)


def _rule_items() -> Iterator[Item]:
    for name, info in all_rules().items():
        yield Item(name, "enumMember", info.severity, info.summary, name, 1)
    for family in families():
        yield Item(family, "module", "all rules of the family", "", family, 5)


# ---- connectors ----------------------------------------------------------------------------------


def _connector_names(place: _Place) -> list[str]:
    request, workflow = place.request, place.workflow
    listed = workflow.root.get("connectors") if workflow is not None else None
    names = [key_text(entry) for entry in listed.entries] if isinstance(listed, Mapping) else []
    return list(dict.fromkeys([*names, *request.project.connector_names(_workfile_path(place))]))


def _workfile_path(place: _Place) -> str:
    target = place.request.target
    return target.path if target is not None else place.request.path


def _manifests(place: _Place) -> Iterator[tuple[str, Manifest]]:
    workflow = place.workflow
    listed = workflow.root.get("connectors") if workflow is not None else None
    for name in _connector_names(place):
        entry = listed.entry(name) if isinstance(listed, Mapping) else None
        manifest = place.request.project.connector(_workfile_path(place), name, entry).manifest
        if manifest is not None:
            yield name, manifest


def _actions(place: _Place) -> Iterator[tuple[str, ActionDecl]]:
    for name, manifest in _manifests(place):
        yield from ((f"{name}.{action.name}", action) for action in manifest.actions.values())


def _declared_triggers(place: _Place) -> Iterator[tuple[str, TriggerDecl]]:
    for name, manifest in _manifests(place):
        yield from ((f"{name}.{trigger.name}", trigger) for trigger in manifest.triggers.values())


def _action_items(place: _Place, *, skeleton: bool) -> Iterator[Item]:
    for reference, action in _actions(place):
        body = argument_skeleton(action.input, 1) if skeleton else ""
        detail = f"{action.effect}, {action.idempotency}"
        insert = key_insert(reference, body, place.cursor.colon)
        yield Item(reference, "function", detail, action_text(reference, action), insert, 1, True)


def used_actions(workflow: Workflow) -> dict[str, ActionDecl]:
    """The actions that a Workfile calls, by reference, in document order."""
    found: dict[str, ActionDecl] = {}
    for step in all_steps(workflow):
        for call in (step.call, step.undo):
            if call is not None and call.action is not None:
                found.setdefault(call.reference, call.action)
    return found
