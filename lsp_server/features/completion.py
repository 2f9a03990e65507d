"""Completion: everywhere the language knows what may stand there, in text that is being typed above all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from analyzer.expressions.scope import Env
from analyzer.expressions.types import Type, describe, mismatch
from analyzer.language.vocabulary import ALLOWED_KEYS, CONSTRUCTS, MODIFIERS, KeySpec
from analyzer.model.nodes import Step, Workflow
from analyzer.rules.registry import all_rules, families
from analyzer.syntax.nodes import Mapping, Scalar
from lsp_server.cursor import MARK, Cursor, cursor_at
from lsp_server.features.completion_expressions import expression_items
from lsp_server.features.completion_items import Item, argument_skeleton, key_insert, quoted, value_skeleton
from lsp_server.features.completion_names import (
    codes,
    connections,
    declared_actions,
    declared_fields,
    name_items,
    paths,
    scenario_values,
    triggers,
)
from lsp_server.features.completion_place import Place, Request, hidden_steps, read
from lsp_server.features.hover import action_text, spec_text
from lsp_server.nodes import Crumb, key_text, scalar_at
from lsp_server.schema_words import SCHEMA_KEYS
from lsp_server.shapes import Shape, Shapes, description_of, property_schema
from lsp_server.snapshot import Span

MAX_ITEMS: Final = 1_000
#: Kinds of values that may be written as a block below their key.
_BLOCKS: Final = frozenset(
    {
        "any",
        "call",
        "codes",
        "counts",
        "decision",
        "expression",
        "handlers",
        "list",
        "list-expression",
        "map",
        "map-of-expressions",
        "paths",
        "steps",
        "strings",
        "types",
    }
)
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "timestamp", "duration"})
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


def complete(request: Request) -> tuple[Span, list[Item]]:
    """The span that is replaced, and what may stand there, best first.

    An editor asks by itself behind the characters that trigger, and its Enter takes the first item: nothing is offered
    unasked where a line is as likely to end (``Request.typed``), nor right behind a colon where a block may follow.
    """
    inside = scalar_at(request.tree.root, request.offset) if request.tree is not None else None
    runs_on = inside is not None and "{{" in request.text[inside.start : request.offset]
    cursor = cursor_at(request.text, request.offset, runs_on)
    if cursor is None:
        return (request.offset, request.offset), []
    span = (cursor.start, cursor.end)
    if cursor.kind == "comment":
        return span, list(_rule_items())
    place = None if _ends_lines(request, cursor) else read(request, cursor)
    if place is None:
        return span, []
    items = _expression(place) if cursor.kind == "expression" else _structure(place)
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.label, replace(item, insert=" " + item.text) if cursor.tight else item)
    ranked = sorted(found.values(), key=lambda item: (item.rank, item.label))
    return span, ranked[:MAX_ITEMS]


def _ends_lines(request: Request, cursor: Cursor) -> bool:
    """Whether what was typed last often ends a line: what opens or divides a flow collection, and indentation."""
    if cursor.kind == "expression":
        return False
    start = max(request.text.rfind("\n", 0, request.offset), request.text.rfind("\r", 0, request.offset)) + 1
    indents = request.typed == " " and not request.text[start : request.offset].strip(" ")
    return indents or request.typed in ("{", "[", ",")


def _expression(place: Place) -> Iterable[Item]:
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
    return [] if env is None else expression_items(scalar, env, typer.expressions, hidden_steps(place))


# ---- structure -----------------------------------------------------------------------------------


def _structure(place: Place) -> Iterable[Item]:
    holder = place.crumbs[-2] if len(place.crumbs) > 1 else None
    if holder is None:
        return _root_words(place)
    if holder.on_key:
        shape = place.shapes[-2]
        assert isinstance(holder.node, Mapping)
        taken = {key_text(entry) for entry in holder.node.entries if entry is not holder.entry}
        return _keys(place, shape, taken)
    return _values(place, place.shape)


def _root_words(place: Place) -> Iterable[Item]:
    return _table_items(place, Shapes(place.request.kind, None).along([Crumb(place.crumbs[0].node)])[0], set())


def _keys(place: Place, shape: Shape, taken: set[str]) -> Iterable[Item]:
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
        return name_items(place, shape, taken)
    if shape.kind == "type":
        return _spec_items(place, {name: spec for name, spec in SCHEMA_KEYS.items() if name not in taken})
    if shape.kind == "value":
        return _values(place, shape)  # the first word behind a dash: of a list of values it is one of them
    return []


def _table_items(place: Place, shape: Shape, taken: set[str]) -> list[Item]:
    table = shape.table or {}
    return _spec_items(place, {name: spec for name, spec in table.items() if name not in taken})


def _spec_items(place: Place, table: dict[str, KeySpec], rank: int = 20) -> list[Item]:
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


def _body_items(place: Place, shape: Shape, taken: set[str]) -> Iterable[Item]:
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


def _new_steps(place: Place) -> Iterator[Item]:
    """Whole steps, each on one line: an action with its arguments, or a construct."""
    if place.cursor.colon:
        return
    for reference, action in declared_actions(place):
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


def _argument_items(place: Place, shape: Shape, taken: set[str]) -> Iterator[Item]:
    fields = shape.type.fields if shape.type is not None else {}
    for position, (name, each) in enumerate(fields.items()):
        if name in taken:
            continue
        doc = description_of(property_schema(shape.schema, name))
        rank = (10 if each.optional else 0) + position / 100
        insert = key_insert(name, value_skeleton(each.type), place.cursor.colon)
        detail = describe(each.type) + (", optional" if each.optional else "")
        yield Item(name, "field", detail, doc, insert, rank, True)


# ---- values --------------------------------------------------------------------------------------


def _values(place: Place, shape: Shape) -> Iterator[Item]:
    if place.cursor.tight and _may_be_block(shape):
        return
    if shape.kind == "typed":
        yield from _typed_values(place, shape)
        return
    if place.request.kind in ("connector", "overlay"):
        yield from declared_fields(place)
    if shape.kind == "type" or (shape.kind == "any" and place.shapes[-2].what == "input"):
        yield from (Item(name, "class", "type") for name in _TYPES)
        return
    spec = shape.spec
    if place.request.kind == "scenario":
        yield from scenario_values(place, shape, shape.what if spec is None else spec.name)
    if spec is None:
        yield from paths(place, shape.what)
        return
    if spec.values:
        for number, value in enumerate(spec.values):
            detail = "default" if value == spec.default else ""
            yield Item(value, "enumMember", detail, spec_text(spec), value, number / 100)
    yield from _of_kind(place, shape, spec)


def _may_be_block(shape: Shape) -> bool:
    """Whether a value may be a map or list that begins on the next line."""
    if shape.kind == "typed":
        return shape.type is None or not (shape.type.kind in _SCALARS or shape.type.values)
    return shape.kind != "value" or shape.spec is None or shape.spec.kind in _BLOCKS


def _of_kind(place: Place, shape: Shape, spec: KeySpec) -> Iterator[Item]:
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
        yield from codes(shape)
    elif kind == "connection":
        yield from connections(place, shape)
    elif kind == "name" and (spec.name == "wf.call"):
        for name in place.request.project.workflows():
            if place.workflow is None or name != place.workflow.name:
                yield Item(name, "module", "workflow")
    elif kind == "reference":
        yield from triggers(place, waitable=spec.name in ("wf.wait_for", "deliver"))
    if kind.endswith("expression") or kind in ("expression", "boolean-expression"):
        yield Item("{{ }}", "snippet", "expression", "", _braces(place), 90, True)
    yield from paths(place, spec.name)


def _braces(place: Place) -> str:
    return "{{ $1 }}" if place.cursor.quoted else '"{{ $1 }}"'


def _typed_values(place: Place, shape: Shape) -> Iterator[Item]:
    wanted = shape.type
    for value in (wanted.values or ()) if wanted is not None else ():
        text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
        yield Item(text, "enumMember", insert=text, rank=0)
    if wanted is not None and wanted.kind == "boolean" and wanted.values is None:
        yield from (Item(word, "keyword", rank=1) for word in ("true", "false"))
    if place.request.kind != "workflow":
        return
    if place.shapes[-2].kind != "typed":
        return  # the map of arguments, of fields to match, of inputs itself: it is written out
    yield Item("{{ }}", "snippet", "expression", "", _braces(place), 90, True)
    env = place.env(shape.step)
    if env is None:
        return
    for name, type_ in _readable(env, hidden_steps(place)):
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


def _rule_items() -> Iterator[Item]:
    for name, info in all_rules().items():
        yield Item(name, "enumMember", info.severity, info.summary, name, 1)
    for family in families():
        yield Item(family, "module", "all rules of the family", "", family, 5)


def _action_items(place: Place, *, skeleton: bool) -> Iterator[Item]:
    for reference, action in declared_actions(place):
        body = argument_skeleton(action.input, 1) if skeleton else ""
        detail = f"{action.effect}, {action.idempotency}"
        insert = key_insert(reference, body, place.cursor.colon)
        yield Item(reference, "function", detail, action_text(reference, action), insert, 1, True)
