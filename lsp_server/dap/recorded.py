"""A recorded history as a course: all of it is known, and nothing else can happen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from lsp_server.dap.course import END, Place, Went
from sim_runtime.core.definition import Definition
from sim_runtime.core.evolve import fold
from sim_runtime.core.frames import EMPTY, State
from sim_runtime.history.records import Record

#: A state is kept after so many records.
KEEP_EVERY: Final = 512


class Recorded:
    """A history, standing after ``count`` of its records."""

    live = False
    down = False

    def __init__(self, records: list[Record], definition: Definition, count: int) -> None:
        self.records = records
        self.definition = definition
        self.standing = False
        self.start_us = records[0].at
        self._count = count
        self._ends = [position + 1 for position, record in enumerate(records) if record.boundary]
        self._kept: list[State] = [EMPTY]
        self._last: tuple[int, State] = (0, EMPTY)

    @property
    def crashes(self) -> list[tuple[int, int, int | None]]:
        """A history does not tell of crashes."""
        return []

    @property
    def state(self) -> State:
        """The fold of the records up to here."""
        return self._state(self._count)

    def _state(self, count: int) -> State:
        """The fold of the first records, from the nearest one that is known."""
        start, state = self._last
        if not start <= count <= start + KEEP_EVERY:
            kept = min(count // KEEP_EVERY, len(self._kept) - 1)
            start, state = kept * KEEP_EVERY, self._kept[kept]
        for position in range(start, count):
            if position % KEEP_EVERY == 0 and position // KEEP_EVERY == len(self._kept):
                self._kept.append(state)
            state = fold((self.records[position],), state)
        self._last = (count, state)
        return state

    @property
    def now(self) -> int:
        """The instant of the last record."""
        return self.records[max(self._count, 1) - 1].at

    @property
    def count(self) -> int:
        """How many records have happened."""
        return self._count

    @property
    def future(self) -> int:
        """How many records come."""
        return len(self.records) - self._count

    def seen(self) -> Iterable[Record]:
        """What has happened."""
        return self.records[: self._count]

    def record(self, seq: int) -> Record:
        """One of the records."""
        return self.records[seq - 1]

    def upcoming(self) -> Sequence[Record]:
        """The rest of the transaction under way."""
        end = bisect_right(self._ends, self._count)
        return self.records[self._count : self._ends[end]] if end < len(self._ends) else ()

    def state_before(self, position: int) -> State:
        """The state before one of ``upcoming``."""
        return self._state(self._count + position)

    def stand(self, position: int, standing: bool) -> None:
        """Go on inside the transaction under way."""
        self._count += position
        self.standing = standing

    def waits(self) -> bool:
        """Whether time passes before the next record."""
        return 0 < self._count < len(self.records) and self.records[self._count].at > self.now

    def act(self) -> Went:
        """Go to the end of the transaction under way."""
        coming = self.upcoming()
        self.standing = False
        self._count += len(coming)
        return Went() if coming else Went(ended=END)

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self._count)

    def go_to(self, place: Place) -> None:
        """Stand there again."""
        self._count = place.done
        self.standing = False

    def place_of(self, seq: int) -> Place:
        """The place before a record."""
        return Place(seq - 1)

    def place_after(self, seq: int) -> Place:
        """The place after a record."""
        return self.place_of(seq + 1)
