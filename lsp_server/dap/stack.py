"""Threads and frames: a thread is a line of execution (the run, a branch, a concurrent iteration, a child run), a frame
is a scope with the step that it has come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from lsp_server.dap.course import Course, is_place
from lsp_server.dap.places import around, root_scope
from lsp_server.dap.sources import Program, Spot, WorkFile
from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import Frame, State
from sim_runtime.core.looking import live_below
from sim_runtime.core.places import step_of
from sim_runtime.core.reading import Scope
from sim_runtime.history.paths import CHILD, UNDO, Address, address_of, identity_of, shown_path

MAX_THREADS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Thread:
    """A line of execution. ``address`` is that of its list, ``at`` the step (or state entry) that it has come to, None
    when there is none."""

    address: Address
    at: Address | None
    name: str


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A scope of a thread. ``at`` is the step in it, ``()`` for the run as such."""

    at: Address
    name: str
    scope: Scope
    definition: Definition
    file: WorkFile
    spot: Spot | None


@dataclass(slots=True)
class Threads:
    """The threads of one stop; their ids last as long as the session."""

    ids: dict[Address, int] = field(default_factory=lambda: {(): 1})
    listed: list[Thread] = field(default_factory=list)

    def look(self, course: Course) -> None:
        """Look which there are now."""
        self.listed = list(threads_of(course))
        for thread in self.listed:
            self.ids.setdefault(thread.address, len(self.ids) + 1)

    def by_id(self, number: int) -> Thread | None:
        """The thread of an id, if it is there now."""
        return next((each for each in self.listed if self.ids[each.address] == number), None)

    def of(self, id_: str) -> int:
        """The id of the thread that a step stands in."""
        address = address_of(id_)
        inside = [each for each in self.listed if address[: len(each.address)] == each.address]
        return self.ids[max(inside, key=lambda each: len(each.address)).address] if inside else 1


def threads_of(course: Course) -> Iterator[Thread]:
    """The threads, the run's own first, in document order."""
    state, definition = course.state, course.definition
    name = definition.workflow
    coming = course.upcoming()
    pending = address_of(coming[0].id) if coming and course.standing and is_place(coming[0]) else None
    if state.root is None:
        yield Thread((), pending, name)
        return
    stack: list[Address] = [()]
    count = 0
    while stack and count < MAX_THREADS:
        owner = stack.pop()
        at, others = _leaf(state, definition, owner)
        if pending is not None and _owner(definition, pending) == owner:
            at = pending
        count += 1
        at = at or owner[:-1] or None  # of a branch or child run that has only begun, the step that it belongs to
        yield Thread(owner, at, _name(state, definition, owner))
        stack.extend(reversed(others))


def _starts_thread(definition: Definition, address: Address) -> bool:
    """Whether a thread of its own begins at a list: a branch, a concurrent iteration, a child run."""
    if address[-1] == CHILD:
        return True
    above = step_of(definition, address[:-1])
    if above is None:
        return False
    if above.kind == "wf.parallel":
        return address[-1] in above.lists
    return above.kind == "wf.for_each" and above.concurrency > 1 and address[-1][0] == "["


def _owner(definition: Definition, address: Address) -> Address:
    """The list at which the thread of a step begins."""
    for length in range(len(address) - 1, 0, -1):
        if _starts_thread(definition, address[:length]):
            return address[:length]
    return ()


def _leaf(state: State, definition: Definition, owner: Address) -> tuple[Address | None, list[Address]]:
    """The innermost step in progress of a thread, and the threads that begin in it."""
    frame = state.frame(owner)
    others: list[Address] = []
    at: Address | None = None
    stack: list[tuple[Address, Frame]] = [(owner, frame)] if frame is not None else []
    while stack:
        address, frame = stack.pop()
        if frame.role == "step" or (address and _is_state(definition, address)):
            at = address
        undo = frame.recovery.undo if frame.recovery is not None else None
        if undo is not None:
            return (*address_of(undo.of), UNDO), others
        below = []
        for segment, child in live_below(frame):
            inner = (*address, segment)
            if _starts_thread(definition, inner):
                others.append(inner)
            else:
                below.append((inner, child))
        stack.extend(below[:1])
    return at, others


def _is_state(definition: Definition, address: Address) -> bool:
    found = around(definition, address)
    return found is not None and found.address == address


def _name(state: State, definition: Definition, owner: Address) -> str:
    if not owner:
        return definition.workflow
    if owner[-1] == CHILD:
        frame = state.frame(owner)
        workflow = frame.info.workflow if frame is not None else ""
        return f"{shown_path(identity_of(owner[:-1]))}: {workflow}"
    return shown_path(identity_of(owner))


def frames_of(course: Course, program: Program, thread: Thread) -> list[StackFrame]:
    """The frames of a thread, innermost first, out to the root of the run."""
    state, definition = course.state, course.definition
    if thread.at is None:
        file = program.files[program.root]
        return [StackFrame((), definition.workflow, root_scope(definition, state), definition, file, None)]
    frames = []
    at = thread.at
    while at:
        found = around(definition, at)
        if found is None:
            at = at[:-1]
            continue
        identity = identity_of(at)
        file, spot = program.locate(identity)
        scope = Scope(state, found.steps, found.address)
        frames.append(StackFrame(at, shown_path(identity), scope, definition, file, spot))
        at = found.address if found.address != at else at[:-1]
    return frames
