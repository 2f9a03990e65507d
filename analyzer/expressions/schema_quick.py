"""A quick yes for values that plainly fit a JSON Schema, so that the validator is loaded only for the others.

Most literals in Workfiles stand against a type and a bound or two. Loading the validator for them would cost a third of
the time that checking a whole file takes. Only *yes* is decided here; everything else is the validator's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "sensitive"}
)

_MAX_DEPTH: Final = 32


def plainly_fits(schema: Any, value: Any, depth: int = 0) -> bool:
    """Whether ``value`` (plain JSON) surely fits; false when it does not, or when that takes more to tell."""
    if schema is True:
        return True
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return False
    for keyword, wanted in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        check = _KEYWORDS.get(keyword)
        if check is None or not check(schema, wanted, value, depth):
            return False
    return True


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _type(_schema: Any, wanted: Any, value: Any, _depth: int) -> bool:
    kind = _kind(value)
    names = wanted if isinstance(wanted, list) else [wanted]
    return kind in names or (kind == "integer" and "number" in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(fits: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Any, int], bool]:
    return lambda _schema, wanted, value, _depth: not _is_number(value) or (_is_number(wanted) and fits(value, wanted))


def _size(kind: type[str] | type[list[Any]], fits: Callable[[int, Any], bool]) -> Callable[[Any, Any, Any, int], bool]:
    return lambda _schema, wanted, value, _depth: (
        not isinstance(value, kind) or (_is_number(wanted) and fits(len(value), wanted))
    )


def _enum(_schema: Any, wanted: Any, value: Any, _depth: int) -> bool:
    return isinstance(wanted, list) and any(type(each) is type(value) and each == value for each in wanted)


def _const(_schema: Any, wanted: Any, value: Any, _depth: int) -> bool:
    return type(wanted) is type(value) and not isinstance(value, dict | list) and bool(wanted == value)


def _properties(_schema: Any, wanted: Any, value: Any, depth: int) -> bool:
    if not isinstance(value, dict):
        return True
    return isinstance(wanted, Mapping) and all(
        plainly_fits(wanted[name], each, depth + 1) for name, each in value.items() if name in wanted
    )


def _required(_schema: Any, wanted: Any, value: Any, _depth: int) -> bool:
    return not isinstance(value, dict) or (isinstance(wanted, list) and all(name in value for name in wanted))


def _additional(schema: Any, wanted: Any, value: Any, depth: int) -> bool:
    if not isinstance(value, dict) or wanted is True:
        return True
    if "patternProperties" in schema:
        return False
    extra = [each for name, each in value.items() if name not in schema.get("properties", {})]
    return not extra if wanted is False else all(plainly_fits(wanted, each, depth + 1) for each in extra)


def _items(schema: Any, wanted: Any, value: Any, depth: int) -> bool:
    if not isinstance(value, list):
        return True
    return "prefixItems" not in schema and all(plainly_fits(wanted, each, depth + 1) for each in value)


_KEYWORDS: Final[dict[str, Callable[[Any, Any, Any, int], bool]]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _number(lambda value, bound: value >= bound),
    "maximum": _number(lambda value, bound: value <= bound),
    "exclusiveMinimum": _number(lambda value, bound: value > bound),
    "exclusiveMaximum": _number(lambda value, bound: value < bound),
    "minLength": _size(str, lambda size, bound: size >= bound),
    "maxLength": _size(str, lambda size, bound: size <= bound),
    "minItems": _size(list, lambda size, bound: size >= bound),
    "maxItems": _size(list, lambda size, bound: size <= bound),
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
}
