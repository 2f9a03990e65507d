"""JSON Schemas (2020-12) of what the commands print with ``--format json``, version 1 of each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.findings import SEVERITIES
from analyzer.language.schemas import DIALECT
from sim_runtime.history.records import HOLD_REASONS, OUTCOMES

Schema: TypeAlias = dict[str, Any]

ANYTHING: Final[Schema] = {}
TEXT: Final[Schema] = {"type": "string"}
NAME: Final[Schema] = {"type": "string", "minLength": 1}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
POSITIVE: Final[Schema] = {"type": "integer", "minimum": 1}
FLAG: Final[Schema] = {"type": "boolean"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time", "pattern": "Z$"}
VERSION: Final[Schema] = {"const": 1}

INSTEAD: Final = (
    "Where a Workfile has errors there is no such report: a check-report with its findings is printed instead, and the "
    "exit status is 1."
)

STATUSES: Final = ("running", "suspended", "held", *OUTCOMES)
WAITS: Final = ("timer", "event", "child", "retry", "recovery_delay", "answer", "decision")


class Report(NamedTuple):
    """A report: the command that prints it, and what makes its schema. ``checked``: the command checks its Workfile
    first, and prints the ``check-report`` instead where that has errors."""

    command: str
    build: Callable[[], Schema]
    checked: bool = False


def schema(name: str) -> Schema:
    """The schema of one of ``REPORTS``."""
    entry = REPORTS[name]
    head = {"$schema": DIALECT, "$id": f"{name}.schema.json", "title": f"What `{entry.command}` prints"}
    if entry.checked:
        head["description"] = INSTEAD
    return {**head, **entry.build()}


# ---- words ---------------------------------------------------------------------------------------


def map_of(properties: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with exactly these properties; the optional ones may be left out."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def named(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def one_of(words: tuple[str, ...]) -> Schema:
    return {"enum": list(words)}


def or_null(wanted: Schema) -> Schema:
    return {"anyOf": [wanted, {"type": "null"}]}


def _place() -> Schema:
    """Lines and columns from 1, columns in code points, the end past the last character."""
    position = map_of({"line": POSITIVE, "column": POSITIVE})
    return map_of({"start": position, "end": position})


# ---- check, explain, graph, doctor ---------------------------------------------------------------


def _finding() -> Schema:
    related = map_of({"path": NAME, "range": _place(), "message": TEXT})
    edit = map_of({"path": NAME, "range": _place(), "text": TEXT})
    fix = map_of({"title": NAME, "applicability": one_of(("safe", "unsafe")), "edits": list_of(edit)})
    return map_of(
        {
            "path": NAME,
            "rule": NAME,
            "code": NAME,
            "severity": one_of(SEVERITIES),
            "message": NAME,
            "range": _place(),
            "related": list_of(related),
            "fixes": list_of(fix),
        }
    )


def _check() -> Schema:
    summary = map_of(dict.fromkeys(SEVERITIES, COUNT))
    return map_of({"version": VERSION, "files": COUNT, "findings": list_of(_finding()), "summary": summary})


def _explain() -> Schema:
    rule = map_of(
        {
            "name": NAME,
            "code": NAME,
            "severity": one_of(SEVERITIES),
            "summary": NAME,
            "fixable": FLAG,
            "documentation": NAME,
        }
    )
    return map_of({"version": VERSION, "rules": list_of(rule)})


def _graph() -> Schema:
    node = map_of({"id": NAME, "kind": NAME, "path": TEXT}, {"step": NAME, "action": NAME, "workflow": NAME})
    edge = map_of({"from": NAME, "to": NAME, "kind": NAME}, {"label": TEXT})
    step = map_of({"step": NAME, "workflow": TEXT})
    failure = map_of({"step": TEXT, "how": NAME, "succeeded": list_of(NAME)})
    scope = map_of(
        {
            "path": TEXT,
            "redo": NAME,
            "then": NAME,
            "failures": list_of(failure),
            "members": list_of(NAME),
            "unsafe": list_of(step),
            "may_hold": list_of(step),
        }
    )
    finding = map_of({"rule": NAME, "severity": one_of(SEVERITIES), "message": NAME, "range": _place()})
    parts = {"nodes": list_of(node), "edges": list_of(edge), "scopes": list_of(scope), "findings": list_of(finding)}
    return map_of({"version": VERSION, "workflow": TEXT, **parts})


def _doctor() -> Schema:
    status = one_of(("ok", "absent", "slow", "wrong"))
    check = map_of({"name": NAME, "status": status, "found": TEXT, "advice": TEXT})
    return map_of({"version": VERSION, "ok": FLAG, "checks": list_of(check)})


# ---- runs ----------------------------------------------------------------------------------------


def _state() -> dict[str, Schema]:
    """What the state of a run tells, however it was come by."""
    waiting = map_of(
        {"kind": one_of(WAITS), "path": TEXT},
        {"deadline": INSTANT, "trigger": NAME, "match": named(ANYTHING), "run": NAME, "reason": one_of(HOLD_REASONS)},
    )
    return {
        "version": VERSION,
        "run": NAME,
        "workflow": NAME,
        "status": one_of(STATUSES),
        "result": ANYTHING,
        "stop": or_null(map_of({"path": TEXT, "reason": ANYTHING})),
        "cancel": or_null(map_of({"reason": ANYTHING})),
        "failure": or_null(map_of({"code": NAME, "message": TEXT, "path": TEXT})),
        "clock": map_of({"start": INSTANT, "now": INSTANT}),
        "bindings": named(ANYTHING),
        "waiting": list_of(waiting),
        "holds": list_of(map_of({"path": TEXT, "reason": one_of(HOLD_REASONS)})),
        "generation": COUNT,
    }


def _effect() -> Schema:
    return map_of({"action": NAME, "key": or_null(TEXT), "path": NAME, "count": COUNT, "invocations": POSITIVE})


def run_parts() -> dict[str, Schema]:
    key = or_null(TEXT)
    call = map_of(
        {
            "at": INSTANT,
            "action": NAME,
            "path": NAME,
            "generation": COUNT,
            "attempt": POSITIVE,
            "key": key,
            "connection": or_null(TEXT),
            "arguments": named(ANYTHING),
            "answer": or_null(one_of(("success", "failure", "ambiguous", "lost", "late"))),
        }
    )
    return {
        **_state(),
        "effects": list_of(_effect()),
        "calls": list_of(call),
        "crashes": COUNT,
        "history": map_of({"records": COUNT, "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}}),
    }


def _run() -> Schema:
    return map_of(run_parts())


def _step() -> Schema:
    """One line: the answer to one command of the prompt."""
    record = map_of(
        {"seq": POSITIVE, "at": INSTANT, "kind": NAME, "path": TEXT, "generation": COUNT, "data": named(ANYTHING)},
        {"boundary": {"const": True}},
    )
    return map_of(
        {"command": TEXT, "error": or_null(NAME), "status": one_of(("new", *STATUSES)), "records_total": COUNT},
        {"records": list_of(record), "state": or_null(_run()), "effects": list_of(_effect())},
    )


def _share() -> dict[str, Schema]:
    return {"covered": COUNT, "total": COUNT, "percent": {"type": "number", "minimum": 0, "maximum": 100}}


def _coverage() -> Schema:
    numbers = list_of(COUNT)
    place = {"kind": NAME, "path": TEXT, "outcome": TEXT, "line": POSITIVE, "column": POSITIVE, "hits": COUNT}
    workfile = {"path": NAME, "workflow": TEXT, "played": FLAG, **_share(), "kinds": named(map_of(_share()))}
    places = list_of(map_of({**place, "scenarios": numbers}))
    workfiles = list_of(map_of({**workfile, "places": places}))
    return map_of({"version": VERSION, **_share(), "scenarios": list_of(NAME), "workfiles": workfiles})


def _test() -> Schema:
    outcomes = ("passed", "failed", "error")
    difference = map_of({"at": NAME, "expected": ANYTHING, "actual": ANYTHING}, {"message": TEXT})
    scenario = map_of(
        {"path": NAME, "outcome": one_of(outcomes), "differences": list_of(difference)}, {"messages": list_of(NAME)}
    )
    summary = map_of(dict.fromkeys(outcomes, COUNT))
    return map_of({"version": VERSION, "scenarios": list_of(scenario), "summary": summary}, {"coverage": _coverage()})


def _made_in(module: str, name: str) -> Callable[[], Schema]:
    """A schema that a function of another module of this package makes; the module is loaded when it is asked for."""

    def build() -> Schema:
        made: Callable[[], Schema] = getattr(import_module(f"workfile_cli.{module}"), name)
        return made()

    return build


REPORTS: Final[dict[str, Report]] = {
    "check-report": Report("workfile check --format json", _check),
    "explain-report": Report("workfile explain --format json", _explain),
    "graph-report": Report("workfile graph --format json", _graph),
    "run-report": Report("workfile run --format json", _run, checked=True),
    "step-report": Report("workfile step --format json", _step, checked=True),
    "test-report": Report("workfile test --format json", _test),
    "coverage-report": Report("workfile test --coverage-json FILE", _coverage),
    "reconstruct-report": Report(
        "workfile history reconstruct --format json", _made_in("history_reports", "reconstruct")
    ),
    "reevaluate-report": Report(
        "workfile history reevaluate --format json", _made_in("history_reports", "reevaluate"), checked=True
    ),
    "continue-report": Report(
        "workfile history continue --format json", _made_in("history_reports", "continue_"), checked=True
    ),
    "impact-report": Report(
        "workfile history impact --format json", _made_in("history_reports", "impact"), checked=True
    ),
    "explore-report": Report("workfile explore --format json", _made_in("proof_reports", "explore"), checked=True),
    "qualify-report": Report("workfile qualify --format json", _made_in("proof_reports", "qualify")),
    "verify-report": Report("workfile qualify verify --format json", _made_in("proof_reports", "verify")),
    "doctor-report": Report("workfile doctor --format json", _doctor),
}
