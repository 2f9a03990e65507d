"""Doing what is runnable: from the root inwards, the first thing in document order that can be done is done.

Every function advances one kind of frame and answers with a mask (it stands still; what it waits for), ``CLOSED``,
``DONE``, ``AGAIN`` or a ``Raised`` failure. ``draining`` is set inside a ``wf.parallel`` or ``wf.for_each`` in which a
failure stands: then only what is in progress comes to its end (language page, section 5, "Siblings").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from analyzer.expressions.faults import KIND, LIMIT, Fault
from analyzer.expressions.values import Value
from sim_runtime.core.definition import ListDef, StepDef
from sim_runtime.core.failing import (
    end_unknown,
    fail_by_fault,
    fail_step,
    release_open,
    settle_between,
    takes,
)
from sim_runtime.core.frames import Failure, Frame
from sim_runtime.core.recovering import advance_recovery, recover
from sim_runtime.core.transaction import AGAIN, CLOSED, DONE, HELD, Raised, Tx, Unknown, fault_failure
from sim_runtime.history.paths import Address, identity_of

MAX_DEPTH: Final = 192
"""Steps inside one another, child runs included; past it a step fails with ``fault.limit``."""

Advance = Callable[[Tx, Address, StepDef, Frame, bool], "int | Raised"]

#: How each kind of step is advanced; filled by the modules that know the kinds.
ADVANCE: Final[dict[str, Advance]] = {}


def advances(*kinds: str) -> Callable[[Advance], Advance]:
    """Register the function that advances steps of these kinds."""

    def register(function: Advance) -> Advance:
        for kind in kinds:
            ADVANCE[kind] = function
        return function

    return register


def advance_list(tx: Tx, at: Address, steps: ListDef, draining: bool) -> int | Raised:
    """Go on with a list: the step that it has come to, and those after it."""
    while True:
        frame = tx.frame(at)
        if frame.open and frame.cursor and not _release_passed(tx, at, steps, frame):
            return CLOSED
        if frame.cursor >= len(steps.steps):
            return DONE
        if tx.full:
            return tx.close()
        step = steps.steps[frame.cursor]
        here = (*at, step.id)
        child = frame.children.get(step.id)
        if child is None:
            if draining:
                return 0
            start_step(tx, here, step)
            if tx.closed:
                return CLOSED
            continue
        result = advance_step(tx, here, step, child, draining)
        if result != AGAIN:
            return result
        if tx.closed:
            return CLOSED


def _release_passed(tx: Tx, at: Address, steps: ListDef, frame: Frame) -> bool:
    """Let go of what the step that just ended still has open (a wait whose failure was consumed)."""
    name = steps.steps[frame.cursor - 1].id
    passed = frame.children.get(name)
    return passed is None or not passed.open or release_open(tx, (*at, name))


def start_step(tx: Tx, at: Address, step: StepDef) -> None:
    """Evaluate the guard; start or skip the step."""
    id_ = identity_of(at)
    if step.when is None:
        tx.emit("step.started", id_, step=step.kind)
        if len(at) > MAX_DEPTH:
            message = f"steps are nested more than {MAX_DEPTH} deep here; split the workflow"
            fail_step(tx, at, step, Failure(LIMIT, message, {}, id_))
        return
    try:
        guard = condition(tx, step, at, step.when)
    except Unknown:
        tx.emit("step.started", id_, step=step.kind)
        end_unknown(tx, at)
        return
    except Fault as fault:
        tx.emit("step.started", id_, step=step.kind)
        fail_by_fault(tx, at, step, fault)
        return
    if guard:
        tx.emit("step.started", id_, step=step.kind, guard=True)
    else:
        tx.emit("step.skipped", id_, guard=False)


def condition(tx: Tx, step: StepDef, at: Address, program: Callable[..., Value]) -> bool:
    """A boolean of the step. Raises ``Fault`` and ``Unknown``."""
    value = tx.condition(program, step.parent, at[:-1])
    if not isinstance(value, bool):
        raise Fault(KIND, "a condition is true or false")
    return value


def advance_step(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """Go on with a step that has started; ``frame`` is its frame."""
    rest = frame._rest_draining if draining else frame._rest
    if rest >= 0:
        return rest
    result = _advance(tx, at, step, frame, draining)
    while result == AGAIN and not tx.closed:
        frame = tx.frame(at)
        if frame.over:
            break
        result = _advance(tx, at, step, frame, draining)
    if isinstance(result, int) and result >= 0 and not tx.closed:
        frame = tx.frame(at)
        if draining:
            frame._rest_draining = result
        else:
            frame._rest = result
    return CLOSED if tx.closed else result


def _advance(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    if frame.recovery is not None:
        assert step.recovery is not None
        return advance_recovery(tx, at, frame.recovery)
    if frame.hold is not None:
        return HELD
    if frame.phase == "failed":
        if not release_open(tx, at):
            return CLOSED
        failure = tx.frame(at).failure
        assert failure is not None
        return Raised(failure)
    if frame.broken is not None:
        return _gave_up(tx, at, step, frame, draining)
    if frame.phase == "handling":
        return _advance_handler(tx, at, step, frame, draining)
    try:
        return ADVANCE[step.kind](tx, at, step, frame, draining)
    except Unknown:
        return end_unknown(tx, at)


def _gave_up(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    """The step is a recovery scope that has reached its limit, or whose undo an operator gave up."""
    broken = frame.broken
    assert broken is not None
    if broken.how == "escalate":
        return Raised(broken.failure, escalating=True)
    id_ = identity_of(at)
    if draining and takes(step, broken.failure):
        return 0
    if not settle_between(tx, broken.failure.failed, at):
        return CLOSED
    return fail_step(tx, at, step, broken.failure._replace(failed=id_))


def _advance_handler(tx: Tx, at: Address, step: StepDef, frame: Frame, draining: bool) -> int | Raised:
    handling = frame.handling
    assert handling is not None
    handler = step.handlers[handling.number]
    inside = (*at, handler.steps.segment)
    if frame.open > tx.frame(inside).open and not release_open(tx, at, keep=handler.steps.segment):
        return CLOSED
    result = advance_list(tx, inside, handler.steps, draining)
    if isinstance(result, Raised):
        if result.escalating:
            return result
        if not settle_between(tx, result.failure.failed, at):
            return CLOSED
        return fail_step(tx, at, step, result.failure._replace(failed=identity_of(at)), handled=True)
    if result != DONE:
        return result
    try:
        value = None if handler.result is None else tx.value(handler.result, handler.steps, inside)
    except Unknown:
        return end_unknown(tx, at)
    except Fault as fault:
        return fail_step(tx, at, step, fault_failure(fault, identity_of(at)), handled=True)
    tx.emit("step.succeeded", identity_of(at), value=value)
    return AGAIN


def take(tx: Tx, at: Address, step: StepDef, raised: Raised, draining: bool) -> int | Raised:
    """A failure from inside a construct has reached it: recovery, then its handlers and ``on_fail``, else outwards."""
    failure = raised.failure
    if step.recovery is not None:
        return 0 if draining else recover(tx, at, step.recovery, failure)
    if raised.escalating or not takes(step, failure):
        return raised
    if draining:
        return 0
    if not settle_between(tx, failure.failed, at):
        return CLOSED
    return fail_step(tx, at, step, failure)


def succeed(tx: Tx, at: Address) -> int:
    """The step is done; its binding is made of what other records say."""
    tx.emit("step.succeeded", identity_of(at))
    return AGAIN
