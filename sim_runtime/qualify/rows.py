"""The five rows of durable-single-instance, each driven against a live host.

A row ends in one of these ways. *executed-pass* and *executed-fail* are verdicts. *blocked*: the host offers the
exercise and it could not be observed, with the unmet precondition named. *inapplicable*: the host offers no such
exercise. An answer that is lost is never a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from analyzer.report.common import plural
from sim_runtime.qualify.bundle import Row
from sim_runtime.qualify.client import Client, Reply, TransportLoss, run_path
from sim_runtime.qualify.deaths import DeathWatch
from sim_runtime.qualify.evidence import NotDerived, RecoveryBound, is_name, read_bounds
from sim_runtime.qualify.names import (
    AFTER_ACCEPT,
    BLOCKED,
    BOUND_IS_DERIVED,
    DUPLICATE_DELIVERY,
    DURING_EXECUTION,
    FAIL,
    INAPPLICABLE,
    PASS,
    POISON_EXHAUSTION,
)
from sim_runtime.qualify.processes import HostProcess
from sim_runtime.qualify.receiver import EffectReceiver
from sim_runtime.qualify.timing import Limits, pause, until
from sim_runtime.qualify.watch import (
    Log,
    Seen,
    read_log,
    terminal_faults,
    wait_back,
    wait_terminal,
    watch_run,
)

NOOP: Final = "conformance-noop"
FAILURE: Final = "conformance-failure"
KILL: Final = "/host/durability/kill"
BOUND: Final = "/host/durability/bound"
_ABSENT: Final = (404, 405)


class Blocked(Exception):
    """The exercise could not be observed; the message names what it needs."""


class Inapplicable(Exception):
    """The host offers no such exercise."""


class Failed(Exception):
    """The host does not do what the row asks."""


@dataclass(slots=True)
class Course:
    """One exercise under way: the host, what it says of itself, and what was asserted so far."""

    client: Client
    limits: Limits
    process: HostProcess | None
    receiver: Callable[[], EffectReceiver]
    fixtures: frozenset[str]
    #: The bounds that the host declares, once they were read and found to follow.
    bounds: tuple[RecoveryBound, ...] = ()
    #: What is worth a reader's attention and is no verdict.
    remarks: list[str] = field(default_factory=list)
    #: Of the kill that is under way.
    watch: DeathWatch | None = None
    deaths: int = 0
    arrived: bool = False
    assertions: int = 0
    evidence: dict[str, Any] | None = None

    def expect(self, holds: bool, message: str) -> None:
        """An assertion. Raises ``Failed``."""
        self.assertions += 1
        if not holds:
            raise Failed(message)


def drive(name: str, course: Course, exercise: Callable[[Course], None]) -> Row:
    """Run one exercise and fold what happened into a row."""
    course.assertions = 0
    course.evidence = None
    try:
        exercise(course)
    except Failed as failed:
        return Row(name, FAIL, course.assertions, str(failed))
    except (Blocked, TransportLoss) as blocked:
        return Row(name, BLOCKED, 0, str(blocked))
    except Inapplicable as reason:
        return Row(name, INAPPLICABLE, 0, str(reason))
    finally:
        if course.watch is not None:
            course.watch.close()
            course.watch = None
    if not course.assertions:
        return Row(name, BLOCKED, 0, "unclassified: nothing was asserted")
    return Row(name, PASS, course.assertions, None, course.evidence)


def need_host(course: Course) -> None:
    """The host answers its discovery. Raises ``Blocked``."""
    if wait_back(course.client, course.limits) is None:
        raise Blocked("the host does not answer its discovery: it must be up, and restarted when it dies")


def need_fixture(course: Course, fixture: str) -> None:
    """The host offers a fixture. Raises ``Inapplicable``."""
    if fixture not in course.fixtures:
        raise Inapplicable(f"the host does not advertise the fixture {fixture}")


def need_seam(course: Course) -> Reply:
    """The host offers the seam. It is asked for without being fired. Raises ``Inapplicable``."""
    reply = course.client.get(KILL)
    if reply.status in _ABSENT:
        raise Inapplicable(f"the host has no durability seam at {KILL} (it answers {reply.status})")
    return reply


def kill_after_accept(course: Course) -> None:
    """Work that was accepted and not dispatched when the process died is dispatched afterwards."""
    need_host(course)
    need_fixture(course, NOOP)
    need_seam(course)

    def resumed(log: Log) -> bool:
        return log.count("run.started", "node.started") + log.restored >= 1

    kill = fire(course, {"mode": "after-accept", "workflowId": NOOP})
    seen = follow(course, kill, resumed)
    need_death(course, kill)
    course.expect(seen.resumed_after is not None, _not_resumed("accepted work was not dispatched", kill, seen))
    note_recovery(course, kill, seen)


def kill_during_execution(course: Course) -> None:
    """Work that was executing when the process died is never seen as completed, and is executed again."""
    need_host(course)
    need_fixture(course, NOOP)
    need_seam(course)

    def resumed(log: Log) -> bool:
        return log.count("run.started") > 1 or log.restored >= 1

    kill = fire(course, {"mode": "during-execution", "workflowId": NOOP})
    seen = follow(course, kill, resumed, or_completed=True)
    need_death(course, kill)
    course.expect(
        not seen.completed_unresumed,
        "work that was executing when the process died was seen as completed, and nothing shows that it was executed"
        " again",
    )
    if seen.resumed_after is None:
        need_ceiling(course, kill)
    course.expect(seen.resumed_after is not None, _not_resumed("the work was not resumed", kill, seen))
    note_recovery(course, kill, seen)


@dataclass(slots=True)
class Kill:
    """A kill that was announced: the run, its recovery class and bound, and how long the host was away (seconds)."""

    run: str
    recovery_class: str | None
    bound_ms: float
    declared: bool
    #: When the seam's answer was read, on the monotonic clock.
    answered: float
    back_in: float
    watch: DeathWatch
    reply: Mapping[str, Any]


def fire(course: Course, body: Mapping[str, Any]) -> Kill:
    """Have a process killed, and wait until the host answers again. Raises ``Blocked``."""
    deaths = course.watch = DeathWatch(course.client, course.process, course.limits)
    deaths.begin()
    reply, held = course.client.post_and_hold(KILL, body)
    answered = time.monotonic()
    deaths.answered(held)
    run = reply.members.get("runId")
    if reply.status >= 400 or not isinstance(run, str) or not run:
        raise Blocked(f"the seam answered {reply.status} for mode {body['mode']} and named no run: it cannot stage it")
    back_in = wait_back(course.client, course.limits, deaths.lost)
    if back_in is None:
        raise Blocked("the host never answered again: it needs a supervisor that restarts what was killed")
    bound_ms, declared = _bound(course, reply)
    named = reply.members.get("recoveryClass")
    recovery_class = named if isinstance(named, str) and is_name(named) else None
    return Kill(run, recovery_class, bound_ms, declared, answered, back_in, deaths, reply.members)


def _bound(course: Course, reply: Reply) -> tuple[float, bool]:
    """The bound that governs the run in milliseconds, and whether the host declares it."""
    if (told := _positive(reply.members.get("recoveryBoundMs"))) is not None:
        return told, True
    try:
        read = course.client.get(BOUND)
    except TransportLoss:
        wait_back(course.client, course.limits)
        read = course.client.get(BOUND)
    if read.status == 200 and (told := _positive(read.members.get("bound"))) is not None:
        return told, True
    return course.limits.undeclared_bound * 1000, False


def _positive(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) and value > 0 else None


def follow(course: Course, kill: Kill, resumed: Callable[[Log], bool], *, or_completed: bool = False) -> Seen:
    """Watch the run until it resumes or its bound is over. Raises ``Blocked``.

    With ``or_completed``, a run seen as completed is judged before the ceiling is.
    """
    budget = min(kill.bound_ms / 1000, course.limits.ceiling)
    seen = watch_run(course.client, kill.run, resumed, budget, course.limits)
    if seen.log is None and wait_back(course.client, course.limits) is not None:
        # The host still answered when the watch began, and was down at its end: the watch begins now.
        late = time.monotonic() - kill.answered
        again = watch_run(course.client, kill.run, resumed, budget, course.limits)
        kill.back_in = late
        seen = replace(again, completed_unresumed=again.completed_unresumed or seen.completed_unresumed)
    if seen.log is None:
        raise Blocked("the run's events cannot be read after the restart: whether it resumed is not known")
    if seen.resumed_after is None and not (or_completed and seen.completed_unresumed):
        need_ceiling(course, kill)
    return seen


def need_ceiling(course: Course, kill: Kill) -> None:
    """The bound can be waited out. Raises ``Blocked``."""
    if kill.bound_ms / 1000 > course.limits.ceiling:
        raise Blocked(
            f"the host declares a bound of {kill.bound_ms:.0f} ms, which is allowed, and only"
            f" {course.limits.ceiling * 1000:.0f} ms were observed: raise the ceiling to the bound"
        )


def need_death(course: Course, kill: Kill) -> None:
    """A process was really killed. Raises ``Failed``, or ``Blocked`` where nobody could see it."""
    judgement = kill.watch.end()
    if judgement.died:
        course.deaths += 1
    elif judgement.unobservable:
        raise Blocked(f"{judgement.seen}: start the host with --start, or serve its supervisor's count of deaths")
    else:
        course.assertions += 1
        raise Failed(judgement.seen)


def _not_resumed(what: str, kill: Kill, seen: Seen) -> str:
    bound = f"the declared {kill.bound_ms:.0f} ms" if kill.declared else f"{kill.bound_ms:.0f} ms, no bound is declared"
    return f"{what}: the host answered after {kill.back_in:.1f} s and was watched for {seen.waited:.1f} s ({bound})"


def note_recovery(course: Course, kill: Kill, seen: Seen) -> None:
    """Keep the interval from kill to resumption as evidence, where its class and bound are declared."""
    assert seen.resumed_after is not None
    observed = round((kill.back_in + seen.resumed_after) * 1000)
    if kill.recovery_class is None or not kill.declared:
        course.remarks.append("the seam names no recovery class with a bound: nothing is recorded, and no rung follows")
        return
    bound = round(kill.bound_ms)
    course.evidence = {"recovery": {"class": kill.recovery_class, "boundMs": bound, "observedMs": observed}}
    if observed > bound:
        course.remarks.append(f"resumed after {observed} ms, outside the {bound} ms of `{kill.recovery_class}`")


def duplicate_delivery(course: Course) -> None:
    """The same work delivered twice has each effect once, counted where it lands."""
    need_host(course)
    need_seam(course)
    with course.receiver() as receiver:
        reply = course.client.post(KILL, {"mode": "duplicate-delivery", "effectUrl": receiver.url})
        run = reply.members.get("runId")
        if reply.status >= 400 or not isinstance(run, str) or not run:
            raise Blocked(
                f"the seam answered {reply.status} for mode duplicate-delivery and named no run: the host must be"
                f" allowed to call {receiver.url}"
            )
        ended = wait_terminal(course.client, run, course.limits.delivered_terminal, course.limits)
        if ended is None:
            course.expect(False, f"the run did not end within {course.limits.delivered_terminal:.0f} s")
        _wait_for_arrivals(receiver, course.limits)
        effects = _read_effects(course.client, run)
        arrivals = receiver.arrivals
        course.arrived = course.arrived or arrivals > 0
        if arrivals == 0:
            raise Blocked(_why_none(effects, receiver))
        course.expect(arrivals == 1, f"the work was delivered twice and its effect arrived {arrivals} times, not once")
        _expect_same_account(course, run, effects)


def _wait_for_arrivals(receiver: EffectReceiver, limits: Limits) -> None:
    until(limits.first_arrival, 0.05, lambda: receiver.arrivals > 0)
    # The whole window, however many arrived: nothing more may come in it.
    pause(limits.quiet)


def _read_effects(client: Client, run: str) -> list[Mapping[str, Any]] | None:
    try:
        reply = client.get(run_path(run, "/effects"))
    except TransportLoss:
        return None
    effects = reply.members.get("effects")
    if reply.status != 200 or not isinstance(effects, list):
        return None
    return [each for each in effects if isinstance(each, dict)]


def _why_none(effects: list[Mapping[str, Any]] | None, receiver: EffectReceiver) -> str:
    known = effects or []
    for each in known:
        by = each.get("invocationId")
        if isinstance(by, str) and by.startswith(("deduplicated-of:", "replay-of:")):
            return f"no effect arrived: the host took it for one that it had recorded before ({by})"
    if any(each.get("state") == "released" for each in known):
        return "no effect arrived: the host tried it and gave it up; the receiver must be in its reach"
    foreign = f"; {receiver.foreign} other requests did arrive" if receiver.foreign else ""
    return f"no effect arrived at {receiver.url} and the host records none: the seam must stage one{foreign}"


def _expect_same_account(course: Course, run: str, effects: list[Mapping[str, Any]] | None) -> None:
    """The host's own account agrees with what landed, and the second delivery ended nothing a second time."""
    log = read_log(course.client, run)
    if effects is None and log is None:
        return
    names = [str(each.get("effectId", each.get("keying", ""))) for each in effects or []]
    double = sorted({name for name in names if name and names.count(name) > 1})
    after = terminal_faults(log.events) if log is not None else None
    told = f"the host's ledger lists the effect {double[0]} more than once" if double else after
    course.expect(told is None, f"the second delivery shows in the host's own account: {told}")


