"""The failure policy: retry, handlers, ``on_fail``, and failures on their way outwards (language page, section 5)."""

from __future__ import annotations

import hashlib
from typing import Final

from analyzer.expressions.faults import Fault
from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.language.durations import MAX_DURATION_US
from sim_runtime.core.definition import HandlerDef, RetryDef, StepDef
from sim_runtime.core.frames import Attempt, Child, Entry, Failure, Frame, Subscription, Wait
from sim_runtime.core.transaction import AGAIN, Raised, Tx, fault_failure
from sim_runtime.history.paths import CHILD, Address, address_of, identity_of, shown_path

#: Ten thousand years, the longest duration of the language.
_LONGEST_DELAY: Final = MAX_DURATION_US


def retry_delay(retry: RetryDef, attempt: int, draw: float) -> int:
    """The microseconds between attempt ``attempt`` and the next; ``draw`` in [0, 1) spreads it downwards by ``jitter``,
    so that ``max_delay`` holds."""
    bound = min(retry.max_delay_us if retry.max_delay_us is not None else _LONGEST_DELAY, _LONGEST_DELAY)
    try:
        delay = min(retry.delay_us * float(retry.backoff) ** (attempt - 1), bound)
    except OverflowError:
        delay = bound if retry.delay_us else 0
    return round(delay * (1 - retry.jitter * draw))


