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


def order_of(definition: Definition, at: Address) -> tuple[int, ...]:
    """Where an address stands in the document: steps and branches by position, iterations by index."""
    found: list[int] = []
    steps: ListDef | None = definition.steps
    step: StepDef | None = None
    for segment in at:
        if segment == CHILD and step is not None and step.callee is not None:
            definition, steps, step = step.callee, step.callee.steps, None
        elif step is None and steps is None and definition.states is not None:
            name, _, number = segment.partition("#")
            state = definition.states.get(name)
            found.append(int(number or 0))
            steps = state.steps if state is not None else ListDef("state", "", None)
        elif step is not None and (segment[0] in "([" or segment in step.lists):
            found.append(int(segment[1:-1]) if segment[0] == "[" else _list_position(step, segment))
            steps, step = _list_below(step, segment)[0], None
        else:
            if step is not None:
                steps = step.lists.get("")
            step = steps.by_id.get(segment) if steps is not None else None
            found.append(step.index if step is not None else 0)
    return tuple(found)


def _list_position(step: StepDef, segment: str) -> int:
    names = list(step.lists)
    return names.index(segment) if segment in names else len(names)
