"""Short type strings: ``string``, ``list[T]``, ``map[T]``, ``enum["a", "b"]``, ``T?`` (language page, section 3)."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.expressions.types import ANY, SIMPLE_TYPES, Type, enum_of, list_of, map_of
from analyzer.language.suggest import hint

Json: TypeAlias = dict[str, Any]

MAX_SHORT_NESTING: Final = 32
MAX_SHORT_LENGTH: Final = 4_000


class Reading(NamedTuple):
    """A type as read: the static type, its JSON Schema (valid on its own), and whether literals need that schema."""

    type: Type
    schema: Json | bool
    strict: bool = False


class ShortTypeError(Exception):
    """A text that is no short type; the message says what is wrong and what to write."""


SIMPLE_SCHEMAS: Final[dict[str, Json]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "format": "duration"},
    "object": {"type": "object"},
    "any": {},
    "null": {"type": "null"},
}

# What other languages call these types.
_FOREIGN: Final[dict[str, str]] = {
    "str": "string",
    "text": "string",
    "char": "string",
    "uuid": "string",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "date": "timestamp",
    "datetime": "timestamp",
    "date-time": "timestamp",
    "time": "timestamp",
    "timedelta": "duration",
    "interval": "duration",
    "array": "list[any]",
    "list": "list[any]",
    "set": "list[any]",
    "map": "map[any]",
    "dict": "map[any]",
    "record": "object",
    "struct": "object",
    "none": "null",
    "nil": "null",
    "unknown": "any",
    "json": "any",
    "enum": 'enum["a", "b"]',
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_SINGLE = re.compile(r"'([^'\\]*)'")
_ARRAY_SUFFIX = re.compile(r"([A-Za-z]+)\[\]\Z")
_ANGLES = re.compile(r"(list|array|map|dict)<([^<>]*)>\Z", re.IGNORECASE)
_FORMS = 'a type is a name such as `string`, or `list[T]`, `map[T]`, `enum["a", "b"]`, `T?`'


@lru_cache(maxsize=1024)
def read_short_type(text: str) -> Reading:
    """The type that a short string names.

    Raises ``ShortTypeError`` with a message for the author when it names none.
    """
    if len(text) > MAX_SHORT_LENGTH:
        raise ShortTypeError(f"This type is longer than {MAX_SHORT_LENGTH:,} characters; write it as a JSON Schema.")
    parser = _Parser(text)
    reading = parser.type(0)
    parser.skip()
    if parser.position < len(text):
        raise ShortTypeError(parser.explain_rest())
    return reading


def nullable_schema(schema: Json | bool) -> Json | bool:
    """The same schema with null allowed."""
    if isinstance(schema, bool) or not schema:
        return schema if schema is not False else {"type": "null"}
    if schema.keys() == {"type"} and isinstance(schema["type"], str):
        return schema if schema["type"] == "null" else {"type": [schema["type"], "null"]}
    if schema.keys() == {"enum"}:
        return schema if None in schema["enum"] else {"enum": [*schema["enum"], None]}
    return {"anyOf": [schema, {"type": "null"}]}


class _Parser:
    """Recursive descent over one text; nesting is bounded."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def take(self, token: str) -> bool:
        """Whether ``token`` comes next; it is then passed."""
        self.skip()
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def type(self, depth: int) -> Reading:
        if depth > MAX_SHORT_NESTING:
            raise ShortTypeError(f"This type is nested more than {MAX_SHORT_NESTING} deep; write it as a JSON Schema.")
        self.skip()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise ShortTypeError(self.explain_start())
        self.position = match.end()
        name = match.group()
        if name in ("list", "map") and self.take("["):
            reading = self.container(name, depth)
        elif name == "enum" and self.take("["):
            reading = self.enum()
        elif name in SIMPLE_TYPES:
            reading = Reading(SIMPLE_TYPES[name], SIMPLE_SCHEMAS[name])
        else:
            raise ShortTypeError(self.explain_name(name))
        while self.take("?"):
            reading = Reading(reading.type.with_null(), nullable_schema(reading.schema))
        return reading

    def container(self, name: str, depth: int) -> Reading:
        if self.take("]"):
            raise ShortTypeError(f"`{name}[]` lacks its element type; write `{name}[string]`, or `{name}[any]`.")
        inner = self.type(depth + 1)
        if not self.take("]"):
            raise ShortTypeError(self.explain_bracket(name))
        if name == "list":
            return Reading(list_of(inner.type), {"type": "array", "items": inner.schema})
        return Reading(map_of(inner.type), {"type": "object", "additionalProperties": inner.schema})

    def enum(self) -> Reading:
        values: list[Any] = []
        if self.take("]"):
            raise ShortTypeError('`enum[]` has no values; list what is allowed, as in `enum["a", "b"]`.')
        while True:
            values.append(self.constant())
            if self.take("]"):
                break
            if not self.take(","):
                raise ShortTypeError(self.explain_bracket("enum"))
        kept = [value for index, value in enumerate(values) if not _stands_before(values, index)]
        return Reading(enum_of(kept), {"enum": kept})

    def constant(self) -> Any:
        self.skip()
        for pattern in (_DOUBLE, _SINGLE, _NUMBER, _NAME):
            match = pattern.match(self.text, self.position)
            if match is not None:
                break
        else:
            raise ShortTypeError('An `enum` lists its values in quotes, as in `enum["a", "b"]`.')
        self.position = match.end()
        if pattern is _SINGLE:
            return match.group(1)
        text = match.group()
        if pattern is _NAME and text not in ("true", "false", "null"):
            raise ShortTypeError(f'`{text}` must be quoted in an `enum`: write `"{text}"`.')
        try:
            return json.loads(text)
        except ValueError:
            raise ShortTypeError(f"`{text}` is not a JSON string: check its escapes.") from None

    def explain_start(self) -> str:
        rest = self.text[self.position :].strip()
        if not self.text.strip():
            return f"The type is empty; {_FORMS}."
        if not rest:
            return f"`{_shown(self.text)}` ends where a type must stand; {_FORMS}."
        return f"`{_shown(rest)}` is not a type; {_FORMS}."

    def explain_name(self, name: str) -> str:
        whole = self.text.strip()
        angles = _ANGLES.match(whole)
        if angles is not None:
            outer = "list" if angles.group(1).lower() in ("list", "array") else "map"
            return f"`{_shown(whole)}` is not a type. Did you mean `{outer}[{angles.group(2).strip() or 'any'}]`?"
        known = _FOREIGN.get(name.lower()) or (name.lower() if name.lower() in SIMPLE_TYPES else None)
        if known is not None:
            follows = self.text.startswith("[", self.position)
            return f"`{name}` is not a type. Did you mean `{known.partition('[')[0] if follows else known}`?"
        near = hint(name, (*SIMPLE_TYPES, "list", "map", "enum"))
        return f"`{_shown(name)}` is not a type.{near or f' {_FORMS[0].upper()}{_FORMS[1:]}.'}"

    def explain_rest(self) -> str:
        rest = self.text[self.position :].strip()
        whole = self.text.strip()
        array = _ARRAY_SUFFIX.match(whole)
        if array is not None:
            return f"`{_shown(whole)}` is not a type. Did you mean `list[{array.group(1)}]`?"
        if rest.startswith("|"):
            return f"`{_shown(whole)}` is not a type: for null write `T?`, for other unions a JSON Schema with `anyOf`."
        return f"`{_shown(rest)}` after the type is not understood; {_FORMS}."

    def explain_bracket(self, name: str) -> str:
        rest = self.text[self.position :].strip()
        if rest:
            return f"`{_shown(rest)}` is not expected in `{name}[…]`; close it with `]`."
        return f"`{name}[` is not closed: add `]`."


def _stands_before(values: list[Any], index: int) -> bool:
    value = values[index]
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in values[:index])


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


ANY_READING: Final = Reading(ANY, {})
