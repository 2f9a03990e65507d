"""``wf.wait``, ``wf.wait_for``, ``wf.let``, ``wf.fail`` and ``wf.stop``."""

from __future__ import annotations

from typing import Any

from analyzer.expressions.faults import CONVERSION, KIND, RANGE, Fault
from analyzer.expressions.times import MAX_TIMESTAMP_US, Duration, Timestamp, parse_timestamp
from analyzer.expressions.values import Value, is_marked, strip_marks
from analyzer.language.durations import parse_duration
from sim_runtime.core.advance import advance_list, advances, succeed, take
from sim_runtime.core.definition import StepDef, TriggerUse
from sim_runtime.core.failing import emit_failed, fail_by_fault, fail_step
from sim_runtime.core.fitting import json_of, without_nulls
from sim_runtime.core.frames import Accepted, Failure, Frame, Subscription
from sim_runtime.core.transaction import AGAIN, DONE, Raised, Tx, Unknown
from sim_runtime.history.paths import Address, identity_of


def deadline_of(value: Value, now: int) -> int:
    """The instant that a duration (from now) or timestamp means. Raises ``Fault``."""
    if isinstance(value, str):
        us = parse_duration(value)
        found = parse_timestamp(value) if us is None else Duration(us)
        if found is None:
            raise Fault(CONVERSION, f"`{value[:40]}` is neither a duration nor a timestamp")
        value = found
    if isinstance(value, Timestamp):
        return value.us
    if not isinstance(value, Duration):
        raise Fault(KIND, "a duration or a timestamp is needed to wait")
    if now + value.us > MAX_TIMESTAMP_US:
        raise Fault(RANGE, "this wait would last past the year 9999; wait for less")
    return now + value.us


@advances("wf.wait")
def advance_wait(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Set the timer; go on when it has fired."""
    if draining:
        return 0
    if frame.phase == "started":
        assert step.subject is not None
        try:
            deadline = deadline_of(tx.condition(step.subject, step.parent, at[:-1]), tx.at)
        except Fault as fault:
            return fail_by_fault(tx, at, step, fault)
        tx.emit("timer.set", identity_of(at), timer="wait", deadline=deadline)
        return 0
    if not frame.info.fired:
        return 0
    tx.emit("step.succeeded", identity_of(at), value=None)
    return AGAIN


# ---- wf.wait_for --------------------------------------------------------------------------------


@advances("wf.wait_for")
def advance_wait_for(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Subscribe; run the steps; select the event or the timeout."""
    if frame.phase == "started":
        return 0 if draining else _subscribe(tx, at, step)
    if frame.phase == "open":
        result = advance_list(tx, at, step.inner, draining)
        if isinstance(result, Raised):
            return take(tx, at, step, result, draining)
        if result != DONE:
            return result
        if draining or not _select(tx, at, tx.frame(at).info):
            return 0
    _let_go(tx, at)
    return succeed(tx, at)


def _subscribe(tx: Tx, at: Address, step: StepDef) -> int | Raised:
    """Evaluate everything once, and establish subscription and timer at one boundary."""
    wait = step.wait
    assert wait is not None
    id_ = identity_of(at)
    try:
        configuration = tx.value(wait.configuration, step.parent, at[:-1])
        match: dict[str, Any] = {name: tx.value(program, step.parent, at[:-1]) for name, program in wait.match.items()}
        deadline = deadline_of(tx.condition(wait.timeout, step.parent, at[:-1]), tx.at)
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    if is_marked(match):
        raise Unknown  # which event fits is a condition too
    configuration = without_nulls(configuration, wait.configuration_type)
    problem = _configuration_problem(wait, configuration, match)
    if problem is None and deadline < tx.at and not _is_timestamp(tx, wait, step, at):
        problem = "the timeout is negative"
    if problem is not None:
        message = f"the wait for `{wait.trigger}` cannot be set up: {problem}"
        return fail_step(tx, at, step, Failure("config.invalid", message, {}, id_))
    tx.emit(
        "subscription.opened",
        id_,
        trigger=wait.trigger,
        configuration=configuration,
        match=match,
        connection=wait.connection,
    )
    tx.emit("timer.set", id_, timer="wait", deadline=deadline)
    return tx.close()


def _is_timestamp(tx: Tx, wait: TriggerUse, step: StepDef, at: Address) -> bool:
    value = tx.value(wait.timeout, step.parent, at[:-1])
    return isinstance(value, Timestamp | str)


def _configuration_problem(wait: TriggerUse, configuration: Value, match: dict[str, Any]) -> str | None:
    faults = wait.configuration_fit.faults(json_of(configuration))
    if faults:
        return f"`configuration` does not fit: {faults[0]}"
    for name, value in match.items():
        faults = wait.match_fits[name].faults(json_of(value))
        if faults:
            return f"`match.{name}` does not fit the payload: {faults[0]}"
    return None


def _select(tx: Tx, at: Address, subscription: Subscription) -> bool:
    """Write what completes the wait, if something does: the first event in time wins, then the timeout."""
    deadline = subscription.deadline
    assert deadline is not None
    event: Accepted | None = next((each for each in subscription.events if each.at <= deadline), None)
    if event is not None:
        tx.emit("wait.selected", identity_of(at), status="received", delivery=event.delivery)
        return True
    if subscription.fired:
        tx.emit("wait.selected", identity_of(at), status="timeout")
        return True
    return False


def _let_go(tx: Tx, at: Address) -> None:
    subscription: Subscription = tx.frame(at).info
    if subscription.subscribed:
        tx.emit("subscription.released", identity_of(at))
    if subscription.timed:
        tx.emit("timer.released", identity_of(at), timer="wait")


# ---- wf.let, wf.fail, wf.stop -------------------------------------------------------------------


@advances("wf.let")
def advance_let(tx: Tx, at: Address, step: StepDef, _frame: Frame, draining: bool) -> int | Raised:
    """Evaluate the map."""
    if draining:
        return 0
    assert step.subject is not None
    try:
        value = tx.value(step.subject, step.parent, at[:-1])
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    tx.emit("step.succeeded", identity_of(at), value=value)
    return AGAIN


@advances("wf.fail")
def advance_fail(tx: Tx, at: Address, step: StepDef, _frame: Frame, draining: bool) -> int | Raised:
    """End the run as failed."""
    if draining:
        return 0
    assert step.subject is not None
    id_ = identity_of(at)
    try:
        told = tx.value(step.subject, step.parent, at[:-1])
        if not isinstance(told, dict) or not isinstance(told.get("code"), str) or not told["code"]:
            raise Fault(KIND, "`code` of `wf.fail` is a string")
        message = told.get("message")
        if message is not None and not isinstance(message, str):
            raise Fault(KIND, "`message` of `wf.fail` is a string")
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    details = told.get("details")
    emit_failed(tx, id_, Failure(told["code"], message or "", {} if details is None else details, id_), "end")
    return tx.close()


@advances("wf.stop")
def advance_stop(tx: Tx, at: Address, step: StepDef, _frame: Frame, draining: bool) -> int | Raised:
    """End the run as stopped."""
    if draining:
        return 0
    assert step.subject is not None
    try:
        told = tx.value(step.subject, step.parent, at[:-1])
        reason = told.get("reason") if isinstance(told, dict) else None
        if reason is not None and not isinstance(strip_marks(reason), str):
            raise Fault(KIND, "`reason` of `wf.stop` is a string")
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    result = told.get("result") if isinstance(told, dict) else None
    ends = {"outcome": "stopped", "reason": strip_marks(reason)}
    tx.emit("step.succeeded", identity_of(at), value=result, ends=ends)
    return tx.close()
