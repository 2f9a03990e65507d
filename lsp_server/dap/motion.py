"""Going on: from where a course stands to the next stop, in slices, so that requests are answered meanwhile.

A stop is *before* a place (breakpoints, stepping), *after* a record (exceptions), or where nothing can act any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from lsp_server.dap.breakpoints import Breakpoint, Breakpoints
from lsp_server.dap.course import HELD, IDLE, OVER, UNTIL, Course, is_place
from lsp_server.dap.exceptions import TELLING, Filters, Told, exception_of
from lsp_server.dap.places import around
from lsp_server.dap.sources import Program
from sim_runtime.core.evolve import evolve
from sim_runtime.core.frames import EMPTY, State
from sim_runtime.core.places import step_of
from sim_runtime.history.paths import Address, address_of
from sim_runtime.history.records import Record

SLICE_S: Final = 0.02
_LOOK_AT_CLOCK: Final = 16


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and why the session stops. ``ended``: nothing can act any more, and why."""

    reason: str
    text: str = ""
    id: str = ""
    breakpoints: tuple[int, ...] = ()
    told: Told | None = None
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """What a motion is for. ``kind``: ``continue``; ``next``, ``in``, ``out`` from the step at ``origin``; ``boundary``
    (one transaction); ``target`` (a record of those kinds about the origin); ``clock`` (until ``until``);
    ``deliver`` (until ``taken`` says so)."""

    kind: str
    origin: Address = ()
    until: int | None = None
    targets: frozenset[str] = frozenset()
    reason: str = "step"
    taken: Callable[[Record], bool] | None = None


class Watch:
    """What stops a session beside the goal of its motion, and what it prints on the way."""

    def __init__(self, program: Program, breakpoints: Breakpoints, filters: Filters) -> None:
        self.program = program
        self.breakpoints = breakpoints
        self.filters = filters
        self.diverges: Told | None = None
        self.muted = False

    def before(
        self, course: Course, record: Record, state: Callable[[], State], say: Callable[[str, Breakpoint], None]
    ) -> Stop | None:
        """A stop before a place."""
        if self.muted or not self.breakpoints.any:
            return None
        found = self.breakpoints.at(record, self.program)
        if not found:
            return None
        hit = self.breakpoints.hit(found, record, course.definition, state)
        for text, breakpoint_ in hit.printed:
            say(text, breakpoint_)
        if not hit.stopping:
            return None
        reason = "function breakpoint" if all(each.function for each in hit.stopping) else "breakpoint"
        return Stop(reason, id=record.id, breakpoints=tuple(each.id for each in hit.stopping))

    def after(self, record: Record, state: Callable[[], State]) -> Stop | None:
        """A stop after a record."""
        if self.muted:
            return None
        diverges = self.diverges
        here = diverges is not None and diverges.record is not None and diverges.record.seq == record.seq
        if here and diverges is not None and self.filters.takes(diverges):
            return Stop("exception", diverges.text, record.id, told=diverges)
        told = exception_of(record, state) if record.kind in TELLING else None
        if told is None or not self.filters.takes(told):
            return None
        return Stop("exception", told.text, record.id, told=told)


