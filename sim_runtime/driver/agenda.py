"""What is still to come: events, decisions, cancellation and timers, in the order of one instant.

Of what is due, answers come first, then events, operator decisions, cancellation, timers; each by (time, sequence),
elapsed timers by deadline, the outer one first, then in document order (language page, section 7).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from analyzer.expressions.times import MAX_TIMESTAMP_US
from sim_runtime.core.definition import Definition
from sim_runtime.core.looking import Timer
from sim_runtime.core.places import order_of
from sim_runtime.driver.protocol import Decision, ScriptedEvent
from sim_runtime.history.paths import address_of


class Queued(NamedTuple):
    """Something that reaches the run from outside at ``due``."""

    due: int
    order: int
    item: Any


class Event(NamedTuple):
    """An event on its way."""

    trigger: str
    delivery: str
    payload: Any
    partly: bool = False


class Cancellation(NamedTuple):
    """A cancellation on its way."""

    reason: Any


class Outside:
    """What comes from outside whatever happens to the executor. ``fork`` copies."""

    __slots__ = ("cancels", "count", "decisions", "events", "unscheduled")

    def __init__(self) -> None:
        self.events: list[Queued] = []
        self.decisions: list[Queued] = []
        self.cancels: list[Queued] = []
        self.unscheduled: list[ScriptedEvent] = []
        self.count = 0

    def fork(self) -> Outside:
        """A copy that goes its own way."""
        copy = Outside()
        copy.events = list(self.events)
        copy.decisions = list(self.decisions)
        copy.cancels = list(self.cancels)
        copy.unscheduled = list(self.unscheduled)
        copy.count = self.count
        return copy

    def put(self, item: Event | Decision | Cancellation, due: int, order: int | None = None) -> None:
        """Queue something; ``order`` gives it back its old place."""
        if order is None:
            self.count += 1
            order = self.count
        heapq.heappush(self._queue(item), Queued(min(due, MAX_TIMESTAMP_US), order, item))

    def _queue(self, item: Event | Decision | Cancellation) -> list[Queued]:
        if isinstance(item, Event):
            return self.events
        return self.decisions if isinstance(item, Decision) else self.cancels

    def event(self, now: int) -> Queued | None:
        """The next event that is due."""
        return _take(self.events, now)

    def decision(self, now: int) -> Queued | None:
        """The next decision that is due."""
        return _take(self.decisions, now)

    def cancellation(self, now: int) -> Queued | None:
        """The cancellation that is due."""
        return _take(self.cancels, now)

    def next(self) -> int | None:
        """When the next thing is due."""
        return min((queue[0].due for queue in (self.events, self.decisions, self.cancels) if queue), default=None)


def _take(queue: list[Queued], now: int) -> Queued | None:
    return heapq.heappop(queue) if queue and queue[0].due <= now else None


class _Entry(NamedTuple):
    deadline: int
    depth: int
    order: tuple[int, ...]
    place: int
    id: str
    name: str


class Timers:
    """The timers that run, as far as is known; what does not run any more is dropped when its turn comes. Timers that
    stand still are kept aside until the executor says that things have moved."""

    __slots__ = ("_definition", "_heap", "_parked")

    def __init__(self, definition: Definition, running: Iterable[Timer] = ()) -> None:
        self._definition = definition
        self._heap: list[_Entry] = [self._entry(timer) for timer in running]
        self._parked: list[_Entry] = []
        heapq.heapify(self._heap)

    def fork(self) -> Timers:
        """A copy that goes its own way."""
        copy = Timers(self._definition)
        copy._heap = list(self._heap)
        copy._parked = list(self._parked)
        return copy

    def _entry(self, timer: Timer) -> _Entry:
        order = order_of(self._definition, address_of(timer.id))
        return _Entry(timer.deadline, timer.depth, order, timer.place, timer.id, timer.name)

    def add(self, timer: Timer) -> None:
        """A timer was set."""
        heapq.heappush(self._heap, self._entry(timer))

    def wake(self) -> None:
        """What stood still may go on."""
        for entry in self._parked:
            heapq.heappush(self._heap, entry)
        self._parked.clear()

    def first(self, can_fire: Callable[[Timer], bool | None]) -> Timer | None:
        """The timer that acts next; ``can_fire`` answers None for one that does not run, False for one that stands."""
        while self._heap:
            entry = self._heap[0]
            timer = Timer(entry.deadline, entry.depth, entry.id, entry.name, entry.place)
            answer = can_fire(timer)
            if answer:
                return timer
            heapq.heappop(self._heap)
            if answer is False:
                self._parked.append(entry)
        return None
