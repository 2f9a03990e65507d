"""The YAML 1.2 core schema: what a plain scalar's text means, and the tags that may say so.

Pure functions, no positions. ``on``, ``yes`` and ``1:30`` are strings and ``010`` is ten (language page, section 1).
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.limits import NUMBER_DIGITS
from analyzer.syntax.nodes import ScalarValue

CORE_PREFIX: Final = "tag:yaml.org,2002:"
SCALAR_TAGS: Final = frozenset({"str", "int", "float", "bool", "null"})
COLLECTION_TAGS: Final = frozenset({"map", "seq"})

# A plain scalar that starts otherwise is a string: one lookup settles most scalars of a file.
MAYBE_TYPED: Final = frozenset("~nNtTfF+-.0123456789")

_WORDS: Final[dict[str, ScalarValue]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_NOT_A_NUMBER = re.compile(r"\.(?:nan|NaN|NAN)\Z")


class NumberTooLong(ValueError):
    """A number with more characters than ``limits.NUMBER_DIGITS``."""


def resolve_plain(text: str) -> ScalarValue:
    """The value of an untagged plain scalar.

    Raises NumberTooLong for a number past the bound, so that a value's cost and a message's length stay bounded.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in MAYBE_TYPED:
        return text
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    integer = _INTEGER.match(text) or _OCTAL.match(text) or _HEXADECIMAL.match(text)
    if integer or _FLOAT.match(text):
        if len(text) > NUMBER_DIGITS.value:
            raise NumberTooLong(text[:20])
        if not integer:
            return float(text)
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text, base)
    if _INFINITE.match(text):
        return float(text.replace(".", ""))
    return float("nan") if _NOT_A_NUMBER.match(text) else None


def resolve_tagged(text: str, kind: str) -> ScalarValue:
    """The value of a scalar under a core tag, ``kind`` being one of SCALAR_TAGS.

    Raises ValueError when the text is not of that kind, NumberTooLong as ``resolve_plain``.
    """
    if kind == "str":
        return text
    value = resolve_plain(text)
    if kind == "float" and type(value) is int:
        return float(value)
    fits = {"int": type(value) is int, "float": type(value) is float, "bool": type(value) is bool}
    if value is not None if kind == "null" else not fits[kind]:
        raise ValueError(f"not of kind {kind}")
    return value
