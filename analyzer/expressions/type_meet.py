"""What two types have in common: the static side of ``allOf``, ``$ref`` with siblings, and overlays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.expressions.types import ANY, NEVER, NULL, Field, Type, join, join_all


def with_schema(type_: Type, schema: Mapping[str, Any] | None) -> Type:
    """The same type, whose literals are checked against ``schema`` too."""
    return Type(
        type_.kind,
        nullable=type_.nullable,
        values=type_.values,
        item=type_.item,
        fields=type_.fields,
        additional=type_.additional,
        closed=type_.closed,
        options=type_.options,
        schema=schema,
        why=type_.why,
    )


def meet(a: Type, b: Type) -> Type:
    """The greatest type that fits both; NEVER when no value does."""
    if a is b or b is ANY:
        return a
    if a is ANY:
        return b
    schema = _both_schemas(a.schema, b.schema)
    if a.kind == "any" or b.kind == "any":
        found = b if a.kind == "any" else a
    else:
        plain = _meet_plain(a.not_null(), b.not_null())
        found = join(plain, NULL) if a.may_be_null and b.may_be_null else plain
    return found if schema is None or found.kind == "never" else with_schema(found, schema)


def _both_schemas(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if a is None or b is None or a == b:
        return a if b is None else b
    definitions = {**a.get("$defs", {}), **b.get("$defs", {})}
    parts = [{key: value for key, value in each.items() if key != "$defs"} for each in (a, b)]
    return {"allOf": parts, "$defs": definitions} if definitions else {"allOf": parts}


def _meet_plain(a: Type, b: Type) -> Type:
    if a.kind == "never" or b.kind == "never":
        return NEVER
    if a.kind == "union":
        return join_all(meet(option, b) for option in a.options)
    if b.kind == "union":
        return join_all(meet(a, option) for option in b.options)
    kind = _meet_kinds(a.kind, b.kind)
    if kind is None:
        return NEVER
    if a.values is not None or b.values is not None:
        return _meet_values(kind, a.values, b.values)
    if kind == "list":
        if a.item is None or b.item is None:
            return a if b.item is None else b
        return Type("list", item=meet(a.item, b.item))
    return _meet_objects(a, b) if kind == "object" else Type(kind)


def _meet_kinds(a: str, b: str) -> str | None:
    if a == b:
        return a
    for narrow, wide in (("integer", "number"), ("timestamp", "string"), ("duration", "string")):
        if {a, b} == {narrow, wide}:
            return narrow
    return None


def _meet_values(kind: str, a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> Type:
    if a is not None and b is not None:
        found = tuple(value for value in a if any(_same(value, other) for other in b))
    else:
        found = a if a is not None else b or ()
    if kind == "integer":
        found = tuple(value for value in found if isinstance(value, int) or value.is_integer())
    return Type("string" if kind in ("timestamp", "duration") else kind, values=found) if found else NEVER


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _meet_objects(a: Type, b: Type) -> Type:
    """Fields of both; a field that one side refuses (closed) is left out."""
    fields: dict[str, Field] = {}
    for name in (*a.fields, *(name for name in b.fields if name not in a.fields)):
        one, other = a.fields.get(name), b.fields.get(name)
        if one is not None and other is not None:
            fields[name] = Field(meet(one.type, other.type), optional=one.optional and other.optional)
            continue
        found, refusing = (one, b) if one is not None else (other, a)
        assert found is not None
        if refusing.additional is not None:
            fields[name] = Field(meet(found.type, refusing.additional), optional=found.optional)
        elif not refusing.closed:
            fields[name] = found
    additional: Type | None = None
    if a.additional is not None and b.additional is not None:
        additional = meet(a.additional, b.additional)
    elif not a.closed and not b.closed:
        additional = a.additional or b.additional
    return Type("object", fields=fields, additional=additional, closed=a.closed or b.closed)
