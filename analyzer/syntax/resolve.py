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
_NUMBER = re.compile(
    r"(?:(?P<integer>[-+]?[0-9]+)|(?P<octal>0o[0-7]+)|(?P<hexadecimal>0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<special>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)))\Z"
)
# Durations and names with digits are far more common than numbers, and end otherwise.
_NUMBER_ENDS: Final = frozenset("0123456789abcdefABCDEF.NnFf")


class NumberTooLong(ValueError):
    """A number with more characters than ``limits.NUMBER_DIGITS``."""


def resolve_plain(text: str) -> ScalarValue:
    """The value of an untagged plain scalar.

    Raises NumberTooLong for a number past the bound, so that a value's cost and a message's length stay bounded.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[-1] not in _NUMBER_ENDS or text[0] not in MAYBE_TYPED:
        return text
    found = _NUMBER.match(text)
    if found is None:
        return text
    if len(text) > NUMBER_DIGITS.value:
        raise NumberTooLong(text[:20])
    kind = found.lastgroup
    if kind == "integer":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "special":
        return float(text.replace(".", ""))
    return int(text, 8 if kind == "octal" else 16)


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
