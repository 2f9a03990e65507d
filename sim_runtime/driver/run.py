"""One simulated run: appends what ``decide`` returns, performs the dispatches that the records announce, and feeds back
what happened. The only place that has a clock.

The executor's memory is the folded state, the timers and the answers on their way. A crash drops all of it; what comes
from outside (``Outside``), the world and the store stay.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.memory import paused_collection
from sim_runtime.core.decide import can_fire, refusal_of, transact
from sim_runtime.core.definition import Definition
from sim_runtime.core.evolve import fold
from sim_runtime.core.frames import EMPTY, State
from sim_runtime.core.inputs import (
    Answered,
    Cancelled,
    Decided,
    EventArrived,
    Input,
    Interrupted,
    Proceed,
    Start,
    TimerDue,
)
from sim_runtime.core.looking import Timer, flights, goes_one_way, hold_at, timers, timers_of
from sim_runtime.driver.agenda import Cancellation, Event, Outside, Queued, Timers
from sim_runtime.driver.calls import answered, call_of, overtakes_nothing
from sim_runtime.driver.circles import Circles, LimitReached
from sim_runtime.driver.crashes import CrashPoints
from sim_runtime.driver.protocol import CrashPoint, Decision, Script, World
from sim_runtime.driver.report import state_report
from sim_runtime.driver.store import MemoryStore, Store
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import address_of
from sim_runtime.history.records import Record

Json: TypeAlias = Any

DEFAULT_START_US: Final = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
MAX_RECORDS: Final = 1_000_000
#: After these a timer that stood still may act again.
_MOVES: Final = frozenset({"generation.started", "operator.decided"})
#: The place in order of a decision that waits for its hold.
_AWAITED: Final = 0
_SETS: Final = frozenset({"timer.set", "retry.scheduled", "action.dispatched"})


__all__ = ["DEFAULT_START_US", "MAX_RECORDS", "LimitReached", "Reply", "Run", "RunDown", "default_run_id"]


class RunDown(Exception):
    """The executor is down; ``resume`` it first."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of something that was put to a run: ``accepted``, or why not."""

    accepted: bool
    reason: str = ""


class _Pending(NamedTuple):
    """An answer on its way; ``call`` is its place in the list of calls."""

    due: int
    order: int
    given: Answered | Interrupted
    call: int


def default_run_id(workflow: str, inputs: Json, trigger: Json, seed: int, start_us: int) -> str:
    """An id that is the same for the same start."""
    text = json.dumps([workflow, inputs, trigger, seed, start_us], sort_keys=True, ensure_ascii=False, default=str)
    return f"run-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


