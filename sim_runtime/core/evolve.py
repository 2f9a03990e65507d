"""``evolve``: what a record makes of a state. Pure, total, and evaluates nothing: what was computed is in the record.

A state is the fold of a history (``fold``). So reconstruction is the fold up to a boundary, and a crash is to fold
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sim_runtime.core.evolve_actions import ACTION_HANDLERS
from sim_runtime.core.evolve_prior import PRIOR_HANDLERS
from sim_runtime.core.evolve_recovery import RECOVERY_HANDLERS
from sim_runtime.core.evolve_waits import WAIT_HANDLERS
from sim_runtime.core.frames import (
    EMPTY,
    UNKNOWN_EFFECT,
    Attempt,
    Branch,
    Broken,
    Ending,
    Failure,
    Frame,
    Handling,
    Members,
    Run,
    State,
)
from sim_runtime.core.persistent import Items
from sim_runtime.core.tree import put, update
from sim_runtime.history.paths import CHILD, Address, address_of
from sim_runtime.history.records import Record

Handler = Callable[[State, Record, Address], None]


def evolve(state: State, record: Record) -> State:
    """The state after one more record."""
    new = state.copy()
    take_in(new, record)
    return new


def take_in(state: State, record: Record) -> None:
    """``evolve`` a state that may still be changed."""
    state.seq = record.seq
    state.at = record.at
    handler = HANDLERS.get(record.kind)
    if handler is not None:
        handler(state, record, address_of(record.id))


def fold(records: Iterable[Record], state: State = EMPTY) -> State:
    """The state after all of ``records``."""
    new = state.copy()
    new.making = object()
    for record in records:
        take_in(new, record)
    new.making = None
    return new


# ---- the run ------------------------------------------------------------------------------------


def _accepted(state: State, record: Record, _address: Address) -> None:
    data = record.data
    state.seed = data["seed"]
    state.dry_run = data["dry_run"]
    state.key_run = data["key_run"]
    state.status = "running"
    state.root = Frame("run", "accepted", info=Run(data["run_id"], data["workflow"], data["inputs"], data["trigger"]))


def _started(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "running"
        frame.info = frame.info._replace(started_at=record.data["started_at"])

    update(state, address, record.seq, change)


def _suspended(state: State, _record: Record, _address: Address) -> None:
    state.status = "suspended"


def _held(state: State, _record: Record, _address: Address) -> None:
    state.status = "held"


def _resumed(state: State, _record: Record, _address: Address) -> None:
    state.status = "running"


def ending_of(data: dict[str, Any]) -> Ending:
    """The end that a record tells of."""
    return Ending(data["outcome"], data.get("result"), data.get("failure"), data.get("stop"), data.get("cancel"))


def _finished(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "succeeded"
        frame.info = frame.info._replace(ended=ending_of(record.data))

    update(state, address, record.seq, change)
    if not address:
        state.status = record.data["outcome"]


def _cancel(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.info = frame.info._replace(ending=Ending("cancelled", cancel={"reason": record.data["reason"]}))

    update(state, address, record.seq, change)


def end_run(state: State, address: Address, ending: Ending, whole: bool) -> None:
    """The end of the run around ``address`` is decided; of the root run when ``whole``."""
    depth = len(address)
    while not whole and depth and address[depth - 1] != CHILD:
        depth -= 1
    target = () if whole else address[:depth]
    frame = state.frame(target)
    if frame is not None and frame.info.ending is None:
        new = frame.copy()
        new.info = frame.info._replace(ending=ending)
        put(state, target, new)


# ---- steps --------------------------------------------------------------------------------------


def _step_started(state: State, record: Record, address: Address) -> None:
    what = record.data["step"]
    parent = state.frame(address[:-1])
    if parent is None:
        return
    if what == "iteration":
        index = record.data["index"]
        _begin(state, record, address, Frame("list", "running", index), _next_iteration)
    elif what == "branch":
        _begin(state, record, address, Frame("list", "running"), _next_branch)
    else:
        _begin(state, record, address, Frame("step", "started", parent.cursor), None)


def _begin(
    state: State, record: Record, address: Address, frame: Frame, parent_change: Callable[[Frame], None] | None
) -> None:
    frame.seqs = (record.seq,)
    put(state, address, frame, parent_change)


def _next_iteration(loop: Frame) -> None:
    members: Members = loop.info
    place = members.next + 1
    assert loop.items is not None
    while place < loop.items.count and loop.items.get(place) is not None:
        place += 1
    loop.info = members._replace(next=place, active=members.active + 1)


def _next_branch(parallel: Frame) -> None:
    members: Members = parallel.info if isinstance(parallel.info, Members) else Members((), 0)
    parallel.phase = "running"
    parallel.info = members._replace(active=members.active + 1)


def _skipped(state: State, record: Record, address: Address) -> None:
    parent = state.frame(address[:-1])
    if parent is not None:
        _begin(state, record, address, Frame("step", "skipped", parent.cursor), _pass_on)


def _pass_on(parent: Frame) -> None:
    parent.cursor += 1


def _leave(frame: Frame | None) -> Callable[[Frame], None]:
    """What the end of a frame does to the one above it: a list goes on, a loop has a free place."""
    if frame is None or frame.role == "step":
        return _pass_on

    def change(parent: Frame) -> None:
        parent.info = parent.info._replace(active=parent.info.active - 1)

    return change


def _succeeded(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "succeeded"
        if "value" in record.data:
            frame.value = record.data["value"]

    update(state, address, record.seq, change, _leave(state.frame(address)))
    ends = record.data.get("ends")
    if ends is not None:
        stop = {"path": record.path, "reason": ends["reason"]}
        end_run(state, address, Ending(ends["outcome"], record.data.get("value"), stop=stop), False)


def _failed(state: State, record: Record, address: Address) -> None:
    data = record.data
    disposition = data["disposition"]
    failure = Failure(data["code"], data["message"], data["details"], data["failed"], seq=record.seq)
    frame = state.frame(address)

    def change(frame: Frame) -> None:
        if disposition == "continue":
            frame.phase = "continued"
            frame.value = None
        elif frame.role == "list" or disposition in ("escalate", "limit"):
            frame.broken = Broken(failure, disposition)
        else:
            if isinstance(frame.info, Attempt) and frame.phase in UNKNOWN_EFFECT:
                frame.info = frame.info._replace(unsure=True)
            frame.phase = "failed"
            frame.failure = failure

    parent_change: Callable[[Frame], None] | None = None
    if disposition == "continue":
        parent_change = _leave(frame)
    elif disposition in ("raise", "escalate") and frame is not None and frame.role == "list" and frame.info is None:
        parent_change = _break
    update(state, address, record.seq, change, parent_change)
    if disposition == "stop":
        stop = {"path": record.path, "reason": data["code"]}
        end_run(state, address, Ending("stopped", None, stop=stop), True)
    elif disposition in ("abort", "end"):
        shown = {"code": data["code"], "message": data["message"], "details": data["details"], "path": record.path}
        end_run(state, address, Ending("aborted" if disposition == "abort" else "failed", failure=shown), False)


def _break(parent: Frame) -> None:
    parent.info = parent.info._replace(broken=parent.info.broken + 1)


def _branch(state: State, record: Record, address: Address) -> None:
    segment = record.data["branch"]

    def change(frame: Frame) -> None:
        frame.phase = "running"
        frame.info = Branch(segment)
        if segment is not None:
            frame.children = {**frame.children, segment: Frame("list", "running")}

    update(state, address, record.seq, change)


def _planned(state: State, record: Record, address: Address) -> None:
    items = record.data["items"]

    def change(frame: Frame) -> None:
        frame.phase = "running"
        frame.info = Members(tuple(items), record.data["concurrency"])
        frame.items = Items.empty(len(items))

    update(state, address, record.seq, change)


def _handler(state: State, record: Record, address: Address) -> None:
    index = record.data["handler"]

    def change(frame: Frame) -> None:
        frame.phase = "handling"
        frame.failure = None
        frame.broken = None
        frame.handling = Handling(index, record.data["error"])
        frame.children = {**frame.children, f"(catch:{index})": Frame("list", "running")}

    update(state, address, record.seq, change)


HANDLERS: Final[dict[str, Handler]] = {
    "run.accepted": _accepted,
    "run.started": _started,
    "run.suspended": _suspended,
    "run.held": _held,
    "run.resumed": _resumed,
    "run.finished": _finished,
    "step.started": _step_started,
    "step.skipped": _skipped,
    "step.succeeded": _succeeded,
    "step.failed": _failed,
    "branch.selected": _branch,
    "iterations.planned": _planned,
    "handler.entered": _handler,
    "cancel.decided": _cancel,
    **ACTION_HANDLERS,
    **WAIT_HANDLERS,
    **RECOVERY_HANDLERS,
    **PRIOR_HANDLERS,
}
