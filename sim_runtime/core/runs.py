"""Runs: inputs, the root list or the state machine, child runs, and how a run ends (language page, sections 5 to 7)."""

from __future__ import annotations

from typing import Any

from analyzer.expressions.faults import KIND, Fault
from analyzer.expressions.times import MAX_TIMESTAMP_US
from analyzer.expressions.values import Value, from_json, is_marked
from sim_runtime.core.advance import advance_list, advances
from sim_runtime.core.calling import timeout_of
from sim_runtime.core.definition import Definition, RecoveryDef, StateDef, StepDef
from sim_runtime.core.failing import (
    emit_failed,
    end_unknown,
    fail_by_fault,
    fail_step,
    finish_child,
    release_open,
    settle_between,
    takes,
)
from sim_runtime.core.fitting import json_of
from sim_runtime.core.frames import Child, Entry, Failure, Frame, Run
from sim_runtime.core.looking import live_below
from sim_runtime.core.prior import hold_unmet
from sim_runtime.core.reading import latest_entry
from sim_runtime.core.recovering import advance_recovery, recover
from sim_runtime.core.transaction import AGAIN, CLOSED, DONE, HELD, Raised, Tx, Unknown, fault_failure
from sim_runtime.history.paths import CHILD, Address, identity_of, join, shown_path

# ---- inputs -------------------------------------------------------------------------------------


def read_inputs(definition: Definition, given: Any) -> tuple[Value, str | None]:
    """Inputs as values, and why they are not valid. ``given`` is plain JSON."""
    if not isinstance(given, dict):
        return given, "inputs are a map of names to values"
    values: dict[str, Value] = {}
    problem: str | None = None
    for name, value in given.items():
        declared = definition.inputs.get(name)
        if declared is None:
            values[name] = value
            problem = problem or f"there is no input `{name}`"
            continue
        if value is None and declared.optional:
            continue
        try:
            values[name] = from_json(value, declared.guide)
            faults = declared.fit.faults(value)
        except Fault as fault:
            values[name] = value
            faults = [fault.message]
        if faults:
            problem = problem or f"the input `{name}` is not valid: {faults[0]}"
    missing = [name for name, each in definition.inputs.items() if not each.optional and name not in given]
    if missing:
        problem = problem or f"the input `{missing[0]}` is missing"
    return values, problem


def read_trigger(definition: Definition, payload: Any) -> tuple[Value, str | None]:
    """The root trigger's payload as a value, and why it is not valid."""
    if definition.trigger is None:
        return payload, None
    try:
        value = from_json(payload, definition.trigger.guide)
        faults = definition.trigger.fit.faults(payload)
    except Fault as fault:
        return payload, f"the payload of `trigger` is not valid: {fault.message}"
    return value, f"the payload of `trigger` is not valid: {faults[0]}" if faults else None


# ---- a run --------------------------------------------------------------------------------------


def advance_run(tx: Tx, at: Address, definition: Definition, draining: bool) -> int | Raised:
    """Go on with a run. Never raises a failure: a run that fails ends."""
    frame = tx.frame(at)
    run: Run = frame.info
    if run.ended is not None:
        return DONE
    if run.ending is not None:
        if not at and tx.state.prior and run.ending.outcome != "cancelled" and hold_unmet(tx):
            return HELD
        return _finish(tx, at)
    if not at and tx.state.orphans:
        return HELD
    if frame.phase == "accepted":
        return 0 if draining else _start_child(tx, at, definition, run)
    if frame.recovery is not None:
        return advance_recovery(tx, at, frame.recovery)
    if frame.hold is not None:
        return HELD
    if frame.broken is not None:
        return _land(tx, at, frame.broken.failure.failed, frame.broken.failure._replace(failed=identity_of(at)))
    if definition.states is not None:
        result = advance_states(tx, at, definition, draining)
    else:
        assert definition.steps is not None
        result = advance_list(tx, at, definition.steps, draining)
    if result == DONE:
        return _complete(tx, at, definition)
    if not isinstance(result, Raised):
        return result
    if draining:
        return 0
    if definition.recovery is not None:
        found = recover(tx, at, definition.recovery, result.failure)
        return advance_run(tx, at, definition, draining) if found == AGAIN else found
    return _land(tx, at, result.failure.failed, result.failure)


def _land(tx: Tx, at: Address, failed: str, failure: Failure) -> int:
    """A failure has passed the root: the run fails."""
    if not at and tx.state.prior and hold_unmet(tx):
        return HELD
    if not settle_between(tx, failed, at) or not release_open(tx, at):
        return CLOSED
    _end_failed(tx, at, failure)
    return CLOSED


