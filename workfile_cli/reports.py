"""JSON Schemas (2020-12) of what the commands print with ``--format json``, version 1 of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.findings import SEVERITIES
from analyzer.language.schemas import DIALECT

Schema: TypeAlias = dict[str, Any]

ANYTHING: Final[Schema] = {}
TEXT: Final[Schema] = {"type": "string"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
FLAG: Final[Schema] = {"type": "boolean"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time", "pattern": "Z$"}
VERSION: Final[Schema] = {"const": 1}

STATUSES: Final = ("running", "suspended", "held", "succeeded", "failed", "stopped", "aborted", "cancelled")
HOLDS: Final = ("ambiguous", "recovery_limit", "undo_failed", "undo_ambiguous", "reissue", "unsafe_continuation")
WAITS: Final = ("timer", "event", "child", "retry", "recovery_delay", "answer", "decision")
CAUSES: Final = ("path", "arguments", "unrecorded", "result", "fault", "decision")
REFUSALS: Final = ("absent", "withheld", "corrupt", "inconsistent", "unsupported_version", "unsupported_definition")
WITHHELD: Final = ("inputs", "trigger", "arguments", "result", "event.payload", "operator.decision")


class Report(NamedTuple):
    """A report: the command that prints it, and what makes its schema."""

    command: str
    build: Callable[[], Schema]


def schema(name: str) -> Schema:
    """The schema of one of ``REPORTS``."""
    entry = REPORTS[name]
    head = {"$schema": DIALECT, "$id": f"{name}.schema.json", "title": f"What `{entry.command}` prints"}
    return {**head, **entry.build()}


# ---- words ---------------------------------------------------------------------------------------


def _map(properties: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with exactly these properties; the optional ones may be left out."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _named(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _one_of(words: tuple[str, ...]) -> Schema:
    return {"enum": list(words)}


def _or_null(wanted: Schema) -> Schema:
    return {"anyOf": [wanted, {"type": "null"}]}


def _place() -> Schema:
    """Lines and columns from 1, columns in code points, the end past the last character."""
    position = _map({"line": POSITIVE, "column": POSITIVE})
    return _map({"start": position, "end": position})


# ---- check, explain, graph, doctor ---------------------------------------------------------------


def _finding() -> Schema:
    related = _map({"path": NAME, "range": _place(), "message": TEXT})
    edit = _map({"path": NAME, "range": _place(), "text": TEXT})
    fix = _map({"title": NAME, "applicability": _one_of(("safe", "unsafe")), "edits": _list(edit)})
    return _map(
        {
            "path": NAME,
            "rule": NAME,
            "code": NAME,
            "severity": _one_of(SEVERITIES),
            "message": NAME,
            "range": _place(),
            "related": _list(related),
            "fixes": _list(fix),
        }
    )


def _check() -> Schema:
    summary = _map(dict.fromkeys(SEVERITIES, COUNT))
    return _map({"version": VERSION, "files": COUNT, "findings": _list(_finding()), "summary": summary})


def _explain() -> Schema:
    rule = _map(
        {
            "name": NAME,
            "code": NAME,
            "severity": _one_of(SEVERITIES),
            "summary": NAME,
            "fixable": FLAG,
            "documentation": NAME,
        }
    )
    return _map({"version": VERSION, "rules": _list(rule)})


def _graph() -> Schema:
    node = _map({"id": NAME, "kind": NAME, "path": TEXT}, {"step": NAME, "action": NAME, "workflow": NAME})
    edge = _map({"from": NAME, "to": NAME, "kind": NAME}, {"label": TEXT})
    step = _map({"step": NAME, "workflow": TEXT})
    failure = _map({"step": TEXT, "how": NAME, "succeeded": _list(NAME)})
    scope = _map(
        {
            "path": TEXT,
            "redo": NAME,
            "then": NAME,
            "failures": _list(failure),
            "members": _list(NAME),
            "unsafe": _list(step),
            "may_hold": _list(step),
        }
    )
    finding = _map({"rule": NAME, "severity": _one_of(SEVERITIES), "message": NAME, "range": _place()})
    parts = {"nodes": _list(node), "edges": _list(edge), "scopes": _list(scope), "findings": _list(finding)}
    return _map({"version": VERSION, "workflow": TEXT, **parts})


def _doctor() -> Schema:
    status = _one_of(("ok", "absent", "slow", "wrong"))
    check = _map({"name": NAME, "status": status, "found": TEXT, "advice": TEXT})
    return _map({"version": VERSION, "ok": FLAG, "checks": _list(check)})


# ---- runs ----------------------------------------------------------------------------------------


def _state() -> dict[str, Schema]:
    """What the state of a run tells, however it was come by."""
    waiting = _map(
        {"kind": _one_of(WAITS), "path": TEXT},
        {"deadline": INSTANT, "trigger": NAME, "match": _named(ANYTHING), "run": NAME, "reason": _one_of(HOLDS)},
    )
    return {
        "version": VERSION,
        "run": NAME,
        "workflow": NAME,
        "status": _one_of(STATUSES),
        "result": ANYTHING,
        "stop": _or_null(_map({"path": TEXT, "reason": ANYTHING})),
        "cancel": _or_null(_map({"reason": ANYTHING})),
        "failure": _or_null(_map({"code": NAME, "message": TEXT, "path": TEXT})),
        "clock": _map({"start": INSTANT, "now": INSTANT}),
        "bindings": _named(ANYTHING),
        "waiting": _list(waiting),
        "holds": _list(_map({"path": TEXT, "reason": _one_of(HOLDS)})),
        "generation": COUNT,
    }


def _run_parts() -> dict[str, Schema]:
    key = _or_null(TEXT)
    effect = _map({"action": NAME, "key": key, "path": NAME, "count": COUNT, "invocations": POSITIVE})
    call = _map(
        {
            "at": INSTANT,
            "action": NAME,
            "path": NAME,
            "generation": COUNT,
            "attempt": POSITIVE,
            "key": key,
            "connection": _or_null(TEXT),
            "arguments": _named(ANYTHING),
            "answer": _or_null(_one_of(("success", "failure", "ambiguous", "lost", "late"))),
        }
    )
    return {
        **_state(),
        "effects": _list(effect),
        "calls": _list(call),
        "crashes": COUNT,
        "history": _map({"records": COUNT, "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}}),
    }


def _run() -> Schema:
    return _map(_run_parts())


def _share() -> dict[str, Schema]:
    return {"covered": COUNT, "total": COUNT, "percent": {"type": "number", "minimum": 0, "maximum": 100}}


def _coverage() -> Schema:
    numbers = _list(COUNT)
    place = {"kind": NAME, "path": TEXT, "outcome": TEXT, "line": POSITIVE, "column": POSITIVE, "hits": COUNT}
    workfile = {"path": NAME, "workflow": TEXT, "played": FLAG, **_share(), "kinds": _named(_map(_share()))}
    places = _list(_map({**place, "scenarios": numbers}))
    workfiles = _list(_map({**workfile, "places": places}))
    return _map({"version": VERSION, **_share(), "scenarios": _list(NAME), "workfiles": workfiles})


def _test() -> Schema:
    outcomes = ("passed", "failed", "error")
    difference = _map({"at": NAME, "expected": ANYTHING, "actual": ANYTHING}, {"message": TEXT})
    scenario = _map(
        {"path": NAME, "outcome": _one_of(outcomes), "differences": _list(difference)}, {"messages": _list(NAME)}
    )
    summary = _map(dict.fromkeys(outcomes, COUNT))
    return _map({"version": VERSION, "scenarios": _list(scenario), "summary": summary}, {"coverage": _coverage()})


REPORTS: Final[dict[str, Report]] = {
    "check-report": Report("workfile check --format json", _check),
    "explain-report": Report("workfile explain --format json", _explain),
    "graph-report": Report("workfile graph --format json", _graph),
    "run-report": Report("workfile run --format json", _run),
    "test-report": Report("workfile test --format json", _test),
    "coverage-report": Report("workfile test --coverage-json FILE", _coverage),
    "doctor-report": Report("workfile doctor --format json", _doctor),
}
