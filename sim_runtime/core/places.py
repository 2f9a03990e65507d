"""From an address to what the Workfile says of it."""

from __future__ import annotations

from sim_runtime.core.definition import Definition, ListDef, StepDef
from sim_runtime.history.paths import CHILD, Address


def step_of(definition: Definition, at: Address) -> StepDef | None:
    """The step at an address, child runs crossed; None when none stands there (a list, a run, another Workfile)."""
    start = 0
    for position, segment in enumerate(at):
        if segment == CHILD:
            step = _step_in(definition, at[start:position])
            if step is None or step.callee is None:
                return None
            definition, start = step.callee, position + 1
    return _step_in(definition, at[start:])


def _step_in(definition: Definition, path: Address) -> StepDef | None:
    """The step at an address inside one run."""
    steps: ListDef | None = definition.steps
    position = 0
    if definition.states is not None:
        state = definition.states.get(path[0].partition("#")[0]) if path else None
        steps, position = (state.steps if state is not None else None), 1
    step: StepDef | None = None
    while position < len(path):
        step = steps.by_id.get(path[position]) if steps is not None else None
        if step is None:
            return None
        position += 1
        if position < len(path):
            steps, used = _list_below(step, path[position])
            if used and position == len(path) - 1:
                return None
            position += used
    return step


def _list_below(step: StepDef, segment: str) -> tuple[ListDef | None, int]:
    """The list that goes on under a segment, and 1 when the segment is the list's own."""
    if segment.startswith("(catch:"):
        index = int(segment[7:-1])
        return (step.handlers[index].steps if index < len(step.handlers) else None), 1
    if segment.startswith("(reconcile)"):
        return (step.reconcile.steps if step.reconcile is not None else None), 1
    if step.kind == "wf.for_each":
        return step.inner, 1
    if segment in step.lists:
        return step.lists[segment], 1
    return step.lists.get(""), 0
