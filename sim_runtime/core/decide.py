"""``decide``: what is written down when something reaches a run. Pure, and the only place with workflow semantics.

``transact`` gives one transaction: the records up to the next durable boundary, and the state that they make.
``decide`` is its records alone. An input that changes nothing gives no records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import sim_runtime.core.actions
import sim_runtime.core.constructs
import sim_runtime.core.waits
from analyzer.expressions.faults import Fault
from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.expressions.values import Value, equal, from_json
from sim_runtime.core.calling import result_of
from sim_runtime.core.definition import CallDef, Definition
from sim_runtime.core.evolve_recovery import UNSENT
from sim_runtime.core.frames import Attempt, Frame, State, Subscription, Undo
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
from sim_runtime.core.looking import Held, has_timer, hold_at, holds, live_frame, stands, subscriptions
from sim_runtime.core.places import step_of
from sim_runtime.core.runs import advance_run, read_inputs, read_trigger
from sim_runtime.core.transaction import HELD, OUT, Resumed, Tx
from sim_runtime.history.paths import UNDO, address_of, shown_path
from sim_runtime.history.records import STANDARD_VERSION, Record


def decide(state: State, definition: Definition, given: Input) -> list[Record]:
    """The records of the transaction that an input leads to; empty when it leads to none."""
    return transact(state, definition, given)[0]


def transact(state: State, definition: Definition, given: Input) -> tuple[list[Record], State]:
    """The records of one transaction, the last one marked as a durable boundary, and the state after them."""
    tx = Tx(state, definition, given.at, resuming=isinstance(given, Proceed))
    try:  # noqa: SIM105 - `suppress` costs more than all else here
        _HANDLERS[type(given)](tx, given)
    except Resumed:
        pass
    if tx.records:
        tx.records[-1].boundary = True
    return tx.records, tx.state


def _start(tx: Tx, given: Start) -> None:
    inputs, problem = read_inputs(tx.definition, given.inputs)
    trigger, trigger_problem = read_trigger(tx.definition, given.trigger)
    tx.emit(
        "run.accepted",
        "",
        run_id=given.run_id,
        workflow=tx.definition.workflow,
        standard_version=STANDARD_VERSION,
        inputs=inputs,
        trigger=trigger,
        seed=given.seed,
        dry_run=given.dry_run,
        key_run=given.key_run or given.run_id,
    )
    problem = problem or trigger_problem
    if problem is None:
        tx.emit("run.started", "", started_at=given.at)
        return
    failure = {"code": "input.invalid", "message": problem, "details": {}, "path": ""}
    tx.emit("run.finished", "", outcome="failed", failure=failure)


def _proceed(tx: Tx, _given: Proceed) -> None:
    """Do what is runnable; when nothing is, say so once."""
    if tx.state.root is None or tx.state.over:
        return
    mask = advance_run(tx, (), tx.definition, False)
    if tx.closed or not isinstance(mask, int) or mask & OUT or tx.state.status != "running":
        return
    if mask & HELD:
        tx.emit("run.held", "", holds=[shown_path(each.id) for each in holds(tx.state)])
    else:
        tx.emit("run.suspended", "")


# ---- answers ------------------------------------------------------------------------------------


def _flying(tx: Tx, given: Answered | Interrupted) -> Frame | None:
    """The frame whose call the answer is for, when it is still waited for."""
    if tx.state.over:
        return None
    frame = live_frame(tx.state, given.id if given.scope is None else given.scope)
    if frame is None:
        return None
    if given.scope is None:
        attempt = frame.info
        waited = frame.phase == "dispatched" and isinstance(attempt, Attempt) and attempt.dispatched == given.seq
    else:
        undo = frame.recovery.undo if frame.recovery is not None else None
        waited = undo is not None and undo.phase == "dispatched" and undo.dispatched == given.seq
    return frame if waited else None


def _answered(tx: Tx, given: Answered) -> None:
    frame = _flying(tx, given)
    if frame is None:
        late: dict[str, Any] = {"result": given.result} if given.kind == "success" else {"code": given.code}
        tx.emit("late_result.recorded", given.id, dispatch=given.seq, answer=given.kind, **late)
        return
    base = given.id if given.scope is None else given.id[: -len(UNDO) - 1]
    step = step_of(tx.definition, address_of(base))
    assert step is not None
    if given.scope is None:
        assert step.call is not None
        _attempt_answered(tx, given, step.call, frame.info)
    else:
        assert step.undo is not None
        assert frame.recovery is not None
        assert frame.recovery.undo is not None
        _undo_answered(tx, given, step.undo, frame.recovery.undo)


def _attempt_answered(tx: Tx, given: Answered, call: CallDef, attempt: Attempt) -> None:
    number = attempt.attempt
    if given.kind == "success":
        value, problem = result_of(call, given.result)
        if problem is None:
            if tx.state.dry_run:
                value = sim_runtime.core.actions.marked_if(value, attempt.arguments)
            tx.emit("action.succeeded", given.id, attempt=number, result=value)
            return
        message = f"the result of `{call.action}` does not fit its output: {problem}"
        _emit_attempt_failed(tx, given.id, number, ("output.invalid", message, {}), False, None, "happened")
    elif given.kind == "ambiguous" and call.effect == "write":
        tx.emit("action.ambiguous", given.id, attempt=number, code=given.code)
    else:
        told = (given.code, given.message or f"`{call.action}` failed: {given.code}", _details(given.details))
        _emit_attempt_failed(tx, given.id, number, told, _retryable(given, call), given.retry_after, given.effect)


def _emit_attempt_failed(
    tx: Tx, id_: str, attempt: int, told: tuple[str, str, Value], retryable: bool, retry_after: int | None, effect: str
) -> None:
    code, message, details = told
    data = {"retry_after": retry_after} if retry_after is not None else {}
    tx.emit(
        "action.failed",
        id_,
        attempt=attempt,
        code=code,
        message=message,
        details=details,
        retryable=retryable,
        effect=effect,
        **data,
    )


def _retryable(given: Answered, call: CallDef) -> bool:
    """What the answer says, else the manifest; a code that it does not declare is not retryable."""
    return given.retryable if given.retryable is not None else call.errors.get(given.code, False)


def _details(details: Any) -> Value:
    if details is None:
        return {}
    try:
        return from_json(details)
    except Fault:
        return {}


def _undo_answered(tx: Tx, given: Answered, call: CallDef, undo: Undo) -> None:
    about = {"scope": given.scope, "of": undo.of}
    if given.kind == "ambiguous" and call.effect == "write":
        tx.emit("compensation.ambiguous", given.id, **about, code=given.code)
        return
    if given.kind == "success":
        value, problem = result_of(call, given.result)
        if problem is None:
            tx.emit("compensation.succeeded", given.id, **about, result=value)
            return
        message = f"the result of `{call.action}` does not fit its output: {problem}"
        tx.emit("compensation.failed", given.id, **about, code="output.invalid", message=message, details={})
        return
    message = given.message or f"`{call.action}` failed: {given.code}"
    tx.emit("compensation.failed", given.id, **about, code=given.code, message=message, details=_details(given.details))


def _interrupted(tx: Tx, given: Interrupted) -> None:
    """A read is reissued as a part of the same attempt; a write is ambiguous."""
    frame = _flying(tx, given)
    if frame is None:
        return
    if given.scope is not None:
        undo = frame.recovery.undo if frame.recovery is not None else None
        assert undo is not None
        about = {"scope": given.scope, "of": undo.of}
        if undo.effect == "read":
            tx.emit("compensation.dispatched", given.id, **about, reissue=undo.reissue + 1)
        else:
            tx.emit("compensation.ambiguous", given.id, **about, code="interrupted")
        return
    attempt: Attempt = frame.info
    if attempt.effect == "read":
        data = {}
        if attempt.timeout is not None:
            # A limit that is still to come stays; one that passed while the executor was down counts anew.
            kept = attempt.deadline if attempt.deadline is not None and attempt.deadline >= tx.at else None
            data["deadline"] = min(tx.at + attempt.timeout, MAX_TIMESTAMP_US) if kept is None else kept
        tx.emit("action.dispatched", given.id, attempt=attempt.attempt, reissue=attempt.reissue + 1, **data)
    else:
        tx.emit("action.ambiguous", given.id, attempt=attempt.attempt, code="interrupted")


# ---- timers and events --------------------------------------------------------------------------


def can_fire(state: State, given: TimerDue) -> bool | None:
    """Whether a timer can act now; None when it does not run any more, False when it stands still."""
    if state.over or has_timer(state, given.id, given.name, given.deadline) is None:
        return None
    return not stands(state, given.id, given.name)


def _timer(tx: Tx, given: TimerDue) -> None:
    if not can_fire(tx.state, given):
        return
    if given.name != "attempt":
        tx.emit("timer.fired", given.id, timer=given.name, deadline=given.deadline)
        return
    frame = live_frame(tx.state, given.id)
    assert frame is not None
    attempt: Attempt = frame.info
    if attempt.effect == "read":
        message = f"`{attempt.action}` did not answer in time"
        _emit_attempt_failed(tx, given.id, attempt.attempt, ("timeout", message, {}), True, None, "none")
    else:
        tx.emit("action.ambiguous", given.id, attempt=attempt.attempt, code="timeout")


def _event(tx: Tx, given: EventArrived) -> None:
    """Accepted by each open wait that it fits, one transaction each; refused when there is none."""
    state = tx.state
    if state.root is None or state.over:
        return
    if not given.partly and given.delivery in state.deliveries:
        _refuse(tx, given, "duplicate")
        return
    declared = tx.definition.payloads.get(given.trigger)
    payload: Value = given.payload
    if declared is not None:
        try:
            payload = from_json(given.payload, declared.guide)
            faults = declared.fit.faults(given.payload)
        except Fault as fault:
            faults = [fault.message]
        if faults:
            _refuse(tx, given, "invalid")
            return
    first = state.deliveries.get(given.delivery)
    for id_, subscription in subscriptions(state, given.trigger):
        seen = any(event.delivery == given.delivery for event in subscription.events)
        in_time = first is None or subscription.opened < first
        if not seen and in_time and _fits(subscription, payload):
            tx.emit("event.accepted", id_, trigger=given.trigger, delivery=given.delivery, payload=payload)
            return
    if not given.partly:
        _refuse(tx, given, "unmatched")


def _refuse(tx: Tx, given: EventArrived, reason: str) -> None:
    tx.emit("event.refused", "", trigger=given.trigger, delivery=given.delivery, reason=reason)


def _fits(subscription: Subscription, payload: Value) -> bool:
    match = subscription.match
    if not isinstance(payload, dict) or not isinstance(match, dict):
        return False
    return all(name in payload and equal(payload[name], value) for name, value in match.items())


# ---- operators and cancellation -----------------------------------------------------------------


def refusal_of(state: State, definition: Definition, given: Decided) -> str | None:
    """Why a decision is refused (nothing is written then), or None."""
    if state.over:
        return "the run is over"
    held = hold_at(state, given.on)
    if held is None:
        known = ", ".join(f"`{shown_path(each.id)}`" for each in holds(state))
        return f"there is no hold at `{given.on}`" + (f"; holds are at {known}" if known else "; nothing is held")
    if given.kind not in held.hold.allowed:
        allowed = ", ".join(f"`{each}`" for each in held.hold.allowed)
        return f"`{given.kind}` cannot be decided here; what can: {allowed}"
    if not given.actor:
        return "a decision names its actor"
    if given.kind == "fail" and not given.code:
        return "`fail` needs a code"
    if given.kind == "succeed" and held.id not in state.orphans:
        return _result_problem(definition, held, given)
    return None


def _call_at(definition: Definition, held: Held) -> CallDef | None:
    if held.scope is None:
        step = step_of(definition, address_of(held.id))
        return step.call if step is not None else None
    step = step_of(definition, address_of(held.id[: -len(UNDO) - 1]))
    return step.undo if step is not None else None


def _result_problem(definition: Definition, held: Held, given: Decided) -> str | None:
    call = _call_at(definition, held)
    if call is None or call.output_fit is None:
        return None if given.result is None else "the action declares no output; decide `succeed: null`"
    problem = result_of(call, given.result)[1]
    return None if problem is None else f"the result does not fit the output of `{call.action}`: {problem}"


def _decided(tx: Tx, given: Decided) -> None:
    if refusal_of(tx.state, tx.definition, given) is not None:
        return
    held = hold_at(tx.state, given.on)
    assert held is not None
    data: dict[str, Any] = {"scope": held.scope} if held.scope is not None else {}
    if given.kind == "succeed":
        call = None if held.id in tx.state.orphans else _call_at(tx.definition, held)
        data["result"] = result_of(call, given.result)[0] if call is not None else None
    elif given.kind == "fail":
        data["failure"] = {
            "code": given.code,
            "message": given.message or f"decided by {given.actor}",
            "details": _details(given.details),
            "retryable": given.retryable,
        }
    tx.emit("operator.decided", held.id, actor=given.actor, decision=given.kind, **data)


def _cancelled(tx: Tx, given: Cancelled) -> None:
    state = tx.state
    if state.root is not None and not state.over and state.run.ending is None:
        tx.emit("cancel.decided", "", reason=given.reason)


_HANDLERS: Final[dict[type, Callable[[Tx, Any], None]]] = {
    Start: _start,
    Proceed: _proceed,
    Answered: _answered,
    Interrupted: _interrupted,
    TimerDue: _timer,
    EventArrived: _event,
    Decided: _decided,
    Cancelled: _cancelled,
}

__all__ = ["UNSENT", "can_fire", "decide", "refusal_of", "transact"]
