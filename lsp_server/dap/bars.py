"""What was in progress when: one bar for each execution of a step or state, for a drawing over virtual time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import is_below, shown_path
from sim_runtime.history.records import Record

if TYPE_CHECKING:
    from lsp_server.dap.session import Session

Json: TypeAlias = Any

MAX_BARS: Final = 5_000

_ENDS: Final = {
    "step.succeeded": "succeeded",
    "step.failed": "failed",
    "route.selected": "succeeded",
}
_WAITS: Final = {
    "timer.set": "waiting",
    "subscription.opened": "waiting",
    "retry.scheduled": "retry",
    "hold.entered": "held",
    "action.dispatched": "out",
    "child.started": "child",
}


def bars_of(session: Session, records: Iterable[Record]) -> list[Json]:
    """The bars in the order in which they began; ``to`` is None of what is in progress."""
    bars: list[dict[str, Json]] = []
    open_: dict[str, dict[str, Json]] = {}
    for record in records:
        kind, id_ = record.kind, record.id
        if kind in ("step.started", "step.skipped", "state.entered"):
            if kind == "state.entered":
                _leave(open_, id_, record)
            bar = _bar(session, record)
            bars.append(bar)
            if kind != "step.skipped":
                open_[id_] = bar
        elif kind in _ENDS:
            _end(open_.pop(id_, None), record, _ENDS[kind])
        elif kind in _WAITS and id_ in open_:
            open_[id_]["state"] = _WAITS[kind]
        elif kind in ("action.succeeded", "operator.decided", "timer.fired") and id_ in open_:
            open_[id_]["state"] = "running"
        elif kind == "history.superseded":
            _supersede(bars, open_, set(record.data["records"]), record)
        elif kind == "run.finished" and not id_:
            for bar in open_.values():
                _end(bar, record, "left")
            open_.clear()
    return bars[-MAX_BARS:]


def _bar(session: Session, record: Record) -> dict[str, Json]:
    file, spot = session.program.locate(record.id)
    skipped = record.kind == "step.skipped"
    return {
        "id": record.id,
        "path": shown_path(record.id),
        "kind": "state" if record.kind == "state.entered" else record.data.get("step", "step"),
        "generation": record.generation,
        "seq": record.seq,
        "from": time_text(record.at),
        "fromUs": record.at,
        "to": time_text(record.at) if skipped else None,
        "toUs": record.at if skipped else None,
        "state": "skipped" if skipped else "running",
        "superseded": False,
        "file": None if file.reference else file.path,
        "line": None if spot is None else spot.line + 1,
    }


def _end(bar: dict[str, Json] | None, record: Record, state: str) -> None:
    if bar is not None and bar["to"] is None:
        bar["to"], bar["toUs"], bar["state"] = time_text(record.at), record.at, state


def _leave(open_: dict[str, dict[str, Json]], id_: str, record: Record) -> None:
    """A state is entered: the one before it is left, with what was in progress there."""
    above = id_.rpartition("/")[0]
    for other in [each for each in open_ if each.rpartition("/")[0] == above and open_[each]["kind"] == "state"]:
        for inside in [each for each in open_ if is_below(each, other)]:
            _end(open_.pop(inside), record, "left" if inside != other else "succeeded")


def _supersede(bars: list[dict[str, Json]], open_: dict[str, dict[str, Json]], seqs: set[int], record: Record) -> None:
    for bar in bars:
        if bar["seq"] in seqs:
            bar["superseded"] = True
            _end(bar, record, "left")
            if open_.get(bar["id"]) is bar:
                del open_[bar["id"]]