def bound_is_derived(course: Course) -> None:
    """Each declared bound is the sum of its terms. A check on paper: that the mechanism runs, only kills show."""
    need_host(course)
    need_seam(course)
    reply = course.client.get(BOUND)
    if reply.status in _ABSENT:
        raise Blocked(f"the host has the seam and serves no bounds at {BOUND}")
    entries = read_classes(reply.json)
    if entries is None:
        raise Blocked(f"{BOUND} names no recovery classes and no bound with terms: a total alone cannot be checked")
    try:
        bounds = read_bounds(entries)
    except NotDerived as reason:
        course.expect(False, f"a declared bound does not follow from its terms: {reason}")
        return
    course.expect(True, "")
    course.bounds = bounds
    course.evidence = {"recoveryBounds": [bound.as_json() for bound in bounds]}


def read_classes(body: object) -> list[Any] | None:
    """The entries of the bound route in any of its three shapes, with nothing but class, bound and terms."""
    if not isinstance(body, dict):
        return None
    classes = body.get("classes")
    if isinstance(classes, list):
        return [_stripped(each.get("class") if isinstance(each, dict) else None, each) for each in classes]
    if isinstance(classes, dict):
        return [_stripped(name, each) for name, each in classes.items()]
    if "bound" in body or "terms" in body:
        named = body.get("class")
        return [_stripped(named if isinstance(named, str) else "default", body)]
    return None