def draw_of(seed: int, id_: str, attempt: int) -> float:
    """A number in [0, 1), the same for the same seed, step and attempt."""
    digest = hashlib.sha256(f"{seed}\n{id_}\n{attempt}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def may_retry(step: StepDef, failure: Failure, attempt: Attempt) -> bool:
    """Whether another attempt follows."""
    retry = step.retry
    if retry is None or not failure.retryable or attempt.attempt >= retry.attempts:
        return False
    return retry.on is None or failure.code in retry.on


def schedule_retry(tx: Tx, at: Address, step: StepDef, failure: Failure, attempt: Attempt) -> None:
    """Write when the next attempt is made."""
    assert step.retry is not None
    id_ = identity_of(at)
    number = max(attempt.attempt, 1)
    delay = retry_delay(step.retry, number, draw_of(tx.state.seed, id_, number))
    source = "policy"
    if failure.retry_after is not None and failure.retry_after > delay:
        delay, source = failure.retry_after, "server"
    deadline = min(tx.at + delay, MAX_TIMESTAMP_US)
    tx.emit("retry.scheduled", id_, attempt=attempt.attempt + 1, delay=delay, source=source, deadline=deadline)


# ---- handlers and on_fail -----------------------------------------------------------------------


def handler_for(step: StepDef, code: str) -> HandlerDef | None:
    """The first handler that fits."""
    return next((each for each in step.handlers if each.codes is None or code in each.codes), None)


def takes(step: StepDef, failure: Failure) -> bool:
    """Whether the step's own handlers or ``on_fail`` do something about a failure."""
    return step.on_fail != "fail" or handler_for(step, failure.code) is not None


def fail_step(tx: Tx, at: Address, step: StepDef, failure: Failure, *, handled: bool = False) -> int | Raised:
    """A step failed past its attempts: its handlers (not again when ``handled``), then ``on_fail``, then outwards."""
    handler = None if handled else handler_for(step, failure.code)
    id_ = identity_of(at)
    if handler is not None:
        error = {
            "code": failure.code,
            "message": failure.message,
            "details": failure.details,
            "step": shown_path(failure.failed),
        }
        tx.emit("handler.entered", id_, handler=handler.index, error=error)
        return tx.close() if tx.frame(at).open else AGAIN
    disposition = "raise" if step.on_fail == "fail" else step.on_fail
    emit_failed(tx, id_, failure, disposition)
    frame = tx.frame(at)
    if disposition == "abort" or frame.open:
        return tx.close()
    if disposition == "continue":
        return AGAIN
    assert frame.failure is not None
    return Raised(frame.failure)


def emit_failed(tx: Tx, id_: str, failure: Failure, disposition: str) -> None:
    """Write ``step.failed``."""
    tx.emit(
        "step.failed",
        id_,
        code=failure.code,
        message=failure.message,
        details=failure.details,
        failed=failure.failed,
        disposition=disposition,
    )


def fail_by_fault(tx: Tx, at: Address, step: StepDef, fault: Fault) -> int | Raised:
    """An expression of the step itself has no value."""
    return fail_step(tx, at, step, fault_failure(fault, identity_of(at)))


def end_unknown(tx: Tx, at: Address) -> int:
    """A dry run cannot tell what a real run would do here: it ends as stopped."""
    message = "what happens here depends on the result of an action that the dry run did not send"
    emit_failed(tx, identity_of(at), Failure("dry_run.unknown", message, {}, identity_of(at)), "stop")
    return tx.close()


def settle_between(tx: Tx, failed: str, above: Address) -> bool:
    """Fail what stands between the failed step and ``above``, innermost first. False when the transaction ended: what
    is open in one of them is released once its failure is durable."""
    target = address_of(failed)
    for depth in range(len(target) - 1, len(above), -1):
        frame = tx.state.frame(target[:depth])
        if frame is None or frame.role != "step" or frame.over:
            continue
        failure = _told(tx, target, failed)
        emit_failed(tx, identity_of(target[:depth]), failure, "raise")
        if tx.frame(target[:depth]).open:
            tx.close()
            return False
    return True


def _told(tx: Tx, target: Address, failed: str) -> Failure:
    frame = tx.frame(target)
    told = frame.failure or (frame.broken.failure if frame.broken is not None else None)
    assert told is not None
    return told._replace(failed=failed)


# ---- letting go ---------------------------------------------------------------------------------


def release_open(tx: Tx, at: Address, keep: str | None = None) -> bool:
    """Release every timer and subscription in a frame and below it, innermost first, and cancel its child runs; not
    what stands under the segment ``keep``. False when the transaction ended before all was done."""
    frame = tx.frame(at)
    if not frame.open:
        return True
    info = frame.info
    if isinstance(info, Child) and info.outcome is None and CHILD in frame.children:
        return _cancel_child(tx, at, info) and release_open(tx, at, keep)
    for segment, child in list(frame.below()):
        if child.open and segment != keep and not release_open(tx, (*at, segment)):
            return False
    _release_own(tx, identity_of(at), tx.frame(at))
    return True


def _release_own(tx: Tx, id_: str, frame: Frame) -> None:
    info = frame.info
    if isinstance(info, Subscription):
        if info.subscribed:
            tx.emit("subscription.released", id_)
        if info.timed:
            tx.emit("timer.released", id_, timer="wait")
    elif isinstance(info, Wait):
        if frame.phase == "waiting" and not info.fired:
            tx.emit("timer.released", id_, timer="wait")
    elif isinstance(info, Child):
        if info.deadline is not None:
            tx.emit("timer.released", id_, timer="timeout")
    elif isinstance(info, Entry):
        for timer in info.timers or ():
            if not timer.fired:
                tx.emit("timer.released", id_, timer=f"state:{timer.name}")
    recovery = tx.frame(address_of(id_)).recovery
    if recovery is not None and recovery.stage == "delay":
        tx.emit("timer.released", id_, timer="delay")


def _cancel_child(tx: Tx, at: Address, info: Child) -> bool:
    """Cancel the child run of a call. False while transactions end on the way."""
    id_ = identity_of(at)
    inside = (*at, CHILD)
    run = tx.frame(inside).info
    if run.ended is None:
        if not info.cancel:
            tx.emit("child.cancel_requested", id_, child=info.run_id)
        if run.ending is None:
            tx.emit("cancel.decided", identity_of(inside), reason=None)
        elif release_open(tx, inside):
            tx.emit("run.finished", identity_of(inside), outcome="cancelled", cancel={"reason": None})
        return False
    finish_child(tx, at)
    return True


def finish_child(tx: Tx, at: Address) -> None:
    """Link the end of a child run to its call."""
    frame = tx.frame(at)
    ended = tx.frame((*at, CHILD)).info.ended
    data = {"child": frame.info.run_id, "outcome": ended.outcome}
    if ended.outcome in ("succeeded", "stopped"):
        data["result"] = ended.result
    elif ended.failure is not None:
        data["failure"] = {name: ended.failure[name] for name in ("code", "message", "details")}
    if frame.info.deadline is not None:
        tx.emit("timer.released", identity_of(at), timer="timeout")
    tx.emit("child.finished", identity_of(at), **data)
