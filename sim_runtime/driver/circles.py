"""Runs that go round at one instant: what never lets time pass would never end (architecture page, invariant 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim_runtime.history.encoding import time_text
from sim_runtime.history.records import Record

MAX_TURNS: Final = 5_000
"""How often one state may be entered, one step tried again, or one scope recover at one instant."""

#: What comes again when a run goes round, what is said of it, and what helps.
_TURNS: Final = {
    "state.entered": (
        "the state `{path}` was entered {count:,} times at {at}",
        "let a route lead out of the circle, or let time pass in it (`wf.wait`)",
    ),
    "retry.scheduled": (
        "`{path}` was tried {count:,} times at {at}",
        "give its `retry` a `delay`, or fewer `attempts`",
    ),
    "recovery.decided": (
        "{scope} recovered {count:,} times at {at}",
        "give its `recovery` a `delay`, or fewer `failures` in `stop_after`",
    ),
}


class LimitReached(Exception):
    """A bound of the simulation was hit; the message says which. ``brief`` says it in a few words that are the same for
    every run that hits it."""

    def __init__(self, message: str, brief: str) -> None:
        super().__init__(message)
        self.brief = brief


class Circles:
    """Counts what comes again at the present instant. ``fork`` copies."""

    __slots__ = ("_at", "_turns")

    def __init__(self) -> None:
        self._at = -1
        self._turns: dict[tuple[str, str], int] = {}

    def fork(self) -> Circles:
        """A copy that goes its own way."""
        copy = Circles()
        copy._at, copy._turns = self._at, dict(self._turns)
        return copy

    def add(self, records: Sequence[Record]) -> None:
        """Count the records of a transaction. Raises ``LimitReached``."""
        if records[0].at != self._at:
            self._at = records[0].at
            self._turns = {}
        for record in records:
            if record.kind in _TURNS:
                self._turn(record)

    def _turn(self, record: Record) -> None:
        place = (record.kind, record.path)
        count = self._turns[place] = self._turns.get(place, 0) + 1
        if count > MAX_TURNS:
            what, advice = _TURNS[record.kind]
            scope = f"`{record.path}`" if record.path else "the run"
            words = what.format(path=record.path, scope=scope, count=MAX_TURNS, at=time_text(record.at))
            brief = f"a run that goes round in circles at one instant, at {scope}"
            raise LimitReached(f"the run goes round in circles: {words}; {advice}", brief)