def _stripped(name: object, entry: object) -> dict[str, Any]:
    found = entry if isinstance(entry, dict) else {}
    terms = found.get("terms")
    if isinstance(terms, list):
        terms = [{"name": each.get("name"), "ms": each.get("ms")} if isinstance(each, dict) else each for each in terms]
    return {"class": name, "bound": found.get("bound"), "terms": terms}


def poison_exhaustion(course: Course) -> None:
    """Work that always fails ends as failed, after finitely many attempts, and is not tried again afterwards."""
    need_host(course)
    need_fixture(course, FAILURE)
    reply = course.client.post("/runs", {"workflowId": FAILURE})
    run = reply.members.get("runId")
    if reply.status != 201 or not isinstance(run, str) or not run:
        raise Blocked(f"POST /runs answered {reply.status} for {FAILURE}")
    status = wait_terminal(course.client, run, course.limits.poisoned_terminal, course.limits)
    course.expect(
        status == "failed",
        f"work that always fails must end as failed within {course.limits.poisoned_terminal:.0f} s; it is"
        f" {status or 'not at an end'}",
    )
    before = _attempts(course, run)
    course.expect(before > 0, "no attempt is recorded: nothing was delivered, so no bound is shown")
    pause(course.limits.quiet)
    after = _attempts(course, run)
    course.expect(
        after == before, f"{plural(before, 'attempt')} at the end of the run became {after}: it is still being tried"
    )


def _attempts(course: Course, run: str) -> int:
    log = read_log(course.client, run)
    if log is None:
        raise Blocked("the run's events cannot be read: attempts cannot be counted")
    if not log.count("node.failed"):
        raise Blocked("the run's events hold no node.failed: an empty log would make every count right")
    return log.count("node.started", "node.retried")


#: In the order in which they are driven.
EXERCISES: Final[Mapping[str, Callable[[Course], None]]] = {
    AFTER_ACCEPT: kill_after_accept,
    DURING_EXECUTION: kill_during_execution,
    DUPLICATE_DELIVERY: duplicate_delivery,
    BOUND_IS_DERIVED: bound_is_derived,
    POISON_EXHAUSTION: poison_exhaustion,
}
