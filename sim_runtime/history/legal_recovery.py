"""Whether a record of a hold, a recovery, a compensation or a continuation may follow a state; a part of ``legal``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sim_runtime.core.frames import Attempt, Frame, Hold, Recovering, State
from sim_runtime.core.looking import frames_of
from sim_runtime.history.paths import UNDO, Address, address_of, join
from sim_runtime.history.records import DECISIONS, HOLD_REASONS, INVALIDATIONS, KINDS, REDO, Record

Check = Callable[[State, Record, Address], "str | None"]

IDEMPOTENCY: Final = frozenset({"none", "inherent", "keyed"})
_REASONS_OF_UNDOS: Final = frozenset({"undo_failed", "undo_ambiguous"})


def live(state: State, at: Address) -> Frame | None:
    """What is in progress at an address."""
    frame = state.frame(at)
    return None if frame is None or frame.over else frame


def fixed_call(data: dict[str, Any]) -> str | None:
    """What is wrong with how a prepared call or undo is described."""
    if data["effect"] not in ("read", "write") or data["idempotency"] not in IDEMPOTENCY:
        return "its effect or idempotency is unknown"
    if (data["key"] is None) == (data["idempotency"] == "keyed"):
        return "a keyed call has a key, and no other has"
    return None


def _scope_of(state: State, record: Record) -> Recovering | None:
    frame = state.frame(address_of(record.data["scope"]))
    return frame.recovery if frame is not None else None


def _hold(state: State, record: Record, at: Address) -> str | None:
    reason = record.data["reason"]
    if reason not in HOLD_REASONS:
        return f"`{reason}` is not a reason of a hold"
    if not record.data["allowed"] or not set(record.data["allowed"]) <= DECISIONS:
        return "what may be decided there are not decisions"
    if ("scope" in record.data) != (reason in _REASONS_OF_UNDOS):
        return "a hold of an undo names its recovery scope, and no other does"
    if "scope" in record.data:
        recovering = _scope_of(state, record)
        undo = recovering.undo if recovering is not None else None
        sound = undo is not None and undo.hold is None and record.id == join(undo.of, UNDO)
        return None if sound else "no compensation is under way there"
    if reason == "unsafe_continuation" and record.id in state.prior:
        return None if record.id not in state.orphans else "it is held already"
    frame = live(state, at)
    return None if frame is not None and frame.hold is None else "nothing that could be held is in progress there"


def _held(state: State, record: Record, at: Address) -> Hold | None:
    if "scope" in record.data:
        recovering = _scope_of(state, record)
        undo = recovering.undo if recovering is not None else None
        return undo.hold if undo is not None and record.id == join(undo.of, UNDO) else None
    frame = state.frame(at)
    return frame.hold if frame is not None and frame.hold is not None else state.orphans.get(record.id)


def _decided(state: State, record: Record, at: Address) -> str | None:
    hold = _held(state, record, at)
    if hold is None:
        return "there is no hold to decide"
    data: dict[str, Any] = record.data
    decision = data["decision"]
    if decision not in hold.allowed:
        return f"`{decision}` cannot be decided there"
    if decision == "succeed" and "result" not in data:
        return "a success that was decided has a result"
    failure = data.get("failure")
    if decision == "fail" and not (
        isinstance(failure, dict) and {"code", "message", "details", "retryable"} <= failure.keys()
    ):
        return "a failure that was decided has a code, a message and details"
    return None


def _recovery(state: State, record: Record, at: Address) -> str | None:
    frame, data = live(state, at), record.data
    if frame is None or frame.recovery is not None:
        return "no recovery can begin there"
    allowed = frame.authorized
    if data.get("authorized_by") != (allowed.actor if allowed is not None else None):
        return "it is not authorized as it says"
    if data["redo"] not in REDO or data["delay"] < 0 or data["time"] != record.at:
        return "its redo, its delay or its time is none"
    if data["since"] != (allowed.at if allowed is not None else record.at):
        return "its delay counts from another instant"
    expected = state.last_generation + 1
    if record.data["next_generation"] != expected:
        return f"generation {expected} must follow"
    failed = state.frame(address_of(record.data["failed"])) if record.data["failed"] else None
    if failed is not None and failed.phase != "failed" and failed.broken is None:
        return f"`{record.data['failed']}` has not failed"
    return None if all(isinstance(each, str) for each in record.data["set"]) else "its redo set is not a list of paths"


def _superseded(state: State, record: Record, at: Address) -> str | None:
    frame = state.frame(at)
    recovering = frame.recovery if frame is not None else None
    if recovering is None or recovering.stage not in ("decided", "elapsed"):
        return "no recovery has been decided there, or its delay has not elapsed"
    sound = record.data["records"] == sorted(
        seq for _, frame in frames_of(state, recovering.redo) for seq in frame.seqs
    )
    return _undone(state, recovering, record) if sound else "it does not supersede the redo set that was decided"


def _undone(state: State, recovering: Recovering, record: Record) -> str | None:
    """Successes of the redo set are compensated, those that came last first."""
    found = {address: frame.info for address, frame in frames_of(state, recovering.redo)}
    infos = [found.get(address_of(each)) for each in record.data["undo"]]
    done = [each.success for each in infos if isinstance(each, Attempt) and not (each.undone or each.suppressed)]
    if len(done) != len(infos) or not all(done) or done != sorted(set(done), reverse=True):
        return "what it compensates are not the successes of the redo set, the last one first"
    known = all(isinstance(found.get(address_of(each)), Attempt) for each in record.data["unsure"])
    return None if known else "the redo set does not have an action that it is not sure of"


def _undo_prepared(state: State, record: Record, _at: Address) -> str | None:
    data = record.data
    problem = fixed_call(data)
    if problem is not None:
        return problem
    if record.id != join(data["of"], UNDO) or data["number"] <= (state.compensated.get(data["of"]) or 0):
        return "it is not the next compensation of the step that it names"
    recovering = _scope_of(state, record)
    if recovering is None or recovering.stage != "superseded" or recovering.undo is not None:
        return "no compensation is due"
    return None if recovering.queue[:1] == (record.data["of"],) else "another compensation is due first"


def _undo_going_on(state: State, record: Record, _at: Address) -> str | None:
    recovering = _scope_of(state, record)
    undo = recovering.undo if recovering is not None else None
    if record.id != join(record.data["of"], UNDO):
        return "it stands at another step than the one that it names"
    if recovering is None or recovering.stage != "superseded":
        return "no compensation is under way"
    if undo is None:  # of a dry run, or arguments without a value: nothing was prepared
        sound = record.kind in ("compensation.succeeded", "compensation.failed")
        return None if sound and recovering.queue[:1] == (record.data["of"],) else "no compensation is under way"
    if undo.of != record.data["of"] or undo.hold is not None:
        return "another compensation is under way, or it is held"
    phases: tuple[str, ...] = ("dispatched",)
    if record.kind == "compensation.dispatched":
        phases = ("prepared", "reissue", "ambiguous", "dispatched")
        expected = 0 if undo.phase == "prepared" else undo.reissue + 1
        if record.data["reissue"] != expected:
            return f"it is reissue {record.data['reissue']}, and {expected} must follow"
    return None if undo.phase in phases else "no undo is out whose outcome it could be"


def _generation(state: State, record: Record, at: Address) -> str | None:
    frame = state.frame(at)
    recovering = frame.recovery if frame is not None else None
    if recovering is None or recovering.stage != "superseded" or recovering.queue:
        return "no recovery has come so far"
    if record.data["started"] != recovering.generation or record.generation != recovering.generation:
        return f"generation {recovering.generation} must start"
    return None


def _reused(_state: State, record: Record, _at: Address) -> str | None:
    if record.data["of"] not in KINDS:
        return "`of` is not a kind of record"
    return None if record.data["source"] >= 1 else "its source is not a record"


def _invalidated(state: State, record: Record, at: Address) -> str | None:
    data = record.data
    if data["cause"] not in INVALIDATIONS:
        return f"`{data['cause']}` is not a cause"
    if not all(type(each) is int and each >= 1 for each in data["discarded"]):
        return "what it discards are not records"
    if not all(type(each) is int and each >= 1 for each in data.get("compensated", {}).values()):
        return "a number of compensations is at least 1"
    told = [*data["effects"], *data.get("keys", ())]
    sound = all(isinstance(each, dict) and isinstance(each.get("action"), str) for each in told)
    return _reused(state, record, at) if sound else "it does not tell of which actions"


RECOVERY_CHECKS: Final[dict[str, Check]] = {
    "hold.entered": _hold,
    "operator.decided": _decided,
    "recovery.decided": _recovery,
    "history.superseded": _superseded,
    "compensation.prepared": _undo_prepared,
    "compensation.dispatched": _undo_going_on,
    "compensation.succeeded": _undo_going_on,
    "compensation.failed": _undo_going_on,
    "compensation.ambiguous": _undo_going_on,
    "generation.started": _generation,
    "boundary.reused": _reused,
    "boundary.invalidated": _invalidated,
}
