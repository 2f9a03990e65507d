"""``evolve``: what a record makes of a state. Pure, total, and evaluates nothing: whatever was computed is in the record.

A state is the fold of a history (``fold``). So reconstruction is the fold up to a boundary, and a crash is folding again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sim_runtime.core.frames import (
    EMPTY,
    Accepted,
    Attempt,
    Branch,
    Broken,
    Child,
    Ending,
    Entry,
    Failure,
    Frame,
    Handling,
    Members,
    Run,
    State,
    StateTimer,
    Subscription,
    Wait,
)
from sim_runtime.core.evolve_recovery import RECOVERY_HANDLERS
from sim_runtime.core.persistent import Items
from sim_runtime.core.tree import put, update
from sim_runtime.history.paths import CHILD, Address, address_of
from sim_runtime.history.records import Record

Handler = Callable[[State, Record, Address], None]


def evolve(state: State, record: Record) -> State:
    """The state after one more record."""
    new = state.copy()
    new.seq = record.seq
    new.at = record.at
    handler = HANDLERS.get(record.kind)
    if handler is not None:
        handler(new, record, address_of(record.id))
    return new


def fold(records: Iterable[Record], state: State = EMPTY) -> State:
    """The state after all of ``records``."""
    for record in records:
        state = evolve(state, record)
    return state


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


# ---- actions ------------------------------------------------------------------------------------


def _prepared(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        before: Attempt | None = frame.info
        frame.phase = "prepared"
        frame.failure = None
        frame.info = Attempt(
            data["action"],
            data["effect"],
            data["idempotency"],
            data["arguments"],
            data["connection"],
            data["key"],
            data.get("timeout"),
            data["attempt"],
            unsure=before.unsure if before is not None else False,
            reconciles=before.reconciles if before is not None else 0,
        )

    update(state, address, record.seq, change)
    base = data.get("base")
    if base is not None and record.id not in state.bases:
        state.bases = state.bases.set(record.id, base)


def _suppressed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "answered"
        frame.value = data["result"]
        frame.info = Attempt(
            data["action"],
            "write",
            "none",
            data["arguments"],
            data["connection"],
            data["key"],
            None,
            1,
            success=record.seq,
            suppressed=True,
        )

    update(state, address, record.seq, change)


def _dispatched(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "dispatched"
        frame.failure = None
        frame.info = frame.info._replace(
            dispatched=record.seq, reissue=data["reissue"], deadline=data.get("deadline"), due=None
        )

    update(state, address, record.seq, change)
    frame = state.frame(address)
    if frame is not None and frame.info.key is not None:
        name = f"{frame.info.action} {frame.info.key}"
        if name not in state.keys:
            state.keys = state.keys.set(name, frame.info.arguments)


def _answered(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "answered"
        frame.value = record.data["result"]
        frame.info = frame.info._replace(success=record.seq, deadline=None)

    update(state, address, record.seq, change)


def _attempt_failed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.phase = "attempt_failed"
        frame.failure = Failure(
            data["code"],
            data["message"],
            data["details"],
            record.id,
            data["retryable"],
            data.get("retry_after"),
            record.seq,
        )
        unsure = frame.info.unsure or data["effect"] != "none"
        frame.info = frame.info._replace(deadline=None, unsure=unsure)

    update(state, address, record.seq, change)


def _ambiguous(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "ambiguous"
        frame.failure = Failure(record.data["code"], "", None, record.id, seq=record.seq)
        frame.info = frame.info._replace(deadline=None)

    update(state, address, record.seq, change)


def _retry(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.phase = "retry"
        frame.failure = None
        frame.info = frame.info._replace(due=record.data["deadline"])

    update(state, address, record.seq, change)


def _reconcile(state: State, record: Record, address: Address) -> None:
    number = record.data["number"]

    def change(frame: Frame) -> None:
        frame.phase = "reconciling"
        frame.info = frame.info._replace(reconciles=number)
        frame.children = {**frame.children, f"(reconcile)#{number}": Frame("list", "running")}

    update(state, address, record.seq, change)


def _reconciled(state: State, record: Record, address: Address) -> None:
    outcome = record.data["outcome"]

    def change(frame: Frame) -> None:
        if outcome == "succeeded":
            frame.phase = "answered"
            frame.value = record.data["result"]
            frame.failure = None
            frame.info = frame.info._replace(success=record.seq)
        elif outcome == "no_effect":
            code = frame.failure.code if frame.failure is not None else ""
            frame.phase = "attempt_failed"
            frame.failure = Failure(code, no_effect_message(code), {}, record.id, True, seq=record.seq)
        else:
            frame.phase = "unresolved"

    update(state, address, record.seq, change)


def no_effect_message(code: str) -> str:
    """What is said of an ambiguous attempt that had no effect."""
    return f"the outcome was not known (`{code}`), and it was established that nothing took effect"


# ---- timers and events --------------------------------------------------------------------------


def _timer_set(state: State, record: Record, address: Address) -> None:
    name, deadline = record.data["timer"], record.data["deadline"]

    def change(frame: Frame) -> None:
        frame.open += 1
        if name == "delay" and frame.recovery is not None:
            frame.recovery = frame.recovery._replace(stage="delay")
        elif name.startswith("state:"):
            timer = StateTimer(name[6:], deadline, record.data["to"])
            frame.info = frame.info._replace(timers=(*(frame.info.timers or ()), timer))
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(deadline=deadline, timed=True)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(deadline=deadline)
        else:
            frame.phase = "waiting"
            frame.info = Wait(deadline)

    update(state, address, record.seq, change)


def _timer_fired(state: State, record: Record, address: Address) -> None:
    name = record.data["timer"]

    def change(frame: Frame) -> None:
        if name == "retry":
            frame.phase = "due"
            frame.info = frame.info._replace(due=None)
            return
        frame.open -= 1
        if name == "delay" and frame.recovery is not None:
            frame.recovery = frame.recovery._replace(stage="elapsed")
        elif name.startswith("state:"):
            timers = tuple(
                timer._replace(fired=True) if timer.name == name[6:] else timer for timer in frame.info.timers or ()
            )
            frame.info = frame.info._replace(timers=timers)
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(fired=True, timed=False)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(fired=True, deadline=None)
        else:
            frame.info = frame.info._replace(fired=True)

    update(state, address, record.seq, change)


def _timer_released(state: State, record: Record, address: Address) -> None:
    name = record.data["timer"]

    def change(frame: Frame) -> None:
        frame.open -= 1
        if name == "delay":
            frame.recovery = None
        elif name.startswith("state:"):
            timers = tuple(timer for timer in frame.info.timers or () if timer.name != name[6:])
            frame.info = frame.info._replace(timers=timers)
        elif isinstance(frame.info, Subscription):
            frame.info = frame.info._replace(timed=False)
        elif isinstance(frame.info, Child):
            frame.info = frame.info._replace(deadline=None)
        else:
            frame.phase = "left"

    update(state, address, record.seq, change)


def _subscribed(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open += 1
        frame.phase = "open"
        frame.info = Subscription(data["trigger"], data["match"], data["connection"], record.seq)

    update(state, address, record.seq, change)


def _event(state: State, record: Record, address: Address) -> None:
    data = record.data
    event = Accepted(data["delivery"], record.at, data["payload"])

    def change(frame: Frame) -> None:
        frame.info = frame.info._replace(events=(*frame.info.events, event))

    update(state, address, record.seq, change)
    if data["delivery"] not in state.deliveries:
        state.deliveries = state.deliveries.set(data["delivery"], record.seq)


def _selected(state: State, record: Record, address: Address) -> None:
    delivery = record.data.get("delivery")

    def change(frame: Frame) -> None:
        events = frame.info.events
        payload = next((event.payload for event in events if event.delivery == delivery), None)
        frame.phase = "selected"
        frame.info = frame.info._replace(status=record.data["status"], event=payload)

    update(state, address, record.seq, change)


def _unsubscribed(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.open -= 1
        frame.info = frame.info._replace(subscribed=False)

    update(state, address, record.seq, change)


# ---- states and children ------------------------------------------------------------------------


def _entered(state: State, record: Record, address: Address) -> None:
    data = record.data
    segment = address[-1]
    frame = Frame("list", "running", info=Entry(data["state"], data["entry"], record.at))
    frame.seqs = (record.seq,)

    def change(run: Frame) -> None:
        entries = run.info.entries
        if entries and entries[-1] in run.children:
            last = run.children[entries[-1]].copy()
            last.phase = "left"
            run.children = {**run.children, entries[-1]: last}
        run.info = run.info._replace(entries=(*entries, segment), next=None)

    put(state, address, frame, change)


def _route(state: State, record: Record, address: Address) -> None:
    frame = state.frame(address)
    if frame is None:
        return
    left = frame.copy()
    left.phase = "left"
    left.seqs = (*left.seqs, record.seq)

    def change(run: Frame) -> None:
        run.info = run.info._replace(next=record.data["to"])

    put(state, address, left, change)


def _child_started(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open += 1
        frame.phase = "child"
        frame.info = Child(data["child"])
        run = Frame("run", "accepted", info=Run(data["child"], data["workflow"], data["inputs"], None))
        frame.children = {**frame.children, CHILD: run}

    update(state, address, record.seq, change)


def _child_finished(state: State, record: Record, address: Address) -> None:
    data = record.data

    def change(frame: Frame) -> None:
        frame.open -= 1
        if frame.phase == "child":
            frame.phase = "returned"
        frame.info = frame.info._replace(
            outcome=data["outcome"], result=data.get("result"), failure=data.get("failure")
        )

    update(state, address, record.seq, change)


def _child_cancelled(state: State, record: Record, address: Address) -> None:
    def change(frame: Frame) -> None:
        frame.info = frame.info._replace(cancel=True)

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
    "action.prepared": _prepared,
    "action.suppressed": _suppressed,
    "action.dispatched": _dispatched,
    "action.succeeded": _answered,
    "action.failed": _attempt_failed,
    "action.ambiguous": _ambiguous,
    "retry.scheduled": _retry,
    "reconcile.started": _reconcile,
    "reconcile.decided": _reconciled,
    "timer.set": _timer_set,
    "timer.fired": _timer_fired,
    "timer.released": _timer_released,
    "subscription.opened": _subscribed,
    "event.accepted": _event,
    "wait.selected": _selected,
    "subscription.released": _unsubscribed,
    "state.entered": _entered,
    "route.selected": _route,
    "child.started": _child_started,
    "child.finished": _child_finished,
    "child.cancel_requested": _child_cancelled,
    "cancel.decided": _cancel,
    **RECOVERY_HANDLERS,
}
