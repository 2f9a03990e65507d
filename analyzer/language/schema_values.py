"""JSON Schema fragments: one for each kind of value in the vocabulary tables, and maps made from a table.

A fragment may refuse only what the analyzer reports as an error; where the analyzer looks deeper (types, names,
expressions) the fragment stays open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from analyzer.language.vocabulary import IDENTIFIER, NAME, REFERENCE, STANDARD_VERSION, KeySpec

Schema: TypeAlias = dict[str, Any]

_AMOUNT: Final = "[0-9]{1,18}(?:[.,][0-9]{1,9})?"
_PLAIN: Final = "(?=[0-9])" + "".join(f"(?:[0-9]{{1,18}}{unit})?" for unit in ("d", "h", "m", "s", "ms"))
_ISO: Final = f"P(?:{_AMOUNT}W|(?=[0-9T])(?:{_AMOUNT}D)?(?:T(?=[0-9])(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?)"
DURATION: Final = f"^(?:{_PLAIN}|{_ISO})$"
POSITIVE_DURATION: Final = f"^(?=.*[1-9])(?:{_PLAIN}|{_ISO})$"
TIMESTAMP: Final = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
INTERPOLATION: Final = "\\{\\{"


def anchored(pattern: re.Pattern[str]) -> str:
    """A pattern of the vocabulary as JSON Schema has it: searched for, so with both anchors."""
    return f"^{pattern.pattern.removesuffix(chr(92) + 'Z')}$"


def ref(name: str) -> Schema:
    """A reference to a definition of the same schema."""
    return {"$ref": f"#/$defs/{name}"}


def any_of(*schemas: Schema) -> Schema:
    """One of several."""
    return {"anyOf": [*schemas]}


_TEXT: Final[Schema] = {"type": "string"}
_LITERAL: Final[Schema] = {"type": "string", "minLength": 1, "not": {"pattern": INTERPOLATION}}
_TEMPLATE: Final[Schema] = {"type": "string", "pattern": INTERPOLATION}
_DURATION: Final[Schema] = {"type": "string", "pattern": DURATION}
_POSITIVE: Final[Schema] = {"type": "string", "pattern": POSITIVE_DURATION}
_TIMESTAMP: Final[Schema] = {"type": "string", "pattern": TIMESTAMP}
_STRINGS: Final[Schema] = {"type": "array", "items": _TEXT}

#: Value kind to fragment. Kinds that differ from place to place (``map``, ``list``) are filled in there.
KINDS: Final[dict[str, Schema]] = {
    "text": _TEXT,
    "version": _TEXT,
    "standard-version": {"const": STANDARD_VERSION},
    "identifier": {"type": "string", "pattern": anchored(IDENTIFIER)},
    "name": {"type": "string", "pattern": anchored(NAME)},
    "state": {"type": "string", "pattern": anchored(IDENTIFIER)},
    "connection": _LITERAL,
    "boolean": {"type": "boolean"},
    "positive-integer": {"type": "integer", "minimum": 1},
    "factor": {"type": "number", "minimum": 1},
    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    "positive-duration": _POSITIVE,
    "duration": _DURATION,
    "timeout": any_of(_POSITIVE, _TEMPLATE),
    "wait-timeout": any_of(_DURATION, _TIMESTAMP, _TEMPLATE),
    "reference": {"type": "string", "pattern": anchored(REFERENCE)},
    "codes": {"type": "array", "items": _LITERAL},
    "boolean-expression": any_of({"type": "boolean"}, _TEMPLATE),
    "string-expression": _TEXT,
    "scalar-expression": {"type": ["string", "number", "boolean"]},
    "expression": {},
    "list-expression": any_of({"type": "array"}, _TEMPLATE),
    "map-of-expressions": {"type": "object"},
    "steps": ref("steps"),
    "handlers": {"type": "array", "items": ref("handler")},
    "call": ref("undo"),
    "map": {"type": "object"},
    "list": {"type": "array"},
    "types": ref("record"),
    "type": ref("type"),
    "any": {},
    # Scenario files.
    "timestamp": _TIMESTAMP,
    "moment": any_of(_DURATION, _TIMESTAMP),
    "integer": {"type": "integer"},
    "count": {"type": "integer", "minimum": 0},
    "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
    "strings": _STRINGS,
    "paths": _STRINGS,
    "decision": ref("decision"),
    "status": {},
}


def value(spec: KeySpec, shape: Schema | None = None) -> Schema:
    """The fragment of one key, with its description; ``shape`` stands for a kind that the place itself defines."""
    found: Schema = {"description": description(spec), **(domain(spec) if shape is None else shape)}
    default = default_of(spec)
    if default is not None:
        found["default"] = default
    return found


def domain(spec: KeySpec) -> Schema:
    """What values a key has by its kind."""
    return {"enum": [*spec.values]} if spec.values else KINDS[spec.kind]


def description(spec: KeySpec) -> str:
    """The text of a hover."""
    return spec.doc if spec.default is None else f"{spec.doc} Default: `{spec.default}`."


def default_of(spec: KeySpec) -> Any:
    """The default as a value: a number, true or false, an empty map, or the text itself."""
    if spec.default is None:
        return None
    try:
        return json.loads(spec.default)
    except ValueError:
        return spec.default


def closed(table: Mapping[str, KeySpec], shapes: Mapping[str, Schema] | None = None) -> Schema:
    """A map that has the keys of a table and no others."""
    own = shapes or {}
    schema: Schema = {
        "type": "object",
        "properties": {name: value(spec, own.get(name)) for name, spec in table.items()},
        "additionalProperties": False,
    }
    required = [name for name, spec in table.items() if spec.required]
    if required:
        schema["required"] = required
    return schema


def named(pattern: str, each: Schema) -> Schema:
    """A map of names that fit a pattern."""
    return {"type": "object", "propertyNames": {"pattern": pattern}, "additionalProperties": each}


def listing(each: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": each}
