"""Texts of the author as they stand in messages."""

from __future__ import annotations

from typing import Final

MAX_SHOWN: Final = 60


def shown(text: str) -> str:
    """A piece of a file's text for a message: on one line, and cut when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"
