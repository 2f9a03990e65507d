"""Reading what stands between the values of a text: blanks, comments, indicators, anchors."""

from __future__ import annotations

import re

_GAP = re.compile(r"[ \t]*(?:#[^\n]*)?")
_NAME = re.compile(r"[^\s,\[\]{}]+")
_PROPERTY = re.compile(r"[&!][^\s,\[\]{}]*")
_PROPERTIES_ALONE = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]*)+(?:#[^\n]*)?(?:\n|\Z)")


class Unsupported(Exception):
    """The text has something that the canonical layout has no place for; it stays as it is."""


class PendingComment:
    """A comment that was read and not yet written; ``column`` counts from 0, ``blank`` is an empty line above it."""

    __slots__ = ("blank", "column", "own_line", "text")

    def __init__(self, text: str, column: int, own_line: bool, blank: bool) -> None:
        self.text = text
        self.column = column
        self.own_line = own_line
        self.blank = blank


class Cursor:
    """A place in the text that only moves forward; comments that it passes wait in ``comments``.

    The text has LF line breaks only and no byte order mark.
    """

    __slots__ = ("_breaks", "comments", "pos", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.comments: list[PendingComment] = []
        self._breaks = 0

    @property
    def blank(self) -> bool:
        """Whether an empty line stands between the cursor and the comment or value before it."""
        return self._breaks > 1

    @property
    def column(self) -> int:
        """The column of the cursor, from 0."""
        return self.pos - self.line

    @property
    def line(self) -> int:
        """The offset at which the cursor's line starts."""
        return self.text.rfind("\n", 0, self.pos) + 1

    def gap(self) -> None:
        """Move past blanks, line breaks and comments to whatever comes next."""
        text = self.text
        while True:
            found = _GAP.match(text, self.pos)
            assert found is not None  # the pattern fits the empty text
            start = text.find("#", self.pos, found.end())
            if start >= 0:
                self._comment(start, found.end())
            self.pos = found.end()
            if not text.startswith("\n", self.pos):
                return
            self._breaks += 1
            self.pos += 1

    def _comment(self, start: int, end: int) -> None:
        line = self.text.rfind("\n", 0, start) + 1
        own_line = not self.text[line:start].strip(" \t")
        self.comments.append(PendingComment(self.text[start:end].rstrip(), start - line, own_line, self._breaks > 1))
        self._breaks = 0

    def at(self, token: str) -> bool:
        """Whether ``token`` stands at the cursor."""
        return self.text.startswith(token, self.pos)

    def expect(self, token: str) -> None:
        """Move past a token that must stand at the cursor."""
        if not self.text.startswith(token, self.pos):
            raise Unsupported(f"{token} is missing at {self.pos}")
        self.move(self.pos + len(token))

    def move(self, offset: int, breaks: int = 0) -> None:
        """Move to ``offset``; ``breaks`` line breaks just before it belong to the gap that follows."""
        if offset < self.pos:
            raise Unsupported(f"{offset} lies before {self.pos}")
        self.pos = offset
        self._breaks = breaks

    def property(self, block: bool) -> str:
        """Move past an anchor or tag if one stands here for the value that follows, and answer its text or "".

        Before a block map (``block``) those on the line of its first key are the key's.
        """
        found = _PROPERTY.match(self.text, self.pos)
        if found is None or (block and not _PROPERTIES_ALONE.match(self.text, self.pos)):
            return ""
        self.move(found.end())
        return found.group()

    def name(self) -> str:
        """Move past an alias, ``*name``, and answer its text."""
        found = _NAME.match(self.text, self.pos)
        if found is None:
            raise Unsupported(f"no name at {self.pos}")
        self.move(found.end())
        return found.group()
