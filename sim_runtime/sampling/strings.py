"""Texts that fit a string schema: free texts, formats, and short matches of a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product

# The standard library's own parser of patterns: its tree says what a match is made of.
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, Final

from analyzer.expressions.patterns import Pattern, compile_pattern

MAX_TEXT: Final = 100_000
MAX_MATCHES: Final = 64
MAX_DEPTH: Final = 24
PADDING: Final = "x"

#: From the one that people recognise to the shortest.
FORMAT_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "date": ("1970-01-01",),
    "date-time": ("1970-01-01T00:00:00Z",),
    "duration": ("0s", "PT0S"),
    "email": ("a@example.com", "a@b"),
    "hostname": ("example.com", "a"),
    "ipv4": ("192.0.2.1", "0.0.0.0"),
    "idn-email": ("a@example.com", "a@b"),
    "idn-hostname": ("example.com", "a"),
    "ipv6": ("2001:db8::1", "::"),
    "iri": ("https://example.com/", "a:"),
    "iri-reference": ("https://example.com/", "a", ""),
    "json-pointer": ("/a", ""),
    "regex": ("a", ""),
    "relative-json-pointer": ("0",),
    "time": ("00:00:00Z",),
    "uri": ("https://example.com/", "a:"),
    "uri-reference": ("https://example.com/", "a", ""),
    "uri-template": ("https://example.com/", "a", ""),
    "uuid": ("00000000-0000-4000-8000-000000000000",),
}
#: Others, where elements must differ: by a number from 2 to 31.
_OTHER_TEXTS: Final[dict[str, str]] = {
    "date": "1970-01-{0:02}",
    "date-time": "1970-01-{0:02}T00:00:00Z",
    "duration": "PT{0}S",
    "email": "a{0}@example.com",
    "hostname": "a{0}.example.com",
    "idn-email": "a{0}@example.com",
    "idn-hostname": "a{0}.example.com",
    "ipv4": "192.0.2.{0}",
    "ipv6": "2001:db8::{0}",
    "iri": "https://example.com/{0}",
    "iri-reference": "https://example.com/{0}",
    "json-pointer": "/a{0}",
    "regex": "a{0}",
    "relative-json-pointer": "{0}",
    "time": "00:00:{0:02}Z",
    "uri": "https://example.com/{0}",
    "uri-reference": "https://example.com/{0}",
    "uri-template": "https://example.com/{0}",
    "uuid": "00000000-0000-4000-8000-{0:012}",
}


def filled(text: str, least: int, most: int | None) -> str:
    """``text`` cut to ``most`` characters, or filled up to ``least``; lengths are code points."""
    if most is not None and len(text) > most:
        return text[:most]
    return text if len(text) >= least else text + PADDING * min(least - len(text), MAX_TEXT)


def string_values(schema: Mapping[str, Any], text: str) -> Iterator[str]:
    """Candidates for a flat string schema, best first; what fits is for the caller to check."""
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > MAX_TEXT or (most is not None and most < least):
        return
    for pattern in schema.get("patterns", ()):
        yield from pattern_matches(pattern, least, most)
    format_ = schema.get("format", "")
    known = FORMAT_TEXTS.get(format_, ())
    yield from known
    if format_ in _OTHER_TEXTS:
        yield from (_OTHER_TEXTS[format_].format(number) for number in range(2, 32))
    for each in known:
        yield filled(each, least, most)
    yield filled(text, least, most)
    for number in range(2, 32):  # others, where elements must differ
        mark = f"-{number}"
        if most is None or most >= len(mark):
            yield filled(text, least, None if most is None else most - len(mark)) + mark
    for character in "abcdefghijklmnopqrstuvwxyz0123456789":
        yield filled(character, least, most)


def pattern_matches(pattern: str, least: int = 0, most: int | None = None) -> Iterator[str]:
    """Short texts in which a pattern is found, within the lengths where that can be had; at most ``MAX_MATCHES``."""
    compiled = compile_pattern(pattern)
    if not isinstance(compiled, Pattern):
        return
    try:
        tree = sre_parser.parse(compiled.regex.pattern)
    except (re.error, RecursionError, OverflowError):
        return
    seen: set[str] = set()
    for more in (0, 1, 2, 4, max(least, 1)):
        for match in islice(_texts(tree, more, 0), MAX_MATCHES):
            for candidate in (match, filled(match, least, most), PADDING * max(least - len(match), 0) + match):
                if candidate in seen or len(candidate) < least or (most is not None and len(candidate) > most):
                    continue
                seen.add(candidate)
                if compiled.search(candidate):
                    yield candidate
                    if len(seen) >= MAX_MATCHES:
                        return


def _texts(tree: Any, more: int, depth: int) -> Iterator[str]:
    """Texts of a parsed pattern, the first of which takes each first choice and each least count, plus ``more``."""
    if depth > MAX_DEPTH:
        return
    choices = [list(islice(_part(operator, argument, more, depth), 4)) for operator, argument in tree]
    for parts in islice(product(*choices), MAX_MATCHES):
        yield "".join(parts)


def _part(operator: Any, argument: Any, more: int, depth: int) -> Iterator[str]:
    if operator is sre.LITERAL:
        yield chr(argument)
    elif operator is sre.NOT_LITERAL:
        yield from (char for char in "a0-" if char != chr(argument))
    elif operator is sre.ANY:
        yield "a"
    elif operator is sre.IN:
        yield from _members(argument)
    elif operator is sre.BRANCH:
        for branch in argument[1]:
            yield from islice(_texts(branch, more, depth + 1), 4)
    elif operator is sre.SUBPATTERN:
        yield from _texts(argument[3], more, depth + 1)
    elif operator is sre.ATOMIC_GROUP:
        yield from _texts(argument, more, depth + 1)
    elif operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        low, high, inner = argument
        count = min(low + more, int(high), MAX_TEXT)
        for each in islice(_texts(inner, 0, depth + 1), 4):
            if len(each) * count <= MAX_TEXT:
                yield each * count
    else:  # anchors, look-around, back references: the match is tried all the same
        yield ""


def _members(argument: Any) -> Iterator[str]:
    """Some characters of a set, the first of each range first."""
    if argument and argument[0][0] is sre.NEGATE:
        excluded = _matcher(argument[1:])
        yield from (char for char in "a0-_ A.~é" if not excluded(char))
        return
    for operator, value in argument:
        if operator is sre.LITERAL:
            yield chr(value)
        elif operator is sre.RANGE:
            yield chr(value[0])
        elif operator is sre.CATEGORY:
            yield from (char for char in "a0 -" if _matcher([(operator, value)])(char))


def _matcher(members: Any) -> Any:
    def matches(char: str) -> bool:
        for operator, value in members:
            if operator is sre.LITERAL and ord(char) == value:
                return True
            if operator is sre.RANGE and value[0] <= ord(char) <= value[1]:
                return True
            if operator is sre.CATEGORY and re.match(_CATEGORIES[value], char):
                return True
        return False

    return matches


_CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
