"""Between records and the world: the call that a dispatch announces, and what an answer is for the run."""

from __future__ import annotations

from typing import Any

from sim_runtime.core.fitting import json_of
from sim_runtime.core.frames import Attempt, State
from sim_runtime.core.inputs import Answered
from sim_runtime.core.looking import timers
from sim_runtime.driver.protocol import Answer, Call, Undone
from sim_runtime.history.paths import address_of, shown_path
from sim_runtime.history.records import Record


def call_of(state: State, record: Record, *, interrupted: bool) -> Call:
    """The call of an ``action.dispatched`` or ``compensation.dispatched``; ``state`` is the state after it."""
    common: dict[str, Any] = {
        "seq": record.seq,
        "at": record.at,
        "path": record.path,
        "id": record.id,
        "generation": record.generation,
        "reissue": record.data["reissue"],
        "interrupted": interrupted,
    }
    if record.kind == "action.dispatched":
        frame = state.frame(address_of(record.id))
        assert frame is not None
        attempt: Attempt = frame.info
        return Call(
            action=attempt.action,
            attempt=attempt.attempt,
            effect=attempt.effect,
            idempotency=attempt.idempotency,
            key=attempt.key,
            connection=attempt.connection,
            arguments=json_of(attempt.arguments),
            timeout_us=attempt.timeout,
            **common,
        )
    scope = state.frame(address_of(record.data["scope"]))
    done = state.frame(address_of(record.data["of"]))
    assert scope is not None
    assert scope.recovery is not None
    assert done is not None
    undo = scope.recovery.undo
    assert undo is not None
    first: Attempt = done.info
    return Call(
        action=undo.action,
        attempt=1,
        effect=undo.effect,
        idempotency=undo.idempotency,
        key=undo.key,
        connection=undo.connection,
        arguments=json_of(undo.arguments),
        undoes=Undone(first.action, shown_path(undo.of), first.key, json_of(first.arguments)),
        **common,
    )


def overtakes_nothing(state: State, id_: str, due: int) -> bool:
    """Whether the answer to the call at ``id_`` may come before ``due`` without changing what a run comes to: no timer
    runs but a limit of its own that it keeps, and no activation counts in a rolling interval."""
    others = (each for each in timers(state) if each.id != id_ or each.deadline < due)
    return not len(state.activations) and next(others, None) is None


def answered(answer: Answer, record: Record) -> Answered:
    """The answer to the dispatch of ``record``."""
    return Answered(
        record.at,
        record.seq,
        record.id,
        answer.kind,
        record.data.get("scope"),
        answer.result,
        answer.code,
        answer.message,
        answer.details,
        answer.retryable,
        answer.retry_after_us,
    )
