"""Reconstruction: the state that a history represents at one of its durable boundaries, exactly as it is recorded.

It is the fold of the records and nothing else: no expression is evaluated, nothing is called, no clock is read and
nothing goes on (R-RCN-02). The definition is not needed, and not looked at (R-RCN-03).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from analyzer.expressions.values import to_json
from sim_runtime.core.frames import State
from sim_runtime.driver.report import VERSION, holds_json, outcome, waiting
from sim_runtime.history.load import History
from sim_runtime.history.paths import UNDO
from sim_runtime.history.records import Record
from sim_runtime.replay.observing import ambiguous, bindings, entries, in_progress
from sim_runtime.replay.reading import boundary_before, refuse_empty, validate

Json: TypeAlias = Any

#: What differs between two boundaries is looked for in these parts of the report.
_COMPARED: Final = (
    "status",
    "result",
    "stop",
    "cancel",
    "failure",
    "bindings",
    "waiting",
    "holds",
    "generation",
    "active",
    "entries",
    "ambiguous",
)
_GONE: Final = object()


@dataclass(slots=True)
class Reconstruction:
    """The state at the boundary ``at``, and what the history tells beside it."""

    history: History
    at: Record
    state: State

    @property
    def records(self) -> list[Record]:
        """The records up to the boundary."""
        return self.history.records[: self.at.seq]

    def json(self) -> dict[str, Json]:
        """The JSON of ``workfile history reconstruct``."""
        state, records = self.state, self.records
        kinds = {each.id: each.data["step"] for each in records if each.kind == "step.started"}
        undone = {each.id: each.seq for each in records if each.kind == "compensation.ambiguous"}
        at = {"seq": self.at.seq, "kind": self.at.kind, "path": self.at.path}
        return {
            "version": VERSION,
            "operation": "reconstruct",
            "at": at,
            **outcome(state, records[0].at, self.at.at),
            "bindings": bindings(state, kinds),
            "waiting": waiting(state),
            "holds": holds_json(state),
            "crashes": interruptions(records),
            "generation": state.generation,
            "history": {"records": len(records), "digest": f"sha256:{self.history.digests[self.at.seq - 1]}"},
            "active": in_progress(state),
            "entries": entries(state),
            "ambiguous": ambiguous(state, undone),
            "superseded": superseded(records),
            "withheld": [
                {"path": each.path, "class": each.class_, "seq": each.seq}
                for each in self.history.withheld
                if each.seq <= self.at.seq
            ],
        }


def reconstruct(history: History, seq: int | None = None) -> Reconstruction:
    """The state at the last durable boundary at or before ``seq``, or at the end.

    Raises:
        Refused: the history contradicts itself somewhere, or has no boundary there.
        NoBoundary: ``seq`` is no number of a record.
    """
    refuse_empty(history)
    at = history.records[-1] if seq is None else boundary_before(history, seq)
    return Reconstruction(history, at, validate(history, at.seq))


def interruptions(records: list[Record]) -> int:
    """How many crashes left a trace: calls that were out were interrupted, all of one crash one after the other."""
    count = 0
    going_on = False
    for record in records:
        lost = record.kind in ("action.ambiguous", "compensation.ambiguous") and record.data["code"] == "interrupted"
        count += lost and not going_on
        going_on = lost
    return count


def superseded(records: list[Record]) -> list[dict[str, Json]]:
    """The superseded records in order, with what came of them and whether their action was compensated."""
    found: dict[int, dict[str, Json]] = {}
    open_: dict[str, list[dict[str, Json]]] = {}
    for record in records:
        if record.kind == "history.superseded":
            for seq in record.data["records"]:
                old = records[seq - 1]
                entry = {
                    "path": old.path,
                    "generation": old.generation,
                    "kind": old.kind,
                    "seq": seq,
                    "result": to_json(old.data.get("result", old.data.get("value"))),
                    "compensated": False,
                }
                found[seq] = entry
                open_.setdefault(old.id, []).append(entry)
        elif _is_compensated(record):
            for entry in open_.pop(record.data.get("of") or record.id.removesuffix(f".{UNDO}"), []):
                entry["compensated"] = True
        elif record.kind == "generation.started":
            open_.clear()
    return [found[seq] for seq in sorted(found)]


def _is_compensated(record: Record) -> bool:
    if record.kind == "compensation.succeeded":
        return True
    return record.kind == "operator.decided" and "scope" in record.data and record.data["decision"] == "succeed"


# ---- two boundaries -----------------------------------------------------------------------------


def changes(before: dict[str, Json], after: dict[str, Json]) -> list[dict[str, Json]]:
    """What differs between two reconstructions of one history: ``{at, before, after}``, null where nothing was."""
    found: list[dict[str, Json]] = []
    for name in _COMPARED:
        _compare(name, before[name], after[name], found)
    return found


def _compare(at: str, before: Json, after: Json, found: list[dict[str, Json]]) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            _compare(f"{at}.{name}", before.get(name, _GONE), after.get(name, _GONE), found)
    elif isinstance(before, list) and isinstance(after, list) and at.startswith("bindings"):
        for place in range(max(len(before), len(after))):
            old = before[place] if place < len(before) else _GONE
            new = after[place] if place < len(after) else _GONE
            _compare(f"{at}[{place}]", old, new, found)
    elif before is not after and (type(before) is not type(after) or before != after):
        there = {"before": before, "after": after}
        found.append({"at": at, **{name: None if each is _GONE else each for name, each in there.items()}})
