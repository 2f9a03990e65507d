"""Values as variables: typed, opened only when asked, lists in pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.expressions.values import KINDS, Marked, Value, to_json, to_text
from lsp_server.dap.protocol import Refused

Json: TypeAlias = Any

MAX_TEXT: Final = 4_000
MAX_PREVIEW: Final = 120
MAX_CHILDREN: Final = 20_000
MAX_REFERENCES: Final = 200_000


class Variable(NamedTuple):
    """One variable: its name, value and type in words, what is inside it, and the expression that gives it."""

    name: str
    text: str
    type: str
    inside: Inside | None = None
    expression: str | None = None
    kind: str | None = None


class Inside(NamedTuple):
    """What a variable opens to. ``at`` gives some of the ``indexed`` or of the ``named`` ones."""

    named: int
    indexed: int
    at: Callable[[bool, int, int], Iterable[Variable]]


def variable(name: str, value: Value, expression: str | None = None, *, kind: str | None = None) -> Variable:
    """The variable of a value."""
    bare = value.value if isinstance(value, Marked) else value
    type_ = type_of(bare)
    if isinstance(value, Marked):
        type_ = f"suppressed {type_}"
    inside = None
    if isinstance(bare, list) and bare:
        inside = Inside(0, len(bare), lambda _indexed, start, count: _items(bare, expression, start, count))
    elif isinstance(bare, dict) and bare:
        inside = Inside(len(bare), 0, lambda _indexed, start, count: _members(bare, expression, start, count))
    return Variable(name, text_of(bare), type_, inside, expression, kind)


def plain(name: str, text: str, type_: str = "", *, kind: str | None = None) -> Variable:
    """A variable that is only a text for people."""
    return Variable(name, text, type_, kind=kind)


def group(name: str, text: str, inside: Sequence[Variable]) -> Variable:
    """A variable that opens to others."""
    opened = None if not inside else Inside(len(inside), 0, lambda _i, start, count: inside[start : start + count])
    return Variable(name, text, "", opened)


def lazily(make: Callable[[], Sequence[Variable]]) -> Inside:
    """What opens to something that is only made then; how many there are is not known before."""
    return Inside(-1, 0, lambda _indexed, start, count: make()[start : start + count])


def type_of(value: Value) -> str:
    """The type in words."""
    if isinstance(value, list):
        return f"list[{len(value)}]"
    if isinstance(value, dict):
        return "map"
    return KINDS.get(type(value), "value")


def text_of(value: Value) -> str:
    """A value on one line."""
    if isinstance(value, str):
        return json.dumps(value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + "…", ensure_ascii=False)
    if isinstance(value, list):
        return _preview("[", "]", (_short(each) for each in islice(value, 10)), len(value))
    if isinstance(value, dict):
        parts = (f"{name}: {_short(each)}" for name, each in islice(value.items(), 10))
        return _preview("{", "}", parts, len(value))
    if isinstance(value, Marked):
        return text_of(value.value)
    return "null" if value is None else to_text(value)


def whole_text(value: Value) -> str:
    """A value in full, as JSON."""
    return json.dumps(to_json(value), ensure_ascii=False)


def _short(value: Value) -> str:
    if isinstance(value, Marked):
        value = value.value
    if isinstance(value, list | dict):
        return ("[…]" if isinstance(value, list) else "{…}") if value else ("[]" if isinstance(value, list) else "{}")
    text = text_of(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _preview(opening: str, closing: str, parts: Iterable[str], count: int) -> str:
    text = ""
    shown = 0
    for part in parts:
        if len(text) + len(part) > MAX_PREVIEW:
            break
        text += (", " if shown else "") + part
        shown += 1
    if shown < count:
        text += ", …" if shown else "…"
    return f"{opening}{text}{closing}"


def _items(value: list[Any], expression: str | None, start: int, count: int) -> Iterable[Variable]:
    for index in range(start, min(start + count, len(value))):
        yield variable(f"[{index}]", value[index], f"{expression}[{index}]" if expression else None)


def _members(value: dict[str, Any], expression: str | None, start: int, count: int) -> Iterable[Variable]:
    for name, each in islice(value.items(), start, start + count):
        if not expression:
            path = None
        elif name.isidentifier() and name.isascii():
            path = f"{expression}.{name}"
        else:
            path = f"{expression}[{json.dumps(name, ensure_ascii=False)}]"
        yield variable(name, each, path)


class References:
    """The numbers under which the client asks for what is inside; they last until the run goes on."""

    def __init__(self) -> None:
        self._inside: list[Inside] = []

    def clear(self) -> None:
        """Forget all of them."""
        self._inside.clear()

    def add(self, inside: Inside | None) -> int:
        """The number of what is inside something; 0 for nothing."""
        if inside is None or len(self._inside) >= MAX_REFERENCES:
            return 0
        self._inside.append(inside)
        return len(self._inside)

    def open(self, number: int, filter_: str | None, start: int, count: int) -> list[Variable]:
        """What is inside. Raises ``Refused``."""
        if not 1 <= number <= len(self._inside):
            raise Refused(f"there is no variable {number}: it was of an earlier stop")
        inside = self._inside[number - 1]
        if filter_ not in (None, "indexed", "named"):
            raise Refused(f"`variables`: `filter` is `indexed` or `named`, not `{str(filter_)[:40]}`")
        wants = inside.indexed if filter_ == "indexed" else inside.named if filter_ == "named" else None
        if wants == 0:
            return []
        count = min(count or MAX_CHILDREN, MAX_CHILDREN)
        return list(inside.at(filter_ == "indexed", start, count))
