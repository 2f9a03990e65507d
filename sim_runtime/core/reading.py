"""What expressions read: bindings by name from where they stand, outwards (language page, sections 4 and 6)."""

from __future__ import annotations

from typing import Any

from analyzer.expressions.times import Timestamp
from analyzer.expressions.values import Value
from sim_runtime.core.definition import Definition, ListDef, StepDef
from sim_runtime.core.fitting import with_optional
from sim_runtime.core.frames import UNSET, Branch, Child, Frame, Members, Run, State, Subscription
from sim_runtime.history.paths import Address


class Scope:
    """The names that can be read in the list at ``address``; called with a name, it answers its value."""

    __slots__ = ("address", "state", "steps")

    def __init__(self, state: State, steps: ListDef, address: Address) -> None:
        self.state = state
        self.steps = steps
        self.address = address

    def __call__(self, name: str) -> Value:
        """The value of a name. Raises ``KeyError`` when nothing binds it."""
        steps, address = self.steps, self.address
        while True:
            step = steps.by_id.get(name)
            if step is not None:
                return binding(self.state.frame((*address, name)), step)
            owner = steps.owner
            if owner is None:
                return self._of_run(name, steps, address)
            if steps.role == "iteration" and name in (steps.name, "index"):
                return self._of_loop(name, address)
            if steps.role == "catch" and name == "error":
                frame = self.state.frame(address[:-1])
                return frame.handling.error if frame is not None and frame.handling is not None else None
            # A list without a segment of its own stands at its owner's address.
            address = address[:-2] if steps.segment else address[:-1]
            steps = owner.parent

    def _of_loop(self, name: str, address: Address) -> Value:
        index = int(address[-1][1:-1])
        if name == "index":
            return index
        loop = self.state.frame(address[:-1])
        if loop is None or not isinstance(loop.info, Members):
            return None
        item: Value = loop.info.items[index]
        return item

    def _of_run(self, name: str, steps: ListDef, address: Address) -> Value:
        """The roots, and in a state machine the other states: the latest entry counts."""
        at = address[:-1] if steps.role == "state" else address
        frame = self.state.frame(at)
        home = steps.home
        if frame is None or home is None:
            raise KeyError(name)
        run: Run = frame.info
        if name == "inputs":
            return inputs_view(home, run.inputs)
        if name == "run":
            return {"id": run.run_id, "workflow": run.workflow, "started_at": Timestamp(run.started_at)}
        if name == "trigger" and home.trigger is not None:
            return run.trigger if home.trigger_type is None else with_optional(run.trigger, home.trigger_type)
        return _of_states(self.state, at, run, home, name)


def _of_states(state: State, at: Address, run: Run, home: Definition, name: str) -> Value:
    states = home.states
    if states is None:
        raise KeyError(name)
    if name in states:
        entry = latest_entry(run, name)
        frame = state.frame((*at, entry)) if entry is not None else None
        return scope_value(frame, states[name].steps)
    found = home.bare.get(name)
    if found is None:
        raise KeyError(name)
    entry = latest_entry(run, found)
    if entry is None:
        return None
    return binding(state.frame((*at, entry, name)), states[found].steps.by_id[name])


def latest_entry(run: Run, name: str) -> str | None:
    """The segment of the latest entry of a state."""
    return next((entry for entry in reversed(run.entries) if entry.partition("#")[0] == name), None)


def inputs_view(home: Definition, inputs: Value) -> Value:
    """``inputs`` as expressions read it: every declared input, null where an optional one was not given."""
    cached = home.inputs_cache
    if cached is not None and cached[0] is inputs:
        known: Value = cached[1]
        return known
    given: dict[str, Any] = inputs if isinstance(inputs, dict) else {}
    view: Value = {
        name: with_optional(given[name], each.type) if name in given else None for name, each in home.inputs.items()
    }
    home.inputs_cache = (inputs, view)
    return view


def binding(frame: Frame | None, step: StepDef) -> Value:
    """What reads of a step's binding see: null when it has none (skipped, not run, consumed)."""
    if frame is None or frame.phase != "succeeded":
        return None
    if frame._binding is UNSET:
        value = _binding(frame, step)
        frame._binding = value if step.sparse is None else with_optional(value, step.sparse)
    return frame._binding  # type: ignore[no-any-return]


def _binding(frame: Frame, step: StepDef) -> Value:
    if frame.value is not UNSET:
        return frame.value  # type: ignore[no-any-return]
    if frame.handling is not None:
        return None
    info = frame.info
    if isinstance(info, Child):
        return info.result
    if isinstance(info, Subscription):
        inner = scope_value(frame, step.inner)
        assert isinstance(inner, dict)
        return {"status": info.status, "event": info.event, **inner}
    if isinstance(info, Branch):
        return _choice(frame, step, info)
    if step.kind == "wf.for_each":
        items = frame.items
        return [member_value(each, step.inner) for _, each in items.present()] if items is not None else []
    if step.kind == "wf.parallel":
        return {name: member_value(frame.children.get(name), each) for name, each in step.lists.items()}
    return scope_value(frame, step.inner) if step.kind == "wf.group" else None


def _choice(frame: Frame, step: StepDef, info: Branch) -> Value:
    """The union of all branches' ids; what is not in the branch that ran reads null."""
    found: dict[str, Value] = {}
    for segment, steps in step.lists.items():
        inner = frame.children.get(segment) if segment == info.segment else None
        for each in steps.steps:
            value = binding(inner.children.get(each.id), each) if inner is not None else None
            if value is not None or each.id not in found:
                found[each.id] = value
    return found


def member_value(frame: Frame | None, steps: ListDef) -> Value:
    """The scope of a branch or iteration; null when its failure was consumed."""
    return None if frame is None or frame.phase == "continued" else scope_value(frame, steps)


def scope_value(frame: Frame | None, steps: ListDef) -> Value:
    """The scope of a list: every id, null where nothing is bound."""
    if frame is None:
        return dict.fromkeys(steps.by_id)
    return {name: binding(frame.children.get(name), each) for name, each in steps.by_id.items()}
