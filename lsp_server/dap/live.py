"""A simulated run as a course: it can go on, go back, and go another way.

Everything that is done to the run is an *act*, and a run is a pure function of its acts. So going back is to take a
copy that was made earlier, and to act up to the place that is wanted; going on along the acts that are known keeps
them, and doing something else drops what was to come.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, TypeAlias

from lsp_server.dap.course import HELD, IDLE, OVER, UNTIL, Place, Went, first_place
from sim_runtime.core.evolve import fold
from sim_runtime.core.frames import State
from sim_runtime.driver.run import LimitReached, Reply, Run
from sim_runtime.history.records import Record
from sim_runtime.observed import ObservedRun
from sim_runtime.samples import NoSample
from sim_runtime.simulation import Prepared, Simulation
from sim_runtime.world.connectors import CannotAnswer

Json: TypeAlias = Any
#: What is done to a run: ``step``; ``clock`` with an instant; ``send`` with trigger, payload and delivery; ``decide``,
#: ``cancel``, ``crash``, ``resume``.
Act: TypeAlias = tuple[Any, ...]

STEP: Final = ("step",)

#: A copy is kept after so many acts at least; with many acts after a part of them, so that copies stay few.
KEEP_EVERY: Final = 256
KEEP_PART: Final = 32


class Live:
    """A simulated run."""

    live = True

    def __init__(self, prepared: Prepared, dropped: Callable[[int, int], None]) -> None:
        self.prepared = prepared
        self.simulation: Simulation = prepared.simulation()
        self.definition = prepared.definition
        self.standing = False
        self._dropped = dropped
        self._acts: list[Act] = []
        self._done = 0
        self._offset = 0
        self._counts: list[int] = []
        self._copies: list[tuple[int, Simulation]] = [(0, self.simulation.fork())]
        self._saved: tuple[list[Record], State] | None = None
        self._states: tuple[State, list[State]] | None = None

    # ---- looking --------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The run as it is at the boundary."""
        return self.simulation.run

    @property
    def start_us(self) -> int:
        """When the run's clock starts."""
        return self.run.start_us

    @property
    def down(self) -> bool:
        """Whether the executor is dead."""
        return self.run.down

    @property
    def crashes(self) -> list[tuple[int, int, int | None]]:
        """When the executor died, after how many records, and when it was back."""
        run = self.run
        return [(each.at, each.records, each.back) for each in run.crash_log] if isinstance(run, ObservedRun) else []

    @property
    def state(self) -> State:
        """The state; of a dead executor what its history says."""
        return self.state_before(0)

    @property
    def now(self) -> int:
        """The instant to show."""
        return self.run.now if self.down else self.run.clock

    @property
    def durable(self) -> list[Record]:
        """The records that are written."""
        return self.run.records if self._saved is None else self._saved[0]

    @property
    def count(self) -> int:
        """How many records have happened."""
        return len(self.durable) + self._offset

    @property
    def future(self) -> int:
        """How many records are known to come after going back."""
        return max(0, self._counts[-1] - self.count) if self._counts and self._done < len(self._acts) else 0

    def seen(self) -> Iterable[Record]:
        """What has happened."""
        durable = self.durable
        return [*durable, *self._preview()[: self._offset]] if self._offset else durable

    def record(self, seq: int) -> Record:
        """One of the records that have happened."""
        durable = self.durable
        return durable[seq - 1] if seq <= len(durable) else self._preview()[seq - 1 - len(durable)]

    def _preview(self) -> list[Record]:
        return self.run.peek()

    def upcoming(self) -> Sequence[Record]:
        """The rest of the transaction under way."""
        preview = self._preview()
        return preview[self._offset :] if self._offset else preview

    def state_before(self, position: int) -> State:
        """The state before one of ``upcoming``; folded once."""
        base = self.run.state if self._saved is None else self._saved[1]
        wanted = self._offset + position
        if not wanted:
            return base
        if self._states is None or self._states[0] is not base:
            self._states = (base, [base])
        states = self._states[1]
        for record in islice(self._preview(), len(states) - 1, wanted):
            states.append(fold((record,), states[-1]))
        return states[wanted]

    # ---- going on -------------------------------------------------------------------------------

    def stand(self, position: int, standing: bool) -> None:
        """Go on inside the transaction under way."""
        self._offset += position
        self.standing = standing
        if self._offset and self._offset >= len(self._preview()):
            self.act()

    def idle(self) -> bool:
        """Whether nothing can be done at this instant."""
        if self._preview() or not self.count:
            return False
        due = self.run.next_due()
        return due is None or due > self.run.now

    def waits(self) -> bool:
        """Whether the clock moves next."""
        return self.idle() and self.run.next_due() is not None

    def act(self) -> Went:
        """Finish the transaction under way, or do the next thing, or move the clock."""
        run = self.run
        known = bool(self._preview())
        wrote = self.do(STEP) if known or not self.idle() else ()
        if known:
            return Went()
        if wrote:
            return Went(wrote)
        due = run.next_due()
        if due is None:
            return Went(ended=OVER if run.over else HELD if run.status == "held" else IDLE)
        until = self.simulation.until_us
        if until is not None and due > until:
            if not run.over and run.now != until:
                self.do(("clock", until))
            return Went(ended=OVER if run.over else UNTIL)
        if due > run.now:
            self.do(("clock", due))
        return Went()

    def clock_to(self, target: int) -> None:
        """Move the clock to an instant before which nothing is due."""
        if target > self.run.now:
            self.do(("clock", target))

    def next_delivery(self) -> str:
        """A delivery identity that no event before has had."""
        return f"debug-{sum(act[0] == 'send' for act in self._acts[: self._done]) + 1}"

    def would(self, act: Act) -> Reply:
        """What the run would say to a decision or a cancellation; nothing is done."""
        run = self.simulation.fork().run
        return run.decide(act[1]) if act[0] == "decide" else run.cancel(act[1])

    def settle(self) -> None:
        """Stand before the step that comes next, when it is known."""
        position = None if self.down else first_place(self.upcoming())
        if position is not None:
            self.stand(position, True)

    def do(self, act: Act) -> Sequence[Record]:
        """Do something to the run; what was to come is kept when it began with this, and else dropped."""
        if self._done < len(self._acts) and self._acts[self._done] != act:
            first, last = self.count + 1, self._counts[-1]
            del self._acts[self._done :], self._counts[self._done :]
            self._copies = [each for each in self._copies if each[0] <= self._done]
            self._dropped(first, last)
        return self._do(act)

    def _do(self, act: Act) -> Sequence[Record]:
        self._offset = 0
        self.standing = False
        self._states = None
        before = len(self.durable)
        try:
            self._perform(act)
        finally:
            if self._done == len(self._acts):
                self._acts.append(act)
                self._counts.append(len(self.durable))
            self._done += 1
        last = self._copies[-1][0]
        if self._done - last >= max(KEEP_EVERY, self._done // KEEP_PART) and not self.down:
            self._copies.append((self._done, self.simulation.fork()))
        return self.durable[before:] if len(self.durable) > before else ()

    def _perform(self, act: Act) -> None:
        run = self.run
        kind = act[0]
        if kind == "step":
            run.step()
        elif kind == "clock":
            run.now = max(run.now, act[1])
        elif kind == "send":
            run.send(act[1], act[2], act[3])
        elif kind == "decide":
            run.decide(act[1])
        elif kind == "cancel":
            run.cancel(act[1])
        elif kind == "crash":
            self._saved = (run.records, run.state)
            run.crash()
        else:
            self._saved = None
            run.resume(0)

    # ---- going back -----------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self._done, self._offset)

    def go_to(self, place: Place) -> None:
        """Stand there again; what comes after stays known."""
        done, simulation = [each for each in self._copies if each[0] <= place.done][-1]
        if not done <= self._done <= place.done:
            self.simulation = simulation.fork()
            self._done = done
            self._saved = None
        while self._done < place.done:
            with suppress(CannotAnswer, LimitReached, NoSample):  # told when it happened first
                self._perform(self._acts[self._done])
            self._done += 1
        self._states = None
        self._offset = min(place.offset, max(len(self._preview()) - 1, 0))
        self.standing = False

    def place_of(self, seq: int) -> Place:
        """The place before a record."""
        done = bisect_left(self._counts, seq)
        before = self._counts[done - 1] if done else 0
        return Place(done, seq - 1 - before)

    def place_after(self, seq: int) -> Place:
        """The place after a record, and before whatever was done then: the clock may have been moved."""
        done = bisect_left(self._counts, seq)
        if done < len(self._counts) and self._counts[done] == seq:
            return Place(done + 1)
        before = self._counts[done - 1] if done else 0
        return Place(done, seq - before)
