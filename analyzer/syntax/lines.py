"""The tolerant parser's way from line to line: indentation, and where lines that are indented by tabs belong."""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.reading import CLOSES_NOTHING, ENTRY_LIKE, MARKER, TO_LINE_END, Reading, named

BLANK_LINES = re.compile(r"(?:[ \t\r]*+(?:#[^\n]*+)?\n)*+( *+)")
SIMPLE_KEY = re.compile(r"([A-Za-z_][0-9A-Za-z_.-]*+):(?=[ \t\r\n])")
_INDENT = re.compile(r"[ \t]*")
_TAB: Final = 4
_STEP: Final = 2
_ITEM_LINES: Final = 100
_JUNK = re.compile(rf"([\]}},@`]+)[ \t]*(?={ENTRY_LIKE.pattern})")
_OPENS = re.compile(r"[^\n]*[:-][ \t\r]*(?:[ \t]#[^\n]*)?\n")
_NEXT_SPACED = re.compile(r"(?:[ ]*\t[^\n]*\n|[ \t\r]*(?:#[^\n]*)?\n)*+( *)[^ \t\r\n]")


class LineReader:
    """A place in a text, always at a line's content.

    ``line`` is where the line starts, ``at`` where its text does and ``indent`` its column, -1 at the document's end;
    a line that is indented by tabs has the column that its author most likely meant.
    """

    __slots__ = ("_lists", "_maps", "_shift", "_tab_shift", "_tabbed", "at", "indent", "line", "reading", "text")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.text = reading.text
        self.line = 0
        self.at = 0
        self.indent = -1
        self._shift = 0
        self._tabbed = False
        self._tab_shift = 0
        # The columns of the lists and of the maps that are open, the innermost last.
        self._lists: list[int] = []
        self._maps: list[int] = []

    def advance(self, position: int) -> None:
        """Go to the next line with text; ``position`` is the start of a line."""
        text = self.text
        found = BLANK_LINES.match(text, position)
        assert found is not None
        before = self.line
        at = found.end()
        self.line = at - len(found[1])
        self.at = at
        self.indent = at - self.line
        self._shift = 0
        if at >= self.reading.size:
            self.at = self.reading.size
            self.indent = -1
        elif text[at] == "\t":
            self._tabs(before)
        elif self.indent == 0 and text[at] in "-." and MARKER.match(text, at):
            self.indent = -1
        else:
            self._tabbed = False
            if text[at] in "]},@`":
                self._junk()

    def _junk(self) -> None:
        """Characters that cannot begin a line, before an entry: the entry counts, in the column it had without them."""
        found = _JUNK.match(self.text, self.at)
        if found is None:
            return
        shown = found[1][0]
        message = CLOSES_NOTHING.format(shown) if shown in "]}" else f"{named(shown)} cannot start a key; remove it."
        self.reading.problem(self.at, self.at + len(found[1]), message)
        self.at = found.end()
        key = self.at - self.line
        likely = (key - len(found[1]), self.indent, key)
        self.indent = next((column for column in likely if column in self._maps), likely[0])
        self._shift = self.indent - key

    def _tabs(self, before: int) -> None:
        """The current line is indented by tabs: work out where its author wants it; ``before`` is the line above."""
        found = _INDENT.match(self.text, self.line)
        assert found is not None
        tab = self.at
        self.at = found.end()
        wide = found[0].count(" ") + _TAB * found[0].count("\t")
        if not self._tabbed:
            self.reading.problem(tab, self.at, "A tab cannot be used to indent; use spaces.")
            self._tab_shift = self._likely_column(before) - wide
        # The lines of one run of tabs keep their depth among each other.
        self._tabbed = True
        self.indent = max(wide + self._tab_shift, 0)
        self._shift = self.indent - (self.at - self.line)

    def _likely_column(self, before: int) -> int:
        """Below a line that opens a block: where the next line without tabs is, or two deeper; else beside it."""
        text = self.text
        above = _INDENT.match(text, before)
        assert above is not None
        column = above.end() - before
        if self._dash():
            return self._likely_dash(before, column)
        if before == self.line:
            return 0
        dashed = text.startswith("- ", above.end())
        if not _OPENS.match(text, before):
            return column + _STEP if dashed else column
        below = _NEXT_SPACED.match(text, self._line_end(self.at) + 1)
        deeper = column + (2 * _STEP if dashed else _STEP)
        return len(below[1]) if below and column < len(below[1]) else deeper

    def _likely_dash(self, before: int, column: int) -> int:
        """As ``_likely_column``, for a list item: with the items below it, when the line above opens their list."""
        text = self.text
        position = self._line_end(self.at) + 1
        for _ in range(_ITEM_LINES if _OPENS.match(text, before) else 0):
            below = _NEXT_SPACED.match(text, position)
            if below is None or len(below[1]) < column or below.end() > self.reading.size:
                break
            if text.startswith("- ", below.end(1)):
                return len(below[1])
            if len(below[1]) == column:
                break
            position = self._line_end(below.end()) + 1
        return self._lists[-1] if self._lists else column

    def _column(self, position: int) -> int:
        return position - self.line + self._shift

    def _line_end(self, position: int) -> int:
        return self.text.find("\n", position)

    def _skip_line(self, position: int) -> None:
        self.advance(self._line_end(position) + 1)

    def _dash(self) -> bool:
        return self.text[self.at] == "-" and self.text[self.at + 1] in " \t\r\n"

    def _words(self) -> tuple[int, int]:
        """The span that a problem with the whole current line is shown on: its key, or its text."""
        found = SIMPLE_KEY.match(self.text, self.at)
        if found:
            return self.at, found.end(1)
        line = TO_LINE_END.match(self.text, self.at)
        end = line.end() if line else self.at
        while end > self.at + 1 and self.text[end - 1] in " \t\r":
            end -= 1
        return self.at, end
