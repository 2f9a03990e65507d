"""One way that a run can go: a run under the ordinary driver that is cheap to copy, whose answers are chosen from
outside, and that is judged at every boundary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from sim_runtime.core import evolve as evolving
from sim_runtime.core import looking
from sim_runtime.core.frames import EMPTY, Frame, State
from sim_runtime.core.inputs import Interrupted, Start
from sim_runtime.core.looking import Timer
from sim_runtime.core.persistent import with_entry
from sim_runtime.driver import run as driver
from sim_runtime.driver.agenda import Cancellation, Event, Timers
from sim_runtime.driver.calls import call_of
from sim_runtime.driver.protocol import Call, CrashPoint, Decision, ScriptedEvent
from sim_runtime.driver.run import Run
from sim_runtime.explore.choices import Option
from sim_runtime.explore.entries import entry_key, is_entry
from sim_runtime.explore.keys import Keys, frozen, timer_key
from sim_runtime.explore.monitor import Monitor, Violation
from sim_runtime.explore.trail import Gate, NoCalls, Records, Trail
from sim_runtime.explore.world import ExploreWorld
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import Record

Json: TypeAlias = Any

MAX_RECORDS = 20_000
"""Records of one run; past it the run is left, and said to be."""

CANCELLED = "explored"
"""The reason of a cancellation."""

#: Everything of a state, at the speed of C.
_ALL = attrgetter(*State.__slots__)

_SUCCESSES = frozenset({"action.succeeded", "action.suppressed"})


class Deviation(NamedTuple):
    """Something that went otherwise, and what went before. ``kind``: ``crash``, ``answer``, ``event``, ``decision``,
    ``cancel``, or ``world`` for what is otherwise without anything going wrong. ``records`` is how many were written
    then. ``depth``, ``disturbances`` and ``slow`` tell of the whole chain: how long it is, how many are not of the
    world, whether an answer is late."""

    kind: str
    words: str
    path: str
    records: int
    what: Any
    before: Deviation | None
    depth: int = 1
    disturbances: int = 0
    slow: bool = False

    def chain(self) -> list[Deviation]:
        """All of them, in order."""
        found = []
        here: Deviation | None = self
        while here is not None:
            found.append(here)
            here = here.before
        found.reverse()
        return found


class Known(NamedTuple):
    """A transaction of a run that was followed before: what was put to it, and what came of it."""

    given: type
    records: list[Record]
    state: State


def after(before: Deviation | None, kind: str, words: str, path: str, records: int, what: Any) -> Deviation:
    """One more deviation."""
    depth, disturbances, late = (
        (before.depth, before.disturbances, before.slow) if before is not None else (0, 0, False)
    )
    late = late or (isinstance(what, Option) and what.kind in ("slow", "timeout"))
    return Deviation(kind, words, path, records, what, before, depth + 1, disturbances + (kind != "world"), late)


class Branch(Run):
    """A run that an exploration follows. ``fork`` shares everything that is not changed."""

    world: ExploreWorld

    def __init__(self, definition: Any, world: ExploreWorld, monitor: Monitor, **options: Any) -> None:
        self.keys = world.keys
        super().__init__(definition, world, store=Gate(), limit=MAX_RECORDS, **options)
        self.begin(monitor)

    def begin(self, monitor: Monitor) -> None:
        """Take up what an exploration needs beside a run."""
        self.monitor = monitor
        self.deviations: Deviation | None = None
        self.order: tuple[int, ...] = ()
        self.calling: Call | None = None
        self.call_record: Record | None = None
        self.source: Any = None
        self.opened: tuple[Record, ...] = ()
        self.last: tuple[Record, ...] = ()
        self.put: type = Start
        self.entered = False
        self.left = False
        self.known: Known | None = None
        self.gate = Gate()
        self._store = self.gate
        self.records = Records(Trail(None, ()))  # type: ignore[assignment]
        self.calls = NoCalls()  # type: ignore[assignment]

    @property
    def trail(self) -> Trail:
        """The records, as they are shared."""
        records: Any = self.records
        found: Trail = records.trail
        return found

    def fork(self) -> Branch:
        """A copy that goes its own way."""
        copy: Branch = object.__new__(Branch)
        copy.__dict__.update(self.__dict__)
        copy.world = self.world.fork()
        copy.monitor = self.monitor.fork()
        copy.gate = copy._store = Gate()
        copy.records = Records(self.trail)  # type: ignore[assignment]
        copy._outside = self._outside.fork()
        copy._timers = self._timers.fork()
        copy._answers = list(self._answers)
        copy._lost = dict(self._lost)
        copy._waiting_decisions = list(self._waiting_decisions)
        if self._crash_points.left:
            copy._crash_points = self._crash_points.fork()
        copy._circles = self._circles.fork()
        return copy

    # ---- one transaction ----------------------------------------------------------------------------

    def _transacted(self, given: Any) -> tuple[list[Record], State]:
        """What is decided; what is known from the same run before is not decided again."""
        self.put = type(given)
        known = self.known
        if known is None or known.given is not self.put or known.records[0].at != given.at:
            return super()._transacted(given)
        return known.records, known.state

    def _put(self, given: Any, source: Any) -> list[Record]:
        self.source = source
        return super()._put(given, source)

    def _settle_call(self, source: Any, answer: str) -> None:
        """Calls are not listed."""

    def _dispatch(self, record: Record) -> None:
        """The call leaves when its answer is chosen."""
        lost = record.id in self._lost
        self.calling = call_of(self.state, record, interrupted=lost and record.data["reissue"] > 0)
        self.call_record = record

    def _die(self, points: Sequence[CrashPoint]) -> None:
        """A scripted crash: a call that was about to leave has left."""
        if points and self.call_record is not None:
            self.send_call(None)
        super()._die(points)

    def send_call(self, option: Option | None) -> None:
        """The call that is about to leave leaves, and is answered."""
        record = self.call_record
        assert record is not None
        self.world.option = option
        super()._dispatch(record)
        self.calling = self.call_record = None
        told = self.world.told
        assert told is not None
        self.monitor.told(told, record)

    def written(self, records: Sequence[Record], before: State, again: bool = False) -> None:
        """Judge a transaction: the state is the fold of the history, and the records keep all rules. ``again``: it was
        judged before, on the same run."""
        self.opened = ()
        self.entered = records[-1].kind == "state.entered" and is_entry(records[-1], self.definition, self.state)
        for record in records:
            if record.kind == "subscription.opened":
                self.opened = (*self.opened, record)
            elif record.kind == "step.succeeded" and self.world.streaks:
                self.world.calm(record.path)
            elif record.kind in _SUCCESSES or (
                record.kind in ("reconcile.decided", "operator.decided") and "result" in record.data
            ):
                self.order = (*self.order, record.seq)
        if not again and _ALL(evolving.fold(records, before)) != _ALL(self.state):
            self.monitor.found(Violation("fold-differs", records[-1].path, "the state is not the fold of the history"))
        given = getattr(self.source, "given", None)
        if given is not None:
            self.monitor.answered(given.seq, records[0])
        self.monitor.read(records)

    # ---- crashes ------------------------------------------------------------------------------------

    def crash(self) -> None:
        """The executor dies: its memory is gone, the answers to its calls are lost."""
        self.crashes += 1
        self.down = True
        self._lost = self._lost_calls()
        self._answers = []
        self._timers = Timers(self.definition)
        self._peeked = None
        self.state = without_caches(self.state)

    def resume(self, down_us: int = 0) -> None:
        """The executor is back, with nothing but its history; what that folds to was checked when it was written."""
        self.now += down_us
        self.down = False
        if self.state is EMPTY:
            return
        self._timers = Timers(self.definition, looking.timers(self.state))
        self._answers = self._interrupted(self._lost)
        for pending in self._answers:
            self._lost[pending.given.id] = pending.order

    def _lost_calls(self) -> dict[str, int]:
        """The calls whose answers a crash loses now, each with the place of its answer."""
        return {**self._lost, **{pending.given.id: pending.order for pending in self._answers}}

    def _interrupted(self, lost: dict[str, int]) -> list[Any]:
        """What a crash makes of the calls that are out; in order, and so a heap."""
        return sorted(
            (
                driver._Pending(
                    self.now,
                    lost.get(flight.id, flight.seq),
                    Interrupted(self.now, flight.seq, flight.id, flight.scope),
                    -1,
                )
                for flight in looking.flights(self.state)
            ),
            key=_by_order,
        )

    def die(self, down_us: int, words: str, path: str, what: Any) -> None:
        """Crash, and come back."""
        self.deviate("crash", words, path, what)
        self.crash()
        self.resume(down_us)

    def deviate(self, kind: str, words: str, path: str, what: Any) -> None:
        """Note what goes otherwise from here."""
        self.deviations = after(self.deviations, kind, words, path, self.trail.count, what)

    def schedule(self, events: Sequence[ScriptedEvent]) -> None:
        """Events that come some time from now."""
        for event in events:
            self._send(event.trigger, event.payload, event.delivery, self.now + event.by_us)

    def decide_now(self, decision: Decision) -> None:
        """A decision that is taken as soon as nothing goes before it."""
        self._waiting_decisions.append(decision)

    def cancel_at(self, instant: int) -> None:
        """An operator cancels the run then."""
        self._outside.put(Cancellation(CANCELLED), instant)

    @property
    def coming(self) -> list[Event]:
        """The events that are on their way."""
        partly = [self._partly.item] if self._partly is not None else []
        return [*(each.item for each in self._outside.events), *partly]

    @property
    def crash_points_left(self) -> list[CrashPoint]:
        """The scripted crash points that have not acted."""
        return self._crash_points.left

    # ---- what counts for the future -----------------------------------------------------------------

    def key(self, keys: Keys) -> int:
        """The number of everything that affects what can happen from here."""
        answers: Any = 0
        if self._answers:
            answers = self._answer_keys(self._answers)
        timers: Any = 0
        if self._timers._heap or self._timers._parked:
            timers = self._timer_keys(_timers_of(self._timers))
        return self._key(keys, answers, timers)

    def crashed_key(self, keys: Keys) -> int:
        """``key`` as it would be after a crash, without the cost of a copy."""
        pending = self._interrupted(self._lost_calls())
        running = looking.timers(self.state)
        return self._key(
            keys, self._answer_keys(pending) if pending else 0, self._timer_keys(running) if running else 0
        )

    def _key(self, keys: Keys, answers: Any, timers: Any) -> int:
        now = self.now
        outside = self._outside
        queued: Any = 0
        waiting = self._waiting_decisions or self._partly is not None
        if outside.events or outside.decisions or outside.cancels or outside.unscheduled or waiting:
            queues = tuple(
                tuple((max(each.due - now, 0), repr(each.item)) for each in sorted(queue, key=_by_order))
                for queue in (outside.events, outside.decisions, outside.cancels)
            )
            partly = None if self._partly is None else repr(self._partly.item)
            queued = (queues, repr(outside.unscheduled), repr(self._waiting_decisions), partly)
        points: Any = 0
        if self._crash_points.left:
            points = len(self._crash_points.left), tuple(sorted(self._crash_points._seen.values()))
        clock = now if keys.absolute or self.script.until_us is not None else 0
        started = self._start is None, self.monitor.cancelled  # a cancelled run that goes on is another one
        if self.entered:
            return keys.number((*entry_key(self), answers, timers, queued, points, clock, started))
        return keys.number(
            (keys.state(self.state, self.order), self.world.key(), answers, timers, queued, points, clock, started)
        )

    def _given_key(self, given: Any) -> Any:
        if isinstance(given, Interrupted):
            before = self.world._reads.get(given.id)
            return None if before is None else (before[0].kind, before[0].code, frozen(before[0].result))
        return (
            given.kind,
            given.code,
            given.message,
            frozen(given.result),
            frozen(given.details),
            given.retryable,
            given.retry_after,
        )

    def _answer_keys(self, pending: list[Any]) -> Any:
        now, name = self.now, shown_path if self.entered else str  # answers to what is over come late in any case
        return tuple(
            (max(each.due - now, 0), name(each.given.id), self._given_key(each.given))
            for each in sorted(pending, key=_by_order)
        )

    def _timer_keys(self, running: Iterable[Timer]) -> Any:
        now = self.now
        return tuple(sorted({timer_key(each, now) for each in running if self._can_fire(each) is not None}))


def without_caches(state: State) -> State:
    """A state that is equal, in which nothing that is in progress keeps what was found out about it."""
    if state.root is None:
        return state
    new = state.copy()
    new.root = _anew(state.root)
    return new


def _anew(frame: Frame) -> Frame:
    new = frame.copy()
    for segment, child in looking.live_below(frame):
        if segment[0] == "[":
            assert new.items is not None
            new.items = new.items.set(int(segment[1:-1]), _anew(child))
        else:
            new.children = with_entry(new.children, segment, _anew(child))
    return new


def _timers_of(timers: Timers) -> Iterator[Timer]:
    for entry in (*timers._heap, *timers._parked):
        yield Timer(entry.deadline, entry.depth, entry.id, entry.name, entry.place)


def _by_order(queued: Any) -> Any:
    return queued.due, queued.order
