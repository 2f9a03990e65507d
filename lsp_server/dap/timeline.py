"""``workfile/timeline``: the run as data, for panels (docs/debugging.md)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.expressions.values import strip_marks, to_json
from analyzer.language.durations import format_duration
from lsp_server.dap.bars import bars_of
from lsp_server.dap.places import open_subscriptions
from lsp_server.dap.session import Session
from sim_runtime.core.frames import State, Subscription
from sim_runtime.core.looking import holds, timers
from sim_runtime.core.places import step_of
from sim_runtime.driver.report import waiting
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import UNDO, address_of, identity_of, shown_path
from sim_runtime.history.records import Record
from sim_runtime.samples import NoSample, sample
from sim_runtime.timeline import describe

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]

DEFAULT_LIMIT: Final = 2_000
MAX_LIMIT: Final = 10_000


def timeline(session: Session, given: Arguments) -> Json:
    """Everything that a panel shows."""
    course, state = session.course, session.course.state
    limit = min(given.get("limit", DEFAULT_LIMIT), MAX_LIMIT)
    first = given.get("from", max(1, course.count - limit + 1))
    seen = list(course.seen())
    ended = state.run.ended if state.root is not None else None
    effects = session.effects()
    now = course.now
    return {
        "version": 1,
        "file": _path(session),
        "workflow": course.definition.workflow,
        "run": state.run.run_id if state.root is not None else None,
        "mode": "live" if course.live else "history",
        "status": session.status,
        "down": session.down,
        "over": state.over,
        "clock": {
            "start": time_text(course.start_us),
            "startUs": course.start_us,
            "now": time_text(now),
            "nowUs": now,
            "elapsed": format_duration(max(now - course.start_us, 0)),
        },
        "position": _position(session),
        "stop": None if session.stop is None else {"reason": session.stop.reason, "text": session.stop.text},
        "waiting": waiting(state) if state.root is not None else [],
        "timers": _timers(session, state),
        "subscriptions": _subscriptions(session, state),
        "holds": _holds(session, state),
        "effects": None if effects is None else [_effect(each) for each in effects],
        "bars": bars_of(session, seen),
        "records": [_record(session, each) for each in seen[first - 1 : first - 1 + limit]],
        "recordsTotal": course.count,
        "future": course.future,
        "crashes": [
            {"at": time_text(at), "atUs": at, "seq": seq, "back": None if back is None else time_text(back)}
            for at, seq, back in session.crashes
        ],
        "generation": state.generation,
        "result": to_json(ended.result) if ended is not None else None,
        "failure": to_json(ended.failure) if ended is not None else None,
        "stopped": to_json(ended.stop) if ended is not None else None,
        "cancel": to_json(ended.cancel) if ended is not None else None,
        "can": _can(session, state),
    }


def _path(session: Session) -> str | None:
    file = session.program.files[session.program.root]
    return None if file.reference else file.path


def _place(session: Session, id_: str) -> dict[str, Json]:
    """File and line (from 1) of an identity."""
    file, spot = session.program.locate(id_)
    return {"file": None if file.reference else file.path, "line": None if spot is None else spot.line + 1}


def _position(session: Session) -> Json:
    course = session.course
    coming = course.upcoming()
    id_ = session.standing_id() or _at_hand(session)
    found: dict[str, Json] = {"seq": course.count, "next": coming[0].seq if coming else None, "path": shown_path(id_)}
    return {**found, **_place(session, id_)}


def _at_hand(session: Session) -> str:
    """The step that the run's own thread has come to."""
    session.threads.look(session.course)
    at = session.threads.listed[0].at
    return identity_of(at) if at is not None else ""


def _timers(session: Session, state: State) -> list[Json]:
    now = session.course.now
    return [
        {
            "path": shown_path(each.id),
            "timer": each.name,
            "deadline": time_text(each.deadline),
            "deadlineUs": each.deadline,
            "in": format_duration(max(each.deadline - now, 0)),
            **_place(session, each.id),
        }
        for each in timers(state)
    ]


def _subscriptions(session: Session, state: State) -> list[Json]:
    found = []
    for id_, each in open_subscriptions(state):
        found.append(
            {
                "path": shown_path(id_),
                "trigger": each.trigger,
                "match": to_json(strip_marks(each.match)),
                "deadline": None if each.deadline is None else time_text(each.deadline),
                "example": _event(session, each),
                **_place(session, id_),
            }
        )
    return found


def _event(session: Session, subscription: Subscription) -> Json:
    """A payload that fits and is correlated; None where none is found."""
    declared = session.course.definition.payloads.get(subscription.trigger)
    if declared is None:
        return None
    try:
        found = sample(declared.fit.schema, "text")
    except NoSample:
        return None
    match = to_json(strip_marks(subscription.match))
    return {**found, **match} if isinstance(found, dict) else found


def _holds(session: Session, state: State) -> list[Json]:
    found = []
    for each in holds(state):
        id_ = each.id.removesuffix(UNDO).removesuffix(".")
        step = step_of(session.course.definition, address_of(id_))
        call = None if step is None else step.undo if each.scope is not None else step.call
        example = None
        if call is not None and call.output_schema is not None and "succeed" in each.hold.allowed:
            try:
                example = sample(call.output_schema, "text")
            except NoSample:
                example = None
        found.append(
            {
                "path": shown_path(each.id),
                "reason": each.hold.reason,
                "code": each.hold.code,
                "allowed": list(each.hold.allowed),
                "example": example,
                **_place(session, id_),
            }
        )
    return found


def _effect(each: Any) -> Json:
    return {name: getattr(each, name) for name in ("action", "key", "path", "count", "invocations")}


def _record(session: Session, record: Record) -> Json:
    words = describe(record)
    return {
        "seq": record.seq,
        "at": time_text(record.at),
        "atUs": record.at,
        "kind": record.kind,
        "path": record.path,
        "generation": record.generation,
        "boundary": record.boundary,
        "text": None if words is None else words[0],
        "tone": "plain" if words is None else words[1],
        **(_place(session, record.id) if record.id else {"file": None, "line": None}),
    }


def _can(session: Session, state: State) -> dict[str, bool]:
    stands = session.stop is not None
    acts = stands and session.course.live and not session.down and not state.over
    return {
        "stepBack": stands and (bool(session.past) or session.course.count > 2),
        "continue": stands and not session.down,
        "crash": acts,
        "resume": stands and session.down,
        "advance": acts,
        "deliver": stands and session.course.live and not state.over,
        "decide": acts and bool(holds(state)),
        "cancel": acts,
        "explore": acts,
    }
