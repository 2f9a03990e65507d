"""Commands in the debug console: the words of ``workfile step``, beside expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from lsp_server.dap import moving, own
from lsp_server.dap.motion import Goal
from lsp_server.dap.protocol import Refused
from lsp_server.dap.session import LATER, Session
from lsp_server.dap.values import yaml_value
from sim_runtime.core.looking import holds
from sim_runtime.driver.report import waiting
from sim_runtime.history.encoding import time_text
from sim_runtime.stepping import leading_flag
from sim_runtime.timeline import render
from sim_runtime.timeline import timeline as lines_of

Json: TypeAlias = Any

DEFAULT_RECORDS: Final = 20
MAX_RECORDS: Final = 1_000
_WORD: Final = re.compile(r"\s*([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class Command(NamedTuple):
    """A command: what stands behind its word, what it does in words, and the doing."""

    after: str
    words: str
    act: Callable[[Session, str], Json]


def is_command(text: str) -> bool:
    """Whether a line of the console is a command; ``{{ back }}`` is always an expression."""
    found = _WORD.fullmatch(text)
    return found is not None and found[1] in COMMANDS


def perform(session: Session, text: str) -> Json:
    """Do what a command says; the body of ``evaluate``."""
    found = _WORD.fullmatch(text)
    assert found is not None
    command, rest = COMMANDS[found[1]], (found[2] or "").strip()
    if rest and not command.after:
        raise Refused(f"`{found[1]}` takes nothing after it")
    answer = command.act(session, rest)
    return answer if answer is LATER or isinstance(answer, dict) else _text(answer or "")


def _text(text: str) -> Json:
    return {"result": text, "variablesReference": 0}


def _crash(session: Session, _rest: str) -> Json:
    own.crash(session, {})
    return "the executor is down; `resume` brings it back"


def _resume(session: Session, _rest: str) -> Json:
    own.resume(session, {})
    return "the executor is back; it has its state from the history"


def _advance(session: Session, rest: str) -> Json:
    if not rest:
        raise Refused("write `advance 2h`, or `advance 2026-01-31T12:00:00Z`")
    given = {"to": rest} if re.match(r"\d{4}-", rest) else {"by": rest}
    return own.advance(session, given, lambda _stop: _text(f"it is {time_text(session.course.now)}"))


def _deliver(session: Session, rest: str) -> Json:
    trigger, _, rest = rest.partition(" ")
    delivery, rest = leading_flag(rest, "--id")
    if "." not in trigger:
        raise Refused("write `deliver connector.trigger PAYLOAD`")
    payload = yaml_value(rest, "the payload") if rest else {}
    given = {"trigger": trigger, "payload": payload, **({} if delivery is None else {"id": delivery})}
    return own.deliver(session, given, _delivered)


def _delivered(told: Json) -> Json:
    words = {True: "accepted", False: "refused", None: "under way"}[told["accepted"]]
    return _text(f"{words}: {told['reason']}" if told["reason"] else words)


def _decide(session: Session, rest: str) -> Json:
    path, _, rest = rest.partition(" ")
    actor, rest = leading_flag(rest, "--actor")
    if not rest:
        raise Refused('write `decide PATH DECISION`, such as `decide charge {succeed: {…}}`; the root scope is `""`')
    path = "" if path in ('""', "''") else path
    verb, _, after = rest.partition(" ")
    source = f"{{{verb}: {after.strip() or 'null'}}}" if verb in ("succeed", "fail") else rest
    own.decide(session, {"on": path, "actor": actor or "operator", "decide": yaml_value(source, "the decision")})
    return "decided"


def _cancel(session: Session, rest: str) -> Json:
    own.cancel(session, {"reason": rest or None})
    return "cancelled"


def _explore(session: Session, _rest: str) -> Json:
    from lsp_server.dap.exploring import in_words

    return in_words(own.explore(session, {}))


# ---- moving -------------------------------------------------------------------------------------


def _steps(kind: str) -> Callable[[Session, str], Json]:
    def act(session: Session, _rest: str) -> Json:
        session.standing(kind)
        session.up()
        session.keep()
        thread = session.threads.by_id(session.threads.of(session.standing_id()))
        origin = moving.origin_of(thread) if thread is not None else ()
        return session.move(Goal(kind, origin), lambda _stop: _text(where(session)))

    return act


def _back(session: Session, _rest: str) -> Json:
    session.standing("back")
    moving.step_back(session, {})
    return where(session)


def _reverse(session: Session, _rest: str) -> Json:
    session.standing("reverse")
    moving.reverse_continue(session, {})
    return where(session)


def _goto(session: Session, rest: str) -> Json:
    if not (rest.isascii() and rest.isdigit() and len(rest) < 10):
        raise Refused("write `goto N`, with the number of a record")
    session.standing("goto")
    moving.goto(session, {"targetId": int(rest)})
    return where(session)


# ---- looking ------------------------------------------------------------------------------------


def where(session: Session) -> str:
    """The status in one line."""
    course, state = session.course, session.course.state
    if state.root is None:
        return "nothing has happened yet"
    status = "down" if session.down else session.status
    words = f"{status} at {time_text(course.now)}, after record {course.count}"
    held = [f"`{each.id}` ({each.hold.reason})" for each in holds(state)]
    if held:
        return f"{words}, held at {', '.join(held)}"
    waits = dict.fromkeys(f"`{each['path']}`" for each in waiting(state))
    return f"{words}, waits at {', '.join(waits)}" if waits else words


def _history(session: Session, rest: str) -> Json:
    if rest and not (rest.isascii() and rest.isdigit() and len(rest) < 10):
        raise Refused(f"`history` takes a count, not `{rest[:40]}`")
    count = min(int(rest) if rest else DEFAULT_RECORDS, MAX_RECORDS)
    shown = list(session.course.seen())[-count:] if count else []
    return render(lines_of(shown, session.course.start_us)).rstrip("\n") or "nothing is written yet"


def _effects(session: Session, _rest: str) -> Json:
    effects = session.effects()
    if effects is None:
        return "a history does not tell what the outside world saw"
    lines = [f"{each.action} at `{each.path}`: {each.count}, called {each.invocations}" for each in effects]
    return "\n".join(lines) or "nothing was called yet"


def _help(_session: Session, _rest: str) -> Json:
    lines = [f"{f'{name} {each.after}'.strip():<34} {each.words}" for name, each in COMMANDS.items()]
    return "\n".join([*lines, "Anything else is an expression, such as `inputs.amount * 2`."])


COMMANDS: Final[dict[str, Command]] = {
    "next": Command("", "Over the step at hand.", _steps("next")),
    "into": Command("", "One transaction, up to the next durable boundary.", _steps("boundary")),
    "in": Command("", "To the next step, wherever it is, or to where the run has to wait.", _steps("in")),
    "out": Command("", "Out of the list that the step at hand stands in.", _steps("out")),
    "continue": Command("", "To the next stop.", _steps("continue")),
    "back": Command("", "Undo the last command that moved the run.", _back),
    "reverse": Command("", "Back to the last stop before.", _reverse),
    "goto": Command("N", "Stand before a record.", _goto),
    "advance": Command("DURATION", "Move the clock; what is due on the way happens.", _advance),
    "crash": Command("", "The executor dies; its history stays.", _crash),
    "resume": Command("", "The executor is back, with its state from the history.", _resume),
    "deliver": Command("TRIGGER [--id ID] PAYLOAD", "An event arrives.", _deliver),
    "decide": Command("PATH [--actor NAME] DECISION", "Decide at a hold.", _decide),
    "cancel": Command("[REASON]", "Cancel the run.", _cancel),
    "explore": Command("", "Crashes and outcomes from here on.", _explore),
    "state": Command("", "Where the run is.", lambda session, _rest: where(session)),
    "history": Command("[N]", "The last N records.", _history),
    "effects": Command("", "What the outside world saw.", _effects),
    "help": Command("", "This list.", _help),
}
