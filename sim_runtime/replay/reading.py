"""Reading a history for an operation: loaded, every transition checked, and the boundary that was asked for."""

from __future__ import annotations

from typing import Any, Final

from analyzer.expressions.times import parse_timestamp
from analyzer.language.durations import parse_duration
from analyzer.memory import paused_collection
from sim_runtime.core.frames import EMPTY, State
from sim_runtime.history.legal import taken
from sim_runtime.history.load import History, load_history
from sim_runtime.history.records import Record
from sim_runtime.history.refusal import WITHHELD, Refusal, Refused, is_withheld, refused_from

#: The text that stands for a withheld identifier while a history is folded: it is compared, never shown.
_TOKEN: Final = "\x00withheld"
_IDENTIFIERS: Final = ("delivery", "key", "base")


class NoBoundary(ValueError):
    """What was asked for is no place in the history; the message says what is."""


def read(path: str) -> History:
    """The history of a file: its lines, pins, digests and shapes are sound. One that ends before its first boundary has
    no records. Raises ``Refused``."""
    with paused_collection():
        return load_history(path, unfinished=True)


def validate(history: History, keep: int | None = None) -> State:
    """Check every transition of a history; the state after its record ``keep`` (the last one when not given).

    Raises:
        Refused: a record contradicts those before it; it is the boundary of the refusal. Or there is none.
    """
    refuse_empty(history)
    records = history.records
    keep = records[-1].seq if keep is None else keep
    hidden = bool(history.withheld)
    kept = state = EMPTY.copy()
    state.making = object()
    with paused_collection():
        for record in records:
            problem = taken(state, _with_tokens(record) if hidden else record)
            if problem is not None:
                raise Refused(refusal_at(record, "inconsistent", problem))
            if record.seq == keep:
                kept = state.copy()
                state.making = object()  # what is kept changes no more
    return kept


def refuse_empty(history: History) -> None:
    """Refuse a history that ended before its first boundary: nothing of it was durable."""
    if not history.records:
        boundary = {"seq": 1, "kind": None, "path": None}
        message = "The history cannot be used from record 1 on: it ends before its first durable boundary."
        raise Refused(Refusal("absent", boundary, message, ("run.started",)))


def refusal_at(record: Record, reason: str, message: str, missing: tuple[str, ...] = ()) -> Refusal:
    """The refusal of a history from a record on; ``message`` has no full stop."""
    boundary: dict[str, Any] = {"seq": record.seq, "kind": record.kind, "path": record.path}
    return refused_from(boundary, reason, message, missing)


def _with_tokens(record: Record) -> Record:
    """The record with a text where an identifier was withheld, so that it can be looked up."""
    data = record.data
    if not any(is_withheld(data.get(name)) for name in _IDENTIFIERS):
        return record
    shown = {name: _TOKEN if name in _IDENTIFIERS and is_withheld(each) else each for name, each in data.items()}
    return Record(record.seq, record.at, record.kind, record.id, record.generation, shown, record.boundary)


# ---- the boundary that is asked for -------------------------------------------------------------


def boundary_at(history: History, at: str | None) -> Record:
    """The durable boundary that ``at`` means: a sequence number, an instant or a time since the run's start (the last
    boundary at or before it), or a step path (the boundary that made the last record about the step durable).

    Raises:
        NoBoundary: it is none of these, or nothing is there.
        Refused: there is no boundary at or before it.
    """
    refuse_empty(history)
    if at is None:
        return history.records[-1]
    text = at.strip()
    if text.isascii() and text.lstrip("-").isdigit():
        return boundary_before(history, int(text))
    instant = parse_timestamp(text)
    span = None if instant is not None else parse_duration(text)
    if instant is not None or span is not None:
        us = instant.us if instant is not None else history.records[0].at + (span or 0)
        before = [each for each in history.records if each.boundary and each.at <= us]
        if not before:
            raise NoBoundary(f"`{text}` is before the run's first boundary; it was accepted at that of record 1")
        return before[-1]
    return _of_step(history, text)


def boundary_before(history: History, seq: int) -> Record:
    """The last durable boundary at or before a record. Raises ``NoBoundary``, and ``Refused`` when there is none."""
    if seq < 1:
        raise NoBoundary(f"`{seq}` is not a record: they are numbered from 1 to {history.records[-1].seq}")
    for record in reversed(history.records[:seq]):
        if record.boundary:
            return record
    raise Refused(
        refusal_at(history.records[0], "absent", "there is no durable boundary at or before it", ("boundary",))
    )


def _of_step(history: History, path: str) -> Record:
    last = next((each.seq for each in reversed(history.records) if path in (each.path, each.id)), None)
    if last is None:
        from analyzer.language.suggest import hint

        known = list(dict.fromkeys(each.path for each in history.records if each.path))
        raise NoBoundary(
            f"`{path}` is not a record number, a time or a path of a step in this history.{hint(path, known)}"
        )
    return next(each for each in history.records[last - 1 :] if each.boundary)


def withheld_classes(history: History) -> tuple[str, ...]:
    """The classes of what is withheld anywhere in a history, in order."""
    return tuple(dict.fromkeys(each.class_ for each in history.withheld))


__all__ = [
    "WITHHELD",
    "NoBoundary",
    "boundary_at",
    "boundary_before",
    "paused_collection",
    "read",
    "refusal_at",
    "validate",
    "withheld_classes",
]
