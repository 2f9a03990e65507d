"""One run under the real clock: inputs go to the interpreter, what it returns is kept until it is committed.

The semantics are those of ``decide`` and ``evolve``, as everywhere; here is only what they are fed with, in the order
of one instant: what is runnable, answers, events, decisions, cancellation, timers. Nothing here writes or sends: the
worker commits what a turn gave, and sends the calls afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from sim_runtime.core.decide import can_fire, refusal_of, transact
from sim_runtime.core.evolve import fold
from sim_runtime.core.frames import State
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
from sim_runtime.core.looking import Timer, flights, timers, timers_of
from sim_runtime.driver.agenda import Timers
from sim_runtime.driver.calls import answered, call_of
from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.history.paths import address_of
from sim_runtime.history.records import Record
from sim_runtime.host.catalogue import Compiled
from sim_runtime.host.claims import Claim
from sim_runtime.host.events import Event, events_of, restored

#: How many transactions a run makes in one turn at most, so that others get theirs.
TURN_TRANSACTIONS: Final = 64
MAX_RECORDS: Final = 1_000_000
_MOVES: Final = frozenset({"generation.started", "operator.decided"})
_SETS: Final = frozenset({"timer.set", "retry.scheduled", "action.dispatched"})
_DISPATCHES: Final = frozenset({"action.dispatched", "compensation.dispatched"})
#: After these a death is no part of the same attempt any more.
PROGRESS: Final = frozenset(
    {
        "step.succeeded",
        "step.failed",
        "action.succeeded",
        "action.failed",
        "compensation.succeeded",
        "timer.fired",
        "event.accepted",
        "operator.decided",
        "state.entered",
    }
)
#: The exercises in which the worker dies once it holds the claim and the first node has started.
DIES: Final = frozenset({"during-execution", "peer-resume"})
HISTORY_LIMIT: Final = {"code": "history_limit", "message": f"the run wrote more than {MAX_RECORDS:,} records"}
OVER: Final = "the run is over"


class Message(NamedTuple):
    """Something from outside that waits in the store."""

    id: int
    kind: str
    body: dict[str, Any]


class Outgoing(NamedTuple):
    """A call that leaves when its record is committed."""

    record: Record
    call: Call


class LiveRun:
    """A claimed run in memory. Times are microseconds since 1970."""

    __slots__ = (
        "answers",
        "calls",
        "claim",
        "compiled",
        "events",
        "flying",
        "inbox",
        "last_message",
        "messages",
        "outcomes",
        "state",
        "timers",
        "token",
        "transactions",
    )

    def __init__(self, claim: Claim, compiled: Compiled, records: Sequence[Record], token: str, now: int) -> None:
        """Go on from ``records``; calls that were out when they were written have lost their answers."""
        self.compiled = compiled
        self.token = token
        self.state: State = fold(records)
        self.timers = Timers(compiled.definition, timers(self.state))
        self.inbox: deque[Message] = deque()
        self.messages: set[int] = set()
        self.last_message = 0
        self.answers: deque[Answered | Interrupted] = deque()
        #: The dispatches whose answers are still to come, by their sequence number.
        self.flying: set[int] = set()
        # What a turn gave, until it is committed.
        self.transactions: list[list[Record]] = []
        self.events: list[Event] = []
        self.outcomes: list[tuple[int, bool, str]] = []
        self.calls: list[Outgoing] = []
        self.claim = claim
        self._take_up(claim, now)

    def _take_up(self, claim: Claim, now: int) -> None:
        self.claim = claim
        for flight in flights(self.state):
            self.answers.append(Interrupted(now, flight.seq, flight.id, flight.scope))
        if claim.lost_by is not None and claim.sequence and not self.state.over:
            self.events.append(restored(now, self.state.seq, self.token))

    def again(self, claim: Claim, now: int) -> None:
        """The run, which was let go of with nothing out, is claimed again, unchanged."""
        self._take_up(claim, now)

    @property
    def must_die(self) -> bool:
        """Whether the exercise that this run is wants its worker to die now."""
        claim = self.claim
        return claim.exercise in DIES and claim.epoch == 1 and claim.lost_by is None and self.state.seq > 2

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to commit."""
        return bool(self.transactions or self.events or self.outcomes)

    @property
    def made_progress(self) -> bool:
        """Whether what is to be committed shows that the last attempt came to something."""
        return any(record.kind in PROGRESS for records in self.transactions for record in records)

    def committed(self, number: int, total: str, sequence: int) -> list[Outgoing]:
        """What was to be written is durable: the calls that leave now."""
        self.claim = self.claim._replace(number=number, sum=total, sequence=sequence, lost_by=None)
        calls, self.calls = self.calls, []
        self.flying.update(each.record.seq for each in calls)
        self.messages.difference_update(number for number, _, _ in self.outcomes)
        self.transactions, self.events, self.outcomes = [], [], []
        return calls

    # ---- a turn ---------------------------------------------------------------------------------

    def turn(self, now: int) -> bool:
        """Do what can be done at this instant; true when more is left than one turn may take."""
        for _ in range(TURN_TRANSACTIONS):
            if self.must_die:
                return False
            if not self._step(max(now, self.state.at)):
                return False
        return True

    def _step(self, now: int) -> bool:
        if self.state.root is None:
            return bool(self._put(self._start()))
        if self._put(Proceed(now)):
            return True
        if self.answers:
            self._put(replace(self.answers.popleft(), at=now))
            return True
        if self.inbox:
            self._take_message(now)
            return True
        if self.state.over:
            return False
        if self.state.seq > MAX_RECORDS and self.state.run.ending is None:
            return bool(self._put(Cancelled(now, HISTORY_LIMIT)))
        timer = self.timers.first(self._can_fire)
        if timer is not None and timer.deadline <= now:
            self._put(TimerDue(now, timer.id, timer.name, timer.deadline))
            return True
        return False

    def _start(self) -> Start:
        given, claim = self.claim.given, self.claim
        return Start(
            claim.accepted_at,
            claim.run,
            given.get("inputs") or {},
            given.get("trigger"),
            given.get("seed", 1),
            given.get("dryRun", False),
        )

    def _can_fire(self, timer: Timer) -> bool | None:
        return can_fire(self.state, TimerDue(timer.deadline, timer.id, timer.name, timer.deadline))

    def _put(self, given: Input) -> list[Record]:
        records, state = transact(self.state, self.compiled.definition, given)
        if not records:
            return records
        self.state = state
        self.transactions.append(records)
        self.events.extend(events_of(records, self.compiled.definition, self.token))
        for record in records:
            if record.kind in _SETS:
                self._set_timers(record)
            if record.kind in _DISPATCHES:
                call = call_of(self.state, record, interrupted=record.data["reissue"] > 0)
                self._dispatch(Outgoing(record, call))
            elif record.kind in _MOVES:
                self.timers.wake()
        return records

    def _set_timers(self, record: Record) -> None:
        frame = self.state.frame(address_of(record.id))
        for timer in timers_of(record.id, frame) if frame is not None else ():
            self.timers.add(timer)

    def _dispatch(self, outgoing: Outgoing) -> None:
        answer = inner_answer(outgoing.call) if self.compiled.builtin else None
        if answer is None:
            self.calls.append(outgoing)
        else:
            self.answers.append(answered(answer, outgoing.record))

    def answer(self, record: Record, answer: Answer) -> None:
        """An answer to a call that had left."""
        self.flying.discard(record.seq)
        self.answers.append(answered(answer, record))

    # ---- from outside ---------------------------------------------------------------------------

    def offer(self, message: Message) -> None:
        """Something waits for this run in the store."""
        if message.id not in self.messages:
            self.messages.add(message.id)
            self.last_message = max(self.last_message, message.id)
            self.inbox.append(message)

    def _take_message(self, now: int) -> None:
        order = ("event", "decision", "cancel")
        message = min(self.inbox, key=lambda each: (order.index(each.kind), each.id))
        self.inbox.remove(message)
        accepted, reason = self._take(message, now)
        self.outcomes.append((message.id, accepted, reason))

    def _take(self, message: Message, now: int) -> tuple[bool, str]:
        body = message.body
        if self.state.over:
            return False, OVER
        if message.kind == "event":
            return self._take_event(EventArrived(now, body["trigger"], body["delivery"], body["payload"]))
        if message.kind == "cancel":
            written = self._put(Cancelled(now, body.get("reason")))
            return (True, "") if written else (False, "the run is ending already")
        given = Decided(now, **body)
        reason = refusal_of(self.state, self.compiled.definition, given)
        if reason is None:
            self._put(given)
        return reason is None, reason or ""

    def _take_event(self, event: EventArrived) -> tuple[bool, str]:
        records = self._put(event)
        if not records or records[0].kind != "event.accepted":
            return False, str(records[0].data["reason"]) if records else OVER
        # Other waits that were open when it came get it before anything else goes on.
        while self._put(replace(event, partly=True)):
            pass
        return True, ""

    # ---- letting go -----------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is under way in this process."""
        return not (self.flying or self.answers or self.calls or self.inbox)

    def next_due(self) -> int | None:
        """When it can act by itself again; None for an event, a decision, or never."""
        if self.state.over:
            return None
        timer = self.timers.first(self._can_fire)
        return timer.deadline if timer is not None else None


def inner_answer(call: Call) -> Answer | None:
    """The answer of an action that the fixtures are made of; None for one that goes outside."""
    if call.action == "core.noop":
        return Answer("success")
    if call.action == "core.fail":
        return Answer("failure", code="always", message="it always fails", retryable=True)
    return None
