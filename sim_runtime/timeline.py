"""A run as people read it: one line for what happened, with the simulated time and the step path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from analyzer.expressions.values import to_json
from analyzer.language.durations import format_duration
from sim_runtime.history.encoding import time_text
from sim_runtime.history.records import Record

if TYPE_CHECKING:
    from sim_runtime.observed import Crash

Json: TypeAlias = Any
Data: TypeAlias = dict[str, Any]

MAX_VALUE: Final = 120


@dataclass(frozen=True, slots=True)
class Line:
    """One line: microseconds since the start, the step path, what happened, and whether it is good or bad news.

    ``tone`` is ``plain``, ``good``, ``bad`` or ``wait``.
    """

    since_us: int
    path: str
    text: str
    tone: str = "plain"


def timeline(records: Iterable[Record], start_us: int, crashes: Sequence[Crash] = ()) -> Iterator[Line]:
    """The lines of a history and of the crashes in between; records that only keep the books have none."""
    position = 0
    for written, record in enumerate(records):
        while position < len(crashes) and crashes[position].records <= written:
            yield _crash(crashes[position], start_us)
            position += 1
        found = describe(record)
        if found is not None:
            text, tone = found
            yield Line(record.at - start_us, record.path, text, tone)
    for crash in crashes[position:]:
        yield _crash(crash, start_us)


def _crash(crash: Crash, start_us: int) -> Line:
    text = "the executor dies"
    if crash.back is not None:
        down = crash.back - crash.at
        text += f", and is back after {format_duration(down)}" if down else ", and is back at once"
    return Line(crash.at - start_us, "", text, "bad")


def describe(record: Record) -> tuple[str, str] | None:
    """What a record says in words, and its tone; None for one that people need not see."""
    words = _WORDS.get(record.kind)
    return None if words is None else words(record.data)


def render(lines: Iterable[Line], style: Callable[[str, str], str] | None = None) -> str:
    """The lines as a table of three columns; ``style(text, tone)`` colours."""
    rows = [(f"+{format_duration(line.since_us)}", line.path or "run", line) for line in lines]
    if not rows:
        return ""
    times = min(max(len(row[0]) for row in rows), 16)
    paths = min(max(len(row[1]) for row in rows), 40)
    parts = []
    for when, path, line in rows:
        text = line.text if style is None else style(line.text, line.tone)
        parts.append(f"{when:>{times}}  {path:<{paths}}  {text}\n")
    return "".join(parts)


def shown(value: Json) -> str:
    """A value on one line, cut when it is long."""
    text = json.dumps(to_json(value), ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _plain(text: str, tone: str = "plain") -> Callable[[Data], tuple[str, str]]:
    return lambda _data: (text, tone)


def _failure(data: Data) -> str:
    message = data.get("message")
    return f"`{data['code']}`" + (f": {message}" if message else "")


def _accepted(data: Data) -> tuple[str, str]:
    dry = ", a dry run" if data.get("dry_run") else ""
    return f"accepted as {data['run_id']} of `{data['workflow']}`{dry}, inputs {shown(data['inputs'])}", "plain"


def _finished(data: Data) -> tuple[str, str]:
    outcome = data["outcome"]
    text = str(outcome)
    if data.get("failure"):
        text += f": {_failure(data['failure'])}"
    if data.get("stop"):
        text += f": {data['stop'].get('reason')}"
    if data.get("result") is not None:
        text += f", result {shown(data['result'])}"
    return text, "good" if outcome in ("succeeded", "stopped") else "bad"


def _prepared(data: Data) -> tuple[str, str]:
    attempt = f", attempt {data['attempt']}" if data["attempt"] != 1 else ""
    return f"calls `{data['action']}` {shown(data['arguments'])}{attempt}", "plain"


def _dispatched(data: Data) -> tuple[str, str] | None:
    return (f"is sent again ({data['reissue']})", "plain") if data.get("reissue") else None


def _retry(data: Data) -> tuple[str, str]:
    asked = ", as the server asked" if data["source"] == "server" else ""
    return f"attempt {data['attempt']} follows after {format_duration(data['delay'])}{asked}", "wait"


def _branch(data: Data) -> tuple[str, str]:
    return f"takes `{data['branch']}`" if data["branch"] is not None else "takes no branch", "plain"


def _iterations(data: Data) -> tuple[str, str]:
    count = len(data["items"]) if isinstance(data["items"], list) else 0
    return f"{count} iteration{'' if count == 1 else 's'}, {data['concurrency']} at once", "plain"


def _step_failed(data: Data) -> tuple[str, str]:
    then = {"continue": ", goes on with null", "abort": ", aborts the run", "end": ", ends the run"}
    return f"failed with {_failure(data)}{then.get(data['disposition'], '')}", "bad"


def _timer(data: Data) -> tuple[str, str] | None:
    return f"a timer runs until {time_text(data['deadline'])}{_timer_name(data)}", "wait"


def _timer_name(data: Data) -> str:
    """The name of a state's timer, and what a retry or a recovery waits for; a plain wait needs no word."""
    name = str(data["timer"]).removeprefix("state:")
    return "" if name in ("wait", "timeout") else f" (`{name}`)"