def _end_failed(tx: Tx, at: Address, failure: Failure) -> None:
    shown = {
        "code": failure.code,
        "message": failure.message,
        "details": failure.details,
        "path": shown_path(failure.failed),
    }
    tx.emit("run.finished", identity_of(at), outcome="failed", failure=shown)


def _finish(tx: Tx, at: Address) -> int:
    """The end was decided: let go of everything, then end."""
    if not release_open(tx, at):
        return CLOSED
    ending = tx.frame(at).info.ending
    data: dict[str, Any] = {"outcome": ending.outcome}
    if ending.outcome == "stopped":
        data["result"] = ending.result
        data["stop"] = ending.stop
    elif ending.outcome == "cancelled":
        data["cancel"] = ending.cancel
    else:
        data["failure"] = ending.failure
    tx.emit("run.finished", identity_of(at), **data)
    return CLOSED


def _complete(tx: Tx, at: Address, definition: Definition) -> int:
    """The last step is done: the result, and success."""
    if not at and tx.state.prior and hold_unmet(tx):
        return HELD
    if not release_open(tx, at):
        return CLOSED
    result: Value = None
    if definition.result is not None:
        steps, inside = definition.steps, at
        if definition.states is not None:
            run: Run = tx.frame(at).info
            name = run.entries[-1]
            steps, inside = definition.states[name.partition("#")[0]].steps, (*at, name)
        assert steps is not None
        try:
            result = tx.value(definition.result, steps, inside)
        except Unknown:
            return end_unknown(tx, at)
        except Fault as fault:
            _end_failed(tx, at, fault_failure(fault, join(identity_of(at), "result")))
            return CLOSED
    tx.emit("run.finished", identity_of(at), outcome="succeeded", result=result)
    return CLOSED


# ---- states -------------------------------------------------------------------------------------


def advance_states(tx: Tx, at: Address, definition: Definition, draining: bool) -> int | Raised:
    """Enter states, run their steps, follow routes and elapsed timers, until a final state is done."""
    assert definition.states is not None
    run: Run = tx.frame(at).info
    entered = run.next if run.next is not None else (definition.initial if not run.entries else None)
    if entered is not None:
        if draining:
            return 0
        return _enter(tx, at, entered)
    segment = run.entries[-1]
    state = definition.states[segment.partition("#")[0]]
    return _advance_state(tx, (*at, segment), state, draining)


def _advance_state(tx: Tx, at: Address, state: StateDef, draining: bool) -> int | Raised:
    frame = tx.frame(at)
    entry: Entry = frame.info
    if entry.timers is None and state.timers:
        for timer in state.timers:
            deadline = min(entry.at + timer.after_us, MAX_TIMESTAMP_US)
            tx.emit("timer.set", identity_of(at), timer=f"state:{timer.name}", deadline=deadline, to=timer.to)
        return tx.close()
    fired = next((timer for timer in entry.timers or () if timer.fired), None)
    if fired is not None and not draining and not frame.held and not _compensating(frame):
        _bind_answered(tx, at, frame)
        if not release_open(tx, at):
            return CLOSED
        return _enter(tx, at[:-1], fired.to)
    if frame.recovery is not None:
        return advance_recovery(tx, at, frame.recovery)
    if frame.hold is not None:
        return HELD
    if frame.broken is not None:
        return _state_gave_up(tx, at, frame)
    result = advance_list(tx, at, state.steps, draining)
    if isinstance(result, Raised):
        return _state_failed(tx, at, state.recovery, result, draining)
    if result != DONE or state.final:
        return result
    return 0 if draining else _leave(tx, at, state)


def _bind_answered(tx: Tx, at: Address, frame: Frame) -> None:
    """Bind what an operator established while a timer of the state stood: a definite success is never dropped."""
    stack = [(at, frame)]
    while stack:
        here, current = stack.pop()
        if current.phase == "answered":
            tx.emit("step.succeeded", identity_of(here))
        else:
            stack.extend(reversed([((*here, segment), child) for segment, child in live_below(current)]))


def _compensating(frame: Frame) -> bool:
    """Whether a recovery inside has begun to take effect: a state is left after it, not in the middle of it."""
    stack = [frame]
    while stack:
        current = stack.pop()
        if current.recovery is not None and current.recovery.stage == "superseded":
            return True
        stack.extend(child for _, child in current.below() if not child.over)
    return False


def _state_failed(tx: Tx, at: Address, recovery: RecoveryDef | None, raised: Raised, draining: bool) -> int | Raised:
    if recovery is None:
        return raised
    if draining:
        return 0
    found = recover(tx, at, recovery, raised.failure)
    return _state_gave_up(tx, at, tx.frame(at)) if found == AGAIN else found


