"""The table of crash points: which of them it shows, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sim_runtime.explore.places import place_of
from sim_runtime.explore.summary import Cell, Point, Summary
from sim_runtime.history.records import ACTION_RESULTS, UNDO_RESULTS

#: The columns: a title, and the records that it is about.
COLUMNS: Final = (
    ("prepared", ("action.prepared", "compensation.prepared", "action.suppressed")),
    ("dispatched", ("action.dispatched", "compensation.dispatched")),
    ("result", (*ACTION_RESULTS, *UNDO_RESULTS)),
)


def crash_points(summary: Summary) -> list[tuple[Point, Cell]]:
    """The crash points; those of runs in which nothing else goes otherwise come first."""
    return sorted(summary.cells.items(), key=lambda pair: not pair[1].expected)


def placed(summary: Summary) -> Iterator[tuple[str, int, Cell]]:
    """What the table shows: the row, the column (before and after each of ``COLUMNS``), and what is there. Where the
    expected runs come by, only these count; what else there is comes from runs in which something went otherwise."""
    known: set[tuple[str, int]] = set()
    for (path, when, record), cell in crash_points(summary):
        for number, (_, kinds) in enumerate(COLUMNS):
            if record not in kinds:
                continue
            place, position = place_of(path), 2 * number + (when == "after")
            if cell.expected:
                known.add((place, position))
            elif (place, position) in known:
                continue
            yield place, position, cell
