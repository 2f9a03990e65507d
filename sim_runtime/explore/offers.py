"""What can go otherwise where a branch stands: answers to the call that leaves, events for the wait that opens,
decisions at a hold, cancellation; and what is expected where nothing does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from analyzer.expressions.values import strip_marks, to_json
from sim_runtime.core.frames import Attempt, Members, State, Subscription
from sim_runtime.core.looking import Held, timers, walk
from sim_runtime.driver.protocol import Call
from sim_runtime.explore.branch import Branch
from sim_runtime.explore.choices import (
    MILLISECOND,
    SECOND,
    DecisionOption,
    EventOption,
    Option,
    decisions_for,
    disturbances,
    events_for,
    has_large,
    other_results,
    slow,
)
from sim_runtime.explore.world import ExploreWorld
from sim_runtime.history.paths import UNDO, address_of, shown_path
from sim_runtime.samples import NoSample, sample

if TYPE_CHECKING:
    from sim_runtime.explore.plan import Plan
    from sim_runtime.explore.search import Search

MAX_STREAK: Final = 24
"""How often the same disturbance is tried at one step in a row."""
MAX_ROUNDS: Final = 5
"""In how many executions of a step, redone by recovery, it goes on."""
MAX_LOOKAHEAD: Final = 200
NO_EFFECT: Final = "no_effect"


# ---- answers ------------------------------------------------------------------------------------


def answers_of(plan: Plan, branch: Branch, expected: Option | None, left: int) -> Iterator[tuple[Option, int]]:
    """Other answers to the call that is about to leave, with what each costs of the deviations that are left."""
    call, world = branch.calling, branch.world
    assert call is not None
    if not world.takes_entry(call):
        return
    action = plan.actions.get(call.action)
    before = world.streaks.get(call.path)
    if before is not None and before is not expected and goes_on(world):
        yield before, 0
    if not left:
        return
    for option in disturbances(call, action):
        if option != before and option != expected:
            yield option, 1
    if "(reconcile)" not in call.id:
        for option in worlds_of(plan, branch):
            if not has_large(option.value):
                yield option, 1
    if _is_concurrent(branch, call):
        due = min((each.deadline for each in timers(branch.state) if each.id != call.id), default=None)
        for option in slow(call, None if due is None else due - branch.now):
            yield option, 1


def goes_on(world: ExploreWorld) -> bool:
    """Whether a disturbance may go on at the next call."""
    return world.longest < MAX_STREAK and world.rounds < MAX_ROUNDS


def _is_concurrent(branch: Branch, call: Call) -> bool:
    """Whether anything else can happen while the call is out."""
    frame = branch.state.root
    for segment in address_of(call.id):
        if frame is None:
            return False
        info = frame.info
        if isinstance(info, Members) and sum(1 for _ in frame.below()) > 1:
            return True
        if isinstance(info, Members) and info.concurrency != 1 and len(info.items) > 1:
            return True
        frame = frame.child(segment)
    return any(each.id != call.id for each in timers(branch.state))


def is_racing(state: State) -> bool:
    """Whether several branches or iterations may be under way."""
    return any(isinstance(frame.info, Members) and frame.info.concurrency != 1 for _, frame in walk(state))


def worlds_of(plan: Plan, branch: Branch) -> list[Option]:
    """Other results that the call could have without anything going wrong."""
    call = branch.calling
    assert call is not None
    if not branch.world.takes_entry(call) or call.path in branch.world.scripted or call.action in branch.world.scripted:
        return []
    known = plan.variants.get(call.action)
    if known is None:
        known = plan.variants[call.action] = other_results(plan.actions.get(call.action))
    return known


def expected_answer(search: Search, branch: Branch) -> Option | None:
    """How a call is answered when nothing goes otherwise; None for the default. A call that is sent again after a crash
    has the answer that was lost, and a probe tells the truth about the effect that it looks for."""
    call, world = branch.calling, branch.world
    assert call is not None
    if call.interrupted and call.effect == "write":
        return world.streaks.get(call.path) or _lost_failure(branch, call)
    if call.effect != "read" or "(reconcile)" not in call.id or not world.takes_entry(call):
        return None
    target = call.id[: call.id.index(".(reconcile)")]
    truth = bool(branch.monitor.took.get(target))
    known = search.probes.get((call.path, truth))
    if known is None:
        known = search.probes[call.path, truth] = (_truthful(search, branch, target, truth),)
    return known[0]


def _lost_failure(branch: Branch, call: Call) -> Option | None:
    """The failure that a scenario gave to the dispatch before, whose answer a crash lost: it comes again."""
    if not branch.world.scripted:
        return None
    given = branch.world.given
    while given is not None and given.path != call.path:
        given = given.before
    if given is None or given.answer.kind != "fail":
        return None
    return Option("same", "fails again as it did", value=given.answer)


def _truthful(search: Search, branch: Branch, target: str, truth: bool) -> Option | None:
    """The first answer of a probe from which the truth is established; None when there is no such one."""
    call = branch.calling
    assert call is not None
    options: list[Option | None] = [None]
    if branch.world.scripted:
        options.append(Option("same", "answers as by default", value=branch.world.plain(call, again=False)))
    options.extend(other_results(search.plan.actions.get(call.action)))
    for option in options:
        other = branch.fork()
        other.send_call(option)
        decided = _decided(search, other, target)
        if decided is not None and (decided == "succeeded") == truth:
            return option
    return None


def _decided(search: Search, branch: Branch, target: str) -> str | None:
    """What a reconciliation comes to when everything else goes as by default."""
    for number, records in enumerate(search.alone(branch, plain=True)):
        for record in records:
            if record.kind == "reconcile.decided" and record.id == target:
                return str(record.data["outcome"])
        if number == MAX_LOOKAHEAD:
            return None
    return None


# ---- events -------------------------------------------------------------------------------------


def events_of(plan: Plan, branch: Branch, in_time: bool = False) -> list[EventOption]:
    """Events that can come to the wait that just opened. ``in_time``: those that are a world of their own."""
    found: list[EventOption] = []
    for record in branch.opened:
        frame = branch.state.frame(address_of(record.id))
        info = frame.info if frame is not None else None
        if not isinstance(info, Subscription):
            continue
        span = None if info.deadline is None else info.deadline - branch.now
        match = to_json(strip_marks(info.match))
        number = len(branch.state.deliveries) + 1
        options = events_for(record.path, info.trigger, plan.triggers.get(info.trigger), match, span, number)
        found.extend(each for each in options if not in_time or "in time" in each.label)
    return found


# ---- decisions ----------------------------------------------------------------------------------


def decisions_of(plan: Plan, branch: Branch, held: Held) -> list[DecisionOption]:
    """What an operator may decide at a hold who knows what really took place."""
    name, action = held.id, ""
    if held.scope is not None:
        of = held.id[: -len(UNDO) - 1]
        name = f"{held.id} {branch.monitor.compensated.get(of, 0)}"
        scope = branch.state.frame(address_of(held.scope))
        undo = scope.recovery.undo if scope is not None and scope.recovery is not None else None
        action = undo.action if undo is not None else ""
    else:
        frame = branch.state.frame(address_of(held.id))
        if frame is not None and isinstance(frame.info, Attempt):
            action = frame.info.action
    declared = plan.actions.get(action)
    result = None
    if declared is not None and declared.output_schema is not None:
        path = shown_path(held.id)
        try:
            result = sample(declared.output_schema, f"{path}#{branch.world.effects_at(path)}")
        except NoSample:
            result = None
    happened = bool(branch.monitor.took.get(name))
    return decisions_for(held.id, held.hold.allowed, happened, result, NO_EFFECT)


# ---- cancellation -------------------------------------------------------------------------------


def late_answer(branch: Branch) -> Option | None:
    """The expected answer to the call that is about to leave, so late that the run can be cancelled before; None for a
    call that times out sooner."""
    call = branch.calling
    assert call is not None
    return next(iter(slow(call, None)), None) if branch.world.takes_entry(call) else None


def cancel_at(branch: Branch, answer: Option | None) -> int | None:
    """When the run is cancelled: half-way to what is due next, a second from now at the latest; None when that is now,
    when the run is over, and when its scenario cancels it."""
    if branch.over or branch.script.cancel_at_us is not None or branch.down:
        return None
    dues = [branch.next_due(), None if answer is None else branch.now + answer.latency_us]
    span = min((due - branch.now for due in dues if due is not None), default=2 * SECOND)
    soon = min(SECOND, span // 2) // MILLISECOND * MILLISECOND
    return branch.now + soon if soon else None
