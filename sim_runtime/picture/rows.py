"""The rows of a picture, as a tree: the run, its states, steps, branches, iterations, handlers, probes, child runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sim_runtime.history.paths import CHILD, RECONCILE, UNDO, address_of

#: Rows that are drawn, and iterations of one loop; what is past that is counted.
MAX_ROWS: Final = 400
MAX_ITERATIONS: Final = 24

#: Branches of ``wf.if`` and ``wf.switch``: their steps stand right below the step, which tells what was taken.
_UNSHOWN: Final = ("(then)", "(else)", "(default)", "(case:")


@dataclass(slots=True)
class Bar:
    """A stretch of a row between two moments. ``end`` None: it goes on past what is drawn.

    ``kind``: ``step`` (in progress), ``call`` (an answer is out), ``wait``, ``retry``, ``hold``, ``undo``. ``seq`` is
    the record that began it; ``stale`` says that a recovery superseded it.
    """

    kind: str
    start: int
    seq: int
    title: str
    end: int | None = None
    outcome: str = ""
    stale: bool = False


@dataclass(slots=True)
class Mark:
    """What is shown at one moment of a row: the most telling ``kind``, and all that happened, a line each."""

    kind: str
    lines: list[str]


@dataclass(slots=True, eq=False)
class Row:
    """One row. ``lane`` tells what it heads (``run``, ``state``, ``branch``, ``iteration``, ``child``, ``handler``,
    ``probes``), "" for a step; ``note`` is what stands dimmed behind the label."""

    label: str
    depth: int
    lane: str = ""
    note: str = ""
    rows: dict[str, Row] = field(default_factory=dict)
    bars: list[Bar] = field(default_factory=list)
    marks: dict[int, Mark] = field(default_factory=dict)
    open: dict[str, Bar] = field(default_factory=dict)
    #: The row of the iterations past ``MAX_ITERATIONS``, and which those are.
    rest: Row | None = None
    folded: set[str] = field(default_factory=set)


class Rows:
    """Finds the row of an identity, and makes it. ``left_out`` counts the identities that got none."""

    def __init__(self, title: str) -> None:
        self.root = Row(title, 0, "run")
        self.count = 1
        self._known: dict[str, Row | None] = {"": self.root}
        self._left_out: set[str] = set()

    @property
    def left_out(self) -> int:
        """How many steps, branches and iterations got no row because there are too many."""
        return len(self._left_out)

    def row(self, id_: str) -> Row | None:
        """The row of an identity; None when there are too many rows already."""
        if id_ not in self._known:
            found = self._find(id_)
            self._known[id_] = found
            if found is None:
                self._left_out.add(id_)
        return self._known[id_]

    def _find(self, id_: str) -> Row | None:
        row = self.root
        for segment in address_of(id_):
            if segment == UNDO or segment.startswith(_UNSHOWN):
                continue
            below = row.rows.get(segment)
            if below is None:
                if segment[0] == "[" and sum(each.lane == "iteration" for each in row.rows.values()) >= MAX_ITERATIONS:
                    return self._rest(row, segment)
                if self.count >= MAX_ROWS:
                    return None
                self.count += 1
                below = row.rows[segment] = _new_row(segment, row.depth + 1)
            row = below
        return row

    def _rest(self, row: Row, segment: str) -> Row:
        if row.rest is None:
            self.count += 1
            row.rest = Row("", row.depth + 1, "rest")
        row.rest.folded.add(segment)
        count = len(row.rest.folded)
        row.rest.label = f"{count:,} more iteration{'' if count == 1 else 's'}"
        return row.rest

    def in_order(self) -> list[Row]:
        """All rows from above, each before what it holds."""
        found: list[Row] = []
        stack = [self.root]
        while stack:
            row = stack.pop()
            found.append(row)
            below = [*row.rows.values(), *([row.rest] if row.rest is not None else [])]
            stack.extend(reversed(below))
        return found


def _new_row(segment: str, depth: int) -> Row:
    if segment[0] == "[":
        return Row(segment, depth, "iteration")
    if segment == CHILD:
        return Row("child run", depth, "child")
    if segment.startswith(RECONCILE):
        return Row("probes", depth, "probes")
    if segment.startswith("(catch:"):
        return Row(f"handler {segment[7:-1]}", depth, "handler")
    name, _, entry = segment.partition("#")
    if entry:
        return Row(name, depth, "state", "state" if entry == "1" else f"state, entry {entry}")
    return Row(segment, depth)
