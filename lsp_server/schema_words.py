"""The words of JSON Schema that types in Workfiles and manifests are written with."""

from __future__ import annotations

from typing import Final

from analyzer.language.vocabulary import KeySpec

TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
FORMATS: Final = ("date-time", "duration", "email", "uri", "uuid")

#: What stands under a keyword: ``type``, ``types`` (names to types), ``list of types``, ``names``, or a plain value.
_BELOW: Final = {
    "properties": "types",
    "$defs": "types",
    "patternProperties": "types",
    "items": "type",
    "additionalProperties": "type",
    "not": "type",
    "allOf": "list of types",
    "anyOf": "list of types",
    "oneOf": "list of types",
    "required": "names",
}
SCHEMA_KEYS: Final[dict[str, KeySpec]] = {
    spec.name: spec
    for spec in (
        KeySpec("type", "enum", "The kind of value.", values=TYPES),
        KeySpec("properties", "map", "The fields of an object, by name."),
        KeySpec("required", "list", "The fields that must be there; the others read null when they are not."),
        KeySpec("additionalProperties", "any", "Whether other fields may be there, or what they are."),
        KeySpec("items", "map", "What the elements of an array are."),
        KeySpec("enum", "list", "The values that it can have."),
        KeySpec("const", "any", "The one value that it has."),
        KeySpec("format", "enum", "What a string stands for; `date-time` is a timestamp.", values=FORMATS),
        KeySpec("description", "text", "What it is, for people."),
        KeySpec("minimum", "number", "The least number."),
        KeySpec("maximum", "number", "The greatest number."),
        KeySpec("minLength", "count", "The least number of characters."),
        KeySpec("maxLength", "count", "The greatest number of characters."),
        KeySpec("pattern", "text", "A regular expression that a string fits."),
        KeySpec("minItems", "count", "The least number of elements."),
        KeySpec("maxItems", "count", "The greatest number of elements."),
        KeySpec("anyOf", "list", "It is one of these, or several."),
        KeySpec("oneOf", "list", "It is exactly one of these."),
        KeySpec("allOf", "list", "It is all of these."),
        KeySpec("$ref", "text", "A definition elsewhere in this schema, such as `#/$defs/address`."),
        KeySpec("$defs", "map", "Definitions that `$ref` can name."),
    )
}


def below_schema(keyword: str) -> tuple[str, KeySpec | None]:
    """What stands under a keyword, and the keyword."""
    return _BELOW.get(keyword, "value"), SCHEMA_KEYS.get(keyword)
