"""Where and why evaluation leaves a recorded history (R-REV-05)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sim_runtime.core.definition import Definition
from sim_runtime.core.places import step_of
from sim_runtime.history.encoding import record_json
from sim_runtime.history.paths import UNDO, address_of
from sim_runtime.history.records import Record
from sim_runtime.replay.comparing import Comparison

Json: TypeAlias = Any

CAUSES: Final[dict[str, str]] = {
    "path": "another step comes here, or none",
    "arguments": "the call, wait or child run is made with other values",
    "unrecorded": "something is needed here that the history does not have",
    "result": "a result comes out differently, or does not fit what is declared",
    "fault": "a failure comes out differently",
    "decision": "a guard, branch, route, iteration or policy comes out differently",
}

#: Why a successor does not take over what it would come to itself (``invalidated`` of the interfaces page).
PINS: Final = "pins"
ABSENT: Final = "absent"
INVALIDATED: Final[dict[str, str]] = {
    **CAUSES,
    PINS: "it was made under another version of a connector, overlay or time zone data",
    ABSENT: "a recovery superseded it, and that recovery is not taken over",
}

#: Kind to cause, when the same record comes out with other data.
_BY_KIND: Final = {
    "run.accepted": "arguments",
    "run.started": "arguments",
    "run.finished": "result",
    "step.succeeded": "result",
    "step.failed": "fault",
    "action.prepared": "arguments",
    "action.suppressed": "arguments",
    "action.succeeded": "result",
    "action.failed": "fault",
    "action.ambiguous": "result",
    "late_result.recorded": "result",
    "timer.set": "arguments",
    "subscription.opened": "arguments",
    "child.started": "arguments",
    "child.finished": "result",
    "compensation.prepared": "arguments",
    "compensation.succeeded": "result",
    "compensation.failed": "fault",
    "compensation.ambiguous": "result",
}
#: Fields that say of themselves what is otherwise.
_BY_FIELD: Final = {
    ("step.started", "step"): "path",
    ("step.failed", "disposition"): "decision",
    ("run.finished", "failure"): "fault",
    ("run.finished", "outcome"): "decision",
    ("action.suppressed", "result"): "result",
    ("child.finished", "failure"): "fault",
    ("handler.entered", "error"): "fault",
    ("reconcile.decided", "result"): "result",
    ("child.started", "workflow"): "path",
}
_FAULTS: Final = ("fault.", "input.invalid", "config.invalid", "route.none")
#: Records that an answer makes; when another comes of the same answer, the result is otherwise.
_ANSWERS: Final = frozenset({"action.succeeded", "compensation.succeeded"})


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first recorded entry that evaluation does not meet. ``evaluated`` is what comes instead, None for nothing;
    ``fields`` are those that differ when it is a record of the same kind and place."""

    recorded: Record
    evaluated: Record | None
    cause: str
    fields: tuple[str, ...] = ()

    def json(self) -> dict[str, Json]:
        """The ``divergence`` of the interfaces page."""
        record = self.recorded
        return {
            "seq": record.seq,
            "kind": record.kind,
            "path": record.path,
            "generation": record.generation,
            "cause": self.cause,
            "recorded": _shown(record),
            "evaluated": None if self.evaluated is None else _shown(self.evaluated),
        }


def _shown(record: Record) -> dict[str, Json]:
    json = record_json(record)
    return {name: json[name] for name in ("kind", "path", "data")}


def divergence_of(
    recorded: Record,
    evaluated: Record | None,
    definition: Definition,
    history: Iterable[Record],
    comparison: Comparison,
) -> Divergence:
    """The divergence at a recorded entry; ``evaluated`` comes in its place."""
    if evaluated is None:
        known = recorded.kind in ("operator.decided", "event.accepted", "cancel.decided", "timer.fired")
        return Divergence(recorded, None, "decision" if known else "path")
    if recorded.id != evaluated.id:
        return Divergence(recorded, evaluated, _of_places(recorded, evaluated, definition, history))
    if recorded.kind != evaluated.kind:
        return Divergence(recorded, evaluated, _of_kinds(recorded, evaluated))
    fields = comparison.differing(recorded, evaluated)
    if not fields:
        return Divergence(recorded, evaluated, "decision", ("generation",))
    return Divergence(recorded, evaluated, _of_fields(recorded, evaluated, fields), tuple(fields))


def _of_places(recorded: Record, evaluated: Record, definition: Definition, history: Iterable[Record]) -> str:
    """Another place comes up: one that the history never had, where the recorded one is still to come, or not."""
    if _fault_of(evaluated) and not _fault_of(recorded):
        return "fault"
    if any(each.id == evaluated.id for each in history) or not _exists(definition, recorded):
        return "path"
    return "unrecorded"


def _exists(definition: Definition, record: Record) -> bool:
    """Whether the definition still has what the record is about."""
    address = address_of(record.id.removesuffix(f".{UNDO}"))
    if not address:
        return True
    if step_of(definition, address) is not None:
        return True
    # A list (a branch, an iteration, a state's entry): by what stands above it.
    state = address[0].partition("#")[0]
    if definition.states is not None and len(address) == 1:
        return state in definition.states
    above = step_of(definition, address[:-1])
    return above is not None and (address[-1][0] in "([/" or address[-1] in above.lists)


def _of_kinds(recorded: Record, evaluated: Record) -> str:
    if recorded.kind in _ANSWERS and evaluated.kind in ("action.failed", "compensation.failed"):
        return "result"
    if "run.finished" in (recorded.kind, evaluated.kind) and recorded.kind != "run.started":
        return "path"
    if _fault_of(evaluated) != _fault_of(recorded):
        return "fault"
    return "decision"


def _of_fields(recorded: Record, evaluated: Record, fields: list[str]) -> str:
    kind = recorded.kind
    if kind == "run.finished" and "failed" in (recorded.data["outcome"], evaluated.data["outcome"]):
        return "fault"
    if kind == "timer.set" and recorded.data["timer"] not in ("wait", "timeout"):
        return "decision"
    if kind == "step.failed" and fields != ["disposition"]:
        return "fault"
    found = [_BY_FIELD[kind, name] for name in fields if (kind, name) in _BY_FIELD]
    whole = _BY_KIND.get(kind, "decision")
    return found[0] if found and (whole == "decision" or len(found) == len(fields)) else whole


def _fault_of(record: Record) -> str:
    """The code of a fault that the record tells of; empty for none."""
    data = record.data
    if record.kind == "run.finished":
        failure = data.get("failure")
        data = failure if isinstance(failure, dict) else {}
    elif record.kind not in ("step.failed", "compensation.failed"):
        return ""
    code = data.get("code")
    return code if isinstance(code, str) and code.startswith(_FAULTS) else ""
