"""Recovery scopes as they nest in the text of one Workfile (language page, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.flow.facts import Failure
from analyzer.model.nodes import Owner, Recovery, State, Step, StepList, Workflow


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """The failures that reach a recovery scope; their sets are about one execution of that scope."""

    recovery: Recovery
    failures: list[Failure]


def enclosing_scope(recovery: Recovery, workflow: Workflow) -> Recovery | None:
    """The next recovery scope outwards that ``then: escalate`` can go to, or None.

    A construct's own handlers stand outside its scope, and so does what stands in them. A scope of the caller of this
    Workfile is never one.
    """
    owner: Owner = recovery.owner
    while not isinstance(owner, Workflow):
        if isinstance(owner, State):
            return workflow.recovery
        inside: StepList = owner.parent
        owner = inside.owner
        if isinstance(owner, Workflow):
            break
        if owner.recovery is not None and inside.role != "catch":
            return owner.recovery
    return workflow.recovery if owner is not recovery.owner else None


def scope_path(owner: Owner) -> str:
    """The shown path of a scope: a step's path, a state's name, "" for the root."""
    if isinstance(owner, Step):
        return owner.path
    return owner.name if isinstance(owner, State) else ""


def scope_words(owner: Owner, *, start: bool = True) -> str:
    """A scope in words, at the start of a sentence or inside one."""
    if isinstance(owner, Step):
        return f"`{owner.id}`"
    words = f"the state `{owner.name}`" if isinstance(owner, State) else "the workflow"
    return words[:1].upper() + words[1:] if start else words


def place_of(step: Step) -> list[tuple[StepList, Step | State | Workflow]]:
    """The lists that a step stands in with their owners, innermost first."""
    places: list[tuple[StepList, Step | State | Workflow]] = []
    current: Step | None = step
    while current is not None:
        places.append((current.parent, current.parent.owner))
        current = current.parent.owner if isinstance(current.parent.owner, Step) else None
    return places
