"""The JSON object of ``workfile run``: what a state and the outside say of a run (interfaces page)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.expressions.values import Value, strip_marks, to_json
from sim_runtime.core.definition import Definition, ListDef, StepDef
from sim_runtime.core.frames import UNSET, Attempt, Branch, Child, Frame, State, Subscription
from sim_runtime.core.looking import holds, timers_of, walk
from sim_runtime.core.reading import binding, latest_entry
from sim_runtime.history.encoding import time_text
from sim_runtime.history.paths import UNDO, Address, identity_of, is_below, join, shown_path

Json: TypeAlias = Any

VERSION: Final = 1
_ABSENT: Final = object()


def state_report(state: State, definition: Definition, start_us: int, now_us: int) -> dict[str, Json]:
    """Everything that the state alone tells: all but ``effects``, ``calls``, ``crashes`` and ``history``."""
    run = state.run
    ended = run.ended
    return {
        "version": VERSION,
        "run": run.run_id,
        "workflow": run.workflow,
        "status": state.status,
        "result": to_json(ended.result) if ended is not None else None,
        "stop": ended.stop if ended is not None else None,
        "cancel": ended.cancel if ended is not None else None,
        "failure": _failure(ended.failure) if ended is not None else None,
        "clock": {"start": time_text(start_us), "now": time_text(now_us)},
        "bindings": bindings(state, definition),
        "waiting": waiting(state),
        "holds": [{"path": shown_path(each.id), "reason": each.hold.reason} for each in holds(state)],
        "generation": state.generation,
    }


def _failure(failure: Value) -> Json:
    if not isinstance(failure, dict):
        return None
    return {name: failure[name] for name in ("code", "message", "path")}


# ---- bindings -----------------------------------------------------------------------------------


def bindings(state: State, definition: Definition) -> dict[str, Json]:
    """The active bindings. What a recovery has superseded does not count any more."""
    if state.root is None:
        return {}
    shown = _Bindings(state)
    if definition.states is not None:
        run = state.run
        found: dict[str, Json] = {}
        for name, each in definition.states.items():
            entry = latest_entry(run, name)
            if entry is not None and not shown.is_superseded((entry,)):
                found[name] = shown.of_list((entry,), state.frame((entry,)), each.steps)
        return found
    assert definition.steps is not None
    return shown.of_list((), state.root, definition.steps)


class _Bindings:
    """Shows the frames of one state."""

    __slots__ = ("superseded",)

    def __init__(self, state: State) -> None:
        self.superseded: list[str] = []
        for _, frame in walk(state):
            if frame.recovery is not None and frame.recovery.stage == "superseded":
                self.superseded.extend(frame.recovery.redo)

    def is_superseded(self, at: Address) -> bool:
        return bool(self.superseded) and any(is_below(identity_of(at), id_) for id_ in self.superseded)

    def of_list(self, at: Address, frame: Frame | None, steps: ListDef) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for step in steps.steps if frame is not None else ():
            assert frame is not None
            child = frame.children.get(step.id)
            if child is None or self.is_superseded((*at, step.id)):
                continue
            value = self.of_step((*at, step.id), child, step)
            if value is not _ABSENT:
                found[step.id] = value
        return found

    def of_step(self, at: Address, frame: Frame, step: StepDef) -> Json:
        if frame.phase == "skipped" or step.kind in ("wf.fail", "wf.stop"):
            return _ABSENT
        if frame.phase == "continued":
            return None
        done = frame.phase == "succeeded"
        if done and (frame.value is not UNSET or frame.handling is not None):
            return to_json(frame.value if frame.value is not UNSET else None)
        if step.kind == "wf.for_each":
            return self._of_loop(at, frame, step, done)
        if step.lists:
            return self._of_scope(at, frame, step, done)
        return to_json(binding(frame, step)) if done else _ABSENT

    def _of_scope(self, at: Address, frame: Frame, step: StepDef, done: bool) -> Json:
        info = frame.info
        if isinstance(info, Branch):
            if info.segment is None:
                return {}
            return self.of_list((*at, info.segment), frame.children.get(info.segment), step.lists[info.segment])
        if step.kind == "wf.parallel":
            branches = {name: frame.children.get(name) for name in step.lists}
            return {
                name: None if branch.phase == "continued" else self.of_list((*at, name), branch, step.lists[name])
                for name, branch in branches.items()
                if branch is not None and not self.is_superseded((*at, name))
            }
        if step.kind in ("wf.group", "wf.wait_for"):
            inner = self.of_list(at, frame, step.inner)
            if isinstance(info, Subscription) and done:
                return {"status": info.status, "event": to_json(info.event), **inner}
            return inner
        return _ABSENT

    def _of_loop(self, at: Address, frame: Frame, step: StepDef, done: bool) -> Json:
        if frame.items is None:
            return [] if done else _ABSENT
        found: list[Json] = []
        for index, member in frame.items.present():
            while len(found) < index:
                found.append({})
            here = (*at, f"[{index}]")
            if member.phase == "continued":
                found.append(None)
            else:
                found.append({} if self.is_superseded(here) else self.of_list(here, member, step.inner))
        return found


# ---- what is waited for -------------------------------------------------------------------------


def waiting(state: State) -> list[dict[str, Json]]:
    """What the run waits for, outer things first, in document order."""
    found: list[dict[str, Json]] = []
    if state.over:
        return found
    for at, frame in walk(state):
        _of_frame(shown_path(identity_of(at)), frame, found)
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
        deadline = time_text(recovery.since + recovery.delay)
        found.append({"kind": "recovery_delay", "path": path, "deadline": deadline})
    undo = recovery.undo
    if undo is None:
        return
    undone = shown_path(join(undo.of, UNDO))
    if undo.hold is not None:
        found.append({"kind": "decision", "path": undone, "reason": undo.hold.reason})
    elif undo.phase == "dispatched":
        found.append({"kind": "answer", "path": undone})
