"""Looking at a state without changing it: what is in progress, what can act, what a run waits for.

Only live frames count: those that a decision could still reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sim_runtime.core.frames import (
    Attempt,
    Child,
    Entry,
    Frame,
    Hold,
    Members,
    Run,
    State,
    Subscription,
    Wait,
)
from sim_runtime.core.persistent import last_entry
from sim_runtime.history.paths import UNDO, Address, address_of, identity_of, join, shown_path


class Timer(NamedTuple):
    """Something that acts when its time comes. ``place`` is its position among the timers of a state."""

    deadline: int
    depth: int
    id: str
    name: str
    place: int = 0


class Flight(NamedTuple):
    """A call that is out. ``scope`` is set for an undo."""

    seq: int
    id: str
    scope: str | None


class Held(NamedTuple):
    """A hold. ``scope`` is set for an undo."""

    id: str
    hold: Hold
    scope: str | None


def live_below(frame: Frame) -> Iterator[tuple[str, Frame]]:
    """What is in progress directly below a frame, with its segment, in the order of the document or of indexes."""
    if frame.over:
        return
    info = frame.info
    if isinstance(info, Run):
        if info.ended is not None:
            return
        if info.entries:
            yield info.entries[-1], frame.children[info.entries[-1]]
            return
    if frame.handling is not None:
        segment = f"(catch:{frame.handling.number})"
        yield segment, frame.children[segment]
        return
    if frame.phase == "reconciling":
        segment = f"(reconcile)#{info.reconciles}"
        yield segment, frame.children[segment]
        return
    last = _last_step(frame)
    if last is not None:
        if not last[1].over:
            yield last
        return
    for segment, child in frame.below():
        if child.over or (segment[0] == "(" and isinstance(info, Attempt)):
            continue
        # Of a list only the step that it has come to; what a redo kept further on waits for its turn.
        if child.role == "step" and child.index != frame.cursor:
            continue
        yield segment, child


def _last_step(frame: Frame) -> tuple[str, Frame] | None:
    """The step that a list has come to, when it is the one that began last, as it mostly is; None to look for it."""
    if frame.role not in ("run", "list") or not frame.children:
        return None
    segment, child = last_entry(frame.children)
    return (segment, child) if child.role == "step" and child.index == frame.cursor else None


def walk(state: State) -> Iterator[tuple[Address, Frame]]:
    """All live frames, outer ones first, in document order."""
    if state.root is None:
        return
    stack: list[tuple[Address, Frame]] = [((), state.root)]
    while stack:
        at, frame = stack.pop()
        yield at, frame
        stack.extend(((*at, segment), child) for segment, child in reversed(list(live_below(frame))))


def live_frame(state: State, id_: str) -> Frame | None:
    """The frame of an identity, if it is live."""
    frame = state.root
    for segment in address_of(id_):
        if frame is None or not _leads_to(frame, segment):
            return None
        frame = frame.child(segment)
    return None if frame is None or frame.over else frame


def _leads_to(frame: Frame, segment: str) -> bool:
    """Whether what stands under a segment is in progress: ``live_below`` for one segment."""
    if frame.over:
        return False
    info = frame.info
    if isinstance(info, Run):
        if info.ended is not None:
            return False
        if info.entries:
            return segment == info.entries[-1]
    if frame.handling is not None:
        return segment == f"(catch:{frame.handling.number})"
    if segment[0] == "[":
        return frame.items is not None
    if isinstance(info, Attempt):
        return frame.phase == "reconciling" and segment == f"(reconcile)#{info.reconciles}"
    child = frame.children.get(segment)
    return child is not None and not child.over and (child.role != "step" or child.index == frame.cursor)


def goes_one_way(state: State, address: Address) -> bool:
    """Whether nothing stands beside a frame that could act while it waits: no branch and no other iteration."""
    frame = state.root
    for segment in address:
        if frame is None or isinstance(frame.info, Members):
            return False
        frame = frame.child(segment)
    return True


def flights(state: State) -> list[Flight]:
    """The calls that are out, in the order of their dispatch."""
    found: list[Flight] = []
    for at, frame in walk(state):
        if frame.phase == "dispatched" and isinstance(frame.info, Attempt):
            found.append(Flight(frame.info.dispatched, identity_of(at), None))
        undo = frame.recovery.undo if frame.recovery is not None else None
        if undo is not None and undo.phase == "dispatched":
            found.append(Flight(undo.dispatched, join(undo.of, UNDO), identity_of(at)))
    return sorted(found)


def holds(state: State) -> list[Held]:
    """The holds, in document order; the run's end ends them all (language page, section 6)."""
    if state.root is None or state.over or not state.root.held:
        return []
    found: list[Held] = []
    for at, frame in walk(state):
        if frame.hold is not None:
            found.append(Held(identity_of(at), frame.hold, None))
        undo = frame.recovery.undo if frame.recovery is not None else None
        if undo is not None and undo.hold is not None:
            found.append(Held(join(undo.of, UNDO), undo.hold, identity_of(at)))
    found.extend(Held(id_, hold, None) for id_, hold in state.orphans.items())
    return found


