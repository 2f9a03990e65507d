"""Regular expressions of JSON Schemas: ECMA-262 text to Python's, and a bound on what a match may cost.

Python's matcher backtracks and has no time limit, so a text is matched only while even the worst case is cheap.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log2
from typing import Final

MAX_PATTERN_LENGTH: Final = 1_000
MAX_STEPS: Final = 20_000_000
MAX_NESTED_BITS: Final = 22
"""A repeated group that holds n repetitions and choices may cost (n + 1) to the power of the text's length."""

_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z_][A-Za-z0-9_]*)>")
_NAMED_BACK = re.compile(r"\\k<([A-Za-z_][A-Za-z0-9_]*)>")
_CODE_POINT = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}")
_FOREIGN = re.compile(r"\\[pP]\{|\\c[A-Za-z]|\[\^?\]|\(\?[imsx-]+:")
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")


class Pattern:
    """A compiled pattern; ``repeats`` counts its repetitions, ``nested`` the most that a repeated group holds."""

    __slots__ = ("nested", "regex", "repeats")

    def __init__(self, regex: re.Pattern[str], repeats: int, nested: int) -> None:
        self.regex = regex
        self.repeats = repeats
        self.nested = nested

    def limit(self) -> int:
        """The longest text that is matched."""
        if self.nested:
            return int(MAX_NESTED_BITS / log2(self.nested + 1))
        return int(MAX_STEPS ** (1 / (self.repeats + 1)))

    def search(self, text: str) -> bool | None:
        """Whether the pattern is found; None when the text is too long to say."""
        return None if len(text) > self.limit() else self.regex.search(text) is not None


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern | str | None:
    """The pattern, or why it is none, or None when it is valid elsewhere but cannot be matched here."""
    if len(text) > MAX_PATTERN_LENGTH:
        return None
    try:
        regex = re.compile(_translated(text))
    except (re.error, OverflowError, RecursionError) as error:
        if _FOREIGN.search(text):
            return None
        return str(error)
    return Pattern(regex, *_repetitions(text))


def _translated(text: str) -> str:
    text = _NAMED_GROUP.sub(r"(?P<\1>", text)
    text = _NAMED_BACK.sub(r"(?P=\1)", text)
    text = _CODE_POINT.sub(lambda match: re.escape(chr(min(int(match[1], 16), 0x10FFFF))), text)
    return _end_anchored(text)


def _end_anchored(text: str) -> str:
    r"""``$`` is the very end in ECMA-262; Python's also matches before a last line break."""
    parts: list[str] = []
    in_class = False
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\":
            parts.append(text[position : position + 2])
            position += 2
            continue
        if char == "[":
            in_class = True
        elif char == "]":
            in_class = False
        parts.append(r"\Z" if char == "$" and not in_class else char)
        position += 1
    return "".join(parts)


def _repetitions(text: str) -> tuple[int, int]:
    """How many repetitions there are, and the most repetitions and choices that one repeated group holds."""
    count = nested = position = 0
    in_class = False
    groups = [0]
    closed = 0  # what the group that ended just before holds
    while position < len(text):
        char = text[position]
        width, repeats = (0, False) if in_class else _repetition(text, position)
        if width:
            if repeats:
                nested = max(nested, closed)
                groups[-1] += 1
                count += 1
            position += width
            continue
        closed = 0
        if char == "\\":
            position += 1
            if text[position : position + 1].isdigit():  # a back reference repeats what its group took
                count += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            if text[position + 1 : position + 2] == "]":
                position += 1
        elif char == "(":
            groups.append(0)
            if text[position + 1 : position + 2] == "?":  # its `?` is no repetition
                position += 1
        elif char == "|":
            groups[-1] += len(groups) > 1
        elif char == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1] += closed
        position += 1
    return count, nested


def _repetition(text: str, position: int) -> tuple[int, bool]:
    """The width of the repetition sign at a place (0: none), and whether it repeats more than once or twice."""
    char = text[position]
    if char in "*+":
        return 1, True
    if char == "?":
        return 1, False
    if char != "{":
        return 0, False
    match = _COUNT.match(text, position)
    if match is None or match.group() in ("{}", "{,}"):
        return 0, False
    most = match[3] or (match[1] if not match[2] else "")
    return match.end() - position, not most or int(most[:6]) > 2
