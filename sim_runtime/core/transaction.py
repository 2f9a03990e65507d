"""One transaction in the making: the records so far, and the state that they make of the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from analyzer.expressions.faults import Fault
from analyzer.expressions.values import Marked, Value
from sim_runtime.core.definition import Definition, ListDef
from sim_runtime.core.evolve import take_in
from sim_runtime.core.fitting import plain
from sim_runtime.core.frames import Failure, Frame, State
from sim_runtime.core.programs import Program
from sim_runtime.core.reading import Scope
from sim_runtime.history.paths import CHILD, Address, address_of, identity_of
from sim_runtime.history.records import ENDS, Record

MAX_RECORDS: Final = 256
"""A transaction of steps that need no boundary of their own is ended after so many records."""

#: What advancing answers: a mask of what is waited for (0 and up: nothing can be done now), or one of these.
OUT: Final = 1  # a call is out
HELD: Final = 2  # a hold stands
BUSY: Final = 4  # a recovery is under way
CLOSED: Final = -1  # the transaction has ended
DONE: Final = -2  # the list or run has come to its end
AGAIN: Final = -3  # the step is over, its list goes on


class Raised:
    """A failure on its way outwards; everything inside stands still. ``escalating`` passes all but recovery scopes."""

    __slots__ = ("escalating", "failure")

    def __init__(self, failure: Failure, escalating: bool = False) -> None:
        self.failure = failure
        self.escalating = escalating


class Resumed(Exception):
    """Something is to be done in a run that is suspended or held: that is a record of its own, first."""


class Unknown(Exception):
    """A dry run depends on a suppressed result here."""


class Tx:
    """The records of one decision. ``resuming``: the first record must be ``run.resumed`` when the run stands still."""

    __slots__ = ("at", "closed", "definition", "records", "resuming", "state")

    def __init__(self, state: State, definition: Definition, at: int, resuming: bool = False) -> None:
        self.state = state
        self.definition = definition
        self.at = at
        self.records: list[Record] = []
        self.closed = False
        self.resuming = resuming

    def emit(self, kind: str, id_: str, **data: Any) -> Record:
        """Write a record and make the state of it."""
        assert not self.closed, f"{kind} after the end of a transaction"
        state = self.state
        if self.resuming and state.status in ("suspended", "held"):
            self._write("run.resumed", "", {})
            raise Resumed
        return self._write(kind, id_, data)

    def _write(self, kind: str, id_: str, data: dict[str, Any]) -> Record:
        state = self.state
        if CHILD in id_:
            run_id = _child_run(state, id_)
            if run_id is not None:
                data["run"] = run_id
        generation = data["started"] if kind == "generation.started" else state.generation
        record = Record(state.seq + 1, self.at, kind, id_, generation, data)
        if not self.records:
            self.state = state = state.copy()  # what the transaction began with is not changed
        take_in(state, record)
        self.records.append(record)
        if kind in ENDS:
            self.closed = True
        return record

    def close(self) -> int:
        """End the transaction here: what was written is a durable boundary."""
        if self.records:
            self.closed = True
        return CLOSED

    @property
    def full(self) -> bool:
        """Whether it is time to end the transaction."""
        return len(self.records) >= MAX_RECORDS

    def frame(self, address: Address) -> Frame:
        """The frame at an address, which is there."""
        found = self.state.frame(address)
        assert found is not None, identity_of(address)
        return found

    def value(self, program: Program, steps: ListDef, address: Address) -> Value:
        """The value of a program in a list's scope, as it is recorded. Raises ``Fault``; ``Unknown`` for a fault that
        a placeholder of a dry run brought about."""
        try:
            value = program(Scope(self.state, steps, address))
        except Fault as fault:
            if fault.marked:
                raise Unknown from None
            raise
        return plain(value) if self.definition.sparse else value

    def condition(self, program: Program, steps: ListDef, address: Address) -> Value:
        """As ``value``, of something that decides what runs: ``Unknown`` when it depends on a placeholder."""
        value = self.value(program, steps, address)
        if isinstance(value, Marked):
            raise Unknown
        return value


def _child_run(state: State, id_: str) -> str | None:
    """The id of the child run that an identity stands in."""
    address = address_of(id_)
    depth = len(address) - 1 - address[::-1].index(CHILD)
    frame = state.frame(address[: depth + 1])
    found: str | None = frame.info.run_id if frame is not None else None
    return found


def fault_failure(fault: Fault, failed: str) -> Failure:
    """The failure that a fault is."""
    return Failure(fault.code, fault.message, {}, failed)


def limited(failure: Failure, failed: str) -> Failure:
    """The failure of a scope that has reached its limit."""
    details = failure.details
    told: dict[str, Any] = dict(details) if isinstance(details, Mapping) else {}
    if details is not None and not isinstance(details, Mapping):
        told["details"] = details
    return failure._replace(details={**told, "recovery": "limit"}, failed=failed)
