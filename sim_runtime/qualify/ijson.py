"""I-JSON (RFC 7493): JSON that every reader understands alike, or a refusal.

The standard library's reader keeps the last of two equal names, rounds large numbers and takes half characters; two
verifiers could then read one document differently. Each of these is refused here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from sim_runtime.qualify.names import MAX_JSON_DEPTH

MAX_SAFE: Final = 2**53 - 1
_DIGITS: Final = len(str(MAX_SAFE))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The text is no JSON; the message says where and why."""


class NotIJson(ValueError):
    """The text is JSON but not I-JSON; ``value`` is what it says apart from that."""

    def __init__(self, message: str, value: Any) -> None:
        super().__init__(message)
        self.value = value


class _Reader:
    """Collects what is wrong, so that a text that is no JSON at all is told as that."""

    __slots__ = ("fault",)

    def __init__(self) -> None:
        self.fault: str | None = None

    def note(self, fault: str) -> None:
        if self.fault is None:
            self.fault = fault

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                self.note(f"the name {json.dumps(name)} appears twice in one object")
            self.text(name)
            if isinstance(value, str):
                self.text(value)
            found[name] = value
        return found

    def text(self, text: str) -> None:
        if _SURROGATE.search(text):
            self.note(f"the string {json.dumps(text[:40])} holds half a character (a lone surrogate)")

    def whole(self, digits: str) -> int | float:
        # Compared as text first: reading a number of a million digits takes minutes.
        if len(digits.lstrip("-")) > _DIGITS or abs(int(digits)) > MAX_SAFE:
            self.note(f"the number {digits[:40]} is beyond 2**53 - 1")
            return 0
        return int(digits)

    def fraction(self, digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            self.note(f"the number {digits[:40]} is out of range")
            return 0.0
        return number


def _no_constant(name: str) -> Any:
    raise NotJson(f"`{name}` is not JSON")


def read_ijson(data: bytes) -> Any:
    """Read one JSON text. Raises ``NotJson`` or ``NotIJson``."""
    reader = _Reader()
    text = _decode(data)
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.members,
            parse_int=reader.whole,
            parse_float=reader.fraction,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    _check_texts(value, reader)
    if reader.fault is not None:
        raise NotIJson(reader.fault, value)
    return value


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        # Half characters written as bytes are told as what they are.
        return data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from None


_STRUCTURE: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def _check_depth(text: str) -> None:
    """Before the reader, which takes a level of Python's stack for a level of the text."""
    depth = 0
    for token in _STRUCTURE.finditer(text):
        kind = token.group()[0]
        if kind in "[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise NotJson(f"it is nested deeper than {MAX_JSON_DEPTH} levels")
        elif kind in "]}":
            depth -= 1


def _check_texts(value: Any, reader: _Reader) -> None:
    """The texts in lists and at the root, which the objects' hook does not see."""
    if isinstance(value, str):
        reader.text(value)
    elif isinstance(value, list):
        for each in value:
            _check_texts(each, reader)
    elif isinstance(value, dict):
        for each in value.values():
            if not isinstance(each, str):
                _check_texts(each, reader)


def is_count(value: object) -> bool:
    """Whether it is a whole number that counts something; numbers are judged by value, so 2.0 is 2."""
    if isinstance(value, bool):
        return False
    if isinstance(value, float):
        return value.is_integer() and value >= 0
    return isinstance(value, int) and value >= 0


def as_count(value: object) -> int | None:
    """The whole number that a value is, or nothing."""
    return int(value) if is_count(value) and isinstance(value, int | float) else None