def timers(state: State) -> list[Timer]:
    """Everything that acts by time, in document order."""
    found: list[Timer] = []
    if state.over:
        return found
    for at, frame in walk(state):
        found.extend(timers_of(identity_of(at), frame))
    return found


def timers_of(id_: str, frame: Frame) -> Iterator[Timer]:
    """The timers of one frame."""
    depth = len(address_of(id_))
    info = frame.info
    if isinstance(info, Wait):
        if frame.phase == "waiting" and not info.fired:
            yield Timer(info.deadline, depth, id_, "wait")
    elif isinstance(info, Subscription):
        if info.timed and info.deadline is not None:
            yield Timer(info.deadline, depth, id_, "wait")
    elif isinstance(info, Child):
        if info.deadline is not None:
            yield Timer(info.deadline, depth, id_, "timeout")
    elif isinstance(info, Entry):
        for place, timer in enumerate(info.timers or ()):
            if not timer.fired:
                yield Timer(timer.deadline, depth, id_, f"state:{timer.name}", place)
    elif isinstance(info, Attempt):
        if frame.phase == "retry" and info.due is not None:
            yield Timer(info.due, depth, id_, "retry")
        elif frame.phase == "dispatched" and info.deadline is not None:
            yield Timer(info.deadline, depth, id_, "attempt")
    if frame.recovery is not None and frame.recovery.stage == "delay":
        yield Timer(frame.recovery.until, depth, id_, "delay")


def has_timer(state: State, id_: str, name: str, deadline: int) -> Frame | None:
    """The frame in which that timer runs, if it does."""
    frame = live_frame(state, id_)
    if frame is None or not any(each.name == name and each.deadline == deadline for each in timers_of(id_, frame)):
        return None
    return frame


def stands(state: State, id_: str, name: str) -> bool:
    """Whether a timer stands still: a wait or a retry delay inside a construct in which a failure stands, or inside a
    recovery scope that is held or under way."""
    if name not in ("wait", "retry"):
        return False
    frame = state.root
    for segment in address_of(id_):
        if frame is None:
            return False
        if frame.recovery is not None or (frame.hold is not None and frame.hold.reason == "recovery_limit"):
            return True
        if isinstance(frame.info, Members) and frame.info.broken and frame.handling is None:
            return True
        frame = frame.child(segment)
    return False


def subscriptions(state: State, trigger: str) -> list[tuple[str, Subscription]]:
    """The open waits for a trigger, in document order."""
    found: list[tuple[str, Subscription]] = []
    if state.root is None:
        return found
    stack: list[tuple[Address, Frame]] = [((), state.root)]
    while stack:
        at, frame = stack.pop()
        info = frame.info
        if isinstance(info, Subscription) and info.subscribed and info.trigger == trigger and info.timed | info.fired:
            found.append((identity_of(at), info))
        below = [((*at, segment), child) for segment, child in live_below(frame) if child.open]
        stack.extend(reversed(below))
    return found


def hold_at(state: State, on: str) -> Held | None:
    """The hold at a path, shown or identity."""
    found = holds(state)
    exact = next((each for each in found if each.id == on), None)
    return exact or next((each for each in found if shown_path(each.id) == on), None)


def frames_of(state: State, ids: Iterable[str]) -> Iterator[tuple[Address, Frame]]:
    """The frames of some parts of a run and of all that is in them: what a recovery of these parts supersedes."""
    for id_ in ids:
        at = address_of(id_)
        frame = state.frame(at)
        stack = [(at, frame)] if frame is not None else []
        while stack:
            here, current = stack.pop()
            yield here, current
            stack.extend(((*here, name), child) for name, child in current.below())
