"""The scopes of a frame: what is bound, and what the runtime knows at that place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from analyzer.expressions.faults import Fault
from analyzer.expressions.times import Duration, Timestamp
from analyzer.language.durations import format_duration
from lsp_server.dap.places import bound_at, home_of, inputs_at, open_subscriptions
from lsp_server.dap.stack import StackFrame
from lsp_server.dap.variables import Inside, Variable, group, lazily, plain, variable
from sim_runtime.core.definition import Definition, RecoveryDef
from sim_runtime.core.frames import Attempt, Failure
from sim_runtime.core.looking import timers
from sim_runtime.core.places import step_of
from sim_runtime.core.redo import redo_set
from sim_runtime.core.transaction import Tx
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import CHILD, UNDO, Address, address_of, identity_of, shown_path

if TYPE_CHECKING:
    from lsp_server.dap.session import Session

#: The scopes of a frame in their order, with the protocol's hint.
SCOPES: Final = (
    ("Bindings", "locals"),
    ("Inputs", "arguments"),
    ("Run", None),
    ("Attempt", None),
    ("Timers", None),
    ("Subscriptions", None),
    ("Effects", None),
    ("Redo set", None),
)


def inside_of(name: str, session: Session, frame: StackFrame) -> Inside:
    """What is in a scope."""
    return lazily(lambda: _MAKERS[name](session, frame))


def _bindings(_session: Session, frame: StackFrame) -> list[Variable]:
    found = []
    for bound in bound_at(frame.scope):
        each = variable(bound.name, bound.value, bound.name)
        if bound.how:
            words = "skipped: its guard was false" if bound.how == "skipped" else "failed, and its failure was consumed"
            each = each._replace(text=f"null ({words})")
        found.append(each)
    return found


def _inputs(_session: Session, frame: StackFrame) -> list[Variable]:
    given = inputs_at(frame.scope)
    found = (
        [variable(name, value, f"inputs.{name}") for name, value in given.items()] if isinstance(given, dict) else []
    )
    with suppress(KeyError, Fault):
        found.append(variable("trigger", frame.scope("trigger"), "trigger"))
    return found


def _run(session: Session, frame: StackFrame) -> list[Variable]:
    course, state = session.course, frame.scope.state
    found: list[Variable] = []
    with suppress(KeyError):
        run = frame.scope("run")
        if isinstance(run, dict):
            found.extend(variable(name, value, f"run.{name}") for name, value in run.items())
    status = "down" if session.down else session.status
    found.append(plain("status", status, "string"))
    found.append(variable("now", Timestamp(course.now)))
    found.append(variable("elapsed", Duration(course.now - course.start_us)))
    found.append(variable("generation", state.generation))
    found.append(variable("records", course.count))
    found.append(variable("crashes", len(session.crashes)))
    found.append(variable("dry_run", state.dry_run))
    if state.root is not None and state.run.ended is not None:
        ended = state.run.ended
        for name in ("result", "failure", "stop", "cancel"):
            value = getattr(ended, name)
            if value is not None:
                found.append(variable(name, value))
    return found


def _attempt(_session: Session, frame: StackFrame) -> list[Variable]:
    at = frame.at[:-1] if frame.at and frame.at[-1] == UNDO else frame.at
    execution = frame.scope.state.frame(at) if at else None
    info = execution.info if execution is not None else None
    if not isinstance(info, Attempt) or execution is None:
        return []
    found = [
        plain("phase", execution.phase, "string"),
        plain("action", info.action, "string"),
        plain("effect", info.effect, "string"),
        plain("idempotency", info.idempotency, "string"),
        variable("arguments", info.arguments),
        variable("attempt", info.attempt),
        variable("reissue", info.reissue),
        variable("key", info.key),
        variable("connection", info.connection),
    ]
    if info.timeout is not None:
        found.append(variable("timeout", Duration(info.timeout)))
    if info.deadline is not None:
        found.append(variable("deadline", Timestamp(info.deadline)))
    if info.due is not None:
        found.append(variable("next attempt at", Timestamp(info.due)))
    if info.dispatched:
        found.append(variable("dispatched by record", info.dispatched))
    if execution.failure is not None:
        found.append(_failure(execution.failure))
    return found


def _failure(failure: Failure) -> Variable:
    inside = [variable(name, getattr(failure, name)) for name in ("code", "message", "details", "retryable")]
    return group("failure", f"{failure.code}: {failure.message}", inside)


def _timers(session: Session, frame: StackFrame) -> list[Variable]:
    now = session.course.now
    found = []
    for timer in timers(frame.scope.state):
        left = format_duration(max(timer.deadline - now, 0))
        text = f"{time_text(timer.deadline)}, in {left}"
        found.append(plain(f"{shown_path(timer.id) or 'run'} ({timer.name})", text, "timer"))
    return found


def _subscriptions(_session: Session, frame: StackFrame) -> list[Variable]:
    found = []
    for id_, each in open_subscriptions(frame.scope.state):
        inside = [variable("match", each.match), variable("accepted", len(each.events))]
        inside.extend(variable(event.delivery, event.payload) for event in each.events)
        found.append(group(shown_path(id_), each.trigger, inside))
    return found


def _effects(session: Session, _frame: StackFrame) -> list[Variable]:
    found = []
    for each in session.effects() or ():
        inside = [
            variable("action", each.action),
            variable("key", each.key),
            variable("path", each.path),
            variable("count", each.count),
            variable("invocations", each.invocations),
        ]
        times = "time" if each.count == 1 else "times"
        calls = "call" if each.invocations == 1 else "calls"
        text = f"{each.action}: took effect {each.count} {times} in {each.invocations} {calls}"
        found.append(group(each.path, text, inside))
    return found


def _redo(_session: Session, frame: StackFrame) -> list[Variable]:
    """For each recovery scope around the frame, what would be done again if its step failed now."""
    return [] if not frame.at else list(_redo_of(frame))


def _redo_of(frame: StackFrame) -> Iterator[Variable]:
    state = frame.scope.state
    at = frame.at[:-1] if frame.at[-1] == UNDO else frame.at
    for length in range(len(at) - 1, -1, -1):
        scope = at[:length]
        recovery = _recovery_at(frame.definition, scope)
        if recovery is None or state.frame(scope) is None:
            continue
        identity = identity_of(scope)
        again = _set_of(frame, scope, recovery, at)
        undone = _undone(frame, again)
        inside = [
            plain("redo", recovery.redo, "string"),
            group("again", f"{len(again)}", [plain(f"[{n}]", shown_path(each)) for n, each in enumerate(again)]),
            group("undone", f"{len(undone)}", [plain(f"[{n}]", shown_path(each)) for n, each in enumerate(undone)]),
            plain("limit", f"{recovery.failures} in {format_duration(recovery.within_us)}, then {recovery.then}"),
            variable("activations", len(state.activations.get(identity) or ())),
        ]
        text = f"{recovery.redo}: {', '.join(shown_path(each) for each in again) or 'nothing yet'}"
        yield group(shown_path(identity) or "run", text, inside)


def _recovery_at(definition: Definition, scope: Address) -> RecoveryDef | None:
    step = step_of(definition, scope) if scope else None
    if step is not None:
        return step.recovery
    if not scope or scope[-1] == CHILD:
        return home_of(definition, scope).recovery
    states = home_of(definition, scope).states
    found = states.get(scope[-1].partition("#")[0]) if states is not None else None
    return found.recovery if found is not None else None


def _set_of(frame: StackFrame, scope: Address, recovery: RecoveryDef, failed: Address) -> list[str]:
    """The redo set, of a failure of the step of the frame."""
    state = frame.scope.state
    if state.frame(failed) is None and recovery.redo != "whole_group":
        return [identity_of(failed)]  # it has not begun, so there is nothing inside it
    return redo_set(Tx(state, frame.definition, state.at), scope, recovery.redo, identity_of(failed))


def _undone(frame: StackFrame, again: list[str]) -> list[str]:
    """The actions in the set that succeeded and have an undo, latest first."""
    state = frame.scope.state
    found = []
    for id_ in again:
        address = address_of(id_)
        start = state.frame(address)
        stack = [(address, start)] if start is not None else []
        while stack:
            at, execution = stack.pop()
            info = execution.info
            if isinstance(info, Attempt) and info.success and not (info.suppressed or info.undone):
                step = step_of(frame.definition, at)
                if step is not None and step.undo is not None:
                    found.append((info.success, identity_of(at)))
            stack.extend(((*at, segment), child) for segment, child in execution.below())
    return [each for _, each in sorted(found, reverse=True)]


_MAKERS: Final[dict[str, Callable[[Session, StackFrame], list[Variable]]]] = {
    "Bindings": _bindings,
    "Inputs": _inputs,
    "Run": _run,
    "Attempt": _attempt,
    "Timers": _timers,
    "Subscriptions": _subscriptions,
    "Effects": _effects,
    "Redo set": _redo,
}