class Motion:
    """One way forward, until it stops. ``say`` prints what log points say."""

    def __init__(self, course: Course, watch: Watch, goal: Goal, say: Callable[[str, Breakpoint], None]) -> None:
        self.course = course
        self.watch = watch
        self.goal = goal
        self.say = say
        self.moved = False
        self._lists = _lists_of(course, goal)

    def work(self, slice_s: float = SLICE_S) -> Stop | None:
        """Go on for a while; None when there is more to do."""
        end = time.perf_counter() + slice_s
        turn = 0
        while True:
            stop = self._look()
            if stop is None:
                stop = self._act()
            if stop is not None:
                return stop
            turn += 1
            if turn % _LOOK_AT_CLOCK == 0 and time.perf_counter() > end:
                return None

    def _look(self) -> Stop | None:
        """Look through the transaction under way."""
        course = self.course
        coming = course.upcoming()
        for position, record in enumerate(coming):
            if is_place(record) and not (position == 0 and course.standing):
                stop = self._before(position, record)
                if stop is not None:
                    course.stand(position, True)
                    return stop
            stop = self.watch.after(record, partial(course.state_before, position))
            reached = self._reached(record)
            if stop is not None or reached is not None:
                self.moved = True
                course.stand(position + 1, False)
                return stop or reached
        return None

    def _before(self, position: int, record: Record) -> Stop | None:
        stop = self.watch.before(self.course, record, partial(self.course.state_before, position), self.say)
        if stop is None and self._wanted(record):
            stop = Stop(self.goal.reason, id=record.id)
        return stop

    def _act(self) -> Stop | None:
        course, goal = self.course, self.goal
        if goal.kind == "clock" and goal.until is not None and self._clock_reached(goal.until):
            return Stop(goal.reason)
        if goal.kind in ("in", "boundary", "target") and self.moved and course.waits():
            return Stop(goal.reason)
        before = course.state
        had = bool(course.upcoming())
        went = course.act()
        if went.ended is not None:
            return self._ended(went.ended)
        self.moved = self.moved or had or bool(went.records)
        stop = self._told(went.records, before)
        if stop is None and goal.kind == "boundary" and self.moved:
            return Stop(goal.reason)
        return stop

    def _told(self, records: Sequence[Record], state: State) -> Stop | None:
        """Stops after records that were not known before they were written: those of one transaction, at its end."""
        found: Stop | None = None
        for record in records:
            found = found or self.watch.after(record, _just(state)) or self._reached(record)
            state = evolve(state, record) if record is not records[-1] else state
        return found

    def _ended(self, why: str) -> Stop:
        if why == HELD:
            return Stop(
                "exception", "the run is held, and nothing is left that could act", ended=why, told=_held(self.course)
            )
        words = {
            OVER: "the run has its outcome",
            UNTIL: "the simulation ends here (`until`)",
            IDLE: "nothing can act any more",
        }.get(why, "the history ends here")
        return Stop(self.goal.reason if self.goal.kind in ("clock", "deliver") else "pause", words, ended=why)

    def _clock_reached(self, until: int) -> bool:
        """Whether all that is due up to an instant is done; the clock is then there."""
        from lsp_server.dap.live import Live

        course = self.course
        if not isinstance(course, Live) or not course.idle():
            return False
        due = course.run.next_due()
        if due is not None and due <= until:
            return False
        course.clock_to(until)
        return True

    # ---- goals ----------------------------------------------------------------------------------

    def _wanted(self, record: Record) -> bool:
        """Whether stepping stops before a place."""
        kind = self.goal.kind
        if kind == "in":
            return True
        if kind in ("next", "out"):
            return mask(self.course, address_of(record.id)[:-1]) in self._lists
        return False

    def _reached(self, record: Record) -> Stop | None:
        """Whether a motion ends after a record."""
        goal = self.goal
        if goal.kind == "target" and record.kind in goal.targets and address_of(record.id) == goal.origin:
            return Stop(goal.reason, id=record.id)
        if goal.taken is not None and goal.taken(record):
            return Stop(goal.reason, id=record.id)
        return None


def mask(course: Course, address: Address) -> Address:
    """The address of a list; of iterations that run one after the other the number does not count."""
    if not any(segment[0] == "[" for segment in address):
        return address
    found = list(address)
    for position, segment in enumerate(address):
        if segment[0] == "[":
            loop = step_of(course.definition, address[:position])
            if loop is not None and loop.concurrency == 1:
                found[position] = "[]"
    return tuple(found)


def _lists_of(course: Course, goal: Goal) -> frozenset[Address]:
    """The lists in which a step over, or out, may stop: the step's own and those around it, or only these."""
    if goal.kind not in ("next", "out"):
        return frozenset()
    found = around(course.definition, goal.origin)
    own = found.address if found is not None else goal.origin[:-1]  # of a state that is entered, its own steps
    outwards = [own[:length] for length in range(len(own) + (goal.kind == "next"))]
    return frozenset(mask(course, each) for each in outwards)


def _just(state: State) -> Callable[[], State]:
    return lambda: state


def _quiet(_text: str, _breakpoint: Breakpoint) -> None:
    """What is gone over again prints nothing."""


def _held(course: Course) -> Told:
    from sim_runtime.core.looking import holds
    from sim_runtime.history.paths import shown_path

    found = holds(course.state)
    where = ", ".join(f"`{shown_path(each.id)}` ({each.hold.reason})" for each in found)
    return Told("hold", found[0].hold.reason if found else "hold", f"held at {where}" if where else "held")


class _Folding:
    """The states between the records of a course; folded as far as they are asked for, in order."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._count = 0
        self._state = EMPTY

    def before(self, position: int) -> State:
        """The state before the record at a position, which is not before the last one that was asked for."""
        while self._count < position:
            self._state = evolve(self._state, self._records[self._count])
            self._count += 1
        return self._state


def last_stop_before(course: Course, watch: Watch, seq: int) -> tuple[Record, Stop, bool] | None:
    """The last record below ``seq`` that the session would stop at, and whether it would stop before it."""
    found: tuple[Record, Stop, bool] | None = None
    records = list(course.seen())
    folding = _Folding(records)
    watch.breakpoints.forget_hits()
    for position, record in enumerate(records[: seq - 1]):
        state = partial(folding.before, position)
        stop = watch.before(course, record, state, _quiet) if is_place(record) else None
        if stop is not None:
            found = record, stop, True
        # A stop after the last record is where the session stands already.
        stop = watch.after(record, state) if record.seq < seq - 1 else None
        if stop is not None:
            found = record, stop, False
    return found


def count_hits(course: Course, watch: Watch) -> None:
    """Count the hits of breakpoints anew, up to here; the place that the session stands before is one of them."""
    watch.breakpoints.forget_hits()
    if not watch.breakpoints.count_hits:
        return
    records = list(course.seen())
    folding = _Folding(records)
    for position, record in enumerate(records):
        if is_place(record):
            watch.before(course, record, partial(folding.before, position), _quiet)
    coming = course.upcoming()
    if course.standing and coming and is_place(coming[0]):
        watch.before(course, coming[0], partial(course.state_before, 0), _quiet)
