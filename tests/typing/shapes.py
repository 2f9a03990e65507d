"""Shapes of values for generated Workfiles: the same shape writes the manifest and lists the values at run time."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace
from typing import Any

from analyzer.expressions.values import Value


@dataclass(frozen=True)
class Shape:
    """``kind``: string, integer, boolean, enum, record, list, forms (one of several records), any or null."""

    kind: str
    nullable: bool = False
    members: tuple[str, ...] = ()
    fields: tuple[tuple[str, Shape, bool], ...] = ()  # name, shape, optional
    item: Shape | None = None
    forms: tuple[Shape, ...] = ()

    def field(self, name: str) -> Shape:
        """What a read of a field gives; of several forms, in the first that has it."""
        if self.kind == "forms":
            return next(form for form in self.forms if any(name == each for each, _, _ in form.fields)).field(name)
        for known, shape, optional in self.fields:
            if known == name:
                return shape.or_null() if optional else shape
        raise KeyError(name)

    def or_null(self) -> Shape:
        """The same, or null."""
        return replace(self, nullable=True)


STRING = Shape("string")
INTEGER = Shape("integer")
BOOLEAN = Shape("boolean")
NULL = Shape("null", nullable=True)
ANY = Shape("any")
#: The one value of `any`; whether it is null is not known to the analyzer, so nothing about it is needless.
UNKNOWN = {"x": "s?"}


def enum(*members: str) -> Shape:
    return Shape("enum", members=members)


def record(**fields: Shape) -> Shape:
    """A record; a name that ends in ``_`` is optional (and written without it)."""
    return Shape(
        "record", fields=tuple((name.rstrip("_"), shape, name.endswith("_")) for name, shape in fields.items())
    )


def list_of(item: Shape) -> Shape:
    return Shape("list", item=item)


def forms(*shapes: Shape) -> Shape:
    """A value that has one of several forms."""
    return Shape("forms", forms=shapes)


#: Action -> its output (None: it declares none) and its arguments.
ACTIONS: dict[str, tuple[Shape | None, dict[str, Shape]]] = {
    "look": (
        record(
            level=enum("low", "high"),
            note_=STRING,
            mark=STRING.or_null(),
            box=record(size=INTEGER, tag_=STRING),
            found=BOOLEAN,
        ),
        {},
    ),
    "pick": (
        record(item_one_=record(name=STRING, kind_=enum("a", "b")), rows=list_of(STRING.or_null()), count=INTEGER),
        {},
    ),
    "peek": (record(deep=record(inner_=record(leaf_=STRING, flag=BOOLEAN)).or_null()).or_null(), {}),
    "open": (ANY, {}),
    "form": (
        forms(
            record(tag=enum("one"), label=STRING, same=STRING),
            record(tag=enum("two"), note_=STRING, same=STRING),
            record(tag=enum("many"), label=STRING.or_null(), rows=list_of(STRING), same=STRING),
        ),
        {},
    ),
    "drop": (None, {"id": STRING}),
    "set": (None, {"n": INTEGER}),
    "label": (record(id=STRING), {"mark": STRING.or_null()}),
    "keep": (record(kept=BOOLEAN), {"row": record(id=STRING, n_=INTEGER)}),
}
READS = frozenset({"look", "pick", "peek", "open", "form"})
PAYLOAD = record(key=STRING, ok=BOOLEAN, note_=STRING, level=enum("low", "high"))
INPUTS: dict[str, Shape] = {
    "go": BOOLEAN,
    "name": STRING,
    "label?": STRING,
    "kind": enum("one", "two"),
    "xs": list_of(STRING.or_null()),
    "box?": record(size=INTEGER, tag_=STRING),
    "flag": BOOLEAN.or_null(),
    "whatever?": ANY,
}


def schema(shape: Shape) -> Any:
    """The JSON Schema of a shape (`any` as the short string)."""
    null = ["null"] if shape.nullable else []
    if shape.kind == "any":
        return "any"
    if shape.kind == "enum":
        return {"enum": [*shape.members, *([None] if null else [])]}
    if shape.kind == "forms":
        return {"oneOf": [*map(schema, shape.forms)]}
    if shape.kind == "list":
        assert shape.item is not None
        return {"type": ["array", *null], "items": schema(shape.item)}
    if shape.kind == "record":
        return {
            "type": ["object", *null],
            "properties": {name: schema(field) for name, field, _ in shape.fields},
            "required": [name for name, _, optional in shape.fields if not optional],
            "additionalProperties": False,
        }
    return {"type": [shape.kind, *null]}


def manifest_text() -> str:
    """The manifest of the connector ``lab``."""
    actions: dict[str, Any] = {}
    for name, (output, arguments) in ACTIONS.items():
        action: dict[str, Any] = {
            "effect": "read" if name in READS else "write",
            "idempotency": "keyed" if name not in READS else "inherent",
            "input": schema(Shape("record", fields=tuple((each, shape, False) for each, shape in arguments.items()))),
            "errors": {"busy": {"retryable": True}, "broken": {"retryable": False}},
        }
        if output is not None:
            action["output"] = schema(output)
        actions[name] = action
    triggers = {
        "signal": {
            "source": "external",
            "configuration": schema(Shape("record")),
            "payload": schema(PAYLOAD),
            "correlate_on": ["key"],
        }
    }
    return json.dumps({"connector": "lab", "version": "1.0.0", "actions": actions, "triggers": triggers}, indent=1)


def values_of(shape: Shape, mentioned: frozenset[str], free: bool, name: str = "") -> list[Value]:
    """The values of a shape at run time, as far as they differ in something that the Workfile mentions.

    Under ``free`` guards only what is null counts.
    """
    found: list[Value] = list(_present(shape, mentioned, free))
    if shape.nullable:
        found.append(None)
    return found if not name or name in mentioned else found[:1]


def _present(shape: Shape, mentioned: frozenset[str], free: bool) -> list[Any]:
    if shape.kind == "boolean":
        return [True] if free else [True, False]
    if shape.kind == "enum":
        return [shape.members[0]] if free else list(shape.members)
    if shape.kind == "list":
        assert shape.item is not None
        items = values_of(shape.item, mentioned, free)
        pairs = ([items[0], items[-1]], [items[-1], items[0]])
        return [[], *([item] for item in items), *(pairs if len(items) > 1 else pairs[:1])]
    if shape.kind == "forms":
        return [value for form in shape.forms for value in values_of(form, mentioned, free)]
    if shape.kind == "record":
        names = [name for name, _, _ in shape.fields]
        choices = [
            values_of(field.or_null() if optional else field, mentioned, free, name)
            for name, field, optional in shape.fields
        ]
        return [dict(zip(names, each, strict=True)) for each in itertools.product(*choices)]
    return {"string": ["s"], "integer": [1], "any": [UNKNOWN], "null": []}[shape.kind]
