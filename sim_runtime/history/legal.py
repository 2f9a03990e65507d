"""Whether a record may follow a state: every transition of a history is checked before it is folded in (R-GEN-03).

``core.evolve`` takes what the runtime wrote. A history from a file may say anything, so ``problem_of`` is asked first:
it answers in words why a record contradicts those before it, or None. It knows nothing of the definition, so that it
works when that is gone; whether the definition leads to the record is for re-evaluation to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from analyzer.expressions.times import MAX_TIMESTAMP_US
from sim_runtime.core.evolve import take_in
from sim_runtime.core.frames import (
    Attempt,
    Child,
    Entry,
    Frame,
    Members,
    Run,
    State,
    Subscription,
    Wait,
)
from sim_runtime.core.looking import holds, timers_of
from sim_runtime.core.persistent import last_entry
from sim_runtime.history.legal_recovery import RECOVERY_CHECKS, fixed_call, live
from sim_runtime.history.paths import CHILD, Address, address_of, shown_path
from sim_runtime.history.records import OUTCOMES, Record
from sim_runtime.history.refusal import is_withheld

Check = Callable[[State, Record, Address], "str | None"]

_DISPOSITIONS: Final = frozenset({"raise", "continue", "abort", "end", "stop", "limit", "escalate"})
#: What all attempts of a call share.
_FIXED: Final = ("action", "effect", "idempotency", "arguments", "connection", "key")
#: What a run tells of its end, by how it ended.
_TOLD_BY: Final = {"failure": ("failed", "aborted"), "stop": ("stopped",), "cancel": ("cancelled",)}
_NOT_THERE: Final = "it is about something that is not in progress"
#: What evolving a record that is no such thing may raise; nothing of the runtime's own records does.
_BROKEN: Final = (AttributeError, TypeError, KeyError, ValueError, IndexError, AssertionError)


def taken(state: State, record: Record) -> str | None:
    """Take a record of unknown origin into a state that is being made; why it may not follow, in words, or None. The
    state is of no use after that."""
    try:
        problem = problem_of(state, record)
        if problem is None:
            take_in(state, record)
    except _BROKEN:
        return "it does not fit the state that the records before it make"
    return problem


def problem_of(state: State, record: Record) -> str | None:
    """Why the record contradicts the state, in words that go on ``from record N on``; None when it does not."""
    if state.root is None and record.kind != "run.accepted":
        return "the run was not accepted"
    if record.generation != state.generation and record.kind != "generation.started":
        return f"its generation is {record.generation}, and {state.generation} is active"
    check = _CHECKS.get(record.kind)
    return None if check is None else check(state, record, address_of(record.id))


# ---- runs ---------------------------------------------------------------------------------------


def _accepted(state: State, _record: Record, _at: Address) -> str | None:
    return None if state.root is None else "the run was accepted before"


def _run_at(state: State, at: Address) -> Run | None:
    frame = state.frame(at)
    return frame.info if frame is not None and isinstance(frame.info, Run) else None


def _started(state: State, record: Record, at: Address) -> str | None:
    frame = state.frame(at)
    if frame is None or frame.role != "run" or frame.phase != "accepted":
        return "the run that starts was not accepted, or has started before"
    return None if record.data["started_at"] == record.at else "it starts at another instant than it says"


def _suspended(state: State, record: Record, at: Address) -> str | None:
    if at or state.over or state.status != "running":
        return f"the run is {state.status}, not running"
    if record.kind == "run.held":
        held = [shown_path(each.id) for each in holds(state)]
        return None if held and held == record.data["holds"] else "other places are held, or nothing is"
    return None


def _resumed(state: State, _record: Record, at: Address) -> str | None:
    return None if not at and state.status in ("suspended", "held") else f"the run is {state.status}, nothing resumes"


def _finished(state: State, record: Record, at: Address) -> str | None:
    run = _run_at(state, at)
    if run is None or run.ended is not None:
        return "the run that ends is not under way"
    outcome = record.data["outcome"]
    if outcome not in OUTCOMES:
        return f"`{outcome}` is not an outcome"
    if run.ending is not None and run.ending.outcome != outcome:
        return f"its outcome was decided as {run.ending.outcome}"
    if any((record.data.get(name) is not None) != (outcome in own) for name, own in _TOLD_BY.items()):
        return f"it does not tell what a run that ended as {outcome} tells"
    frame = state.frame(at)
    if frame is not None and frame.phase == "accepted" and run.ending is None and outcome != "failed":
        return "the run had not started"
    if not at and frame is not None and frame.open:
        return "timers, subscriptions or child runs are still open"
    return None


def _cancelled(state: State, _record: Record, at: Address) -> str | None:
    run = _run_at(state, at)
    if run is None or run.ended is not None or run.ending is not None:
        return "the run that is cancelled is not under way"
    return None


# ---- steps --------------------------------------------------------------------------------------


def _step_started(state: State, record: Record, at: Address) -> str | None:
    parent = state.frame(at[:-1]) if at else None
    if parent is None or parent.over:
        return "nothing is in progress around the step"
    segment = at[-1]
    if parent.child(segment) is not None:
        return "the step has begun before in this generation"
    if record.data.get("guard") is False:
        return "a step whose guard is false is skipped"
    if record.data["step"] == "iteration":
        index = record.data.get("index", -1)
        if parent.items is None or segment != f"[{index}]" or not 0 <= index < parent.items.count:
            return "there is no such iteration"
        return None
    if record.data["step"] == "branch":
        plain = parent.role == "step" and parent.items is None
        return (
            None if plain and (parent.info is None or isinstance(parent.info, Members)) else "there is no such branch"
        )
    return _runs_steps(parent, segment)


def _runs_steps(parent: Frame, segment: str) -> str | None:
    if segment[0] in "([/" or (isinstance(parent.info, Run) and (parent.phase != "running" or parent.info.entries)):
        return "no list of steps is in progress around the step"
    if isinstance(parent.info, Members | Attempt | Wait | Child):
        return "no list of steps is in progress around the step"
    if parent.children:
        last = last_entry(parent.children)[1]
        if last.role == "step" and last.index == parent.cursor and not last.over:
            return "the step before it is still in progress"
    return None


def _skipped(state: State, record: Record, at: Address) -> str | None:
    if record.data["guard"] is not False:
        return "a step is skipped when its guard is false"
    parent = state.frame(at[:-1]) if at else None
    if parent is None or parent.over:
        return "nothing is in progress around the step"
    if parent.child(at[-1]) is not None:
        return "the step has begun before in this generation"
    return _runs_steps(parent, at[-1])


def _succeeded(state: State, _record: Record, at: Address) -> str | None:
    frame = live(state, at)
    if frame is None or frame.role == "run" or frame.hold is not None or frame.recovery is not None:
        return "the step is not in progress"
    if frame.phase == "handling" or frame.role == "list":
        return None
    info = frame.info
    if isinstance(info, Attempt) and frame.phase != "answered":
        return "the action has no result"
    if frame.phase == "started" and isinstance(info, Attempt | Wait | Subscription):
        return "the step has done nothing yet"
    if isinstance(info, Wait) and not info.fired:
        return "the timer that it waits for has not elapsed"
    if isinstance(info, Subscription) and info.status is None:
        return "nothing completed the wait"
    if isinstance(info, Child) and info.outcome not in ("succeeded", "stopped"):
        return "the child run has not come to an end that is a success"
    return None


def _failed(state: State, record: Record, at: Address) -> str | None:
    if record.data["disposition"] not in _DISPOSITIONS:
        return f"`{record.data['disposition']}` is not a disposition"
    failed = address_of(record.data["failed"])
    if failed[: len(at)] != at:
        return "the step that failed does not stand in it"
    return "the step is not in progress" if live(state, at) is None else None


def _in_step(state: State, at: Address, *phases: str) -> Frame | None:
    frame = live(state, at)
    return frame if frame is not None and frame.role == "step" and (not phases or frame.phase in phases) else None


def _branch(state: State, record: Record, at: Address) -> str | None:
    segment = record.data["branch"]
    if segment is not None and segment[:1] != "(":
        return "`branch` is not a segment of a path"
    return None if _in_step(state, at, "started") is not None else "its condition was decided before, or never asked"


def _planned(state: State, record: Record, at: Address) -> str | None:
    if not isinstance(record.data["items"], list) or record.data["concurrency"] < 1:
        return "iterations go over a list, at least one at a time"
    return None if _in_step(state, at, "started") is not None else "the loop was planned before, or has not begun"


def _handler(state: State, record: Record, at: Address) -> str | None:
    frame = _in_step(state, at)
    if frame is None or frame.phase == "handling" or record.data["handler"] < 0:
        return "no step that has failed is in progress there"
    error = record.data["error"]
    known = isinstance(error, dict) and error.keys() >= {"code", "message", "details", "step"}
    return None if known or is_withheld(error) else "`error` has a code, a message, details and a step"


# ---- actions ------------------------------------------------------------------------------------


def _prepared(state: State, record: Record, at: Address) -> str | None:
    data = record.data
    problem = fixed_call(data)
    if problem is not None:
        return problem
    frame = _in_step(state, at, "started", "due")
    if frame is None or frame.hold is not None:
        return "an attempt is prepared where none is due"
    before = frame.info if isinstance(frame.info, Attempt) else None
    expected = before.attempt + 1 if before is not None else 1
    if data["attempt"] != expected:
        return f"it is attempt {data['attempt']}, and {expected} must follow"
    if before is not None and before.action and any(getattr(before, name) != data[name] for name in _FIXED):
        return "it is another call than the attempt before it"
    return None


def _suppressed(state: State, _record: Record, at: Address) -> str | None:
    if not state.dry_run:
        return "only a dry run suppresses calls"
    return None if _in_step(state, at, "started") is not None else _NOT_THERE


def _attempt(state: State, at: Address, *phases: str) -> Attempt | None:
    frame = _in_step(state, at, *phases)
    return frame.info if frame is not None and isinstance(frame.info, Attempt) else None


def _dispatched(state: State, record: Record, at: Address) -> str | None:
    attempt = _attempt(state, at, "prepared", "reissue", "ambiguous", "dispatched")
    frame = state.frame(at)
    if attempt is None or frame is None or frame.hold is not None:
        return "a call leaves that was not prepared"
    if record.data["attempt"] != attempt.attempt:
        return f"it is of attempt {record.data['attempt']}, and {attempt.attempt} was prepared"
    expected = 0 if frame.phase == "prepared" else attempt.reissue + 1
    if record.data["reissue"] != expected:
        return f"it is reissue {record.data['reissue']}, and {expected} must follow"
    if frame.phase == "dispatched" and attempt.effect != "read":
        return "a write that is out was sent again"
    due = None if attempt.timeout is None else min(record.at + attempt.timeout, MAX_TIMESTAMP_US)
    return None if record.data.get("deadline") == due else "its deadline is not that of the timeout that was prepared"


def _answered(state: State, record: Record, at: Address) -> str | None:
    effect = record.data["effect"] if record.kind == "action.failed" else "none"
    if effect not in ("none", "possible", "happened"):
        return f"`{effect}` is not a word for what is known of an effect"
    possible = effect == "possible"
    attempt = _attempt(state, at, "ambiguous" if possible else "dispatched")
    if attempt is None:
        return "no call is out whose outcome it could be"
    if record.data["attempt"] != attempt.attempt:
        return f"it is of attempt {record.data['attempt']}, and {attempt.attempt} is out"
    if record.kind == "action.ambiguous" and attempt.effect == "read":
        return "a read is never ambiguous"
    return None


def _retry(state: State, record: Record, at: Address) -> str | None:
    frame = _in_step(state, at, "attempt_failed")
    if frame is None or not isinstance(frame.info, Attempt):
        return "no attempt has failed there"
    expected = frame.info.attempt + 1
    if record.data["source"] not in ("policy", "server") or record.data["deadline"] < record.at:
        return "what its delay comes from is not known, or it is over"
    return None if record.data["attempt"] == expected else f"attempt {expected} must follow"


def _late(_state: State, record: Record, _at: Address) -> str | None:
    word = record.data["answer"]
    return None if word in ("success", "failure", "ambiguous") else f"`{word}` is not an answer"


def _reconcile(state: State, record: Record, at: Address) -> str | None:
    attempt = _attempt(state, at, "ambiguous")
    numbers = (record.data["attempt"], record.data["number"])
    if attempt is None or numbers != (attempt.attempt, attempt.reconciles + 1):
        return "no ambiguous attempt is to be reconciled there"
    return None


def _reconciled(state: State, record: Record, at: Address) -> str | None:
    attempt = _attempt(state, at, "reconciling")
    if attempt is None or record.data["number"] != attempt.reconciles:
        return "no reconciliation is under way there"
    outcome = record.data["outcome"]
    if outcome == "succeeded" and "result" not in record.data:
        return "a reconciled success has a result"
    return None if outcome in ("succeeded", "no_effect", "unresolved") else f"`{outcome}` is not an outcome"


# ---- timers, events, states, children -----------------------------------------------------------


def _timer_set(state: State, record: Record, at: Address) -> str | None:
    name = record.data["timer"]
    frame = state.frame(at)
    if frame is None:
        return _NOT_THERE
    if any(each.name == name for each in timers_of(record.id, frame)):
        return "the timer runs already"
    if name == "delay":
        sound = frame.recovery is not None and frame.recovery.stage == "decided"
    elif name.startswith("state:"):
        sound = isinstance(frame.info, Entry) and "to" in record.data
    elif name == "timeout":
        sound = isinstance(frame.info, Child)
    else:
        sound = name == "wait" and (frame.phase == "started" or isinstance(frame.info, Subscription))
    return None if sound else f"nothing there sets a timer `{name}`"


def _timer_fired(state: State, record: Record, at: Address) -> str | None:
    name, deadline = record.data["timer"], record.data["deadline"]
    frame = state.frame(at)
    running = timers_of(record.id, frame) if frame is not None else ()
    if name == "attempt" or not any(each.name == name and each.deadline == deadline for each in running):
        return "no such timer runs"
    return "the timer fired before its deadline" if record.at < deadline else None


def _timer_released(state: State, record: Record, at: Address) -> str | None:
    name = record.data["timer"]
    frame = state.frame(at)
    running = timers_of(record.id, frame) if frame is not None else ()
    return None if any(each.name == name for each in running if name != "attempt") else "no such timer runs"


def _subscribed(state: State, _record: Record, at: Address) -> str | None:
    frame = _in_step(state, at, "started")
    return None if frame is not None and frame.info is None else "no wait begins there"


def _subscription(state: State, at: Address) -> Subscription | None:
    frame = live(state, at)
    return frame.info if frame is not None and isinstance(frame.info, Subscription) else None


def _event(state: State, record: Record, at: Address) -> str | None:
    found = _subscription(state, at)
    if found is None or not found.subscribed or not (found.timed or found.fired):
        return "no subscription is open there"
    if found.trigger != record.data["trigger"]:
        return f"the wait is for `{found.trigger}`"
    delivery = record.data["delivery"]
    return "the wait has this delivery already" if any(e.delivery == delivery for e in found.events) else None


def _refused(_state: State, record: Record, _at: Address) -> str | None:
    reason = record.data["reason"]
    return None if reason in ("duplicate", "unmatched", "invalid") else f"`{reason}` is not a reason to refuse an event"


def _selected(state: State, record: Record, at: Address) -> str | None:
    found = _subscription(state, at)
    frame = state.frame(at)
    if found is None or frame is None or frame.phase != "open":
        return "no wait is open there"
    if record.data["status"] == "received":
        delivery = record.data.get("delivery")
        return None if any(e.delivery == delivery for e in found.events) else "the wait accepted no such event"
    if record.data["status"] != "timeout":
        return f"`{record.data['status']}` does not complete a wait"
    return None if found.fired else "the timer of the wait has not elapsed"


def _unsubscribed(state: State, _record: Record, at: Address) -> str | None:
    frame = state.frame(at)
    info = frame.info if frame is not None else None
    return None if isinstance(info, Subscription) and info.subscribed else "no subscription is open there"


def _entered(state: State, record: Record, at: Address) -> str | None:
    data = record.data
    run = _run_at(state, at[:-1]) if at else None
    if run is None or run.ended is not None:
        return "the run whose state is entered is not under way"
    latest = next((each for each in reversed(run.entries) if each.partition("#")[0] == data["state"]), "")
    expected = int(latest.partition("#")[2] or 0) + 1
    if run.next not in (None, data["state"]):
        return f"`{run.next}` is to be entered"
    if data["entry"] != expected or at[-1] != f"{data['state']}#{expected}":
        return f"it is entry {data['entry']} of the state, and {expected} must follow"
    return None


def _route(state: State, _record: Record, at: Address) -> str | None:
    frame = live(state, at)
    run = _run_at(state, at[:-1]) if at else None
    if frame is None or run is None or not isinstance(frame.info, Entry) or run.entries[-1] != at[-1]:
        return "the state that is left is not the current one"
    return None


def _child_started(state: State, _record: Record, at: Address) -> str | None:
    frame = _in_step(state, at, "started")
    return None if frame is not None and frame.info is None else "no call begins there"


def _child(state: State, at: Address) -> Child | None:
    frame = state.frame(at)
    return frame.info if frame is not None and isinstance(frame.info, Child) else None


def _child_finished(state: State, record: Record, at: Address) -> str | None:
    child, run = _child(state, at), _run_at(state, (*at, CHILD))
    if child is None or child.outcome is not None or run is None or run.ended is None:
        return "no child run has ended there"
    return None if run.ended.outcome == record.data["outcome"] else f"the child run ended as {run.ended.outcome}"


def _child_cancelled(state: State, _record: Record, at: Address) -> str | None:
    child = _child(state, at)
    return (
        None if child is not None and child.outcome is None and not child.cancel else "no child run is under way there"
    )


_CHECKS: Final[dict[str, Check]] = {
    "run.accepted": _accepted,
    "run.started": _started,
    "run.suspended": _suspended,
    "run.held": _suspended,
    "run.resumed": _resumed,
    "run.finished": _finished,
    "cancel.decided": _cancelled,
    "step.started": _step_started,
    "step.skipped": _skipped,
    "step.succeeded": _succeeded,
    "step.failed": _failed,
    "branch.selected": _branch,
    "iterations.planned": _planned,
    "handler.entered": _handler,
    "action.prepared": _prepared,
    "action.suppressed": _suppressed,
    "action.dispatched": _dispatched,
    "action.succeeded": _answered,
    "action.failed": _answered,
    "action.ambiguous": _answered,
    "retry.scheduled": _retry,
    "late_result.recorded": _late,
    "reconcile.started": _reconcile,
    "reconcile.decided": _reconciled,
    "timer.set": _timer_set,
    "timer.fired": _timer_fired,
    "timer.released": _timer_released,
    "subscription.opened": _subscribed,
    "event.accepted": _event,
    "event.refused": _refused,
    "wait.selected": _selected,
    "subscription.released": _unsubscribed,
    "state.entered": _entered,
    "route.selected": _route,
    "child.started": _child_started,
    "child.finished": _child_finished,
    "child.cancel_requested": _child_cancelled,
    **RECOVERY_CHECKS,
}