def _state_gave_up(tx: Tx, at: Address, frame: Frame) -> int | Raised:
    """The state's own recovery has ended, or the state failed by itself: its entry is the failed step."""
    broken = frame.broken
    assert broken is not None
    if broken.how == "escalate":
        return Raised(broken.failure, escalating=True)
    if broken.how == "limit" and not settle_between(tx, broken.failure.failed, at):
        return CLOSED
    return Raised(broken.failure._replace(failed=identity_of(at)))


def _enter(tx: Tx, at: Address, name: str) -> int:
    """Enter a state of the run at ``at``; the one that it is in is left."""
    latest = latest_entry(tx.frame(at).info, name)
    number = 1 if latest is None else int(latest.partition("#")[2]) + 1
    tx.emit("state.entered", identity_of((*at, f"{name}#{number}")), state=name, entry=number)
    return CLOSED


def _leave(tx: Tx, at: Address, state: StateDef) -> int | Raised:
    """The first route that holds."""
    id_ = identity_of(at)
    try:
        for index, route in enumerate(state.routes):
            holds = True if route.when is None else tx.condition(route.when, state.steps, at)
            if not isinstance(holds, bool):
                raise Fault(KIND, "`when` of a route is true or false")
            if holds:
                tx.emit("route.selected", id_, route=index, to=route.to)
                return _enter(tx, at[:-1], route.to) if release_open(tx, at) else CLOSED
    except Unknown:
        return end_unknown(tx, at)
    except Fault as fault:
        return _fail_state(tx, at, fault_failure(fault, id_))
    message = f"no route of the state `{state.name}` holds"
    return _fail_state(tx, at, Failure("route.none", message, {}, id_))


def _fail_state(tx: Tx, at: Address, failure: Failure) -> int | Raised:
    emit_failed(tx, failure.failed, failure, "raise")
    return _state_gave_up(tx, at, tx.frame(at))


# ---- child runs ---------------------------------------------------------------------------------


@advances("wf.call")
def advance_call(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Start the child, go on with it, and take over its end."""
    assert step.callee is not None
    if frame.phase == "started":
        if draining:
            return 0
        problem = _call_child(tx, at, step)
        if problem is not None:
            return problem
        frame = tx.frame(at)
    if frame.phase == "child":
        child: Child = frame.info
        if (child.fired or child.cancel) and not frame.held and not draining:
            _bind_answered(tx, at, frame)
            if not release_open(tx, at):
                return CLOSED
            return AGAIN
        result = advance_run(tx, (*at, CHILD), step.callee, draining)
        if result != DONE:
            return result
        finish_child(tx, at)
    return _returned(tx, at, step, tx.frame(at).info, draining)


def _call_child(tx: Tx, at: Address, step: StepDef) -> int | Raised | None:
    """Evaluate the inputs and link the child run; None when it is linked."""
    assert step.callee is not None
    assert step.inputs is not None
    id_ = identity_of(at)
    try:
        inputs = tx.value(step.inputs, step.parent, at[:-1])
        timeout = timeout_of(tx, step, at)
    except Fault as fault:
        return fail_by_fault(tx, at, step, fault)
    if not is_marked(inputs):
        inputs, _ = read_inputs(step.callee, json_of(inputs))
    root = tx.state.run.run_id
    tx.emit("child.started", id_, child=f"{root}/{id_}", workflow=step.callee.workflow, inputs=inputs)
    if timeout is not None:
        tx.emit("timer.set", id_, timer="timeout", deadline=min(tx.at + timeout, MAX_TIMESTAMP_US))
    return None


def _start_child(tx: Tx, at: Address, definition: Definition, run: Run) -> int:
    _, problem = read_inputs(definition, json_of(run.inputs))
    if problem is not None:
        _end_failed(tx, at, Failure("input.invalid", problem, {}, identity_of(at)))
        return CLOSED
    tx.emit("run.started", identity_of(at), started_at=tx.at)
    return CLOSED


def _returned(tx: Tx, at: Address, step: StepDef, child: Child, draining: bool) -> int | Raised:
    """What the end of the child is for the call."""
    id_ = identity_of(at)
    told: dict[str, Any] = child.failure if isinstance(child.failure, dict) else {}
    if child.outcome in ("succeeded", "stopped"):
        tx.emit("step.succeeded", id_)
        return AGAIN
    if child.fired and child.outcome == "cancelled":
        failure = Failure("timeout", "the child run was not done in time, and was cancelled", {}, id_)
    elif child.outcome == "failed":
        failure = Failure(told["code"], told["message"], told["details"], id_)
    elif child.outcome == "aborted":
        failure = Failure("child.aborted", f"the child run was aborted: {told.get('message', '')}", {}, id_)
    else:
        failure = Failure("child.cancelled", "the child run was cancelled", {}, id_)
    if draining and step.on_fail == "fail" and takes(step, failure):
        return 0
    return fail_step(tx, at, step, failure)
