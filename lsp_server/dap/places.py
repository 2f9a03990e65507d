"""What can be read at a place of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analyzer.expressions.values import Value
from sim_runtime.core.definition import Definition, ListDef, StepDef
from sim_runtime.core.frames import State, Subscription
from sim_runtime.core.looking import walk
from sim_runtime.core.places import step_of
from sim_runtime.core.reading import Scope, binding
from sim_runtime.history.paths import CHILD, UNDO, Address, address_of, identity_of


class Around(NamedTuple):
    """The list that a step, or a state's steps, stand in, and its address."""

    steps: ListDef
    address: Address


def around(definition: Definition, address: Address) -> Around | None:
    """Where the step (or state entry) at an address stands."""
    if address and address[-1] == UNDO:
        address = address[:-1]
    step = step_of(definition, address)
    if step is not None:
        return Around(step.parent, address[:-1])
    home = home_of(definition, address)
    if home.states is not None and address:
        state = home.states.get(address[-1].partition("#")[0])
        if state is not None:
            return Around(state.steps, address)
    return None


def home_of(definition: Definition, address: Address) -> Definition:
    """The Workfile that an address is in."""
    for position, segment in enumerate(address):
        if segment == CHILD:
            call = step_of(definition, address[:position])
            if call is not None and call.callee is not None:
                inner = address[position + 1 :]
                return home_of(call.callee, inner) if CHILD in inner else call.callee
    return definition


def lookup_at(definition: Definition, state: State, id_: str) -> Scope:
    """What a name reads before the step of an identity."""
    found = around(definition, address_of(id_))
    if found is None:
        return Scope(state, _root_list(definition), ())
    return Scope(state, found.steps, found.address)


def _root_list(definition: Definition) -> ListDef:
    if definition.steps is not None:
        return definition.steps
    return ListDef("root", "", None, home=definition)


def root_scope(definition: Definition, state: State) -> Scope:
    """What a name reads at the root of the run."""
    return Scope(state, _root_list(definition), ())


class Bound(NamedTuple):
    """A name that is bound at a place. ``how`` is ``""``, ``skipped`` or ``failed`` (and consumed)."""

    name: str
    value: Value
    step: StepDef | None = None
    how: str = ""


def bound_at(scope: Scope) -> Iterator[Bound]:
    """What is bound in the scope: of the innermost list first, then outwards; roots are not among it."""
    steps, address = scope.steps, scope.address
    seen: set[str] = set()
    while True:
        for name, step in steps.by_id.items():
            frame = scope.state.frame((*address, name))
            if frame is None or name in seen or not frame.over or frame.phase == "failed":
                continue
            seen.add(name)
            how = {"skipped": "skipped", "continued": "failed"}.get(frame.phase, "")
            yield Bound(name, binding(frame, step), step, how)
        owner = steps.owner
        if owner is None:
            break
        for name in _own_names(steps):
            if name not in seen:
                seen.add(name)
                yield Bound(name, Scope(scope.state, steps, address)(name))
        address = address[:-2] if steps.segment else address[:-1]
        steps = owner.parent
    home = steps.home
    if home is not None and home.states is not None:
        root = Scope(scope.state, steps, address)
        run = address[:-1] if steps.role == "state" else address
        frame = scope.state.frame(run)
        entered = {entry.partition("#")[0] for entry in frame.info.entries} if frame is not None else set()
        for name in home.states:
            if name in entered and name not in seen and name != steps.name:
                yield Bound(name, root(name))


def _own_names(steps: ListDef) -> tuple[str, ...]:
    if steps.role == "iteration":
        return (steps.name, "index")
    return ("error",) if steps.role == "catch" else ()


def inputs_at(scope: Scope) -> Value:
    """The inputs of the run that the scope stands in."""
    try:
        return scope("inputs")
    except KeyError:
        return {}


def open_subscriptions(state: State) -> Iterator[tuple[str, Subscription]]:
    """What takes events, in document order."""
    for address, frame in walk(state):
        if isinstance(frame.info, Subscription) and frame.info.subscribed:
            yield identity_of(address), frame.info
