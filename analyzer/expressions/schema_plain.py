"""From plain JSON Schema (2020-12) to static types, and back (language page, section 3).

Works on sound schemas: plain JSON whose keywords have the right kinds (``schema_faults.sound_schema`` makes them so)
and whose references are local pointers that resolve. What a static type cannot say (bounds, patterns, counts, …) stays
in ``Type.schema``, for literals and for run-time values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from analyzer.expressions.short_types import SIMPLE_SCHEMAS, Json, Reading
from analyzer.expressions.type_meet import meet, with_schema
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    Field,
    Type,
    constant,
    join,
    join_all,
    list_of,
    record,
)

Schema: TypeAlias = Json | bool

#: Keywords whose value is a schema, a map of names to schemas, a list of schemas.
SCHEMA_KEYS: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SCHEMA_MAPS: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})

#: Keywords that allow less than the static type says.
CONSTRAINTS: Final = frozenset(
    {
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "if",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "pattern",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    }
)
CHECKED_FORMATS: Final = frozenset({"date", "email", "hostname", "ipv4", "ipv6", "regex", "time", "uri", "uuid"})

MAX_SCHEMA_DEPTH: Final = 64

_OBJECT_KEYS: Final = (
    "additionalProperties",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "properties",
    "propertyNames",
    "required",
    "unevaluatedProperties",
)
_LIST_KEYS: Final = ("contains", "items", "prefixItems", "unevaluatedItems")
_SIMPLE_KINDS: Final = {"boolean": BOOLEAN, "integer": INTEGER, "null": NULL, "number": NUMBER}
_TEXT_FORMATS: Final = {"date-time": TIMESTAMP, "duration": DURATION}
_KIND_GROUPS: Final = {"timestamp": "string", "duration": "string", "integer": "number"}


def map_subschemas(schema: Json, change: Callable[[Schema], Schema]) -> Json:
    """A copy of ``schema`` with every direct subschema changed."""
    result: Json = {}
    for key, value in schema.items():
        if key in SCHEMA_KEYS:
            result[key] = change(value)
        elif key in SCHEMA_MAPS:
            result[key] = {name: change(each) for name, each in value.items()}
        elif key in SCHEMA_LISTS:
            result[key] = [change(each) for each in value]
        else:
            result[key] = value
    return result


def pointer_tokens(reference: str) -> list[str] | None:
    """The path of a local reference (``#/$defs/a``), or None when it is not one."""
    if not reference.startswith("#"):
        return None
    pointer = reference[1:]
    if "%" in pointer:
        from urllib.parse import unquote

        pointer = unquote(pointer)
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        return None
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def resolve_local(root: Schema, reference: str) -> Schema | None:
    """The subschema that a local reference names, or None: only places where a schema stands can be named."""
    tokens = pointer_tokens(reference)
    if tokens is None:
        return None
    current: Any = root
    position = 0
    while position < len(tokens):
        key = tokens[position]
        if not isinstance(current, dict) or key not in current:
            return None
        current = current[key]
        position += 1
        if key in SCHEMA_KEYS:
            continue
        if position == len(tokens):
            return None
        name = tokens[position]
        position += 1
        if key in SCHEMA_MAPS and name in current:
            current = current[name]
        elif key in SCHEMA_LISTS and name.isascii() and name.isdigit() and int(name[:6]) < len(current):
            current = current[int(name[:6])]
        else:
            return None
    return current if isinstance(current, dict | bool) else None


def type_of_schema(schema: Schema) -> Reading:
    """The static type of a sound schema, with the schema made self-contained."""
    root, definitions = _localise(schema)
    return _Converter(definitions).read(root, 0)


def _localise(schema: Schema) -> tuple[Schema, dict[str, Schema]]:
    """The schema with every reference as ``#/$defs/NAME``, and those definitions, changed in the same way."""
    names: dict[str, str] = {}
    pending: list[tuple[str, str]] = []

    def change(each: Schema) -> Schema:
        if isinstance(each, bool):
            return each
        copy = map_subschemas({k: v for k, v in each.items() if k not in ("$defs", "definitions", "$id")}, change)
        reference = copy.get("$ref")
        if reference is not None:
            if reference not in names:
                names[reference] = _definition_name(reference, names)
                pending.append((reference, names[reference]))
            copy["$ref"] = f"#/$defs/{names[reference]}"
        return copy

    root = change(schema)
    definitions: dict[str, Schema] = {}
    while pending:
        reference, name = pending.pop(0)
        target = resolve_local(schema, reference)
        definitions[name] = True if target is None else change(target)
    return root, definitions


def _definition_name(reference: str, taken: Mapping[str, str]) -> str:
    """A name for a definition, from the last part of its reference, that needs no escapes in a pointer."""
    tokens = pointer_tokens(reference)
    last = tokens[-1] if tokens else "root"
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in last) or "_"
    used = set(taken.values())
    return plain if plain not in used else f"{plain}_{len(used)}"


