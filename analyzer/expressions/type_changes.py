"""Types of what a Workfile computes: what a handled step binds, types without their literals, types kept small."""

from __future__ import annotations

from typing import Final

from analyzer.expressions.types import ANY, Field, Type, both_ways, join

MAX_PARTS: Final = 10_000
MAX_DEPTH: Final = 48


def merged(kept: Type, given: Type) -> Type:
    """What a step binds that succeeds with ``kept``, or with a value of ``given`` that fits it."""
    if given.kind == "any":
        return kept.with_null() if given.nullable else kept
    if given.nullable and given.kind != "null":
        return join(merged(kept, given.not_null()), Type("null", why=given.why))
    if kept.kind == "object" and given.kind == "object":
        return _merged_objects(kept, given)
    if kept.kind == "list" and given.kind == "list" and kept.item is not None and given.item is not None:
        copy = kept.copy()
        copy.item = merged(kept.item, given.item)
        return copy
    if kept.kind in ("timestamp", "duration") and given.kind == "string":
        return kept
    return join(kept, given)


def _merged_objects(kept: Type, given: Type) -> Type:
    fields: dict[str, Field] = {}
    for name, field in kept.fields.items():
        other = given.fields.get(name)
        if other is None:
            fields[name] = Field(field.type, True, field.source)
        else:
            fields[name] = Field(merged(field.type, other.type), field.optional or other.optional, field.source)
    copy = kept.copy()
    copy.fields = fields
    copy.ways = both_ways(kept, given) if kept.ways else ()
    return copy


def widened(type_: Type) -> Type:
    """The type without what only the literals in it say: one constant becomes its kind, null anything."""
    if type_.kind == "null":
        return ANY.with_null()
    if type_.values is not None:
        return Type(type_.kind, nullable=type_.nullable, why=type_.why) if len(type_.values) == 1 else type_
    if type_.kind == "list" and type_.item is not None:
        copy = type_.copy()
        copy.item = ANY if type_.item.kind == "never" else widened(type_.item)
        return copy
    if type_.kind != "object" or not type_.fields:
        return type_
    copy = type_.copy()
    copy.fields = {name: Field(widened(each.type), each.optional, each.source) for name, each in type_.fields.items()}
    return copy


def bounded(type_: Type) -> Type:
    """The type, or ``any`` when it is past a bound: a step that reads two others can double what they hold."""
    stack, count = [(type_, 1)], 0
    while stack:
        current, depth = stack.pop()
        count += 1
        if count > MAX_PARTS or depth > MAX_DEPTH:
            return ANY
        if current.item is not None:
            stack.append((current.item, depth + 1))
        if current.additional is not None:
            stack.append((current.additional, depth + 1))
        stack.extend((option, depth) for option in current.options)
        stack.extend((field.type, depth + 1) for field in current.fields.values())
    return type_
