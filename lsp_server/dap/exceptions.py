"""What the exception filters stop at, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.expressions.ast import Expr
from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from analyzer.expressions.types import sentence
from lsp_server.dap.expressions import BadExpression, check_filter, read_expression
from lsp_server.dap.protocol import FILTERS
from sim_runtime.core.frames import Attempt, Child, State
from sim_runtime.history.paths import address_of
from sim_runtime.history.records import Record
from sim_runtime.timeline import describe

Json: TypeAlias = Any

_BY_KIND: Final = {
    "action.failed": "failure",
    "compensation.failed": "failure",
    "action.ambiguous": "ambiguous",
    "compensation.ambiguous": "ambiguous",
    "hold.entered": "hold",
    "run.suspended": "suspend",
    "recovery.decided": "recovery",
}


class Told(NamedTuple):
    """What an exception is: its filter, a stable name, and words. ``record`` None for one that no record tells."""

    filter: str
    name: str
    text: str
    record: Record | None = None
    error: dict[str, Json] | None = None


#: The kinds of records that may be exceptions.
TELLING: Final = frozenset({*_BY_KIND, "step.failed", "handler.entered", "run.finished"})


def exception_of(record: Record, state: Callable[[], State]) -> Told | None:
    """What a record is an exception of; ``state`` is that before it."""
    kind, data = record.kind, record.data
    name = _BY_KIND.get(kind)
    if name is None:
        if kind == "step.failed" and _own_failure(record, state()):
            name = "failure"
        elif kind == "handler.entered" and _handled_fault(record, state()):
            name = "failure"
            data = data["error"]
        elif kind == "run.finished" and not record.id and _never_told(record):
            name = "failure"
            data = data["failure"]
        else:
            return None
    words = describe(record)
    path = record.path
    text = f"`{path}` {words[0]}" if path and words is not None else words[0] if words is not None else kind
    code = (data["reason"] if name == "hold" else data.get("code")) or name
    error = {
        "code": data.get("code"),
        "message": data.get("message"),
        "details": data.get("details"),
        "path": path,
        "reason": data.get("reason"),
        "attempt": data.get("attempt"),
    }
    return Told(name, str(code), text, record, error)


def _own_failure(record: Record, state: State) -> bool:
    """Whether a failure begins here: it is neither an attempt's, nor that of something inside."""
    data = record.data
    if data["failed"] != record.id or data["disposition"] in ("limit", "escalate"):
        return False
    details = data["details"]
    if isinstance(details, dict) and details.get("recovery") == "limit":
        return False
    frame = state.frame(address_of(record.id))
    info = frame.info if frame is not None else None
    if isinstance(info, Child):
        return info.failure is None
    return not isinstance(info, Attempt) or info.attempt == 0


def _handled_fault(record: Record, state: State) -> bool:
    """Whether a handler takes a failure that no other record tells of: a fault of the step itself."""
    error = record.data["error"]
    frame = state.frame(address_of(record.id))
    begun = frame is not None and isinstance(frame.info, Attempt | Child)
    return not begun and isinstance(error, dict) and error.get("step") == record.path


def _never_told(record: Record) -> bool:
    """A failure of the run that no step has told of: its inputs, or its result."""
    failure = record.data.get("failure")
    return isinstance(failure, dict) and failure.get("path") in ("", "result")


class Filters:
    """The filters that are set, each with its condition."""

    def __init__(self) -> None:
        self._set: dict[str, list[Expr | None]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._set

    def set(self, filters: list[str], options: list[dict[str, Json]]) -> list[dict[str, Json]]:
        """Set these in the place of those before; what came of each, in order."""
        self._set = {}
        found = [self._add(name, None) for name in filters]
        found.extend(self._add(each.get("filterId"), each.get("condition")) for each in options)
        return found

    def _add(self, name: Json, condition: Json) -> dict[str, Json]:
        if not isinstance(name, str) or name not in FILTERS:
            known = ", ".join(f"`{each}`" for each in FILTERS)
            return {"verified": False, "message": f"There is no filter `{name}`; there are {known}."}
        expr: Expr | None = None
        if condition:
            try:
                expr = read_expression(str(condition))
                check_filter(str(condition))
            except BadExpression as error:
                return {"verified": False, "message": sentence(str(error))}
        self._set.setdefault(name, []).append(expr)
        return {"verified": True}

    def takes(self, told: Told) -> bool:
        """Whether a filter that is set stops at this."""
        conditions = self._set.get(told.filter)
        return conditions is not None and any(_fits(each, told) for each in conditions)


def _fits(condition: Expr | None, told: Told) -> bool:
    if condition is None:
        return True
    error = told.error or {"code": told.name, "message": told.text, "path": told.record.path if told.record else ""}
    try:
        return evaluate(condition, {"error": error}) is True
    except (Fault, KeyError):
        return False
