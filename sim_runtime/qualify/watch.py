"""Watches a run after a kill until it resumes or the bound is over: what the two kill rows have in common."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sim_runtime.qualify.client import DISCOVERY_PATH, Client, TransportLoss, run_path
from sim_runtime.qualify.timing import Limits, until

RESTORED: Final = frozenset({"workflow.restored", "run.restored-from-snapshot"})


@dataclass(frozen=True, slots=True)
class Log:
    """The events of a run as far as the rows need them; each with its type."""

    events: tuple[dict[str, Any], ...]

    def count(self, *types: str) -> int:
        """How many events are of these types."""
        return sum(event["type"] in types for event in self.events)

    @property
    def restored(self) -> int:
        """How many events say that the run was recovered."""
        return sum(event["type"] in RESTORED for event in self.events)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a watch saw. Times are seconds since its start."""

    resumed_after: float | None
    waited: float
    #: The last reading of the log; nothing when it could not be read.
    log: Log | None
    #: Once the run was seen completed while its log showed no resumption.
    completed_unresumed: bool


def read_status(client: Client, run: str) -> str | None:
    """The status of a run; nothing when it cannot be read."""
    try:
        reply = client.get(run_path(run))
    except TransportLoss:
        return None
    status = reply.members.get("status")
    return status if reply.status == 200 and isinstance(status, str) else None


def read_log(client: Client, run: str) -> Log | None:
    """The events of a run; nothing when they cannot be read. The stream of events is another route."""
    try:
        reply = client.get(run_path(run, "/events/poll?timeout=1"))
    except TransportLoss:
        return None
    events = reply.members.get("events")
    if reply.status != 200 or not isinstance(events, list):
        return None
    return Log(tuple(event for event in events if isinstance(event, dict) and isinstance(event.get("type"), str)))


def watch(
    status: Callable[[], str | None],
    log: Callable[[], Log | None],
    resumed: Callable[[Log], bool],
    budget: float,
    step: float,
) -> Seen:
    """Read status and log again and again until the run has resumed or the budget, in seconds, is over.

    The status is read first: read the other way round, a run that resumes and completes between the two readings
    would look completed without a resumption.
    """
    started = time.monotonic()
    completed_unresumed = False
    while True:
        read = status()
        seen = log()
        waited = time.monotonic() - started
        if seen is not None and resumed(seen):
            return Seen(waited, waited, seen, completed_unresumed)
        if read == "completed" and seen is not None:
            completed_unresumed = True
        if waited >= budget:
            return Seen(None, waited, seen, completed_unresumed)
        time.sleep(min(step, budget - waited))


def watch_run(client: Client, run: str, resumed: Callable[[Log], bool], budget: float, limits: Limits) -> Seen:
    """``watch`` over HTTP."""
    return watch(lambda: read_status(client, run), lambda: read_log(client, run), resumed, budget, limits.watch_step)


def wait_back(client: Client, limits: Limits, noticed: Callable[[TransportLoss], None] | None = None) -> float | None:
    """The seconds until the host answers its discovery; nothing when it does not."""
    started = time.monotonic()

    def answers() -> bool:
        left = limits.back - (time.monotonic() - started)
        try:
            return client.get(DISCOVERY_PATH, max(0.05, min(limits.request, left))).status == 200
        except TransportLoss as loss:
            if noticed is not None:
                noticed(loss)
            return False

    return time.monotonic() - started if until(limits.back, limits.back_step, answers) else None


def wait_terminal(client: Client, run: str, seconds: float, limits: Limits) -> str | None:
    """The terminal status of a run; nothing when it reaches none in time."""
    found: list[str] = []

    def ended() -> bool:
        status = read_status(client, run)
        if status in ("completed", "failed", "cancelled"):
            found.append(status)
        return bool(found)

    return found[0] if until(seconds, limits.terminal_step, ended) else None


def terminal_faults(events: Sequence[dict[str, Any]]) -> str | None:
    """What is wrong with the end of a log: a second terminal event, or work after the first."""
    terminal = ("run.completed", "run.failed", "run.cancelled")
    ended: str | None = None
    for event in events:
        kind = event["type"]
        if ended is None:
            ended = kind if kind in terminal else None
        elif kind in terminal:
            return f"`{kind}` follows on `{ended}`: a run ends once"
        elif kind.startswith("node.") or kind in RESTORED or kind in ("run.started", "run.resumed"):
            return f"`{kind}` follows on `{ended}`: nothing runs after the end"
    return None
