"""What of a run affects its future, as one small number: equal numbers mean that the same can happen from there on.

Left out, where that is sound: the run's id and sequence numbers (their order stays, where something depends on it), how
often a call that is over was tried, absolute time (what is due is counted from the present instant), and everything
that only tells of the past. Numbers are given by equality of the values themselves, never by a checksum, so that two
different states cannot fall together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from analyzer.expressions.values import Marked
from sim_runtime.core.frames import (
    UNSET,
    Attempt,
    Child,
    Entry,
    Frame,
    Members,
    Run,
    State,
    Subscription,
    Wait,
)
from sim_runtime.core.looking import Timer, walk
from sim_runtime.core.persistent import Many, PMap

MAX_KEPT: Final = 400_000
"""Frames whose numbers are kept; past it they are found anew."""

#: The phases in which a call is over, whatever its step still does.
_DONE: Final = frozenset({"answered", "succeeded", "continued", "failed", "skipped"})


class Keys:
    """Gives numbers to values. ``absolute``: the Workfile reads instants, so that the clock itself counts."""

    __slots__ = ("_alive", "_frames", "_ids", "_maps", "_values", "absolute")

    def __init__(self, absolute: bool = False) -> None:
        self.absolute = absolute
        self._ids: dict[Any, int] = {}
        self._frames: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._maps: dict[int, int] = {}
        self._alive: list[Any] = []

    def __len__(self) -> int:
        return len(self._ids)

    def number(self, value: Any) -> int:
        """The number of a hashable value."""
        ids = self._ids
        found = ids.get(value)
        if found is None:
            found = ids[value] = len(ids) + 1
        return found

    def tidy(self) -> None:
        """Let go of frames when there are too many; numbers stay what they are."""
        if len(self._alive) > MAX_KEPT:
            self._frames.clear()
            self._values.clear()
            self._maps.clear()
            self._alive.clear()

    # ---- values -------------------------------------------------------------------------------------

    def value(self, value: Any) -> int:
        """The number of a value of the workflow."""
        if value is None or type(value) is str:
            return self.number(value)
        known = self._values.get(id(value))
        if known is None:
            known = self._values[id(value)] = self.number(frozen(value))
            self._alive.append(value)
        return known

    def map_(self, entries: PMap[Any]) -> int:
        """The number of a map."""
        if not len(entries):
            return 0
        known = self._maps.get(id(entries))
        if known is None:
            pairs = tuple((name, frozen(each)) for name, each in entries.items())
            known = self._maps[id(entries)] = self.number(("map", pairs))
            self._alive.append(entries)
        return known

    # ---- frames -------------------------------------------------------------------------------------

    def frame(self, frame: Frame, order: Sequence[int]) -> int:
        """The number of a frame with all below it; ``order`` are the records that established a success, in order."""
        known = self._frames.get(id(frame))
        if known is not None:
            return known
        children = frame.children
        inside: Any = ()
        if isinstance(children, Many):
            inside = tuple([self._piece(each, order) for each in children.pieces])
        elif children:
            inside = self._entries(children, order)
        items: Any = None
        if frame.items is not None:
            items = tuple([(index, self.frame(each, order)) for index, each in frame.items.present()])
        over = frame.over
        failure = frame.failure
        told = (
            frame.role,
            frame.phase,
            frame.index,
            frame.cursor,
            self._info(frame, order) if frame.info is not None else None,
            None if frame.value is UNSET else self.value(frame.value),
            None if failure is None or (over and frame.phase != "failed") else self._failure(failure),
            None if frame.broken is None else (frame.broken.how, self._failure(frame.broken.failure)),
            None if frame.handling is None else (frame.handling.number, self.value(frame.handling.error)),
            frame.hold,
            None if frame.recovery is None else self._recovery(frame.recovery),
            frame.authorized,
            frame.open,
            frame.held,
            frame.gone,
            inside,
            items,
        )
        found = self._frames[id(frame)] = self.number(told)
        self._alive.append(frame)
        return found

    def _entries(self, children: Mapping[str, Frame], order: Sequence[int]) -> Any:
        frames = children.values()
        numbers = tuple(map(self._frames.get, map(id, frames)))
        if None in numbers:
            first = numbers.index(None)
            numbers = (*numbers[:first], *[self.frame(each, order) for each in list(frames)[first:]])
        return tuple(children), numbers

    def _piece(self, piece: dict[str, Frame], order: Sequence[int]) -> int:
        """The number of a piece of a long list; most pieces are those of the list as it was before."""
        known = self._frames.get(id(piece))
        if known is None:
            known = self._frames[id(piece)] = self.number(self._entries(piece, order))
            self._alive.append(piece)
        return known

    def _failure(self, failure: Any) -> Any:
        # Of failures that stand at once the first recorded one counts: their order stays, by the record itself.
        return (
            failure.code,
            failure.message,
            self.value(failure.details),
            failure.failed,
            failure.retryable,
            failure.seq,
        )

    def _recovery(self, recovery: Any) -> Any:
        undo = recovery.undo
        failure = recovery.failure
        return (
            failure.code,
            failure.failed,
            self.value(failure.details),
            recovery.redo,
            recovery.generation,
            recovery.stage,
            recovery.delay,
            recovery.queue,
            None if undo is None else frozen(tuple(undo._replace(dispatched=0))),
        )

    def _info(self, frame: Frame, order: Sequence[int]) -> Any:
        make = _INFOS.get(type(frame.info))
        return frozen(tuple(frame.info)) if make is None else make(self, frame, frame.info, order)

    def _attempt(self, frame: Frame, attempt: Attempt, order: Sequence[int]) -> Any:
        done = frame.phase in _DONE
        plain = attempt._replace(
            arguments=None,
            dispatched=0,
            deadline=None,
            due=None,
            attempt=0 if done else attempt.attempt,
            reissue=0 if done else attempt.reissue,
            success=bisect_left(order, attempt.success) + 1 if attempt.success else 0,
        )
        return (self.value(attempt.arguments), *plain)

    def _wait(self, frame: Frame, wait: Wait, _order: Sequence[int]) -> Any:
        return None if frame.over else wait.fired

    def _subscription(self, frame: Frame, wait: Subscription, _order: Sequence[int]) -> Any:
        bound = (wait.status, self.value(wait.event))
        if frame.over:
            return bound
        events = tuple((each.delivery, self.value(each.payload)) for each in wait.events)
        open_ = (wait.trigger, self.value(wait.match), wait.connection, wait.fired, wait.subscribed, wait.timed)
        return (*bound, *open_, events, self._in_time(wait))

    def _in_time(self, wait: Subscription) -> Any:
        """Which events are in time, of those that are there: what is accepted later compares with its own instant."""
        deadline = wait.deadline
        return tuple(deadline is None or each.at <= deadline for each in wait.events)

    def _child(self, _frame: Frame, child: Child, _order: Sequence[int]) -> Any:
        kept = child._replace(run_id="", deadline=None)
        return frozen(tuple(kept))

    def _entry(self, _frame: Frame, entry: Entry, _order: Sequence[int]) -> Any:
        timers = None if entry.timers is None else tuple((each.name, each.to, each.fired) for each in entry.timers)
        return entry.state, entry.number, timers

    def _members(self, _frame: Frame, members: Members, _order: Sequence[int]) -> Any:
        items = tuple(self.value(each) for each in members.items)
        return ("members", items, *members[1:])

    def _run(self, frame: Frame, run: Run, _order: Sequence[int]) -> Any:
        started = 0 if frame.over else run.started_at
        data = (self.value(run.inputs), self.value(run.trigger), frozen(run.ending), frozen(run.ended))
        return (run.workflow, started, run.entries, run.next, *data)

    # ---- states -------------------------------------------------------------------------------------

    def state(self, state: State, order: Sequence[int]) -> int:
        """The number of a state; deadlines are not in it, they are those of the run's timers."""
        if state.root is None:
            return 0
        deliveries = state.deliveries
        opened: Any = 0
        if len(deliveries):
            seqs = sorted(seq for _, seq in deliveries.items())
            opened = (
                tuple(bisect_right(seqs, each) for each in _opened(state)),
                tuple(name for name, _ in sorted(deliveries.items(), key=lambda pair: pair[1])),
            )
        activations: Any = 0
        if len(state.activations):
            activations = tuple((id_, tuple(at - state.at for at in times)) for id_, times in state.activations.items())
        return self.number(
            (
                self.frame(state.root, order),
                state.status,
                state.generation,
                state.last_generation,
                state.dry_run,
                self.map_(state.bases),
                self.map_(state.compensated),
                self.map_(state.unsure),
                opened,
                activations,
            )
        )


