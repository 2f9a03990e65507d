"""What a history says of calls: their outcomes, and effects outside that may stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sim_runtime.core.frames import key_name
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
    return {id_: each for (id_, _), each in book.effects.items() if each.may_stand and each.sent}


class _Book:
    """Follows the calls of a history. An undo's effect is kept by the number of the compensation: a later one of the
    same action ends another effect."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.prepared: dict[str, Record] = {}
        self.effects: dict[tuple[str, int], Effect] = {}
        self.begun: set[str] = set()

    def prepare(self, record: Record) -> None:
        self.prepared[record.id] = record

    def begin(self, record: Record) -> None:
        self.begun.add(record.id)

    def end(self, record: Record) -> None:
        self.begun.discard(record.id)

    def effect(self, id_: str) -> Effect | None:
        """The effect of what was prepared last at an action or undo."""
        prepared = self.prepared.get(id_)
        return self.effects.get((id_, _number(prepared))) if prepared is not None else None

    def send(self, record: Record) -> None:
        prepared = self.prepared.get(record.id)
        if prepared is None or record.seq < self.since or prepared.data["effect"] == "read":
            return
        effect = self.effects.setdefault((record.id, _number(prepared)), Effect(prepared))
        effect.prepared = prepared
        effect.out = True
        effect.sent.append(record)

    def carried(self, record: Record) -> None:
        """What a successor run was told of the run before it."""
        for each in record.data["effects"] if record.seq >= self.since else ():
            told = {**each, "effect": "write", "attempt": 1, "reissue": 0}
            prepared = Record(record.seq, record.at, "action.prepared", each["id"], each["generation"], told)
            self.prepared[each["id"]] = prepared
            happened = each.get("happened", False)
            self.effects[each["id"], _number(prepared)] = Effect(prepared, happened, not happened, [prepared])

    def outcome(self, record: Record) -> None:
        effect = self.effect(record.id)
        if effect is None:
            return
        data = record.data
        told = data.get("outcome") or data.get("decision") or record.kind.rpartition(".")[2]
        if told in ("succeeded", "succeed"):
            effect.happened, effect.out = True, False
            self.undone(record)
        elif told in ("failed", "no_effect") or (told == "fail" and self.is_of_run(record)):
            effect.happened = effect.happened or _took_effect(record)
            effect.out = False

    def is_of_run(self, record: Record) -> bool:
        """Whether a decision is on an action or undo of this run: of one that only a run before had nothing is learnt
        by ending the run."""
        return record.id in self.begun or "scope" in record.data

    def undone(self, record: Record) -> None:
        """A compensation took effect: what it undoes does not stand any more, and where that is known of here, neither
        does the undo. What was sent again after it stands."""
        if not record.id.endswith(UNDO):
            return
        of = record.id[: -len(UNDO) - 1]
        undo = self.prepared[record.id]
        effect = self.effects.get((of, 0))
        if effect is not None and effect.may_stand and effect.prepared.generation <= undo.generation:
            effect.happened = effect.out = False
            self.effects.pop((record.id, _number(undo)), None)


def _number(prepared: Record) -> int:
    """The number of the compensation that is prepared; 0 of an action."""
    return int(prepared.data.get("number", 0))


def _took_effect(record: Record) -> bool:
    """Whether a definite failure tells of an effect all the same: a result that did not fit is one of something."""
    if record.kind == "compensation.failed":
        return bool(record.data["code"] == "output.invalid")
    return bool(record.data.get("effect", "none") != "none")


def ended_keys(records: Iterable[Record], since: int) -> set[str]:
    """The keys whose effect was compensated at or after record ``since``, as a state knows keys."""
    found: set[str] = set()
    keys: dict[str, str] = {}
    for record in records:
        data = record.data
        if record.kind == "action.prepared" and data["key"] is not None:
            keys[record.id] = key_name(data["action"], data["key"])
        elif record.seq < since:
            continue
        elif record.kind == "boundary.invalidated":
            found.update(key_name(each["action"], each["key"]) for each in data.get("keys", ()) if each["ended"])
        elif record.kind == "compensation.succeeded" or (
            record.kind == "operator.decided" and data["decision"] == "succeed" and record.id.endswith(UNDO)
        ):
            found.add(keys.get(record.id[: -len(UNDO) - 1], ""))
    found.discard("")
    return found


_TOLD: Final[dict[str, Callable[[_Book, Record], None]]] = {
    "step.started": _Book.begin,
    "step.succeeded": _Book.end,
    "step.failed": _Book.end,
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