def _subscribed(data: Data) -> tuple[str, str]:
    return f"waits for `{data['trigger']}` with {shown(data['match'])}", "wait"


def _held(data: Data) -> tuple[str, str]:
    allowed = ", ".join(f"`{each}`" for each in data["allowed"])
    return f"is held: {data['reason']}; an operator may decide {allowed}", "bad"


def _decided(data: Data) -> tuple[str, str]:
    return f"{data['actor']} decided `{data['decision']}`", "plain"


def _recovery(data: Data) -> tuple[str, str]:
    delay = f" after {format_duration(data['delay'])}" if data["delay"] else ""
    return f"recovers ({data['redo']}){delay} from {_failure(data)}", "bad"


def _selected(data: Data) -> tuple[str, str]:
    return ("goes on with the event", "good") if data["status"] == "received" else ("timed out", "plain")


_WORDS: Final[dict[str, Callable[[Data], tuple[str, str] | None]]] = {
    "run.accepted": _accepted,
    "run.suspended": _plain("is suspended", "wait"),
    "run.held": _plain("is held", "bad"),
    "run.resumed": _plain("goes on"),
    "run.finished": _finished,
    "step.skipped": _plain("is skipped: its guard is false"),
    "step.failed": _step_failed,
    "branch.selected": _branch,
    "iterations.planned": _iterations,
    "handler.entered": lambda data: (f"handler {data['handler']} takes the failure", "plain"),
    "action.prepared": _prepared,
    "action.suppressed": lambda data: (f"`{data['action']}` {shown(data['arguments'])} is suppressed", "plain"),
    "action.dispatched": _dispatched,
    "action.succeeded": lambda data: (f"succeeded with {shown(data['result'])}", "good"),
    "action.failed": lambda data: (f"attempt {data['attempt']} failed with {_failure(data)}", "bad"),
    "action.ambiguous": lambda data: (f"attempt {data['attempt']} is ambiguous: `{data['code']}`", "bad"),
    "retry.scheduled": _retry,
    "late_result.recorded": lambda data: (f"a late {data['answer']} is recorded and not used", "plain"),
    "timer.set": _timer,
    "timer.fired": lambda data: (f"the timer fires{_timer_name(data)}", "plain"),
    "subscription.opened": _subscribed,
    "event.accepted": lambda data: (f"takes `{data['trigger']}` {shown(data['payload'])}", "good"),
    "event.refused": lambda data: (f"`{data['trigger']}` is refused: {data['reason']}", "bad"),
    "wait.selected": _selected,
    "state.entered": lambda data: (f"state `{data['state']}` is entered ({data['entry']})", "plain"),
    "route.selected": lambda data: (f"goes to `{data['to']}`", "plain"),
    "child.started": lambda data: (f"starts `{data['workflow']}` {shown(data['inputs'])}", "plain"),
    "child.finished": lambda data: (f"the child run {data['outcome']}", "plain"),
    "child.cancel_requested": _plain("the child run is to be cancelled"),
    "reconcile.started": _plain("finds out what really happened"),
    "reconcile.decided": lambda data: (f"found out: {data['outcome']}", "plain"),
    "hold.entered": _held,
    "operator.decided": _decided,
    "recovery.decided": _recovery,
    "compensation.prepared": lambda data: (f"undoes with `{data['action']}` {shown(data['arguments'])}", "plain"),
    "compensation.succeeded": _plain("is undone", "good"),
    "compensation.failed": lambda data: (f"the undo failed with {_failure(data)}", "bad"),
    "compensation.ambiguous": lambda data: (f"the undo is ambiguous: `{data['code']}`", "bad"),
    "generation.started": lambda data: (f"generation {data['started']} starts", "plain"),
    "cancel.decided": _plain("is cancelled", "bad"),
}
