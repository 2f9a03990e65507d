"""JSON Schemas of what ``workfile history … --format json`` prints; ``workfile_cli.reports`` has the others."""

from __future__ import annotations

from typing import Final

from sim_runtime.history.refusal import CLASSES as WITHHELD
from sim_runtime.history.refusal import REASONS
from sim_runtime.replay.divergence import CAUSES, INVALIDATED, PINS
from sim_runtime.replay.impact import CLASSES
from workfile_cli.reports import (
    ANYTHING,
    COUNT,
    FLAG,
    NAME,
    POSITIVE,
    STATUSES,
    TEXT,
    VERSION,
    Schema,
    list_of,
    map_of,
    named,
    one_of,
    or_null,
    run_parts,
)

_KIND_AND_PATH: Final[dict[str, Schema]] = {"kind": NAME, "path": TEXT}
_BOUNDARY: Final[dict[str, Schema]] = {"seq": POSITIVE, **_KIND_AND_PATH}


def refusal() -> Schema:
    """Why a history is refused."""
    first = map_of({"seq": POSITIVE, "kind": or_null(TEXT), "path": or_null(TEXT)})
    boundary: Schema = {"anyOf": [first, {"const": "header"}]}
    return map_of({"reason": one_of(tuple(REASONS)), "boundary": boundary, "missing": list_of(NAME), "message": NAME})


def _or_refused(report: Schema, operation: str) -> Schema:
    outcome = {"operation": {"const": operation}, "outcome": {"const": "refused"}}
    return {"anyOf": [report, map_of({"version": VERSION, **outcome, "refusal": refusal()})]}


def reconstruct() -> Schema:
    """The state at a boundary, or a refusal."""
    parts = {name: each for name, each in run_parts().items() if name not in ("effects", "calls")}
    superseded = {"generation": COUNT, **_BOUNDARY, "result": ANYTHING, "compensated": FLAG}
    change = map_of({"at": NAME, "before": ANYTHING, "after": ANYTHING})
    report = map_of(
        {
            **parts,
            "operation": {"const": "reconstruct"},
            "at": map_of(_BOUNDARY),
            "active": list_of(NAME),
            "entries": list_of(map_of({"path": TEXT, "state": NAME, "entry": POSITIVE, "current": FLAG})),
            "ambiguous": list_of(map_of({"path": NAME, "attempt": POSITIVE, "seq": COUNT})),
            "superseded": list_of(map_of(superseded)),
            "withheld": list_of(map_of({"path": TEXT, "class": one_of(WITHHELD), "seq": POSITIVE})),
        },
        {"since": map_of({"at": map_of(_BOUNDARY), "changes": list_of(change)})},
    )
    return _or_refused(report, "reconstruct")


def _divergence(*more: str) -> Schema:
    record = map_of({**_KIND_AND_PATH, "data": named(ANYTHING)})
    told = {"generation": COUNT, "cause": one_of((*CAUSES, *more)), "recorded": record, "evaluated": or_null(record)}
    return or_null(map_of({**_BOUNDARY, **told}))


def reevaluate() -> Schema:
    """What came of each history."""
    history = {
        "path": NAME,
        "run": or_null(NAME),
        "definition": one_of(("pinned", "other")),
        "outcome": one_of(("compatible", "divergent", "refused")),
        "divergence": _divergence(),
        "refusal": or_null(refusal()),
    }
    operation: Schema = {"const": "reevaluate"}
    return map_of({"version": VERSION, "operation": operation, "histories": list_of(map_of(history))})


def continue_() -> Schema:
    """The run that went on, or a refusal."""
    report = map_of(
        {
            **run_parts(),
            "operation": {"const": "continue"},
            "lineage": or_null(map_of({"run": NAME, "seq": COUNT})),
            "reused": list_of(map_of(_BOUNDARY)),
            "invalidated": or_null(map_of({**_BOUNDARY, "cause": one_of(tuple(INVALIDATED))})),
            "discarded": list_of(POSITIVE),
        }
    )
    return _or_refused(report, "continue")


def impact() -> Schema:
    """The changes of a Workfile, and what they mean for recorded runs."""
    classes = one_of(tuple(CLASSES))
    change = {
        "change": one_of(("added", "removed", "renamed", "moved", "changed")),
        "path": TEXT,
        "key": or_null(NAME),
        "old": ANYTHING,
        "new": ANYTHING,
        "line": or_null(POSITIVE),
        "class": classes,
        "point": or_null(TEXT),
        "message": NAME,
        "runs": list_of(NAME),
    }
    history = {
        "path": NAME,
        "run": or_null(NAME),
        "status": or_null(one_of(STATUSES)),
        "class": or_null(classes),
        "divergence": _divergence(PINS),
        "holds": list_of(NAME),
        "refusal": or_null(refusal()),
    }
    return map_of(
        {
            "version": VERSION,
            "operation": {"const": "impact"},
            "workflow": NAME,
            "class": classes,
            "changes": list_of(map_of(change)),
            "histories": list_of(map_of(history)),
        }
    )
