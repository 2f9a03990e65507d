"""Actions: preparing, dispatching, and what follows each answer.

Sources: language page, section 5; profile: Ambiguous Outcomes.
"""

from __future__ import annotations

from typing import Final

from analyzer.expressions.faults import CONVERSION, KIND, Fault
from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.expressions.values import Marked, Value, is_marked, strip_marks, to_json
from sim_runtime.core.advance import advance_list, advances
from sim_runtime.core.calling import (
    MAX_REISSUES,
    derived_key,
    key_clashes,
    placeholder,
    prepare_call,
    result_of,
    timeout_of,
)
from sim_runtime.core.definition import CallDef, StepDef
from sim_runtime.core.failing import (
    emit_failed,
    fail_by_fault,
    fail_step,
    may_retry,
    release_open,
    schedule_retry,
    takes,
)
from sim_runtime.core.frames import Attempt, Failure, Frame
from sim_runtime.core.prior import may_repeat
from sim_runtime.core.transaction import AGAIN, CLOSED, DONE, HELD, OUT, Raised, Tx
from sim_runtime.history.paths import Address, identity_of

#: In a stopped branch no attempt is begun; one that was begun comes to its end.
_STANDS: Final = frozenset({"started", "due"})


@advances("action")
def advance_action(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Go on with an action."""
    phase = frame.phase
    if phase == "dispatched":
        return OUT
    if phase == "answered":
        tx.emit("step.succeeded", identity_of(at))
        return AGAIN
    if phase == "retry" or (draining and phase in _STANDS):
        return 0
    if phase in ("started", "due"):
        return _prepare(tx, at, step, frame)
    if phase in ("prepared", "reissue"):
        return _dispatch(tx, at, frame.info, 0 if phase == "prepared" else frame.info.reissue + 1)
    if phase == "attempt_failed":
        return _attempt_failed(tx, at, step, frame, draining)
    if phase == "ambiguous":
        return _ambiguous(tx, at, step, frame)
    if phase == "reconciling":
        return _reconcile(tx, at, step, frame, draining)
    if not release_open(tx, at):
        return CLOSED
    return _hold(tx, at, step, frame, "ambiguous")


# ---- before dispatch ----------------------------------------------------------------------------


def _prepare(tx: Tx, at: Address, step: StepDef, frame: Frame) -> int | Raised:
    """Fix everything before the first dispatch; for a later attempt it is fixed already."""
    call = step.call
    assert call is not None
    before: Attempt | None = frame.info
    id_ = identity_of(at)
    if before is not None and before.action:
        _emit_prepared(tx, id_, call, before, before.attempt + 1, None)
        return CLOSED
    try:
        arguments, problem = prepare_call(tx, call, step.parent, at[:-1])
        base = _explicit_key(tx, at, step, call) if problem is None else None
        timeout = timeout_of(tx, step, at)
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    if problem is not None:
        return fail_step(tx, at, step, problem._replace(failed=id_))
    key = derived_key(tx, id_, call.action, base) if call.idempotency == "keyed" else None
    if tx.state.dry_run and call.effect == "write":
        _suppress(tx, at, call, arguments, key)
        return CLOSED
    attempt = Attempt(call.action, call.effect, call.idempotency, arguments, call.connection, key, timeout, 0)
    reason = _must_ask(tx, id_, call, attempt)
    if reason is not None:
        tx.emit("hold.entered", id_, reason=reason, allowed=["succeed", "fail"])
        return HELD
    _emit_prepared(tx, id_, call, attempt, 1, base)
    return CLOSED


def _explicit_key(tx: Tx, at: Address, step: StepDef, call: CallDef) -> str | None:
    """The value of ``idempotency_key``: evaluated once, and the same in a redo."""
    if call.key is None or call.idempotency != "keyed":
        return None
    known = tx.state.bases.get(identity_of(at))
    if known is not None:
        return known
    value = strip_marks(tx.value(call.key, step.parent, at[:-1]))
    if not isinstance(value, str):
        raise Fault(KIND, "an `idempotency_key` is a string")
    if not value:
        raise Fault(CONVERSION, "an `idempotency_key` must not be empty")
    return value


def _must_ask(tx: Tx, id_: str, call: CallDef, attempt: Attempt) -> str | None:
    """Why the call is not sent unasked: it could repeat an effect, or would be another call under a used key."""
    if not may_repeat(tx.state, id_, attempt):
        return "unsafe_continuation"
    if attempt.key is not None:
        return "reissue" if key_clashes(tx, call.action, attempt.key, attempt.arguments) else None
    unsure = call.effect == "write" and not call.safe and tx.state.unsure.get(id_) is True
    return "reissue" if unsure else None


def _emit_prepared(tx: Tx, id_: str, call: CallDef, attempt: Attempt, number: int, base: str | None) -> None:
    data: dict[str, object] = {}
    if attempt.timeout is not None:
        data["timeout"] = attempt.timeout
    if base is not None:
        data["base"] = base
    tx.emit(
        "action.prepared",
        id_,
        action=call.action,
        effect=call.effect,
        idempotency=call.idempotency,
        arguments=attempt.arguments,
        connection=attempt.connection,
        attempt=number,
        key=attempt.key,
        **data,
    )


def _suppress(tx: Tx, at: Address, call: CallDef, arguments: Value, key: str | None) -> None:
    value = placeholder(call, at)
    tx.emit(
        "action.suppressed",
        identity_of(at),
        action=call.action,
        arguments=arguments,
        connection=call.connection,
        key=key,
        result=Marked(value),  # type: ignore[arg-type]
    )


def _dispatch(tx: Tx, at: Address, attempt: Attempt, reissue: int) -> int:
    data = {} if attempt.timeout is None else {"deadline": min(tx.at + attempt.timeout, MAX_TIMESTAMP_US)}
    tx.emit("action.dispatched", identity_of(at), attempt=attempt.attempt, reissue=reissue, **data)
    return CLOSED


# ---- after an answer ----------------------------------------------------------------------------


def _attempt_failed(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """A definite failure: another attempt, or the policies of the step."""
    failure = frame.failure
    assert failure is not None
    if may_retry(step, failure, frame.info):
        if draining:
            return 0
        schedule_retry(tx, at, step, failure, frame.info)
        return 0
    if draining and step.on_fail == "fail" and takes(step, failure):
        return 0
    return fail_step(tx, at, step, failure)


def _ambiguous(tx: Tx, at: Address, step: StepDef, frame: Frame) -> int | Raised:
    """The disposition of an ambiguous attempt."""
    call, attempt, failure = step.call, frame.info, frame.failure
    assert call is not None
    assert failure is not None
    id_ = identity_of(at)
    policy = step.on_unknown
    if policy is None and call.safe:
        if attempt.reissue < MAX_REISSUES:
            return _dispatch(tx, at, attempt, attempt.reissue + 1)
        return _hold(tx, at, step, frame, "reissue")
    if policy == "fail":
        told = _unknown(call, failure, id_)
        tx.emit(
            "action.failed",
            id_,
            attempt=attempt.attempt,
            code=told.code,
            message=told.message,
            details=told.details,
            retryable=False,
            effect="possible",
        )
        return CLOSED
    if policy == "reconcile" and step.reconcile is not None:
        tx.emit("reconcile.started", id_, attempt=attempt.attempt, number=attempt.reconciles + 1)
        return AGAIN
    if policy in ("halt", "reconcile"):
        return _hold(tx, at, step, frame, "ambiguous")
    emit_failed(tx, id_, _unknown(call, failure, id_), "abort")
    return tx.close()


def _unknown(call: CallDef, failure: Failure, id_: str) -> Failure:
    return Failure(failure.code, f"it is not known whether `{call.action}` took effect (`{failure.code}`)", {}, id_)


def _hold(tx: Tx, at: Address, step: StepDef, frame: Frame, reason: str) -> int:
    assert step.call is not None
    allowed = ["succeed", "fail", "reissue"] if step.call.safe else ["succeed", "fail"]
    code = frame.failure.code if frame.failure is not None else None
    tx.emit("hold.entered", identity_of(at), reason=reason, code=code, allowed=allowed)
    return HELD


# ---- reconciliation -----------------------------------------------------------------------------


def _reconcile(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """The probe scope, then its outcome and result."""
    reconcile, call, number = step.reconcile, step.call, frame.info.reconciles
    assert reconcile is not None
    assert call is not None
    inside = (*at, f"(reconcile)#{number}")
    result = advance_list(tx, inside, reconcile.steps, draining)
    if isinstance(result, Raised):
        return _reconciled(tx, at, number, "unresolved", reason=result.failure.code)
    if result != DONE:
        return result
    try:
        outcome = tx.condition(reconcile.outcome, reconcile.steps, inside)
        if not isinstance(outcome, bool):
            raise Fault(KIND, "`outcome` is true or false")
        if not outcome:
            return _reconciled(tx, at, number, "no_effect")
        given = tx.value(reconcile.result, reconcile.steps, inside) if reconcile.result is not None else None
    except Fault as fault:
        return _reconciled(tx, at, number, "unresolved", reason=fault.code)
    value, problem = result_of(call, to_json(given))
    if problem is not None:
        return _reconciled(tx, at, number, "unresolved", reason=problem)
    tx.emit("reconcile.decided", identity_of(at), number=number, outcome="succeeded", result=value)
    return CLOSED


def _reconciled(tx: Tx, at: Address, number: int, outcome: str, reason: str | None = None) -> int:
    data = {"reason": reason} if reason is not None else {}
    tx.emit("reconcile.decided", identity_of(at), number=number, outcome=outcome, **data)
    return CLOSED


def marked_if(value: Value, arguments: Value) -> Value:
    """A result that depends on a placeholder in the arguments is marked too."""
    return Marked(value) if is_marked(arguments) and not isinstance(value, Marked) else value
