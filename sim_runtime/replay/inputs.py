"""What a recorded transaction was decided from: the input, taken from its first record (R-REV-01).

Everything that came from outside is in the record that it led to: answers, events, decisions, elapsed timers. What only
went on is ``Proceed``. So re-evaluation needs no order of its own: it takes that of the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sim_runtime.core.fitting import json_of
from sim_runtime.core.frames import Attempt, Frame, State, Undo
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
from sim_runtime.history.paths import address_of
from sim_runtime.history.records import Record

#: Records that tell of something outside that nothing later depends on, or of a continuation: taken as they are.
PASSED_ON: Final = frozenset({"event.refused", "boundary.reused", "boundary.invalidated"})


def transactions(records: Sequence[Record]) -> Iterator[list[Record]]:
    """The records of a history by transaction."""
    start = 0
    for place, record in enumerate(records):
        if record.boundary:
            yield list(records[start : place + 1])
            start = place + 1


def input_of(state: State, first: Record, run_id: str | None = None) -> Input:
    """What a transaction that begins with ``first`` was decided from, in the state before it; ``run_id`` is that of a
    successor run."""
    make = _FROM.get(first.kind)
    if make is not None:
        return make(state, first)
    if first.kind == "run.accepted":
        return _start(first, run_id)
    return Proceed(first.at)


def _start(first: Record, run_id: str | None) -> Start:
    data = first.data
    return Start(
        first.at,
        run_id or data["run_id"],
        json_of(data["inputs"]),
        json_of(data["trigger"]),
        data["seed"],
        data["dry_run"],
        data["key_run"],
    )


def _frame(state: State, record: Record) -> Frame | None:
    return state.frame(address_of(record.id))


def _out(state: State, record: Record) -> Attempt | None:
    """The attempt that is out at the record's place."""
    frame = _frame(state, record)
    found = frame is not None and frame.phase == "dispatched" and isinstance(frame.info, Attempt)
    return frame.info if frame is not None and found else None


def _undo(state: State, record: Record) -> Undo | None:
    """The undo that is out in the record's recovery scope."""
    frame = state.frame(address_of(record.data["scope"]))
    undo = frame.recovery.undo if frame is not None and frame.recovery is not None else None
    return undo if undo is not None and undo.phase == "dispatched" else None


def _dispatched(state: State, record: Record) -> Input:
    """A call that goes out again while it is out was interrupted."""
    attempt = _out(state, record)
    return Proceed(record.at) if attempt is None else Interrupted(record.at, attempt.dispatched, record.id)


def _undo_dispatched(state: State, record: Record) -> Input:
    undo = _undo(state, record)
    if undo is None:
        return Proceed(record.at)
    return Interrupted(record.at, undo.dispatched, record.id, record.data["scope"])


def _succeeded(state: State, record: Record) -> Input:
    attempt = _out(state, record)
    seq = 0 if attempt is None else attempt.dispatched
    return Answered(record.at, seq, record.id, "success", result=json_of(record.data["result"]))


def _failed(state: State, record: Record) -> Input:
    data = record.data
    if data["effect"] == "possible":
        return Proceed(record.at)  # `on_unknown: fail` made it of an ambiguous attempt
    attempt = _out(state, record)
    return Answered(
        record.at,
        0 if attempt is None else attempt.dispatched,
        record.id,
        "failure",
        code=data["code"],
        message=data["message"],
        details=json_of(data["details"]),
        retryable=data["retryable"],
        retry_after=data.get("retry_after"),
        effect=data["effect"],
    )


def _ambiguous(state: State, record: Record) -> Input:
    attempt = _out(state, record)
    seq = 0 if attempt is None else attempt.dispatched
    return Answered(record.at, seq, record.id, "ambiguous", code=record.data["code"])


def _undo_answered(state: State, record: Record) -> Input:
    undo = _undo(state, record)
    if undo is None:
        return Proceed(record.at)  # a dry run, or arguments without a value
    data = record.data
    kind = {"compensation.succeeded": "success", "compensation.failed": "failure"}.get(record.kind, "ambiguous")
    return Answered(
        record.at,
        undo.dispatched,
        record.id,
        kind,
        data["scope"],
        json_of(data.get("result")),
        data.get("code", ""),
        data.get("message", ""),
        json_of(data.get("details")),
    )


def _late(_state: State, record: Record) -> Input:
    data = record.data
    return Answered(
        record.at,
        data["dispatch"],
        record.id,
        data["answer"],
        result=json_of(data.get("result")),
        code=data.get("code", ""),
    )


def _timer(_state: State, record: Record) -> Input:
    return TimerDue(record.at, record.id, record.data["timer"], record.data["deadline"])


def _event(state: State, record: Record) -> Input:
    data = record.data
    partly = data["delivery"] in state.deliveries
    return EventArrived(record.at, data["trigger"], data["delivery"], json_of(data["payload"]), partly)


def decision_of(record: Record) -> dict[str, Any]:
    """What an operator decided, by its record: the fields that ``Decided`` and ``driver.protocol.Decision`` share, but
    for the place."""
    data = record.data
    told = data.get("failure")
    failure = told if isinstance(told, dict) else {}
    return {
        "actor": data["actor"],
        "kind": data["decision"],
        "result": json_of(data.get("result")),
        "code": failure.get("code", ""),
        "message": failure.get("message", ""),
        "details": json_of(failure.get("details")),
        "retryable": failure.get("retryable", False),
    }


def _decided(_state: State, record: Record) -> Input:
    return Decided(record.at, record.id, **decision_of(record))


def _cancelled(_state: State, record: Record) -> Input:
    return Proceed(record.at) if record.id else Cancelled(record.at, json_of(record.data["reason"]))


_FROM: Final[dict[str, Callable[[State, Record], Input]]] = {
    "action.dispatched": _dispatched,
    "action.succeeded": _succeeded,
    "action.failed": _failed,
    "action.ambiguous": _ambiguous,
    "late_result.recorded": _late,
    "timer.fired": _timer,
    "event.accepted": _event,
    "operator.decided": _decided,
    "cancel.decided": _cancelled,
    "compensation.dispatched": _undo_dispatched,
    "compensation.succeeded": _undo_answered,
    "compensation.failed": _undo_answered,
    "compensation.ambiguous": _undo_answered,
}