class _Converter:
    """Converts the schemas of one document; a definition is converted once, a recursive reference is ANY."""

    __slots__ = ("active", "definitions", "known")

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.known: dict[str, Reading] = {}
        self.active: set[str] = set()

    def read(self, schema: Schema, depth: int) -> Reading:
        if isinstance(schema, bool):
            return Reading(ANY, {}) if schema else Reading(NEVER, False, strict=True)
        if depth > MAX_SCHEMA_DEPTH:
            return Reading(ANY, self.portable(schema), strict=True)
        type_, strict = self.base(schema, depth)
        if "$ref" in schema:
            target = self.reference(schema["$ref"], depth)
            type_, strict = meet(type_, target.type), strict or target.strict
        for part in schema.get("allOf", ()):
            reading = self.read(part, depth + 1)
            type_, strict = meet(type_, reading.type), strict or reading.strict
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                options = [self.read(part, depth + 1) for part in schema[keyword]]
                strict = strict or _needs_schema(options, exclusive=keyword == "oneOf")
                type_ = meet(type_, join_all(option.type for option in options))
        type_ = self.conditional_fields(type_, schema, depth)
        type_ = self.unevaluated(type_, schema, depth)
        whole = self.portable(schema)
        return Reading(with_schema(type_, whole) if strict else type_, whole, strict)

    def portable(self, schema: Json) -> Json:
        """The schema so that it can be used alone."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def reference(self, reference: str, depth: int) -> Reading:
        name = reference.rpartition("/")[2]
        if name in self.active:
            return Reading(ANY, True, strict=True)
        if name not in self.known:
            self.active.add(name)
            self.known[name] = self.read(self.definitions[name], depth + 1)
            self.active.discard(name)
        return self.known[name]

    def base(self, schema: Json, depth: int) -> tuple[Type, bool]:
        """What the schema says without references and compositions."""
        strict = not CONSTRAINTS.isdisjoint(schema) or schema.get("format") in CHECKED_FORMATS
        kinds = _kinds_of(schema)
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            if "const" in schema and "enum" in schema:
                strict = True
            fitting = [value for value in values if not kinds or any(_has_kind(value, kind) for kind in kinds)]
            return _type_of_values(fitting), strict or any(isinstance(value, dict | list) for value in fitting)
        if not kinds:
            return self.implied(schema, depth, strict)
        found = NEVER
        for kind in kinds:
            type_, needs = self.kind(kind, schema, depth)
            found, strict = join(found, type_), strict or needs
        return found, strict

    def implied(self, schema: Json, depth: int, strict: bool) -> tuple[Type, bool]:
        """Without ``type``: an object or a list when the structure of one is there, text with a known format."""
        as_object = any(key in schema for key in _OBJECT_KEYS)
        as_list = any(key in schema for key in _LIST_KEYS)
        if as_object != as_list:
            type_, needs = self.kind("object" if as_object else "array", schema, depth)
            return type_, strict or needs
        if as_object:
            return ANY, True
        return _TEXT_FORMATS.get(schema.get("format", ""), ANY), strict

    def kind(self, kind: str, schema: Json, depth: int) -> tuple[Type, bool]:
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            if "items" not in schema and "prefixItems" not in schema:
                return Type("list"), False
            rest = self.read(schema.get("items", True), depth + 1)
            if "prefixItems" not in schema:
                return list_of(rest.type), rest.strict
            first = [self.read(each, depth + 1).type for each in schema["prefixItems"]]
            return list_of(join_all((*first, rest.type))), True
        if kind == "string":
            return _TEXT_FORMATS.get(schema.get("format", ""), STRING), False
        return _SIMPLE_KINDS[kind], False

    def object(self, schema: Json, depth: int) -> tuple[Type, bool]:
        required = dict.fromkeys(schema.get("required", ()))
        strict = False
        fields: dict[str, Field] = {}
        for name, each in schema.get("properties", {}).items():
            reading = self.read(each, depth + 1)
            fields[name] = Field(reading.type, optional=name not in required)
            strict = strict or reading.strict
        others = schema.get("additionalProperties", True)
        additional: Type | None = None
        if isinstance(others, dict):
            reading = self.read(others, depth + 1)
            additional, strict = reading.type, strict or reading.strict
        by_pattern = [self.read(each, depth + 1).type for each in schema.get("patternProperties", {}).values()]
        if by_pattern:
            additional = ANY if others is True else join_all((*by_pattern, *((additional,) if additional else ())))
        closed = others is False and not by_pattern
        if not closed:
            for name in required:
                if name not in fields:
                    fields[name] = Field(additional or ANY)
        if not fields and additional is None and not closed:
            return OBJECT, strict
        return Type("object", fields=fields, additional=additional, closed=closed), strict

    def conditional_fields(self, type_: Type, schema: Json, depth: int) -> Type:
        """Fields that only a branch of ``if`` or a dependent schema declares may be read, and may be absent."""
        parts = [schema[key] for key in ("then", "else") if key in schema]
        parts.extend(schema.get("dependentSchemas", {}).values())
        if not parts or type_.kind != "object" or type_.closed:
            return type_
        fields = dict(type_.fields)
        for part in parts:
            for name, field in self.read(part, depth + 1).type.fields.items():
                known = fields.get(name)
                if known is None:
                    fields[name] = Field(field.type, optional=True)
                elif name not in type_.fields:
                    fields[name] = Field(join(known.type, field.type), optional=True)
        return Type("object", fields=fields, additional=type_.additional, nullable=type_.nullable)

    def unevaluated(self, type_: Type, schema: Json, depth: int) -> Type:
        others = schema.get("unevaluatedProperties", True)
        if others is True or type_.kind != "object" or type_.closed or type_.additional is not None:
            return type_
        additional = self.read(others, depth + 1).type if isinstance(others, dict) else None
        return Type(
            "object", fields=type_.fields, additional=additional, closed=others is False, nullable=type_.nullable
        )


def _kinds_of(schema: Json) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _needs_schema(options: list[Reading], *, exclusive: bool) -> bool:
    """Whether alternatives say more than the union of their types."""
    if any(option.strict for option in options):
        return True
    groups: list[str] = []
    for option in options:
        members = option.type.options or (option.type,)
        kinds = {_KIND_GROUPS.get(member.kind, member.kind) for member in members}
        if option.type.nullable:
            kinds.add("null")
        groups.extend(sorted(kinds))
    repeated = {kind for kind in groups if groups.count(kind) > 1}
    return bool(repeated) if exclusive else not repeated.isdisjoint({"list", "any"}) or "any" in groups


def _has_kind(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON Schema type (``1.0`` is an integer)."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int | float):
        return kind == "number" or (kind == "integer" and (isinstance(value, int) or value.is_integer()))
    kinds = {str: "string", list: "array", dict: "object", type(None): "null"}
    return kinds[type(value)] == kind


def fits_kind(value: Any, kinds: Iterable[str]) -> bool:
    """Whether a JSON value is of one of the JSON Schema types."""
    return any(_has_kind(value, kind) for kind in kinds)


def _type_of_values(values: list[Any]) -> Type:
    """The type of a finite set of JSON values; grouped first, as joining them one by one costs the square."""
    groups: dict[str, dict[Any, None]] = {}
    others: list[Type] = []
    for value in values:
        if isinstance(value, dict | list):
            others.append(_type_of_value(value, 0))
            continue
        groups.setdefault(constant(value).kind, {})[value] = None
    types = [NULL if kind == "null" else Type(kind, values=tuple(group)) for kind, group in groups.items()]
    return join_all((*types, *others))


def _type_of_value(value: Any, depth: int) -> Type:
    if depth > MAX_SCHEMA_DEPTH:
        return ANY
    if isinstance(value, dict):
        return record({name: Field(_type_of_value(each, depth + 1)) for name, each in value.items()})
    if isinstance(value, list):
        return list_of(join_all(_type_of_value(each, depth + 1) for each in value))
    return constant(value)


def schema_of(type_: Type) -> Schema:
    """A JSON Schema for a static type, usable alone: the inverse of reading, for types without ``schema`` too."""
    definitions: dict[str, Schema] = {}
    schema = _schema_of(type_, "", definitions)
    return {**schema, "$defs": definitions} if definitions and isinstance(schema, dict) else schema


def _schema_of(type_: Type, prefix: str, definitions: dict[str, Schema]) -> Schema:
    if type_.schema is not None:
        return hoisted(dict(type_.schema), prefix, definitions)
    plain = _plain_schema_of(type_, prefix, definitions)
    if not type_.nullable:
        return plain
    return plain if plain in ({}, True) else {"anyOf": [plain, {"type": "null"}]}


def _plain_schema_of(type_: Type, prefix: str, definitions: dict[str, Schema]) -> Schema:
    if type_.kind == "never":
        return False
    if type_.values is not None:
        return {"enum": list(type_.values)}
    if type_.kind == "union":
        parts = enumerate(type_.options)
        return {"anyOf": [_schema_of(option, f"{prefix}{index}.", definitions) for index, option in parts]}
    if type_.kind == "list":
        if type_.item is None:
            return {"type": "array"}
        return {"type": "array", "items": _schema_of(type_.item, f"{prefix}items.", definitions)}
    if type_.kind != "object":
        return dict(SIMPLE_SCHEMAS[type_.kind])
    schema: Json = {"type": "object"}
    if type_.fields:
        schema["properties"] = {
            name: _schema_of(field.type, f"{prefix}{index}.", definitions)
            for index, (name, field) in enumerate(type_.fields.items())
        }
        required = [name for name, field in type_.fields.items() if not field.optional]
        if required:
            schema["required"] = required
    if type_.additional is not None:
        schema["additionalProperties"] = _schema_of(type_.additional, f"{prefix}additional.", definitions)
    elif type_.closed:
        schema["additionalProperties"] = False
    return schema


def hoisted(schema: Schema, prefix: str, definitions: dict[str, Schema]) -> Schema:
    """The schema for use inside another one: its definitions go to ``definitions``, their names behind ``prefix``."""
    if isinstance(schema, bool) or not schema.get("$defs"):
        return schema

    def change(each: Schema) -> Schema:
        if isinstance(each, bool):
            return each
        copy = map_subschemas({key: value for key, value in each.items() if key != "$defs"}, change)
        if "$ref" in copy:
            copy["$ref"] = f"#/$defs/{prefix}{copy['$ref'].rpartition('/')[2]}"
        return copy

    for name, each in schema["$defs"].items():
        definitions[prefix + name] = change(each)
    return change(schema)
