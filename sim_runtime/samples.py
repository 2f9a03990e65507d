"""The smallest value that fits a JSON Schema: default answers of simulated actions, placeholders of dry runs.

``sample(schema, text)`` is deterministic. What "smallest" means (interfaces page, "What a scenario does not say"):

- a string without format or pattern is ``text``, cut to ``maxLength`` and filled up to ``minLength``; with a pattern it
  is the shortest match that is found, with a format a fixed text of that format;
- of ``enum`` the first member, of ``anyOf``, ``oneOf`` and a list of types the first that can be met;
- a number is the one nearest to 0, ``false`` is smaller than ``true``, a value of any type is null;
- a list has no more elements than it must, an object only its required fields.

Everything that is made is checked against the schema, so that a value which does not fit is never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from analyzer.expressions.schema_literals import value_faults
from analyzer.expressions.schema_plain import CHECKED_FORMATS
from analyzer.expressions.schema_quick import plainly_fits
from sim_runtime.sampling.search import Search
from sim_runtime.sampling.strings import MAX_TEXT, filled

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Any] | bool
Maker: TypeAlias = Callable[[str], Json]

MAX_CANDIDATES: Final = 400
MAX_KEPT: Final = 1_024

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "sensitive"}
)
_NUMBER_KEYS: Final = frozenset(
    {"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "const"}
)
_STRING_KEYS: Final = frozenset({"type", "minLength", "maxLength", "pattern", "format", "enum", "const"})
_FORMATS: Final = CHECKED_FORMATS | {"date-time", "duration"}


class NoSample(Exception):
    """No value was found that fits a schema; the message says so and what to do."""


def sample(schema: Schema, text: str) -> Json:
    """The smallest value that fits ``schema`` (sound and self-contained); a free string in it is ``text``.

    Raises:
        NoSample: none was found within the bounds (a pattern too hard to meet, contradicting keywords).
    """
    known = _MAKERS.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_MAKERS) >= MAX_KEPT:
            _MAKERS.clear()
        known = _MAKERS[id(schema)] = (schema, _maker(schema, 0) or _searching(schema))
    return known[1](text)


#: By identity; the schema is kept so that its identity is not given to another one.
_MAKERS: dict[int, tuple[Schema, Maker]] = {}


def fits(schema: Schema, value: Json) -> bool:
    """Whether a JSON value fits a sound, self-contained schema."""
    return plainly_fits(schema, value) or not value_faults(schema if isinstance(schema, bool) else dict(schema), value)


def _searching(schema: Schema) -> Maker:
    def make(text: str) -> Json:
        search = Search(schema, fits)
        for candidate in islice(search.values(schema, text), MAX_CANDIDATES):
            if fits(schema, candidate):
                return candidate
        raise NoSample("no value was found that fits the schema; write an answer that does into the scenario")

    return make


def _found_once(schema: Schema) -> Maker | None:
    """The maker of a value that has no free text in it: it is looked for once."""
    try:
        value = _searching(schema)("")
    except NoSample:
        return None
    return lambda _text: value


def _maker(schema: Schema, depth: int) -> Maker | None:
    """A fast maker for the plain shapes that almost every output has; None when a search is needed each time."""
    if schema is True:
        return _nothing
    if isinstance(schema, bool) or depth > 32:
        return None
    keys = schema.keys() - _ANNOTATIONS
    if not keys:
        return _nothing
    if keys == {"anyOf"}:
        return _maker(schema["anyOf"][0], depth + 1)
    kind = schema.get("type")
    if kind in ("integer", "number", "boolean", "null") and keys <= _NUMBER_KEYS:
        return _found_once(schema)
    if kind == "string" and keys <= _STRING_KEYS:
        if "pattern" in keys or "enum" in keys or "const" in keys or schema.get("format") in _FORMATS:
            return _found_once(schema)
        return _text_maker(schema.get("minLength", 0), schema.get("maxLength"))
    if kind == "array" and keys <= {"type", "items", "maxItems"}:
        return lambda _text: []
    if kind == "object" and keys <= {"type", "properties", "required", "additionalProperties"}:
        return _object_maker(schema, depth)
    return None


def _nothing(_text: str) -> Json:
    return None


def _text_maker(least: int, most: int | None) -> Maker | None:
    if least > MAX_TEXT or (most is not None and least > most):
        return None
    return lambda text: filled(text, least, most)


def _object_maker(schema: Mapping[str, Any], depth: int) -> Maker | None:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    makers: list[tuple[str, Maker]] = []
    for name in [*(name for name in properties if name in schema.get("required", ())), *schema.get("required", ())]:
        if any(name == known for known, _ in makers):
            continue
        maker = _maker(properties.get(name, others), depth + 1)
        if maker is None:
            return None
        makers.append((name, maker))
    return lambda text: {name: make(text) for name, make in makers}
