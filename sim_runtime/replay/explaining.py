"""Where in the files a divergence is, and what of it changed since the history was recorded."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.model.nodes import Workflow
from analyzer.syntax.nodes import Node
from sim_runtime.history.header import Header
from sim_runtime.history.pins import called_by
from sim_runtime.history.refusal import Refused
from sim_runtime.replay.definitions import Chosen, Definitions
from sim_runtime.replay.divergence import Divergence
from sim_runtime.replay.structure import Change, compare, own_path, static_path, step_at

MAX_CHANGES = 5


@dataclass(slots=True)
class Explanation:
    """The Workfile and place of a divergence (None where it is in no file), and the changes that may have led to it."""

    workflow: Workflow | None
    node: Node | None
    changes: list[Change]


def explain(divergence: Divergence, header: Header, chosen: Chosen, pinned: Definitions) -> Explanation:
    """What can be said about a divergence from a history with that header."""
    evaluated = divergence.evaluated
    paths = [divergence.recorded.path] + ([evaluated.path] if evaluated is not None else [])
    workflow = _workflow_of(chosen, paths[0])
    steps = [step_at(workflow, own_path(path)) for path in paths]
    step = max((each for each in steps if each is not None), key=lambda each: len(each.path), default=None)
    node = step.anchor_node if step is not None else None
    changes = _changes(workflow, header, chosen, pinned) if workflow is chosen.file else []
    return Explanation(workflow, node, _about(changes, [own_path(static_path(path)) for path in paths]))


def _workflow_of(chosen: Chosen, path: str) -> Workflow:
    """The Workfile in which a path stands: calls are followed."""
    workflow = chosen.workflow
    for part in path.split("/")[:-1]:
        step = step_at(workflow, part)
        if step is None or step.callee is None:
            break
        workflow = step.callee
    if chosen.file is not None and chosen.file.name == workflow.name:
        return chosen.file
    return workflow


def _changes(workflow: Workflow, header: Header, chosen: Chosen, pinned: Definitions) -> list[Change]:
    if chosen.is_pinned:
        return []
    try:
        old = pinned.pinned(header.pins).workflow
    except Refused:
        return []
    before = old if old.name == workflow.name else called_by(old).get(workflow.name or "")
    return [] if before is None else compare(before, workflow)


def _about(changes: list[Change], paths: list[str]) -> list[Change]:
    """The changes at these paths, or at what they stand in; all when there are none there."""
    close = [each for each in changes if each.path in paths or (each.kind == "renamed" and each.old in paths)]
    around = [each for each in changes if each.path and any(path.startswith(f"{each.path}.") for path in paths)]
    found = close or around or changes
    return found[:MAX_CHANGES]
