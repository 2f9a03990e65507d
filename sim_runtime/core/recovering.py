"""Recovery scopes: the decision, the redo set, compensation, the next generation (profile: Scope-Level Recovery)."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from analyzer.expressions.faults import Fault
from sim_runtime.core.calling import MAX_REISSUES, key_clashes, prepare_call
from sim_runtime.core.definition import RecoveryDef
from sim_runtime.core.failing import emit_failed, release_open
from sim_runtime.core.frames import UNKNOWN_EFFECT, Attempt, Authorization, Failure, Frame, Recovering, Undo
from sim_runtime.core.looking import frames_of
from sim_runtime.core.places import step_of
from sim_runtime.core.redo import redo_set
from sim_runtime.core.transaction import AGAIN, BUSY, CLOSED, HELD, OUT, Raised, Tx, fault_failure, limited
from sim_runtime.history.paths import UNDO, Address, address_of, identity_of, join

UNDO_DECISIONS: Final = ["succeed", "fail", "reissue"]


def recover(tx: Tx, at: Address, recovery: RecoveryDef, failure: Failure) -> int | Raised:
    """A failure has reached the scope at ``at``, and everything inside stands: activate it, or apply ``then``."""
    id_ = identity_of(at)
    frame = tx.frame(at)
    if frame.authorized is not None or _activations(tx, id_, recovery) < recovery.failures:
        _decide(tx, at, recovery, failure, frame.authorized)
        return CLOSED
    if recovery.then == "hold":
        tx.emit("hold.entered", id_, reason="recovery_limit", code=failure.code, allowed=["authorize_recovery"])
        return HELD
    if recovery.then == "escalate" and recovery.enclosed:
        emit_failed(tx, id_, failure, "escalate")
        return Raised(failure, escalating=True)
    emit_failed(tx, id_, limited(failure, failure.failed), "limit")
    return AGAIN


def _activations(tx: Tx, id_: str, recovery: RecoveryDef) -> int:
    """The automatic activations in the rolling interval that ends now."""
    first = tx.at - recovery.within_us
    # In the order of time: what is before the interval is not looked at.
    recent = takewhile(lambda instant: instant > first, reversed(tx.state.activations.get(id_) or ()))
    return sum(instant <= tx.at for instant in recent)


def _decide(tx: Tx, at: Address, recovery: RecoveryDef, failure: Failure, allowed: Authorization | None) -> None:
    data = {"authorized_by": allowed.actor} if allowed is not None else {}
    tx.emit(
        "recovery.decided",
        identity_of(at),
        code=failure.code,
        message=failure.message,
        details=failure.details,
        failed=failure.failed,
        time=tx.at,
        redo=recovery.redo,
        set=redo_set(tx, at, recovery.redo, failure.failed),
        next_generation=tx.state.last_generation + 1,
        delay=recovery.delay_us,
        since=allowed.at if allowed is not None else tx.at,
        **data,
    )


# ---- from the decision to the next generation ---------------------------------------------------


def advance_recovery(tx: Tx, at: Address, recovering: Recovering) -> int:
    """Go on with an activation: the delay, the superseding, each compensation, the next generation."""
    stage = recovering.stage
    if stage == "decided" and recovering.delay:
        tx.emit("timer.set", identity_of(at), timer="delay", deadline=recovering.until)
        return BUSY
    if stage == "delay":
        return BUSY
    if stage != "superseded":
        return _supersede(tx, at, recovering)
    if recovering.queue:
        return _compensate(tx, at, recovering)
    tx.emit("generation.started", identity_of(at), started=recovering.generation)
    return CLOSED


def _supersede(tx: Tx, at: Address, recovering: Recovering) -> int:
    for id_ in recovering.redo:
        if tx.state.frame(address_of(id_)) is not None and not release_open(tx, address_of(id_)):
            return CLOSED
    found = _Superseded(tx)
    for here, frame in frames_of(tx.state, recovering.redo):
        found.add(here, frame)
    undo = [id_ for _, id_ in sorted(found.undo, reverse=True)]
    tx.emit("history.superseded", identity_of(at), records=sorted(found.records), undo=undo, unsure=found.unsure)
    return tx.close()


class _Superseded:
    """What stands in a redo set: its records, the successes to compensate, and what must not be sent again unasked."""

    __slots__ = ("records", "tx", "undo", "unsure")

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.records: list[int] = []
        self.undo: list[tuple[int, str]] = []
        self.unsure: list[str] = []

    def add(self, at: Address, frame: Frame) -> None:
        """One frame."""
        self.records.extend(frame.seqs)
        if isinstance(frame.info, Attempt):
            self._action(at, frame, frame.info)

    def _action(self, at: Address, frame: Frame, attempt: Attempt) -> None:
        if attempt.suppressed or attempt.undone:
            return
        step = step_of(self.tx.definition, at)
        if attempt.success and step is not None and step.undo is not None:
            self.undo.append((attempt.success, identity_of(at)))
            return
        repeatable = attempt.effect == "read" or attempt.idempotency != "none"
        happened = attempt.success or attempt.unsure or frame.phase in UNKNOWN_EFFECT
        if happened and not repeatable:
            self.unsure.append(identity_of(at))


# ---- compensation -------------------------------------------------------------------------------


def _compensate(tx: Tx, at: Address, recovering: Recovering) -> int:
    undo = recovering.undo
    of = recovering.queue[0]
    if undo is None:
        return _prepare_undo(tx, at, of)
    if undo.hold is not None:
        return HELD | BUSY
    if undo.phase == "dispatched":
        return OUT | BUSY
    if undo.phase in ("prepared", "reissue"):
        _dispatch_undo(tx, at, undo, 0 if undo.phase == "prepared" else undo.reissue + 1)
        return CLOSED
    if undo.phase == "ambiguous":
        if _safe(undo) and undo.reissue < MAX_REISSUES:
            _dispatch_undo(tx, at, undo, undo.reissue + 1)
            return CLOSED
        _hold_undo(tx, at, undo, "undo_ambiguous", reissue=_safe(undo))
        return HELD | BUSY
    _hold_undo(tx, at, undo, "undo_failed", reissue=_safe(undo) or undo.code != "output.invalid")
    return HELD | BUSY


def _safe(undo: Undo) -> bool:
    return undo.idempotency != "none"


def _dispatch_undo(tx: Tx, at: Address, undo: Undo, reissue: int) -> None:
    tx.emit("compensation.dispatched", join(undo.of, UNDO), scope=identity_of(at), of=undo.of, reissue=reissue)


def _hold_undo(tx: Tx, at: Address, undo: Undo, reason: str, *, reissue: bool) -> None:
    allowed = UNDO_DECISIONS if reissue else UNDO_DECISIONS[:2]
    id_ = join(undo.of, UNDO)
    tx.emit("hold.entered", id_, reason=reason, code=undo.code, allowed=allowed, scope=identity_of(at))


def _prepare_undo(tx: Tx, at: Address, of: str) -> int:
    """The next compensation: its arguments are read from the generation that is superseded."""
    address = address_of(of)
    step = step_of(tx.definition, address)
    assert step is not None
    assert step.undo is not None
    scope, id_ = identity_of(at), join(of, UNDO)
    try:
        arguments, problem = prepare_call(tx, step.undo, step.parent, address[:-1])
    except Fault as fault:
        problem, arguments = fault_failure(fault, id_), None
    if problem is not None:
        told = {"code": problem.code, "message": problem.message, "details": problem.details}
        tx.emit("compensation.failed", id_, scope=scope, of=of, **told)
        return CLOSED
    if tx.state.dry_run and step.undo.effect == "write":
        tx.emit("compensation.succeeded", id_, scope=scope, of=of, result=None)
        return CLOSED
    number = (tx.state.compensated.get(of) or 0) + 1
    key = _undo_key(tx, address, number) if step.undo.idempotency == "keyed" else None
    while key is not None and key_clashes(tx, step.undo.action, key, arguments):
        number += 1  # one that was sent before, and did not succeed, was another call
        key = _undo_key(tx, address, number)
    tx.emit(
        "compensation.prepared",
        id_,
        scope=scope,
        of=of,
        action=step.undo.action,
        effect=step.undo.effect,
        idempotency=step.undo.idempotency,
        arguments=arguments,
        connection=step.undo.connection,
        key=key,
        number=number,
    )
    return CLOSED


def _undo_key(tx: Tx, address: Address, number: int) -> str:
    """From the compensated step's key, ``(undo)`` and the number of this compensation."""
    key = tx.frame(address).info.key
    return f"{key if key is not None else f'{tx.state.key_run}:{identity_of(address)}'}:{UNDO}:{number}"
