"""What is debugged: a line of records with a place to stand in it, and ways to go on and back.

A course stands after some records. What comes next is known as far as the end of the transaction under way
(``upcoming``): deciding is pure, so that a run can be looked at in the middle of a transaction that is not written yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import State
from sim_runtime.history.records import Record

#: Why nothing went on.
HELD: Final = "held"
OVER: Final = "over"
IDLE: Final = "idle"
UNTIL: Final = "until"
END: Final = "end"


class Went(NamedTuple):
    """What ``act`` did. ``records`` were not ``upcoming`` before; ``ended`` tells why nothing can act any more."""

    records: Sequence[Record] = ()
    ended: str | None = None


class Place(NamedTuple):
    """Where a course stands: how much was done, and how many records of the next transaction have been passed."""

    done: int
    offset: int = 0


class Course(Protocol):
    """A run under way, or a recorded one."""

    definition: Definition
    #: Whether it stands before the first of ``upcoming`` because it stopped there.
    standing: bool

    @property
    def start_us(self) -> int:
        """When the run's clock starts."""

    @property
    def state(self) -> State:
        """What the records up to here make."""

    @property
    def now(self) -> int:
        """The instant, in microseconds since 1970."""

    @property
    def count(self) -> int:
        """How many records have happened."""

    @property
    def future(self) -> int:
        """How many records are known to come."""

    def seen(self) -> Iterable[Record]:
        """What has happened, in order."""

    def record(self, seq: int) -> Record:
        """One of the records that have happened."""

    def upcoming(self) -> Sequence[Record]:
        """The rest of the transaction under way."""

    def state_before(self, position: int) -> State:
        """The state before one of ``upcoming``."""

    def stand(self, position: int, standing: bool) -> None:
        """Go on inside ``upcoming``: to before the record at ``position``, or past the last."""

    def waits(self) -> bool:
        """Whether nothing can be done at this instant, so that the clock moves next."""

    def act(self) -> Went:
        """Finish the transaction under way; at a boundary do the next thing, or move the clock to it."""

    @property
    def place(self) -> Place:
        """Where it stands, to come back to."""

    def go_to(self, place: Place) -> None:
        """Stand there again."""

    def place_of(self, seq: int) -> Place:
        """The place before a record that has happened or is known to come."""

    def place_after(self, seq: int) -> Place:
        """The place right after a record that has happened."""


def is_place(record: Record) -> bool:
    """Whether a step or state begins (or is skipped) with a record: what breakpoints and stepping stop before."""
    kind = record.kind
    if kind == "step.started":
        return record.data["step"] not in ("branch", "iteration")
    return kind in ("step.skipped", "state.entered")


def first_place(records: Sequence[Record]) -> int | None:
    """The position of the first place among records."""
    return next((position for position, record in enumerate(records) if is_place(record)), None)


def places_before(records: Iterable[Record], seq: int) -> Iterator[Record]:
    """The places among records with a lower number."""
    return (record for record in records if record.seq < seq and is_place(record))
