"""How many terminal columns a character takes: wide East Asian text, combining marks, emoji sequences."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"


@lru_cache(maxsize=4096)
def character_width(character: str) -> int:
    """0 for marks and format characters, 2 for wide and full width ones, else 1."""
    code = ord(character)
    if code < 0x300:
        return 1
    if 0x1160 <= code <= 0x11FF:  # medial and final Hangul letters join the one before
        return 0
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def widths(text: str) -> list[int]:
    """The columns that each character of ``text`` adds, emoji sequences counted as the one picture that they show.

    A character after a joiner and a skin tone after a picture add nothing; the emoji style selector makes a narrow
    symbol wide.
    """
    result: list[int] = []
    previous = ""
    for character in text:
        width = character_width(character)
        if previous == _JOINER or (0x1F3FB <= ord(character) <= 0x1F3FF and result and result[-1] == 2):
            width = 0
        elif character == _EMOJI_STYLE and result and result[-1] == 1 and ord(previous) >= 0x80:
            width = 1
        result.append(width)
        previous = character
    return result
