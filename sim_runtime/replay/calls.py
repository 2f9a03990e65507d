"""What a history says of calls: their outcomes, and effects outside that may stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sim_runtime.history.paths import UNDO
from sim_runtime.history.records import ACTION_RESULTS, UNDO_RESULTS, Record

#: Where a dispatch stands among those of its step: identity, generation, attempt, reissue.
Place: TypeAlias = tuple[str, int, int, int]

CONTEXT: Final = ("action", "effect", "idempotency", "arguments", "connection", "key")


@dataclass(slots=True)
class RecordedCall:
    """One dispatch: the records that prepared it, sent it, and told of its outcome (None: nothing did)."""

    prepared: Record
    dispatched: Record
    outcome: Record | None = None

    @property
    def place(self) -> Place:
        """Where it stands."""
        data = self.dispatched.data
        return self.dispatched.id, self.dispatched.generation, data["attempt"], data["reissue"]


@dataclass(slots=True)
class Effect:
    """What may stand outside of one action, or of one undo: the call that was sent last, and whether it took effect."""

    prepared: Record
    happened: bool = False
    out: bool = False
    sent: list[Record] = field(default_factory=list)

    @property
    def may_stand(self) -> bool:
        """Whether an effect happened, or might have, and was not ended."""
        return self.happened or self.out


def calls_of(records: Iterable[Record]) -> list[RecordedCall]:
    """Every dispatch of an action with its outcome, in order."""
    found: list[RecordedCall] = []
    prepared: dict[str, Record] = {}
    out: dict[str, RecordedCall] = {}
    for record in records:
        if record.kind == "action.prepared":
            prepared[record.id] = record
        elif record.kind == "action.dispatched" and record.id in prepared:
            out[record.id] = RecordedCall(prepared[record.id], record)
            found.append(out[record.id])
        elif record.kind in ACTION_RESULTS:
            call = out.pop(record.id, None)
            if call is not None:
                call.outcome = record
    return found


def outcomes_after(records: Iterable[Record]) -> dict[str, Record]:
    """The first outcome of each call that was out before these records, by identity (of an undo with ``(undo)``)."""
    found: dict[str, Record] = {}
    sent: set[str] = set()
    for record in records:
        if record.kind in ("action.dispatched", "compensation.dispatched"):
            sent.add(record.id)
        elif record.kind in (*ACTION_RESULTS, *UNDO_RESULTS) and record.id not in sent:
            sent.add(record.id)
            found[record.id] = record
    return found


def effects_of(records: Iterable[Record], since: int) -> dict[str, Effect]:
    """The effects of the writes that were sent at or after record ``since``, by identity, that may still stand. Those
    of undos stand under ``PATH.(undo)``, and only where what they undo was done before."""
    book = _Book(since)
    for record in records:
        make = _TOLD.get(record.kind)
        if make is not None:
            make(book, record)
    return {id_: each for id_, each in book.effects.items() if each.may_stand and each.sent}


class _Book:
    """Follows the calls of a history."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.prepared: dict[str, Record] = {}
        self.effects: dict[str, Effect] = {}

    def prepare(self, record: Record) -> None:
        self.prepared[record.id] = record

    def send(self, record: Record) -> None:
        prepared = self.prepared.get(record.id)
        if prepared is None or record.seq < self.since or prepared.data["effect"] == "read":
            return
        effect = self.effects.setdefault(record.id, Effect(prepared))
        effect.prepared = prepared
        effect.out = True
        effect.sent.append(record)

    def carried(self, record: Record) -> None:
        """What a successor run was told of the run before it."""
        for each in record.data["effects"] if record.seq >= self.since else ():
            told = {**each, "effect": "write", "attempt": 1, "reissue": 0}
            prepared = Record(record.seq, record.at, "action.prepared", each["id"], each["generation"], told)
            self.effects[each["id"]] = Effect(prepared, out=True, sent=[prepared])

    def outcome(self, record: Record) -> None:
        effect = self.effects.get(record.id)
        if effect is None:
            return
        data = record.data
        told = data.get("outcome") or data.get("decision") or record.kind.rpartition(".")[2]
        if told in ("succeeded", "succeed"):
            effect.happened, effect.out = True, False
            self.undone(record)
        elif told in ("failed", "fail", "no_effect"):
            effect.happened = effect.happened or data.get("effect", "none") != "none"
            effect.out = False

    def undone(self, record: Record) -> None:
        """A compensation took effect: what it undoes does not stand any more, and where that is known of here, neither
        does the undo."""
        if not record.id.endswith(UNDO):
            return
        undone = self.effects.get(record.id[: -len(UNDO) - 1])
        if undone is not None and undone.may_stand:
            undone.happened = undone.out = False
            self.effects.pop(record.id, None)


_TOLD: Final[dict[str, Callable[[_Book, Record], None]]] = {
    "action.prepared": _Book.prepare,
    "compensation.prepared": _Book.prepare,
    "boundary.invalidated": _Book.carried,
    "action.dispatched": _Book.send,
    "compensation.dispatched": _Book.send,
    "action.succeeded": _Book.outcome,
    "action.failed": _Book.outcome,
    "reconcile.decided": _Book.outcome,
    "operator.decided": _Book.outcome,
    "compensation.succeeded": _Book.outcome,
    "compensation.failed": _Book.outcome,
}


def superseded_by(records: Iterable[Record]) -> set[int]:
    """The sequence numbers that these records supersede."""
    found: set[int] = set()
    for record in records:
        if record.kind == "history.superseded":
            found.update(record.data["records"])
    return found
