"""Scalars of several lines: where they end in the text, and the same lines at another indentation."""

from __future__ import annotations

import re

from analyzer.formatting.cursor import Unsupported

_HEADER = re.compile(r"[|>]([+-]?)([1-9]?)([+-]?)[ \t]*(#[^\n]*)?(?:\n|\Z)")


class BlockScalar:
    """A literal or folded scalar in the text.

    ``header`` is the indicator with its modifiers, ``comment`` the comment behind it or "", ``lines`` the content
    without its indentation, ``end`` the offset past it, ``breaks`` the line breaks just before ``end``.
    """

    __slots__ = ("breaks", "comment", "end", "header", "indent", "lines")

    def __init__(self, text: str, start: int, parent: int) -> None:
        """Read the scalar whose indicator is at ``start``; ``parent`` is the column of the list or map around it."""
        found = _HEADER.match(text, start)
        if found is None:
            raise Unsupported(f"no block scalar at {start}")
        self.header = text[start] + found[1] + found[2] + found[3]
        self.comment = (found[4] or "").rstrip()
        self.indent = int(found[2]) if found[2] else 0
        keep = "+" in self.header
        columns = parent + self.indent if self.indent else _first_indentation(text, found.end())
        if columns <= parent:
            columns = len(text)  # no content: whatever follows stands further out, and blanks mean nothing
        self._read(text, found.end(), columns, keep)

    def _read(self, text: str, start: int, columns: int, keep: bool) -> None:
        lines: list[str] = []
        filled = 0  # lines up to the last one with content
        pos = end = start
        while pos < len(text):
            stop = text.find("\n", pos)
            after = len(text) if stop < 0 else stop + 1
            line = text[pos : after if stop < 0 else stop]
            indentation = len(line) - len(line.lstrip(" "))
            if indentation < columns and indentation < len(line):
                break
            lines.append(line[columns:])
            pos = after
            if line.strip(" ") or indentation > columns:
                filled, end = len(lines), pos
        if keep:
            self.lines, self.end = lines, pos
        else:
            self.lines, self.end = lines[:filled], end
        self.breaks = 1 if text[self.end - 1 : self.end] == "\n" else 0

    def placed(self, indent: int) -> list[str]:
        """The content's lines where the list or map around the scalar stands at column ``indent``."""
        pad = " " * (indent + (self.indent or 2))
        return [pad + line if line else "" for line in self.lines]


def _first_indentation(text: str, start: int) -> int:
    """The indentation of the first line that is not blank, 0 without one."""
    found = re.compile(r"(?:[ ]*\n)*([ ]*)[^ \n]").match(text, start)
    return len(found[1]) if found else 0


def folded_lines(text: str, indent: int) -> list[str]:
    """The lines of a plain or quoted scalar of several lines; those after the first stand at column ``indent``.

    Blanks around the line breaks of such a scalar are not part of its value, but for one that a backslash protects.
    """
    pad = " " * indent
    first, *others = text.split("\n")
    lines = [_stripped_end(first, text[0])]
    for other in others:
        line = _stripped_end(other.lstrip(" \t"), text[0])
        lines.append(pad + line if line else "")
    return lines


def _stripped_end(line: str, quote: str) -> str:
    stripped = line.rstrip(" \t")
    if quote == '"' and len(stripped) < len(line):
        slashes = len(stripped) - len(stripped.rstrip("\\"))
        if slashes % 2:
            return line[: len(stripped) + 1]
    return stripped