class Run:
    """A run under the fake clock. Times are microseconds since 1970-01-01T00:00:00Z, spans microseconds."""

    def __init__(
        self,
        definition: Definition,
        world: World,
        *,
        inputs: dict[str, Json] | None = None,
        trigger: Json = None,
        start_us: int = DEFAULT_START_US,
        seed: int = 1,
        dry_run: bool = False,
        script: Script | None = None,
        store: Store | None = None,
        run_id: str | None = None,
        limit: int = MAX_RECORDS,
    ) -> None:
        self.definition = definition
        self.world = world
        self.start_us = start_us
        self.now = start_us
        self.limit = limit
        self.crashes = 0
        self.down = False
        self.state: State = EMPTY
        self.records: list[Record] = []
        self.calls: list[dict[str, Json]] = []
        self.script = script or Script()
        given = inputs or {}
        self.run_id = run_id or default_run_id(definition.workflow, given, trigger, seed, start_us)
        self._start: Start | None = Start(start_us, self.run_id, given, trigger, seed, dry_run)
        self._store: Store = store if store is not None else MemoryStore()
        self._store.begin(self.run_id)
        self._outside = Outside()
        self._timers = Timers(definition)
        self._answers: list[_Pending] = []
        # The calls whose answers a crash lost, each with the place that its answer had among those of one instant.
        self._lost: dict[str, int] = {}
        self._waiting_decisions: list[Decision] = []
        self._crash_points = CrashPoints(self.script.crashes)
        self._circles = Circles()
        # A state in which nothing is runnable: to proceed from it need not be tried again.
        self._still: State | None = None
        self._partly: Queued | None = None
        self._peeked: tuple[State, int, tuple[list[Record], State]] | None = None
        self._deliveries = 0
        self._take_script()

    def _take_script(self) -> None:
        script = self.script
        for event in script.events:
            if event.at_us is None:
                self._outside.unscheduled.append(event)
            else:
                self._send(event.trigger, event.payload, event.delivery, self.start_us + event.at_us)
        for each in script.decisions:
            if each.at_us is None:
                self._waiting_decisions.append(each.decision)
            else:
                self._outside.put(each.decision, self.start_us + each.at_us)
        if script.cancel_at_us is not None:
            self._outside.put(Cancellation(script.cancel_reason), self.start_us + script.cancel_at_us)

    def _send(self, trigger: str, payload: Json, delivery: str | None, due: int) -> None:
        self._deliveries += 1
        self._outside.put(Event(trigger, delivery or f"event-{self._deliveries}", payload), due)

    # ---- looking --------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the run has an outcome."""
        return self.state.over

    @property
    def status(self) -> str:
        """``new``, ``running``, ``suspended``, ``held`` or the outcome."""
        return self.state.status

    @property
    def durable(self) -> list[Record]:
        """What is written, also while the executor is down."""
        return self._store.records(self.run_id) if self.down else self.records

    @property
    def unfired(self) -> list[CrashPoint]:
        """The crash points that have not acted."""
        return list(self._crash_points.left)

    @property
    def clock(self) -> int:
        """The instant to show: the clock stops at the outcome."""
        if self.over:
            return next(each.at for each in reversed(self.records) if each.kind == "run.finished" and not each.id)
        return self.now

    def report(self) -> dict[str, Json]:
        """The JSON of ``workfile run``, but for ``history``."""
        report = state_report(self.state, self.definition, self.start_us, self.clock)
        report["effects"] = [
            {
                "action": each.action,
                "key": each.key,
                "path": each.path,
                "count": each.count,
                "invocations": each.invocations,
            }
            for each in self.world.effects()
        ]
        report["calls"] = [dict(call) for call in self.calls]
        report["crashes"] = self.crashes
        return report

    # ---- going on -------------------------------------------------------------------------------

    def finish(self) -> Run:
        """Go on until the outcome, until nothing can act any more, or until the script's end."""
        with paused_collection():
            self._finish()
        return self

    def _finish(self) -> None:
        until = None if self.script.until_us is None else self.start_us + self.script.until_us
        while True:
            self.settle()
            due = self.next_due()
            if due is None:
                return
            if until is not None and due > until:
                if not self.over:
                    self.now = min(until, MAX_TIMESTAMP_US)
                return
            self.now = max(self.now, due)

    def advance(self, span_us: int) -> None:
        """Move the clock, settling everything that is due on the way."""
        target = min(self.now + span_us, MAX_TIMESTAMP_US)
        self.settle()
        while (due := self.next_due()) is not None and due <= target:
            self.now = max(self.now, due)
            self.settle()
        self.now = max(self.now, target)

    def settle(self) -> None:
        """Everything that can be done at this instant."""
        while self.step():
            pass

    def step(self) -> list[Record]:
        """One transaction at this instant: what is runnable, else the next thing that is due. Empty when there is none;
        also when the executor died in it and nothing was written."""
        if self.down:
            raise RunDown("the executor is down; resume it first")
        while True:
            if self._start is not None:
                start, self._start = self._start, None
                records = self._put(start, None)
                if not records:
                    self._start = start
                    continue
                return records
            if self._partly is not None:
                # The other waits that were open when the event came get it before anything else goes on.
                records = self._offer_again()
                if records:
                    return records
                continue
            if self.state is not self._still:
                before = self.crashes
                records = self._put(Proceed(self.now), None)
                if records:
                    return records
                if self.crashes != before:
                    continue
                self._still = self.state
            taken = self._next_input()
            if taken is None:
                return []
            records = self._put(*taken)
            if records:
                return records

    def next_due(self) -> int | None:
        """When the next thing can act; None when nothing can."""
        dues = [self._answers[0].due] if self._answers else []
        if not self.over:
            outside = self._outside.next()
            if outside is not None:
                dues.append(outside)
            if self._partly is not None or self._awaited() is not None:
                dues.append(self.now)
            timer = self._timers.first(self._can_fire)
            if timer is not None:
                dues.append(timer.deadline)
        return max(self.now, min(dues)) if dues else None

    def _can_fire(self, timer: Timer) -> bool | None:
        return can_fire(self.state, TimerDue(self.now, timer.id, timer.name, timer.deadline))

    def _next_input(self) -> tuple[Input, Queued | _Pending | None] | None:
        """What comes next at this instant."""
        if self._answers and self._answers[0].due <= self.now:
            pending = heapq.heappop(self._answers)
            return _at(pending.given, self.now), pending
        if self.over:
            return None
        queued = (
            self._outside.event(self.now)
            or self._awaited_decision()
            or self._outside.decision(self.now)
            or self._outside.cancellation(self.now)
        )
        if queued is not None:
            return _given(queued.item, self.now), queued
        timer = self._timers.first(self._can_fire)
        if timer is not None and timer.deadline <= self.now:
            return TimerDue(self.now, timer.id, timer.name, timer.deadline), None
        return None

    def _awaited(self) -> int | None:
        """The place of a decision whose hold is there."""
        if not self._waiting_decisions or self.state.root is None or not self.state.root.held:
            return None
        places = (n for n, each in enumerate(self._waiting_decisions) if hold_at(self.state, each.on) is not None)
        return next(places, None)

    def _awaited_decision(self) -> Queued | None:
        """A decision that waited for its hold."""
        place = self._awaited()
        return None if place is None else Queued(self.now, _AWAITED, self._waiting_decisions.pop(place))

    def peek(self) -> list[Record]:
        """What ``step`` writes next of what is runnable at this instant; nothing is written. Empty where there is no
        such thing, or where something else comes first."""
        if self.down or self._start is not None or self._partly is not None:
            return []
        if self._peeked is None or self._peeked[0] is not self.state or self._peeked[1] != self.now:
            found = transact(self.state, self.definition, Proceed(self.now))
            self._peeked = (self.state, self.now, found)
        return self._peeked[2][0]

    # ---- one transaction ------------------------------------------------------------------------

    def _transacted(self, given: Input) -> tuple[list[Record], State]:
        """As ``transact``; what was peeked at is not decided again."""
        peeked = self._peeked
        if isinstance(given, Proceed) and peeked is not None and peeked[0] is self.state and peeked[1] == given.at:
            return peeked[2]
        return transact(self.state, self.definition, given)

    def _put(self, given: Input, source: Queued | _Pending | None) -> list[Record]:
        """Decide, and write what comes of it. Empty when nothing does, or when the executor died before."""
        records, state = self._transacted(given)
        if not records:
            self._settle_call(source, "late")
            return []
        acting = self._crash_points.acting("before", records)
        if acting:
            self._give_back(source)
            self._die(acting)
            return []
        if len(self.records) + len(records) > self.limit:
            place = f"the last at {time_text(self.now)}, `{self.records[-1].path or 'run'}`"
            advice = "it may go round in circles: end the simulation earlier (`until`), or give it less data"
            brief = f"what comes after {self.limit:,} records of one run"
            raise LimitReached(f"the run wrote more than {self.limit:,} records, {place}; {advice}", brief)
        self._circles.add(records)
        self._store.append(self.run_id, records)
        self.records.extend(records)
        self.state = state
        if records[-1].kind == "action.dispatched" and goes_one_way(state, address_of(records[-1].id)):
            self._still = state
        self._told(source, records)
        self._follow(records)
        self._die(self._crash_points.acting("after", records))
        return records

    def _told(self, source: Queued | _Pending | None, records: Sequence[Record]) -> None:
        """Bookkeeping outside the executor: how a call was answered, and events that several waits take."""
        if isinstance(source, _Pending):
            late = records[0].kind == "late_result.recorded"
            kind = source.given.kind if isinstance(source.given, Answered) else "lost"
            self._settle_call(source, "late" if late else kind)
        elif source is not None and isinstance(source.item, Event) and records[0].kind == "event.accepted":
            self._partly = source._replace(item=source.item._replace(partly=True))

    def _settle_call(self, source: Queued | _Pending | None, answer: str) -> None:
        if isinstance(source, _Pending) and source.call >= 0 and self.calls[source.call]["answer"] is None:
            self.calls[source.call]["answer"] = answer

    def _give_back(self, source: Queued | _Pending | None) -> None:
        """What was lost to a crash before its record is offered again; an answer is lost for good."""
        if isinstance(source, Queued):
            if isinstance(source.item, Event) and source.item.partly:
                self._partly = source
            elif source.order == _AWAITED:
                self._waiting_decisions.insert(0, source.item)
            else:
                self._outside.put(source.item, source.due, source.order)
        elif source is not None:
            self._settle_call(source, "lost")
            self._lost[source.given.id] = source.order

    def _follow(self, records: Sequence[Record]) -> None:
        """Do what the records announce."""
        for record in records:
            kind = record.kind
            if kind in _SETS and "deadline" in record.data:
                self._set_timers(record)
            if kind in ("action.dispatched", "compensation.dispatched"):
                self._dispatch(record)
            elif kind == "subscription.opened":
                self._schedule_after(record)
            elif kind in _MOVES:
                self._timers.wake()

    def _set_timers(self, record: Record) -> None:
        frame = self.state.frame(address_of(record.id))
        if frame is not None:
            for timer in timers_of(record.id, frame):
                self._timers.add(timer)

    def _schedule_after(self, record: Record) -> None:
        """Events that were to come some time after a subscription is active."""
        left = []
        for event in self._outside.unscheduled:
            if event.after == record.path:
                self._send(event.trigger, event.payload, event.delivery, self.now + event.by_us)
            else:
                left.append(event)
        self._outside.unscheduled = left

    # ---- calls ----------------------------------------------------------------------------------

    def _dispatch(self, record: Record) -> None:
        lost = self._lost.pop(record.id, None)
        call = call_of(self.state, record, interrupted=lost is not None and record.data["reissue"] > 0)
        answer = self.world.dispatch(call)
        self.calls.append(
            {
                "at": time_text(call.at),
                "action": call.action,
                "path": call.path,
                "generation": call.generation,
                "attempt": call.attempt,
                "key": call.key,
                "connection": call.connection,
                "arguments": call.arguments,
                "answer": None,
            }
        )
        place = len(self.calls) - 1
        if answer.kind == "none":
            return
        due, order = min(self.now + answer.latency_us, MAX_TIMESTAMP_US), record.seq
        if call.effect == "read" and call.interrupted and lost is not None:
            order = lost
            due = self.now if self._is_alone(record.id, due) else due
        heapq.heappush(self._answers, _Pending(due, order, answered(answer, record), place))

    def _is_alone(self, id_: str, due: int) -> bool:
        """Whether nothing else happens by time, so that an answer which is there before ``due`` overtakes nothing."""
        outside = self._outside.next() is not None or self._outside.unscheduled or self.script.until_us is not None
        return not (self._answers or outside) and overtakes_nothing(self.state, id_, due)

    # ---- crashes --------------------------------------------------------------------------------

    def _die(self, points: Sequence[CrashPoint]) -> None:
        for point in points:
            self.crash()
            self.resume(point.down_us)

    def crash(self) -> None:
        """The executor dies: its memory is gone, the answers to its calls are lost."""
        self.crashes += 1
        self.down = True
        for pending in self._answers:
            self._settle_call(pending, "lost")
            self._lost[pending.given.id] = pending.order
        self._answers = []
        self._timers = Timers(self.definition)
        self.state = EMPTY
        self.records = []

    def resume(self, down_us: int = 0) -> None:
        """The executor is back after ``down_us``: the store is read and folded again."""
        self.now = min(self.now + down_us, MAX_TIMESTAMP_US)
        self.records = self._store.records(self.run_id)
        self.state = fold(self.records)
        self.down = False
        self._timers = Timers(self.definition, timers(self.state))
        for flight in flights(self.state):
            order = self._lost.setdefault(flight.id, flight.seq)
            given = Interrupted(self.now, flight.seq, flight.id, flight.scope)
            heapq.heappush(self._answers, _Pending(self.now, order, given, -1))

    # ---- from outside, now ----------------------------------------------------------------------

    def send(self, trigger: str, payload: Json, delivery: str | None = None) -> None:
        """An event arrives now; it is taken when what is runnable at this instant is done."""
        self._send(trigger, payload, delivery, self.now)

    def deliver(self, trigger: str, payload: Json, delivery: str | None = None) -> Reply:
        """An event arrives now. It is acknowledged when its record is durable."""
        if self.over:
            return Reply(False, "the run is over")
        self._send(trigger, payload, delivery, self.now)
        if self.down:
            return Reply(True, "the executor is down; the event is offered when it is back")
        before = len(self.records)
        self._until_taken(self._outside.events)
        while self._partly is not None:
            self._offer_again()
        told = [each for each in self.records[before:] if each.kind.startswith("event.")]
        if told and told[0].kind == "event.refused":
            return Reply(False, str(told[0].data["reason"]))
        return Reply(bool(told), "" if told else "the run ended before it was offered")

    def _offer_again(self) -> list[Record]:
        """An event that a wait has accepted is offered to the others."""
        partly, self._partly = self._partly, None
        return [] if partly is None else self._put(_given(partly.item, self.now), partly)

    def _until_taken(self, queue: list[Queued]) -> None:
        while any(each.due <= self.now for each in queue) and (self.step() or self._has_work()):
            pass

    def _has_work(self) -> bool:
        due = self.next_due()
        return due is not None and due <= self.now

    def decide(self, decision: Decision) -> Reply:
        """An operator decides now. What is refused writes nothing."""
        if self.down:
            self._outside.put(decision, self.now)
            return Reply(True, "the executor is down; the decision is offered when it is back")
        self._run_ready()
        given = _given(decision, self.now)
        assert isinstance(given, Decided)
        reason = refusal_of(self.state, self.definition, given)
        if reason is not None:
            return Reply(False, reason)
        self._put(given, Queued(self.now, _AWAITED, decision))
        return Reply(True)

    def cancel(self, reason: Json = None) -> Reply:
        """The run is cancelled now."""
        if self.over:
            return Reply(False, "the run is over")
        if self.down:
            self._outside.put(Cancellation(reason), self.now)
            return Reply(True, "the executor is down; the run is cancelled when it is back")
        self._run_ready()
        written = self._put(Cancelled(self.now, reason), None)
        return Reply(bool(written) and written[0].kind == "cancel.decided")

    def _run_ready(self) -> None:
        """Do what is runnable, but nothing that is only due."""
        if self._start is not None:
            self.step()
        while self._put(Proceed(self.now), None):
            pass

    # ---- forking --------------------------------------------------------------------------------

    def fork(self) -> Run:
        """A copy that goes its own way; the world must be able to fork too. Its store is in memory."""
        copy: Run = object.__new__(Run)
        copy.__dict__.update(self.__dict__)
        copy.world = self.world.fork()  # type: ignore[attr-defined]
        copy.records = list(self.records)
        copy.calls = [dict(call) for call in self.calls]
        copy._store = MemoryStore()
        copy._store.begin(self.run_id)
        copy._store.append(self.run_id, self._store.records(self.run_id) if self.down else self.records)
        copy._outside = self._outside.fork()
        copy._timers = self._timers.fork()
        copy._answers = list(self._answers)
        copy._lost = dict(self._lost)
        copy._waiting_decisions = list(self._waiting_decisions)
        copy._crash_points = self._crash_points.fork()
        copy._circles = self._circles.fork()
        return copy


def _at(given: Answered | Interrupted, now: int) -> Answered | Interrupted:
    return given if given.at == now else replace(given, at=now)


def _given(item: Event | Decision | Cancellation, now: int) -> Input:
    if isinstance(item, Event):
        return EventArrived(now, item.trigger, item.delivery, item.payload, item.partly)
    if isinstance(item, Decision):
        return Decided(
            now,
            item.on,
            item.actor,
            item.kind,
            item.result,
            item.code,
            item.message,
            item.details,
            item.retryable,
        )
    return Cancelled(now, item.reason)
