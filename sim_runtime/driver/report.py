"""The JSON object of ``workfile run``: what a state and the outside say of a run (interfaces page)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.expressions.values import Value, strip_marks, to_json
from sim_runtime.core.definition import Definition, ListDef, StepDef
from sim_runtime.core.frames import UNSET, Attempt, Branch, Child, Frame, State, Subscription
from sim_runtime.core.looking import holds, timers_of, walk
from sim_runtime.core.reading import binding, latest_entry
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import UNDO, identity_of, join, shown_path

Json: TypeAlias = Any

VERSION: Final = 1
_ABSENT: Final = object()


def state_report(state: State, definition: Definition, start_us: int, now_us: int) -> dict[str, Json]:
    """Everything that the state alone tells: all but ``effects``, ``calls``, ``crashes`` and ``history``."""
    return {
        "version": VERSION,
        **outcome(state, start_us, now_us),
        "bindings": bindings(state, definition),
        "waiting": waiting(state),
        "holds": holds_json(state),
        "generation": state.generation,
    }


def outcome(state: State, start_us: int, now_us: int) -> dict[str, Json]:
    """Which run it is, and what it came to so far."""
    run, ended = state.run, state.run.ended
    return {
        "run": run.run_id,
        "workflow": run.workflow,
        "status": state.status,
        "result": to_json(ended.result) if ended is not None else None,
        "stop": ended.stop if ended is not None else None,
        "cancel": ended.cancel if ended is not None else None,
        "failure": _failure(ended.failure) if ended is not None else None,
        "clock": {"start": time_text(start_us), "now": time_text(now_us)},
    }


def holds_json(state: State) -> list[dict[str, Json]]:
    """``holds`` of the report."""
    return [{"path": shown_path(each.id), "reason": each.hold.reason} for each in holds(state)]


def _failure(failure: Value) -> Json:
    if not isinstance(failure, dict):
        return None
    return {name: to_json(failure.get(name)) for name in ("code", "message", "path")}


# ---- bindings -----------------------------------------------------------------------------------


def bindings(state: State, definition: Definition) -> dict[str, Json]:
    """The active bindings. What a recovery has superseded does not count any more."""
    if state.root is None:
        return {}
    if definition.states is None:
        assert definition.steps is not None
        return _of_list(state.root, definition.steps)
    found: dict[str, Json] = {}
    for name, each in definition.states.items():
        entry = latest_entry(state.run, name)
        frame = state.root.children.get(entry) if entry is not None else None
        if frame is not None and not frame.gone:
            found[name] = _of_list(frame, each.steps)
    return found


def _of_list(frame: Frame | None, steps: ListDef) -> dict[str, Json]:
    if frame is None:
        return {}
    found: dict[str, Json] = {}
    for step in steps.steps:
        child = frame.children.get(step.id)
        value = _ABSENT if child is None or child.gone else _of_step(child, step)
        if value is not _ABSENT:
            found[step.id] = value
    return found


def _of_step(frame: Frame, step: StepDef) -> Json:
    if frame.phase == "skipped" or step.kind in ("wf.fail", "wf.stop"):
        return _ABSENT
    if frame.phase == "continued":
        return None
    done = frame.phase == "succeeded"
    if done and (frame.value is not UNSET or frame.handling is not None):
        return to_json(frame.value if frame.value is not UNSET else None)
    if step.kind == "wf.for_each":
        return _of_loop(frame, step, done)
    if step.lists:
        return _of_scope(frame, step, done)
    return to_json(binding(frame, step)) if done else _ABSENT


def _of_scope(frame: Frame, step: StepDef, done: bool) -> Json:
    info = frame.info
    if isinstance(info, Branch):
        if info.segment is None:
            return {}
        return _of_list(frame.children.get(info.segment), step.lists[info.segment])
    if step.kind == "wf.parallel":
        branches = {name: frame.children.get(name) for name in step.lists}
        return {
            name: None if branch.phase == "continued" else _of_list(branch, step.lists[name])
            for name, branch in branches.items()
            if branch is not None and not branch.gone
        }
    if step.kind in ("wf.group", "wf.wait_for"):
        inner = _of_list(frame, step.inner)
        if isinstance(info, Subscription) and done:
            return {"status": info.status, "event": to_json(info.event), **inner}
        return inner
    return _ABSENT


def _of_loop(frame: Frame, step: StepDef, done: bool) -> Json:
    if frame.items is None:
        return [] if done else _ABSENT
    found: list[Json] = []
    for index, member in frame.items.present():
        while len(found) < index:
            found.append({})
        if member.phase == "continued":
            found.append(None)
        else:
            found.append({} if member.gone else _of_list(member, step.inner))
    return found


# ---- what is waited for -------------------------------------------------------------------------


def waiting(state: State) -> list[dict[str, Json]]:
    """What the run waits for, outer things first, in document order."""
    found: list[dict[str, Json]] = []
    if state.over:
        return found
    for at, frame in walk(state):
        _of_frame(shown_path(identity_of(at)), frame, found)
    for id_, hold in state.orphans.items():
        found.append({"kind": "decision", "path": shown_path(id_), "reason": hold.reason})
    return found


def _of_frame(path: str, frame: Frame, found: list[dict[str, Json]]) -> None:
    info = frame.info
    if frame.recovery is not None:
        _of_recovery(path, frame, found)
    elif frame.hold is not None:
        found.append({"kind": "decision", "path": path, "reason": frame.hold.reason})
    elif isinstance(info, Attempt) and frame.phase == "dispatched":
        found.append({"kind": "answer", "path": path})
    else:
        if isinstance(info, Child) and frame.phase == "child":
            found.append({"kind": "child", "path": path, "run": info.run_id})
        for timer in timers_of("", frame):
            kind = "retry" if timer.name == "retry" else "timer"
            found.append({"kind": kind, "path": path, "deadline": time_text(timer.deadline)})
        if isinstance(info, Subscription) and info.subscribed:
            match = to_json(strip_marks(info.match))
            found.append({"kind": "event", "path": path, "trigger": info.trigger, "match": match})


def _of_recovery(path: str, frame: Frame, found: list[dict[str, Json]]) -> None:
    recovery = frame.recovery
    assert recovery is not None
    if recovery.stage == "delay":
        deadline = time_text(recovery.until)
        found.append({"kind": "recovery_delay", "path": path, "deadline": deadline})
    undo = recovery.undo
    if undo is None:
        return
    undone = shown_path(join(undo.of, UNDO))
    if undo.hold is not None:
        found.append({"kind": "decision", "path": undone, "reason": undo.hold.reason})
    elif undo.phase == "dispatched":
        found.append({"kind": "answer", "path": undone})
