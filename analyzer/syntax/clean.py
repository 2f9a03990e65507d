"""Text as the YAML parsers may see it: same length, same places, none of the characters that they trip over.

The parsers count NEL, LS and PS as line breaks and skip a byte order mark, which no editor does; they refuse control
characters and stop there. So the former are replaced by stand-in characters and put back into the values afterwards,
the latter are reported here and read as spaces. A lone CR is a line break and is read as LF.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from analyzer.syntax.nodes import Node, Scalar, walk
from analyzer.syntax.problems import Problems

_ODD_ASCII = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_LONE_CR = re.compile(r"\r(?!\n)")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]+")
_HIDDEN = "\x85\u2028\u2029\ufeff"
_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE))


@dataclass(frozen=True, slots=True)
class Clean:
    """The parsers' text, and the translation table that puts hidden characters back into values (or None)."""

    text: str
    restore: dict[int, str] | None


def clean(text: str, problems: Problems) -> Clean:
    """Replace what the parsers trip over, character by character; report control characters and lone surrogates."""
    if text.isascii():
        if "\r" not in text and not _ODD_ASCII.search(text):
            return Clean(text, None)
    elif not _ODD.search(text):
        return Clean(text, None)
    if "\r" in text:
        text = _LONE_CR.sub("\n", text)
    for found in _FORBIDDEN.finditer(text):
        problems.syntax(found.start(), found.end(), _forbidden(found[0][0]))
    text = _FORBIDDEN.sub(lambda found: " " * len(found[0]), text)
    hidden = [character for character in _HIDDEN if character in text]
    if not hidden:
        return Clean(text, None)
    hide = dict(zip(map(ord, hidden), _unused(text, len(hidden)), strict=True))
    return Clean(text.translate(hide), {ord(stand_in): chr(code) for code, stand_in in hide.items()})


def _forbidden(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if "\ud800" <= character <= "\udfff":
        return f"Half of a surrogate pair ({code}) stands here, which is not a character; remove it."
    return f"The control character {code} cannot stand in YAML; remove it."


def _unused(text: str, count: int) -> list[str]:
    used = set(text)
    found = []
    for codes in _PRIVATE:
        for code in codes:
            if chr(code) not in used:
                found.append(chr(code))
                if len(found) == count:
                    return found
    # Only a text made of every private character comes here; its hidden ones are read as replacement characters.
    return ["\ufffd"] * count


def restore(root: Node, table: dict[int, str]) -> None:
    """Put hidden characters back into the values of a tree."""
    for node in walk(root):
        if isinstance(node, Scalar):
            if type(node.value) is str:
                node.value = node.value.translate(table)
            node.text = node.text.translate(table)
