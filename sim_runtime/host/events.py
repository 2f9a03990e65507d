"""The events and statuses of the protocol, made of a run's records.

The history stays the truth; events are what others watch. A run has one terminal event, and nothing follows on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from analyzer.expressions.values import to_json
from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import State
from sim_runtime.core.looking import holds
from sim_runtime.core.places import step_of
from sim_runtime.driver.report import waiting
from sim_runtime.history.paths import address_of, shown_path
from sim_runtime.history.records import Record

Json = dict[str, Any]

SCHEMA_VERSION: Final = 1
EVENT_LOG_VERSION: Final = 3
ENGINE_VERSION: Final = 1

RESTORED: Final = "workflow.restored"
#: The outcome of a run as the protocol's status.
STATUS_OF: Final = {
    "succeeded": "completed",
    "stopped": "completed",
    "failed": "failed",
    "aborted": "failed",
    "cancelled": "cancelled",
}
TERMINAL: Final = frozenset(STATUS_OF.values())


class Event(NamedTuple):
    """An event before it has its place in the log. ``at`` is microseconds since 1970."""

    type: str
    at: int
    payload: Json
    node: str | None = None

    def body(self) -> str:
        """What is stored of it beside type and time."""
        return json.dumps({"payload": self.payload, "nodeId": self.node}, ensure_ascii=False, separators=(",", ":"))


def events_of(records: Sequence[Record], definition: Definition, incarnation: str) -> Iterator[Event]:
    """The events that records stand for. ``incarnation`` is the token of the process that wrote them."""
    for record in records:
        make = _MAKERS.get(record.kind)
        event = make(record, definition, incarnation) if make is not None else None
        if event is not None:
            yield event


def restored(at: int, sequence: int, incarnation: str) -> Event:
    """Another owner goes on with a run whose owner died."""
    payload = {"fromSnapshotSeq": sequence, "engineVersion": ENGINE_VERSION, "incarnation": incarnation}
    return Event(RESTORED, at, payload)


def given_up(at: int, attempts: int) -> tuple[Event, Event, Json]:
    """A run whose owners died too often: its last two events, and its error."""
    message = f"the run was given up: {attempts} attempts in a row ended with the death of their process"
    error = {"code": "attempts_exhausted", "message": message}
    return (
        Event("run.dead-lettered", at, {"attempts": attempts, "error": error}),
        Event("run.failed", at, {"error": error}),
        error,
    )


def _run_started(record: Record, definition: Definition, incarnation: str) -> Event | None:
    if record.id:
        return None  # a child's
    payload = {"workflowId": definition.workflow, "transport": "rest", "incarnation": incarnation}
    return Event("run.started", record.at, payload)


def _node_started(record: Record, definition: Definition, incarnation: str) -> Event:
    kind = str(record.data["step"])
    if kind == "action":
        step = step_of(definition, address_of(record.id))
        kind = step.call.action if step is not None and step.call is not None else kind
    node = shown_path(record.id)
    payload = {"nodeId": node, "typeId": kind, "attempt": 0, "incarnation": incarnation}
    return Event("node.started", record.at, payload, node)


def _node_retried(record: Record, _definition: Definition, _incarnation: str) -> Event | None:
    attempt = record.data["attempt"]
    if attempt < 2:
        return None
    node = shown_path(record.id)
    return Event("node.retried", record.at, {"nodeId": node, "attempt": attempt - 1}, node)


def _node_completed(record: Record, _definition: Definition, _incarnation: str) -> Event:
    node = shown_path(record.id)
    return Event("node.completed", record.at, {"nodeId": node}, node)


def _node_failed(record: Record, _definition: Definition, _incarnation: str) -> Event:
    node = shown_path(record.id)
    return Event("node.failed", record.at, {"nodeId": node, "error": _error(record.data)}, node)


def _run_finished(record: Record, _definition: Definition, _incarnation: str) -> Event | None:
    if record.id:
        return None
    data = record.data
    status = STATUS_OF[data["outcome"]]
    if status == "completed":
        return Event("run.completed", record.at, {"outputs": outputs_of(data.get("result"))})
    if status == "cancelled":
        return Event("run.cancelled", record.at, {"reason": to_json((data.get("cancel") or {}).get("reason"))})
    failure = data.get("failure") or {}
    payload: Json = {"error": _error(failure)}
    if failure.get("path"):
        payload["failedNodeId"] = failure["path"]
    return Event("run.failed", record.at, payload)


def _held(record: Record, _definition: Definition, _incarnation: str) -> Event:
    return Event("x-workfile.held", record.at, {"holds": list(record.data["holds"])})


_MAKERS: Final = {
    "run.started": _run_started,
    "step.started": _node_started,
    "action.prepared": _node_retried,
    "step.succeeded": _node_completed,
    "step.failed": _node_failed,
    "run.held": _held,
    "run.finished": _run_finished,
}


def _error(told: Any) -> Json:
    return {"code": str(told.get("code") or "unknown"), "message": str(told.get("message") or "")}


def outputs_of(result: Any) -> Json:
    """A run's result as the protocol's outputs, which are an object."""
    plain = to_json(result)
    if plain is None:
        return {}
    return plain if isinstance(plain, dict) else {"result": plain}


def status_of(state: State) -> str:
    """The protocol's status of a run."""
    if state.root is None:
        return "pending"
    if state.over:
        return STATUS_OF[state.status]
    if state.run.ending is not None and state.run.ending.outcome == "cancelled":
        return "cancelling"
    return {"running": "running", "held": "waiting-approval"}.get(state.status, "waiting-external")


def summary_of(state: State) -> Json:
    """What an operator wants to know of a run beside its status: the Workfile's own status, holds, what it waits for,
    and how it ended."""
    if state.root is None:
        return {"status": "new"}
    found: Json = {"status": state.status, "generation": state.generation}
    ended = state.run.ended
    if ended is not None:
        found["result"] = to_json(ended.result)
        for name, value in (("failure", ended.failure), ("stop", ended.stop), ("cancel", ended.cancel)):
            if value is not None:
                found[name] = to_json(value)
    else:
        found["holds"] = [
            {"path": shown_path(each.id), "reason": each.hold.reason, "allowed": list(each.hold.allowed)}
            for each in holds(state)
        ]
        found["waiting"] = waiting(state)
    return found


def error_of(state: State) -> Json | None:
    """The error of a failed run."""
    ended = state.run.ended if state.root is not None else None
    if ended is None or not isinstance(ended.failure, dict):
        return None
    return _error(ended.failure)
