"""Looking at the control flow of some steps alone.

Where the root has no recovery, what a step of its list can do depends on nothing around it, and what is found about
such a step on nothing but the step and its neighbours. So an excerpt of the list gives what the whole would give there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from analyzer.findings import MAX_FINDINGS
from analyzer.incremental.parts import Part, Parts
from analyzer.incremental.splice import last_before
from analyzer.model.nodes import Workflow
from analyzer.model.problems import Problem


def to_look_at(workflow: Workflow, parts: Parts) -> Workflow | None:
    """The excerpt in which something may be found; None when it is the whole Workfile."""
    if workflow.recovery is not None or parts.loud is None:
        return None
    return excerpt(workflow, parts, parts.stirred | parts.loud)


def excerpt(workflow: Workflow, parts: Parts, wanted: Collection[Part]) -> Workflow:
    """A Workfile of some parts of the root's list and their neighbours, in order; its steps are those of the whole."""
    assert workflow.steps is not None
    chosen: dict[Part, None] = {}
    for part in parts.by_node.values() if wanted else ():
        if part in wanted or part.follows in wanted:
            if part.follows is not None:
                chosen.setdefault(part.follows)
            chosen.setdefault(part)
    steps = replace(workflow.steps, steps=[part.step for part in chosen])
    return replace(workflow, steps=steps, every_step=None)


def note_found(parts: Parts, found: Iterable[Problem]) -> None:
    """The control flow was looked at, and this was found: keep in which parts."""
    parts.stirred = set()
    parts.loud = set()
    nodes = list(parts.by_node)
    for count, problem in enumerate(found, start=1):
        position = last_before(nodes, problem.start)
        if position < 0 or problem.start > nodes[position].end or count >= MAX_FINDINGS:
            parts.loud = None
            return
        parts.loud.add(parts.by_node[nodes[position]])
