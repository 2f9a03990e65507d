"""The line of source that a finding is on, with carets under the place."""

from __future__ import annotations

from analyzer.findings import Range
from analyzer.report.common import printable
from analyzer.report.width import widths

TAB_WIDTH = 4
MAX_WIDTH = 120
_CUT = "…"
_NEAR = 1_000
"""Characters before a place, and from its start on, that are looked at: more never fits a line of the report."""


def render_excerpt(lines: list[str], place: Range, width: int = MAX_WIDTH) -> tuple[str, str] | None:
    """The source line of ``place`` and the line of carets below it, both at most ``width`` columns.

    A place over several lines is marked to the end of its first. None when the line does not exist (the file changed).
    """
    if not 1 <= place.start_line <= len(lines):
        return None
    line = lines[place.start_line - 1]
    start = min(place.start_column - 1, len(line))
    end = len(line.rstrip()) if place.end_line > place.start_line else min(place.end_column - 1, len(line))
    marks = max(1, end - start)
    skipped = max(0, start - _NEAR)
    part = line[skipped : start + _NEAR]
    start -= skipped
    cells = _cells(part)
    first, last = _window([columns for _, columns in cells], start, start + marks, width, whole=len(part) == len(line))
    shown = "".join(text for text, _ in cells[first:last])
    before = sum(columns for _, columns in cells[first:start])
    under = sum(columns for _, columns in cells[start : min(start + marks, last)]) or 1
    if first > 0 or skipped:
        shown, before = _CUT + shown, before + 1
    if last < len(cells) or skipped + len(part) < len(line):
        shown += _CUT
    return shown, " " * before + "^" * under


def _cells(line: str) -> list[tuple[str, int]]:
    """What each character is shown as and how many columns that takes."""
    if line.isascii() and line.isprintable():
        return [(character, 1) for character in line]
    cells: list[tuple[str, int]] = []
    column = 0
    for character, columns in zip(line, widths(line), strict=True):
        shown = character
        if character == "\t":
            columns = TAB_WIDTH - column % TAB_WIDTH
            shown = " " * columns
        else:
            shown = printable(character)
            if shown != character:
                columns = len(shown)
        cells.append((shown, columns))
        column += columns
    return cells


def _window(columns: list[int], start: int, end: int, width: int, *, whole: bool) -> tuple[int, int]:
    """The characters ``[first, last)`` to show so that the place is in sight and the line fits ``width``.

    ``whole``: there is no more of the line than these characters.
    """
    if whole and sum(columns) <= width:
        return 0, len(columns)
    room = max(width - 2, 8)  # a cut mark on both sides
    first = last = min(start, len(columns))
    used = 0
    while last < min(end, len(columns)) and used + columns[last] <= room:
        used += columns[last]
        last += 1
    lead = min(room - used, room // 3)  # a third of the room for what stands before the place
    while first > 0 and columns[first - 1] <= lead:
        first -= 1
        lead -= columns[first]
        used += columns[first]
    while last < len(columns) and used + columns[last] <= room:
        used += columns[last]
        last += 1
    while first > 0 and used + columns[first - 1] <= room:
        first -= 1
        used += columns[first]
    return first, last
