"""Two flat JSON Schemas as one that both hold in, as far as a search for candidates needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

Flat: TypeAlias = dict[str, Any]

_NUMBERS: Final = frozenset({"integer", "number"})


def merged(left: Flat, right: Flat) -> Flat:
    """Both at once; where they contradict each other, nothing fits and the check of the candidates finds that out."""
    result = dict(left)
    for key, value in right.items():
        if key not in result:
            result[key] = value
        elif result[key] != value:
            combine = _COMBINE.get(key)
            result[key] = value if combine is None else combine(result[key], value)
    return result


def as_list(value: Any) -> list[Any]:
    """A keyword that is one value or several, as several; none when it is not there."""
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _types(left: Any, right: Any) -> list[str]:
    """The types that both allow, in the order of the first; an integer is a number."""
    others = as_list(right)
    found: list[str] = []
    for kind in as_list(left):
        if kind in others:
            found.append(kind)
        elif kind in _NUMBERS and not _NUMBERS.isdisjoint(others):
            found.append("integer")  # of an integer and a number that both hold
    return found


def _both(left: Any, right: Any) -> Any:
    return {"allOf": [left, right]}


def _maps(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {
        **left,
        **{name: _both(left[name], each) if name in left else each for name, each in right.items()},
    }


def _named(left: dict[str, list[str]], right: dict[str, list[str]]) -> dict[str, list[str]]:
    return {**left, **{name: [*left.get(name, []), *each] for name, each in right.items()}}


def _joined(left: Any, right: Any) -> list[Any]:
    result = as_list(left)
    result.extend(each for each in as_list(right) if each not in result)
    return result


def _prefixes(left: list[Any], right: list[Any]) -> list[Any]:
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    return [_both(each, shorter[i]) if i < len(shorter) else each for i, each in enumerate(longer)]


def _shared(left: list[Any], right: list[Any]) -> list[Any]:
    return [each for each in left if any(type(other) is type(each) and other == each for other in right)]


_COMBINE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "enum": _shared,
    "properties": _maps,
    "patternProperties": _maps,
    "dependentRequired": _named,
    "required": _joined,
    "patterns": _joined,
    "multipleOf": _joined,
    "contains": _both,
    "items": _both,
    "propertyNames": _both,
    "additionalProperties": _both,
    "prefixItems": _prefixes,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "minContains": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
}
