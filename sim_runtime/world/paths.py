"""Step paths as scenario files write them, looked up in a resolved Workfile (language page, section 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from analyzer.language.suggest import nearest
from analyzer.model.nodes import Call, State, Step, StepList, Workflow, child_lists

#: What a path leads to; a ``Call`` is an undo.
Target: TypeAlias = Workflow | State | Step | StepList | Call

MAX_PATHS: Final = 5_000
MAX_DEPTH: Final = 64

#: Reserved segments end where a path can go on; the text of a case may hold anything else.
_SEGMENT = re.compile(r"\[\d{1,9}\]|/|\(case:.*?\)(?=[.\[/]|\Z)|\([^/]*?\)(?=[.\[/]|\Z)|[^.\[/()]+", re.DOTALL)
_INDEX = re.compile(r"\[\d+\]")


def segments_of(path: str) -> list[str] | None:
    """The segments of a shown path, or None when it is not one."""
    found: list[str] = []
    position = 0
    while position < len(path):
        if path[position] == "." and found:
            position += 1
        match = _SEGMENT.match(path, position)
        if match is None:
            return None
        found.append(match.group())
        position = match.end()
    return found


def target_of(workflow: Workflow, path: str) -> Target | None:
    """What a shown step path leads to (``decide.(then).pay``, ``each[2].send``, ``call/step``), or None. ``""`` is the
    run."""
    segments = segments_of(path)
    if segments is None or len(segments) > 2 * MAX_DEPTH:
        return None
    current: Target | None = workflow
    for segment in segments:
        current = None if current is None else _below(current, segment)
    return current


def _below(target: Target, segment: str) -> Target | None:
    if segment.startswith("["):
        return target.list_of("steps") if isinstance(target, Step) and target.kind == "wf.for_each" else None
    return next((each for name, each in _members(target) if name == segment), None)


def _members(target: Target) -> Iterator[tuple[str, Target]]:
    """The parts of a target by segment; the iterations of a loop by ``[0]``."""
    if isinstance(target, Call):
        return
    if isinstance(target, Workflow):
        if target.states is not None:
            yield from target.states.items()
        elif target.steps is not None:
            yield from ((step.id, step) for step in target.steps.steps)
    elif isinstance(target, State):
        yield from ((step.id, step) for step in target.all_steps)
    elif isinstance(target, StepList):
        yield from ((step.id, step) for step in target.steps)
    else:
        yield from _of_step(target)


def _of_step(step: Step) -> Iterator[tuple[str, Target]]:
    for each in child_lists(step):
        segment = each.prefix[len(step.path) :].strip(".")
        if step.kind == "wf.for_each" and each in step.lists:
            yield "[0]", each
        elif segment:
            yield segment, each
        else:
            yield from ((inner.id, inner) for inner in each.steps)
    if step.undo is not None:
        yield "(undo)", step.undo
    if step.callee is not None:
        yield "/", step.callee


def paths_of(workflow: Workflow) -> dict[str, Target]:
    """Every step path of a Workfile and the workflows that it calls, with ``[0]`` for the iterations of a loop."""
    found: dict[str, Target] = {}
    stack: list[tuple[str, Target, int]] = [("", workflow, 0)]
    while stack and len(found) < MAX_PATHS:
        path, target, depth = stack.pop()
        if depth > MAX_DEPTH:
            continue
        found.setdefault(path if path != "/" else "", target)
        below = [(_joined(path, name), each, depth + 1) for name, each in _members(target)]
        stack.extend(reversed(below))
    return {path: target for path, target in found.items() if path and not path.endswith("/")}


def _joined(path: str, segment: str) -> str:
    return path + segment if not path or path.endswith("/") or segment[0] in "[/" else f"{path}.{segment}"


def path_hint(workflow: Workflow, path: str) -> str:
    """`` Did you mean `x`?`` for a path that leads nowhere, or nothing: first what only lacks reserved segments."""
    known = paths_of(workflow)
    plain = _plain(path)
    for candidate in known:
        if candidate != path and _plain(candidate) == plain:
            return f" Did you mean `{candidate}`?"
    near = nearest(path, known)
    return f" Did you mean `{near}`?" if near is not None else ""


def _plain(path: str) -> str:
    """A path without reserved segments and positions, by which a binding path is found too."""
    parts = [part for part in segments_of(_INDEX.sub("", path)) or [path] if not part.startswith("(")]
    return ".".join(parts).replace("./.", "/")
