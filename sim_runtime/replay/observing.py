"""What a folded state shows, without its definition: bindings, steps in progress, ambiguity (profile: Reconstruction).

The kinds of steps are in their ``step.started`` records; everything else is in the frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from analyzer.expressions.values import to_json
from sim_runtime.core.frames import UNSET, Attempt, Branch, Child, Entry, Frame, Run, State, Subscription
from sim_runtime.core.looking import walk
from sim_runtime.core.reading import latest_entry
from sim_runtime.history.paths import UNDO, Address, identity_of, join, shown_path

Json: TypeAlias = Any
#: Identity of a step to its kind, as its ``step.started`` says.
Kinds: TypeAlias = Mapping[str, str]

_ABSENT: Final = object()
_SCOPES: Final = frozenset({"wf.if", "wf.switch", "wf.parallel", "wf.group", "wf.wait_for"})
_UNRESOLVED: Final = frozenset({"ambiguous", "reconciling", "unresolved"})


def bindings(state: State, kinds: Kinds) -> dict[str, Json]:
    """The active bindings; what a recovery has superseded does not count any more."""
    root = state.root
    if root is None:
        return {}
    run = state.run
    if not run.entries:
        return _of_list((), root, kinds)
    found: dict[str, Json] = {}
    for name in dict.fromkeys(entry.partition("#")[0] for entry in run.entries):
        entry = latest_entry(run, name)
        frame = root.children.get(entry) if entry is not None else None
        if entry is not None and frame is not None and not frame.gone:
            found[name] = _of_list((entry,), frame, kinds)
    return found


def _of_list(at: Address, frame: Frame, kinds: Kinds) -> dict[str, Json]:
    """The steps directly below a frame, in the order of their list."""
    found: dict[str, Json] = {}
    steps = [(child.index, name, child) for name, child in frame.children.items() if child.role == "step"]
    for _, name, child in sorted(steps, key=lambda each: each[0]):
        value = _ABSENT if child.gone else _of_step((*at, name), child, kinds)
        if value is not _ABSENT:
            found[name] = value
    return found


def _of_step(at: Address, frame: Frame, kinds: Kinds) -> Json:
    kind = kinds.get(identity_of(at), "")
    if frame.phase == "skipped" or kind in ("wf.fail", "wf.stop"):
        return _ABSENT
    if frame.phase == "continued":
        return None
    done = frame.phase == "succeeded"
    if done and (frame.value is not UNSET or frame.handling is not None):
        return to_json(frame.value if frame.value is not UNSET else None)
    if kind == "wf.for_each":
        return _of_loop(at, frame, kinds, done)
    if kind in _SCOPES:
        return _of_scope(at, frame, kinds, done)
    if not done:
        return _ABSENT
    return to_json(frame.info.result) if isinstance(frame.info, Child) else None


def _of_scope(at: Address, frame: Frame, kinds: Kinds, done: bool) -> Json:
    info = frame.info
    if isinstance(info, Branch):
        branch = frame.children.get(info.segment) if info.segment is not None else None
        return {} if branch is None or info.segment is None else _of_list((*at, info.segment), branch, kinds)
    kind = kinds.get(identity_of(at))
    if kind == "wf.parallel":
        branches = {
            name: each for name, each in frame.children.items() if each.role == "list" and not name.startswith("(")
        }
        return {
            name: None if each.phase == "continued" else _of_list((*at, name), each, kinds)
            for name, each in branches.items()
            if not each.gone
        }
    if kind in ("wf.group", "wf.wait_for"):
        inner = _of_list(at, frame, kinds)
        if isinstance(info, Subscription) and done:
            return {"status": info.status, "event": to_json(info.event), **inner}
        return inner
    return _ABSENT


def _of_loop(at: Address, frame: Frame, kinds: Kinds, done: bool) -> Json:
    if frame.items is None:
        return [] if done else _ABSENT
    found: list[Json] = []
    for index, member in frame.items.present():
        found.extend({} for _ in range(len(found), index))
        if member.phase == "continued":
            found.append(None)
        else:
            found.append({} if member.gone else _of_list((*at, f"[{index}]"), member, kinds))
    return found


def in_progress(state: State) -> list[str]:
    """The paths of the steps in progress, outer ones first."""
    return [shown_path(identity_of(at)) for at, frame in walk(state) if frame.role == "step"]


def entries(state: State) -> list[dict[str, Json]]:
    """Every entry of a state, of the run and of child runs in progress: ``path`` is the run's."""
    found: list[dict[str, Json]] = []
    for at, frame in walk(state):
        if not isinstance(frame.info, Run):
            continue
        for name in frame.info.entries:
            entry = frame.children.get(name)
            if entry is not None and isinstance(entry.info, Entry):
                path = shown_path(identity_of(at))
                current = name == frame.info.entries[-1] and not entry.over
                found.append({"path": path, "state": entry.info.state, "entry": entry.info.number, "current": current})
    return found


def ambiguous(state: State, undo_seqs: Mapping[str, int]) -> list[dict[str, Json]]:
    """The attempts whose outcome is not known; ``undo_seqs`` are the last ``compensation.ambiguous`` by identity."""
    found: list[dict[str, Json]] = []
    for at, frame in walk(state):
        info = frame.info
        if isinstance(info, Attempt) and frame.phase in _UNRESOLVED and frame.failure is not None:
            path = shown_path(identity_of(at))
            found.append({"path": path, "attempt": info.attempt, "seq": frame.failure.seq})
        undo = frame.recovery.undo if frame.recovery is not None else None
        if undo is not None and undo.phase == "ambiguous":
            id_ = join(undo.of, UNDO)
            found.append({"path": shown_path(id_), "attempt": 1, "seq": undo_seqs.get(id_, 0)})
    return found