def _opened(state: State) -> list[int]:
    """Since which record each wait in progress takes events."""
    return [frame.info.opened for _, frame in walk(state) if isinstance(frame.info, Subscription)]


_INFOS: Final[dict[type, Callable[[Keys, Frame, Any, Sequence[int]], Any]]] = {
    Attempt: Keys._attempt,
    Wait: Keys._wait,
    Subscription: Keys._subscription,
    Child: Keys._child,
    Entry: Keys._entry,
    Members: Keys._members,
    Run: Keys._run,
}


def timer_key(timer: Timer, now: int) -> tuple[int, str, str, int]:
    """A timer by when it is due from now."""
    return max(timer.deadline - now, 0), timer.id, timer.name, timer.place


def frozen(value: Any) -> Any:
    """A value as something hashable; values of different kinds differ (1 is not true, nor 1.0)."""
    kind = type(value)
    if value is None or kind is str or kind is int:
        return value
    if kind is dict or isinstance(value, dict):
        return ("map", *((name, frozen(each)) for name, each in value.items()))
    if kind is list:
        return ("list", *map(frozen, value))
    if isinstance(value, tuple):
        return ("tuple", *map(frozen, value))
    if kind is Marked:
        return ("marked", frozen(value.value))
    return (kind.__name__, value)
