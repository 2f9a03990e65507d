"""Types as they stand in files: short strings, JSON Schemas and records (language page, section 3).

``read_type`` is for every place where a type stands (inputs; input, output, payload and configuration of manifests). A
map is a JSON Schema when it has one of ``SCHEMA_MARKS``; any other map is a closed record of names to types. Inside a
JSON Schema everything is JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from analyzer.expressions.schema_faults import KEYWORDS, Report, key_text, kind_words, sound_schema
from analyzer.expressions.schema_literals import literal_faults, value_faults
from analyzer.expressions.schema_plain import (
    Schema,
    hoisted,
    resolve_local,
    schema_of,
    type_of_schema,
)
from analyzer.expressions.short_types import ANY_READING, Json, Reading, ShortTypeError, read_short_type
from analyzer.expressions.type_meet import with_schema
from analyzer.expressions.types import Field, Type, record
from analyzer.language.words import shown
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence, is_broken

__all__ = [
    "SCHEMA_MARKS",
    "Reading",
    "Report",
    "is_json_schema",
    "literal_faults",
    "read_record",
    "read_type",
    "reading_of",
    "record_reading",
    "schema_of",
    "sensitive_paths",
    "type_of_schema",
    "value_faults",
]

#: A map with one of these keys is a JSON Schema.
SCHEMA_MARKS: Final = ("type", "$ref", "enum", "const", "allOf", "anyOf", "oneOf")

MAX_RECORD_DEPTH: Final = 64
MAX_SENSITIVE_PATHS: Final = 1_000


def read_type(node: Node, report: Report) -> Type:
    """The type at ``node``; faults go to ``report`` (node, message), and a faulty part is ANY."""
    return reading_of(node, report).type


def read_record(node: Node, report: Report) -> Type:
    """The closed record of a map of names to types, whatever its names are (``inputs`` may have one called `type`)."""
    return record_reading(node, report).type


def record_reading(node: Node, report: Report) -> Reading:
    """As ``read_record``, with the record's JSON Schema: all that the fields say, notes such as `sensitive` too."""
    if isinstance(node, Mapping):
        return _record(node, report, 0)
    if not is_broken(node):
        report(node, f"A map of names to types must stand here, but this is {kind_words(node)}.")
    return ANY_READING


def reading_of(node: Node, report: Report) -> Reading:
    """As ``read_type``, with the type's JSON Schema."""
    return _reading(node, report, 0)


def is_json_schema(node: Node) -> bool:
    """Whether a map at a type's place is a JSON Schema, and not a record."""
    return isinstance(node, Mapping) and any(node.entry(mark) is not None for mark in SCHEMA_MARKS)


def _reading(node: Node, report: Report, depth: int) -> Reading:
    if isinstance(node, Scalar):
        return _short(node, report)
    if not isinstance(node, Mapping):
        if isinstance(node, Sequence) and node.partial:
            return ANY_READING
        report(node, "A type is a short string such as `string`, a JSON Schema or a record, but this is a list.")
        return ANY_READING
    if is_json_schema(node):
        return type_of_schema(sound_schema(node, report))
    if depth >= MAX_RECORD_DEPTH:
        report(node, f"Records are nested more than {MAX_RECORD_DEPTH} deep here: flatten them.")
        return ANY_READING
    return _record(node, report, depth)


def _short(node: Scalar, report: Report) -> Reading:
    if node.broken:
        return ANY_READING
    if not isinstance(node.value, str):
        advice = ' For the type null write `"null"` in quotes.' if node.value is None and node.text else ""
        report(node, f"A type such as `string` must stand here, but this is {kind_words(node)}.{advice}")
        return ANY_READING
    try:
        return read_short_type(node.value)
    except ShortTypeError as error:
        report(node, str(error))
        return ANY_READING


def _record(mapping: Mapping, report: Report, depth: int) -> Reading:
    fields: dict[str, Field] = {}
    properties: Json = {}
    definitions: dict[str, Schema] = {}
    strict = False
    for entry in mapping.entries:
        key = key_text(entry.key)
        if key is None:
            continue
        optional = key.endswith("?")
        name = key[:-1] if optional else key
        if not name:
            report(entry.key, "This field has no name: write one before the `?`.")
            continue
        if name in fields:
            if fields[name].optional != optional:
                report(entry.key, f"The field `{shown(name)}` is declared twice: remove one.")
            continue
        reading = _reading(entry.value, _with_advice(name, mapping, report), depth + 1)
        fields[name] = Field(reading.type, optional=optional)
        properties[name] = hoisted(reading.schema, f"{len(fields)}.", definitions)
        strict = strict or reading.strict
    schema = _record_schema(fields, properties, definitions)
    type_ = record(fields)
    return Reading(with_schema(type_, schema) if strict else type_, schema, strict)


def _with_advice(name: str, mapping: Mapping, report: Report) -> Report:
    """A fault in a field that is called like a keyword is most likely a JSON Schema that lacks its ``type``."""
    if name not in KEYWORDS or name in ("title", "description", "default", "format"):
        return report
    kind = "array" if mapping.entry("items") is not None else "object"

    def with_advice(node: Node, message: str) -> None:
        report(node, f"{message} If this is meant as a JSON Schema, add `type: {kind}` beside `{name}`.")

    return with_advice


def _record_schema(fields: dict[str, Field], properties: Json, definitions: dict[str, Schema]) -> Json:
    schema: Json = {"type": "object", "properties": properties}
    required = [name for name, field in fields.items() if not field.optional]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    return schema


def sensitive_paths(schema: Schema) -> tuple[tuple[str, ...], ...]:
    """The paths of values that a schema marks ``sensitive: true``, in document order; ``*`` is any element or key.

    A value that is withheld hides all below it. Where a schema refers back to itself and something in it is sensitive,
    the whole recursive value counts as sensitive: too much is withheld rather than too little.
    """
    found: dict[tuple[str, ...], None] = {}
    for path in _sensitive(schema, schema, (), ()):
        found[path] = None
        if len(found) >= MAX_SENSITIVE_PATHS:
            return ((),)
    return tuple(found)


def _sensitive(schema: Any, root: Schema, path: tuple[str, ...], active: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(schema, dict):
        return
    if schema.get("sensitive") is True:
        yield path
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = resolve_local(root, reference)
        if reference not in active:
            yield from _sensitive(target, root, path, (*active, reference))
        elif _mentions_sensitive(target):
            yield path
    for step, part in _parts(schema):
        yield from _sensitive(part, root, path if step is None else (*path, step), active)


def _parts(schema: Json) -> Iterator[tuple[str | None, Any]]:
    """The subschemas of values at or below a value, with the step down to them (None: the value itself)."""
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            yield from value.items()
        elif key == "patternProperties" and isinstance(value, dict):
            yield from (("*", each) for each in value.values())
        elif key in ("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"):
            yield "*", value
        elif key == "prefixItems" and isinstance(value, list):
            yield from (("*", each) for each in value)
        elif key in ("allOf", "anyOf", "oneOf") and isinstance(value, list):
            yield from ((None, each) for each in value)
        elif key in ("if", "then", "else"):
            yield None, value
        elif key == "dependentSchemas" and isinstance(value, dict):
            yield from ((None, each) for each in value.values())


def _mentions_sensitive(schema: Any) -> bool:
    """Whether something in a schema is marked; a further reference, which may lead anywhere, counts as marked."""
    if not isinstance(schema, dict):
        return False
    return schema.get("sensitive") is True or any(
        "$ref" in part or _mentions_sensitive(part) for _, part in _parts(schema) if isinstance(part, dict)
    )
