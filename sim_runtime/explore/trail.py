"""The records of a run as a list with a shared past, and the store and lists of a driver that cost nothing to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn

from sim_runtime.history.records import Record


class Trail:
    """Transactions, the last one first; a longer trail shares everything with the shorter one."""

    __slots__ = ("before", "count", "records")

    def __init__(self, before: Trail | None, records: Sequence[Record]) -> None:
        self.before = before
        self.records = records
        self.count: int = (before.count if before is not None else 0) + len(records)

    def transactions(self) -> list[Sequence[Record]]:
        """All transactions, in order."""
        found = []
        here: Trail | None = self
        while here is not None:
            found.append(here.records)
            here = here.before
        found.reverse()
        return found


class Records:
    """The list of records that a driver keeps, on a trail."""

    __slots__ = ("trail",)

    def __init__(self, trail: Trail) -> None:
        self.trail = trail

    def __len__(self) -> int:
        return self.trail.count

    def __iter__(self) -> Iterator[Record]:
        return (record for transaction in self.trail.transactions() for record in transaction)

    def __reversed__(self) -> Iterator[Record]:
        here: Trail | None = self.trail
        while here is not None:
            yield from reversed(here.records)
            here = here.before

    def __getitem__(self, place: int) -> Record:
        """The record at a place; ``-1`` is the last one."""
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return next(islice(reversed(self), ~place if place < 0 else len(self) - 1 - place, None))

    def extend(self, records: Sequence[Record]) -> None:
        """One transaction more."""
        self.trail = Trail(self.trail, records)


class NoCalls:
    """Stands for the list of calls, which nothing of an exploration reads."""

    __slots__ = ()

    def append(self, call: Any) -> None:
        """Not kept."""

    def __len__(self) -> int:
        return 0


class Gate:
    """Stands for a store: it is told of a transaction right before it is written."""

    __slots__ = ("about_to_write",)

    def __init__(self) -> None:
        self.about_to_write: Any = None

    def begin(self, run_id: str) -> None:
        """Nothing is kept."""

    def append(self, _run_id: str, records: Sequence[Record]) -> None:
        """A transaction is about to be written."""
        if self.about_to_write is not None:
            self.about_to_write(records)

    def records(self, run_id: str) -> NoReturn:
        """A branch resumes from its own trail."""
        raise AssertionError(run_id)
