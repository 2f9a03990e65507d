"""What the records of recovery, compensation and holds make of a state; a part of ``evolve``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final

from sim_runtime.core.evolve_prior import (
    decide_orphan,
    forget_prior,
    forget_undone,
    hold_orphan,
    is_orphan,
)
from sim_runtime.core.frames import (
    Attempt,
    Authorization,
    Broken,
    Failure,
    Frame,
    Hold,
    Members,
    Recovering,
    Run,
    State,
    Undo,
    key_name,
)
from sim_runtime.core.persistent import appended
from sim_runtime.core.tree import put, update
from sim_runtime.history.paths import UNDO, Address, address_of
from sim_runtime.history.records import Record

#: What stands for the attempt of an action that was held before anything was prepared.
UNSENT: Final = Attempt("", "write", "none", {}, None, None, None, 0)


# ---- holds --------------------------------------------------------------------------------------


def hold(state: State, record: Record, address: Address) -> None:
    """``hold.entered``; that of an undo stands at its scope."""
    data = record.data
    entered = Hold(data["reason"], tuple(data["allowed"]), data.get("code"))

    def change(frame: Frame) -> None:
        frame.held += 1
        if "scope" in data and frame.recovery is not None and frame.recovery.undo is not None:
            frame.recovery = frame.recovery._replace(undo=frame.recovery.undo._replace(hold=entered))
        else:
            frame.hold = entered

    if data["reason"] == "unsafe_continuation" and is_orphan(state, address):
        hold_orphan(state, record.id, entered)
    else:
        update(state, _scope(record, address), record.seq, change)


def decided(state: State, record: Record, address: Address) -> None:
    """``operator.decided``."""
    if "scope" in record.data:
        _undo_decided(state, record)
        return
    if record.id in state.orphans:
        if record.data["decision"] == "succeed" and record.id.endswith(UNDO):
            _undo_established(state, record)
        decide_orphan(state, record)
        return
    update(state, address, record.seq, lambda frame: _apply(frame, record))
    _settle(state, record.id)


def _apply(frame: Frame, record: Record) -> None:
    data = record.data
    frame.held -= 1
    frame.hold = None
    attempt = frame.info if isinstance(frame.info, Attempt) else UNSENT
    if data["decision"] == "succeed":
        frame.phase = "answered"
        frame.value = data["result"]
        frame.failure = None
        frame.info = attempt._replace(success=record.seq)
    elif data["decision"] == "fail":
        frame.phase = "attempt_failed"
        frame.failure = _failure(record, record.id)
        frame.info = attempt
    elif data["decision"] == "reissue":
        frame.phase = "reissue"
        frame.failure = None
    else:
        frame.authorized = Authorization(data["actor"], record.at)


def _failure(record: Record, failed: str) -> Failure:
    told = record.data["failure"]
    return Failure(told["code"], told["message"], told["details"], failed, told["retryable"], seq=record.seq)


def _undo_decided(state: State, record: Record) -> None:
    data = record.data
    decision = data["decision"]
    of = record.id[: -len(UNDO) - 1]
    number = _number_of_undo(state, data["scope"])

    def change(frame: Frame) -> None:
        frame.held -= 1
        recovering = frame.recovery
        if recovering is None or recovering.undo is None:
            return
        if decision == "succeed":
            frame.recovery = recovering._replace(queue=recovering.queue[1:], undo=None)
        elif decision == "fail":
            frame.recovery = None
            frame.broken = Broken(_failure(record, recovering.failure.failed), "limit")
        elif recovering.undo.phase == "failed":
            frame.recovery = recovering._replace(undo=None)
        else:
            frame.recovery = recovering._replace(undo=recovering.undo._replace(hold=None, phase="reissue"))

    update(state, address_of(data["scope"]), record.seq, change)
    if decision == "succeed":
        _count(state, of, number)


def _undo_established(state: State, record: Record) -> None:
    """An undo that a run before sent took effect, an operator says: it counts, and is not sent again."""
    of = record.id[: -len(UNDO) - 1]
    undo = state.prior.get(record.id)
    address = address_of(of)

    def change(frame: Frame) -> None:
        recovering = frame.recovery
        if recovering is not None:
            left = tuple(each for each in recovering.queue if each != of)
            going_on = recovering.undo if recovering.undo is not None and recovering.undo.of != of else None
            frame.recovery = recovering._replace(queue=left, undo=going_on)

    for depth in range(len(address)):
        scope = state.frame(address[:depth])
        if scope is not None and scope.recovery is not None and of in scope.recovery.queue:
            update(state, address[:depth], record.seq, change)
            break
    forget_undone(state, of, undo)
    _note_undone(state, of, undo.number if undo is not None else 0)


def _number_of_undo(state: State, scope: str) -> int:
    """The number of the compensation under way in a scope; 0 when it was not prepared."""
    frame = state.frame(address_of(scope))
    undo = frame.recovery.undo if frame is not None and frame.recovery is not None else None
    return undo.number if undo is not None and undo.action else 0


def _count(state: State, of: str, number: int) -> None:
    """An action was compensated: that counts in its key, and it is not compensated again. The compensation with this
    ``number`` counts once, also where it is known from a run before; without one (0) it is the next."""
    _settle(state, of)
    _note_undone(state, of, number)


def _note_undone(state: State, of: str, number: int) -> None:
    count = state.compensated.get(of) or 0
    state.compensated = state.compensated.set(of, max(count, number or count + 1))
    frame = state.frame(address_of(of))
    if frame is not None and isinstance(frame.info, Attempt):
        undone = frame.copy()
        undone.info = frame.info._replace(undone=True)
        put(state, address_of(of), undone)


def _settle(state: State, id_: str) -> None:
    """It is known now what an action did."""
    if state.unsure.get(id_):
        state.unsure = state.unsure.set(id_, False)
    forget_prior(state, id_)


def _scope(record: Record, address: Address) -> Address:
    return address_of(record.data["scope"]) if "scope" in record.data else address


# ---- recovery -----------------------------------------------------------------------------------


def _recovery(state: State, record: Record, address: Address) -> None:
    data = record.data
    failure = Failure(data["code"], data["message"], data["details"], data["failed"], seq=record.seq)
    recovering = Recovering(failure, tuple(data["set"]), data["next_generation"], data["since"], data["delay"])

    def change(frame: Frame) -> None:
        frame.recovery = recovering
        frame.authorized = None

    update(state, address, record.seq, change)
    state.last_generation = data["next_generation"]
    if "authorized_by" not in data:
        before = state.activations.get(record.id) or ()
        state.activations = state.activations.set(record.id, appended(before, data["time"]))


def _superseded(state: State, record: Record, address: Address) -> None:
    scope = state.frame(address)
    for id_ in scope.recovery.redo if scope is not None and scope.recovery is not None else ():
        frame = state.frame(address_of(id_))
        if frame is not None:
            left = _without_records(frame)
            left.gone = True
            put(state, address_of(id_), left)

    def change(frame: Frame) -> None:
        if frame.recovery is not None:
            frame.recovery = frame.recovery._replace(stage="superseded", queue=tuple(record.data["undo"]))

    update(state, address, record.seq, change)
    for id_ in record.data["unsure"]:
        state.unsure = state.unsure.set(id_, True)


def _without_records(frame: Frame) -> Frame:
    """A frame and everything below it, no record of which is active any more."""
    new = frame.copy()
    new.seqs = ()
    new.children = {name: _without_records(child) for name, child in frame.children.items()}
    if frame.items is not None:
        new.items = frame.items.each(_without_records)
    return new


def _undo_change(state: State, record: Record, make: Callable[[Undo | None], Undo | None]) -> None:
    def change(frame: Frame) -> None:
        if frame.recovery is not None:
            frame.recovery = frame.recovery._replace(undo=make(frame.recovery.undo))

    update(state, address_of(record.data["scope"]), record.seq, change)


def _undo_prepared(state: State, record: Record, _address: Address) -> None:
    data = record.data
    undo = Undo(
        data["of"],
        "prepared",
        data["number"],
        data["action"],
        data["effect"],
        data["idempotency"],
        data["arguments"],
        data["connection"],
        data["key"],
    )
    _undo_change(state, record, lambda _before: undo)


def _undo_dispatched(state: State, record: Record, _address: Address) -> None:
    _undo_change(
        state,
        record,
        lambda undo: undo and undo._replace(phase="dispatched", reissue=record.data["reissue"], dispatched=record.seq),
    )
    scope = state.frame(address_of(record.data["scope"]))
    undo = scope.recovery.undo if scope is not None and scope.recovery is not None else None
    if undo is not None and undo.key is not None:
        name = key_name(undo.action, undo.key)
        if name not in state.keys:
            state.keys = state.keys.set(name, undo.arguments, state.making)


def _undo_succeeded(state: State, record: Record, _address: Address) -> None:
    """Also of an undo that a dry run does not send: then nothing was prepared."""
    number = _number_of_undo(state, record.data["scope"])

    def change(frame: Frame) -> None:
        if frame.recovery is not None:
            frame.recovery = frame.recovery._replace(queue=frame.recovery.queue[1:], undo=None)

    update(state, address_of(record.data["scope"]), record.seq, change)
    _count(state, record.data["of"], number)


def _undo_failed(state: State, record: Record, _address: Address) -> None:
    """Also of an undo whose arguments have no value: then nothing was prepared."""
    failed = Undo(record.data["of"], "failed", code=record.data["code"])
    _undo_change(
        state,
        record,
        lambda undo: failed if undo is None else undo._replace(phase="failed", code=record.data["code"]),
    )


def _undo_ambiguous(state: State, record: Record, _address: Address) -> None:
    _undo_change(state, record, lambda undo: undo and undo._replace(phase="ambiguous", code=record.data["code"]))


def _generation(state: State, record: Record, address: Address) -> None:
    frame = state.frame(address)
    redo = frame.recovery.redo if frame is not None and frame.recovery is not None else ()
    for id_ in redo:
        _remove(state, address, address_of(id_))

    def change(scope: Frame) -> None:
        scope.recovery = None
        scope.broken = None

    update(state, address, record.seq, change)
    state.generation = max(state.generation, record.data["started"])


def _remove(state: State, scope: Address, target: Address) -> None:
    """Take a superseded frame out; the ones around it, up to the scope, are in progress again."""
    gone = state.frame(target)
    if gone is None:
        return
    segment = target[-1]

    def change(parent: Frame) -> None:
        if isinstance(parent.info, Run) and segment in parent.info.entries:
            _forget_entry(parent, segment)
        elif isinstance(parent.info, Members):
            _free_place(parent, gone)
        else:
            parent.cursor = min(parent.cursor, gone.index)

    put(state, target, None, change)
    for depth in range(len(scope) + 1, len(target)):
        around = state.frame(target[:depth])
        if around is not None and around.broken is not None:
            mended = around.copy()
            mended.broken = None
            put(state, target[:depth], mended, _mend if around.info is None else None)


def _forget_entry(run: Frame, segment: str) -> None:
    kept: Sequence[str] = ()
    for each in takewhile(lambda each: each != segment, run.info.entries):
        kept = appended(kept, each)
    run.info = run.info._replace(entries=kept, next=segment.partition("#")[0])


def _free_place(parent: Frame, gone: Frame) -> None:
    members: Members = parent.info
    active = members.active - (0 if gone.over else 1)
    broken = members.broken - (1 if gone.broken is not None else 0)
    place = min(members.next, gone.index) if parent.items is not None else members.next
    parent.info = members._replace(next=place, active=active, broken=broken)


def _mend(parent: Frame) -> None:
    if isinstance(parent.info, Members):
        parent.info = parent.info._replace(broken=parent.info.broken - 1)


RECOVERY_HANDLERS: Final[dict[str, Callable[[State, Record, Address], None]]] = {
    "hold.entered": hold,
    "operator.decided": decided,
    "recovery.decided": _recovery,
    "history.superseded": _superseded,
    "compensation.prepared": _undo_prepared,
    "compensation.dispatched": _undo_dispatched,
    "compensation.succeeded": _undo_succeeded,
    "compensation.failed": _undo_failed,
    "compensation.ambiguous": _undo_ambiguous,
    "generation.started": _generation,
}
