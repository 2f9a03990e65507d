"""Requests of our own: what happens to the run from outside. Each is answered, then a ``stopped`` event follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.language.suggest import hint
from analyzer.language.words import shown
from lsp_server.dap.live import Act, Live
from lsp_server.dap.motion import Goal, Stop
from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused
from lsp_server.dap.session import Session
from lsp_server.dap.values import instant_of, plain_json, span_of
from sim_runtime.history.records import Record
from sim_runtime.world.reading import read_decision

Json: TypeAlias = Any
Arguments: TypeAlias = dict[str, Any]
Body: TypeAlias = Callable[[Stop], Json]


def crash(session: Session, _given: Arguments) -> Json:
    """The executor dies."""
    live = _ready(session)
    session.interrupt()
    session.keep()
    live.do(("crash",))
    return _done(session, "crash")


def resume(session: Session, _given: Arguments) -> Json:
    """The executor is back, with its state from the history."""
    live = session.live
    if not live.down:
        raise Refused("the executor is up: `workfile/crash` takes it down")
    session.keep()
    live.do(("resume",))
    return _done(session, "resume")


def advance(session: Session, given: Arguments, body: Body | None = None) -> Json:
    """The clock moves, and what is due on the way happens."""
    by, to = given.get("by"), given.get("to")
    if (by is None) == (to is None):
        raise Refused("`workfile/advance` takes either `by`, a duration, or `to`, a timestamp", ERROR_ARGUMENTS)
    live = _ready(session)
    now = live.run.now
    if to is None:
        target = now + span_of(str(by), "by")
    else:
        target = instant_of(to, live.start_us, "to")
        if target < now:
            raise Refused(f"`to`: `{shown(to)}` is past: the clock goes on only (`stepBack` takes all of the run back)")
    if target > MAX_TIMESTAMP_US:
        raise Refused("the clock ends with the year 9999", ERROR_ARGUMENTS)
    session.interrupt()
    session.keep()
    return session.move(Goal("clock", until=target, reason="advance"), body or (lambda _stop: None))


def deliver(session: Session, given: Arguments, body: Callable[[Json], Json] | None = None) -> Json:
    """An event arrives. What is runnable at this instant goes first, and may stop at a breakpoint."""
    live = session.live
    trigger, payload, delivery = given["trigger"], given["payload"], given.get("id")
    plain_json(payload, "payload")
    known = live.definition.payloads
    if trigger not in known:
        what = ", ".join(f"`{each}`" for each in known) or "no event"
        raise Refused(
            f"no step waits for `{shown(trigger)}`: the steps of this run wait for {what}.{hint(trigger, known)}"
        )
    _not_over(live)
    session.interrupt()
    session.keep()
    name = delivery or live.next_delivery()
    live.do(("send", trigger, payload, name))
    told: list[Record] = []

    def taken(record: Record) -> bool:
        if record.kind in ("event.accepted", "event.refused") and record.data["delivery"] == name:
            told.append(record)
        return bool(told)

    def answer(_stop: Stop) -> Json:
        found = _told(told[0] if told else None, session.down)
        return found if body is None else body(found)

    if live.down:
        session.afterwards(lambda: session.stopped(Stop("deliver")))
        return answer(Stop("deliver"))
    return session.move(Goal("deliver", reason="deliver", taken=taken), answer)


def _told(record: Record | None, down: bool) -> Json:
    if record is None:
        reason = (
            "the executor is down; the event is offered when it is back" if down else "the run takes it as it goes on"
        )
        return {"accepted": None, "reason": reason}
    if record.kind == "event.accepted":
        return {"accepted": True, "reason": None}
    return {"accepted": False, "reason": record.data["reason"]}


def decide(session: Session, given: Arguments) -> Json:
    """An operator decides at a hold."""
    _ready(session)
    decision = read_decision(plain_json(given["decide"], "decide"), given["on"], given["actor"])
    if isinstance(decision, str):
        raise Refused(f"`decide`: {decision}", ERROR_ARGUMENTS)
    return _put(session, "decide", ("decide", decision))


def cancel(session: Session, given: Arguments) -> Json:
    """The run is cancelled."""
    _not_over(session.live)
    reason = given.get("reason")
    plain_json(reason, "reason")
    return _put(session, "cancel", ("cancel", reason))


def _put(session: Session, name: str, act: Act) -> Json:
    """Put something to the run that it takes or refuses; what it refuses leaves everything as it was."""
    live = session.live
    reply = live.would(act)
    if not reply.accepted:
        raise Refused(f"refused: {reply.reason or 'the run is coming to its end already'}")
    session.interrupt()
    session.keep()
    live.do(act)
    return _done(session, name)


def explore(session: Session, _given: Arguments) -> Json:
    """Crashes and outcomes from here on."""
    from lsp_server.dap.exploring import explore_from

    live = _ready(session)
    if session.motion is not None:
        session.interrupt()
        session.stand_after("pause")  # also when nothing comes of it
    report = explore_from(live, session.cancelled)
    session.stand_after("explore")
    return report


def _ready(session: Session) -> Live:
    live = session.live
    session.up()
    _not_over(live)
    return live


def _not_over(live: Live) -> None:
    if live.run.over:
        raise Refused("the run is over; `stepBack` returns to where it was under way")


def _done(session: Session, reason: str) -> None:
    """Stand before what comes next, and say so when the request has been answered."""
    hit = session.settle()
    found = Stop(reason, breakpoints=hit.breakpoints if hit is not None else ())
    session.afterwards(lambda: session.stopped(found))
