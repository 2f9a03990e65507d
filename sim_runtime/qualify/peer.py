"""The row peer-resume: another live process takes over the work of one that dies, and the service stays reachable.

There is no upstream row for it. The seam mode, the route for incarnations and the ``incarnation`` in event payloads are
ours; ``docs/qualification.md`` describes them for hosts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sim_runtime.qualify.client import DISCOVERY_PATH, Client, TransportLoss
from sim_runtime.qualify.deaths import INCARNATIONS, read_incarnations
from sim_runtime.qualify.extension import GAP_LIMIT_MS, is_token
from sim_runtime.qualify.rows import (
    NOOP,
    Blocked,
    Course,
    fire,
    follow,
    need_death,
    need_fixture,
    need_host,
    need_seam,
    note_recovery,
)
from sim_runtime.qualify.timing import until
from sim_runtime.qualify.watch import RESTORED, Log

MODE = "peer-resume"
_STARTS = frozenset({"run.started", "node.started", *RESTORED})


@dataclass(slots=True)
class ReachabilityTrace:
    """Asks for the discovery again and again in the background, and keeps what it saw of gaps and failures."""

    client: Client
    step: float
    probes: int = 0
    failures: int = 0
    longest: float = 0.0
    _last: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start asking."""
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                reached = self.client.get(DISCOVERY_PATH).status == 200
            except TransportLoss:
                reached = False
            now = time.monotonic()
            self.probes += 1
            if reached:
                self.longest = max(self.longest, now - self._last)
                self._last = now
            else:
                self.failures += 1
            self._stop.wait(self.step)

    def end(self) -> Mapping[str, int]:
        """Stop asking; the trace as evidence."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        longest = max(self.longest, time.monotonic() - self._last if self.failures else 0.0)
        return {"probes": self.probes, "failures": self.failures, "longestGapMs": round(longest * 1000)}


def resumer_of(log: Log, acceptor: str) -> str | None:
    """The token of the first other incarnation that started or restored the run."""
    for event in log.events:
        payload = event.get("payload")
        token = payload.get("incarnation") if isinstance(payload, dict) else None
        if event["type"] in _STARTS and isinstance(token, str) and token != acceptor:
            return token
    return None


def peer_resume(course: Course) -> None:
    """Work of an instance that dies is resumed by another one that lived all the while."""
    need_host(course)
    need_fixture(course, NOOP)
    need_seam(course)
    live = _live_instances(course)
    trace = ReachabilityTrace(course.client, course.limits.probe_step)
    trace.begin()
    try:
        kill = fire(course, {"mode": MODE, "workflowId": NOOP})
        acceptor = kill.reply.get("acceptor")
        told = acceptor if isinstance(acceptor, str) else ""
        seen = follow(course, kill, lambda log: resumer_of(log, told) is not None)
    finally:
        reachability = trace.end()
    need_death(course, kill)
    course.expect(told in live, "the acceptor that the seam names is not one of the instances that were live")
    course.expect(seen.resumed_after is not None, "no other instance resumed the work within the bound")
    assert seen.log is not None
    resumer = resumer_of(seen.log, told)
    course.expect(resumer in live, "the work was resumed by an instance that was started after the kill, not by a peer")
    gone = until(course.limits.death, course.limits.probe_step, lambda: _is_gone(course.client, told))
    course.expect(gone, "the acceptor still counts as live after its death")
    reachable = not reachability["failures"] and reachability["longestGapMs"] <= GAP_LIMIT_MS
    course.expect(reachable, f"the service did not stay reachable across the kill: {dict(reachability)}")
    note_recovery(course, kill, seen)
    _complete_evidence(course, told, resumer, live, reachability)


def _is_gone(client: Client, token: str) -> bool:
    """The supervisor may need a moment to notice."""
    told = read_incarnations(client)
    return told is not None and token not in told.tokens


def _complete_evidence(
    course: Course, acceptor: str, resumer: str | None, live: list[str], reachability: Mapping[str, int]
) -> None:
    evidence: dict[str, Any] = dict(course.evidence or {})
    evidence.update(acceptor=acceptor, resumer=resumer, instances=live, reachability=dict(reachability))
    course.evidence = evidence


def _is_alone(client: Client) -> bool:
    told = read_incarnations(client)
    return told is not None and len(set(told.tokens)) < 2


def _live_instances(course: Course) -> list[str]:
    # Rows before this one may have left an instance that is being started again.
    until(course.limits.death, course.limits.probe_step, lambda: not _is_alone(course.client))
    told = read_incarnations(course.client)
    if told is None:
        raise Blocked(f"the host serves no incarnations at {INCARNATIONS}: nothing tells one instance from another")
    if len(set(told.tokens)) < 2:
        raise Blocked(f"{len(set(told.tokens))} instance is live: two live processes are needed when the kill lands")
    for token in told.tokens:
        if not is_token(token):
            raise Blocked("a token is not opaque: it needs 16 to 128 letters, digits, `_` or `-`, and is not a number")
    return sorted(set(told.tokens))
