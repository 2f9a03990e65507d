"""A simulated run step by step, with a way back: what ``workfile step`` and debuggers are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sim_runtime.history.paths import address_of
from sim_runtime.history.records import Record

if TYPE_CHECKING:
    from sim_runtime.driver.protocol import Decision
    from sim_runtime.driver.run import Reply, Run
    from sim_runtime.simulation import Simulation

Json: TypeAlias = Any

MAX_BACK: Final = 1_000
MAX_TRANSACTIONS: Final = 1_000_000

_POSITIONS: Final = frozenset({"step.started", "step.skipped", "state.entered", "run.finished"})


def _cancelled(run: Run, reason: Json) -> Reply:
    """Cancel, up to where the run has ended."""
    reply = run.cancel(reason)
    while reply.accepted and not run.down and not run.over and run.step():
        pass
    return reply


class CannotDo(Exception):
    """The command makes no sense now; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What ``back`` returns to."""

    simulation: Simulation
    position: str | None
    down: bool


class Stepper:
    """A run under way. Each command that moves it answers the records that were written.

    ``position`` is the identity of the step that was reached last, None before the first.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.position: str | None = None
        self.down = False
        self._past: list[_Moment] = []

    @property
    def over(self) -> bool:
        """Whether the run has its outcome."""
        return self.simulation.run.over

    @property
    def started(self) -> bool:
        """Whether there is a state to look at: something was written, and the executor is up."""
        return self.simulation.run.state.root is not None

    def recorded(self) -> Simulation:
        """The run as its history tells it, also while the executor is down; to look at, not to go on with."""
        if not self.down:
            return self.simulation
        copy = self.simulation.fork()
        copy.run.resume()
        return copy

    # Moving on.

    def into(self) -> list[Record]:
        """One transaction, up to the next durable boundary; when nothing can act now, the clock moves first."""
        self._begin()
        records = self._transaction()
        self._place(records)
        return records

    def next(self) -> list[Record]:
        """Up to the next step of the same list, or one further out; what is inside the current step runs as a whole.

        It also stops where the run has to wait; from there the clock moves to what is due next.
        """
        depth = None if self.position is None else len(address_of(self.position))
        return self._until(lambda record: depth is None or len(address_of(record.id)) <= depth)

    def out(self) -> list[Record]:
        """Up to the first step outside the construct that the current step stands in."""
        depth = 0 if self.position is None else len(address_of(self.position)) - 1
        return self._until(lambda record: len(address_of(record.id)) <= depth)

    def finish(self) -> list[Record]:
        """To the end: an outcome, or nothing that could act."""
        self._begin()
        run = self.simulation.run
        seen = len(run.records)
        run.finish()
        records = run.records[seen:]
        self._place(records)
        return records

    def advance(self, us: int) -> list[Record]:
        """Move the clock, with everything that is due on the way."""
        self._begin()
        run = self.simulation.run
        seen = len(run.records)
        run.advance(us)
        records = run.records[seen:]
        self._place(records)
        return records

    # From outside.

    def crash(self) -> None:
        """The executor dies: its memory is gone, the history stays."""
        self._begin()
        self.simulation.run.crash()
        self.down = True

    def resume(self, down_us: int = 0) -> None:
        """The executor is back after ``down_us``, and has folded its history."""
        if not self.down:
            raise CannotDo("the executor is up; `crash` takes it down")
        self._keep()
        self.simulation.run.resume(down_us)
        self.down = False

    def deliver(self, trigger: str, payload: Json, delivery: str | None) -> tuple[bool, str, list[Record]]:
        """Deliver an event: whether it was accepted, why not, and what was written."""
        return self._reply(lambda run: run.deliver(trigger, payload, delivery))

    def decide(self, decision: Decision) -> tuple[bool, str, list[Record]]:
        """Decide at a hold."""
        return self._reply(lambda run: run.decide(decision))

    def cancel(self, reason: Json) -> tuple[bool, str, list[Record]]:
        """Cancel the run."""
        return self._reply(lambda run: _cancelled(run, reason))

    # And back.

    def back(self, count: int = 1) -> int:
        """Undo the last commands that moved the run; how many records are there then."""
        if not self._past:
            raise CannotDo("this is the beginning")
        moment = self._past[-min(count, len(self._past))]
        del self._past[-min(count, len(self._past)) :]
        self.simulation = moment.simulation
        self.position = moment.position
        self.down = moment.down
        return len(self.simulation.run.durable)

    def _reply(self, act: Any) -> tuple[bool, str, list[Record]]:
        if self.down:
            self._keep()
        else:
            self._begin()
        run = self.simulation.run
        seen = len(run.records)
        reply = act(run)
        return reply.accepted, reply.reason, run.records[seen:]

    def _begin(self) -> None:
        if self.down:
            raise CannotDo("the executor is down; `resume` brings it back")
        if self.over:
            raise CannotDo("the run is over; `back` returns to an earlier boundary")
        self._keep()

    def _keep(self) -> None:
        self._past.append(_Moment(self.simulation.fork(), self.position, self.down))
        if len(self._past) > MAX_BACK:
            del self._past[0]

    def _until(self, reached: Any) -> list[Record]:
        self._begin()
        records: list[Record] = []
        for number in range(MAX_TRANSACTIONS):
            # Where nothing can act any more at this instant it stops, so that an event can still be delivered in time.
            found = self.simulation.run.step() if number else self._transaction()
            records.extend(found)
            self._place(found)
            stops = (record for record in found if record.kind in _POSITIONS)
            if not found or self.over or any(reached(record) for record in stops):
                break
        return records

    def _transaction(self) -> list[Record]:
        """The records of one transaction; the clock moves to what is due next when nothing can act now."""
        run = self.simulation.run
        records = run.step()
        if records:
            return records
        due = run.next_due()
        if due is None:
            return []
        until = self.simulation.until_us
        target = due if until is None or due <= until else max(until, run.now)
        seen = len(run.records)
        run.advance(target - run.now)
        return run.records[seen:]

    def _place(self, records: list[Record]) -> None:
        for record in records:
            if record.kind in _POSITIONS and record.id:
                self.position = record.id


def leading_flag(text: str, name: str) -> tuple[str | None, str]:
    """The value of a flag that a command at a prompt begins with (``--id evt-1 …``), and the rest."""
    text = text.strip()
    if not text.startswith(f"{name} "):
        return None, text
    value, _, rest = text[len(name) :].strip().partition(" ")
    return value, rest.strip()
