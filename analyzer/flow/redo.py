"""Redo sets: what each recovery scope runs again after each failure that reaches it (language page, section 5).

``redo_of`` turns the composed flow into answers: for every scope the failures that reach it, the actions that may have
succeeded inside the redo set of each, and which of those must not run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from analyzer.flow.actions import Actions, bits
from analyzer.flow.analysis import Flow
from analyzer.flow.facts import DESCENDS, Failed, Failure
from analyzer.flow.scopes import Arrivals, place_of, scope_path
from analyzer.model.nodes import Owner, Recovery, State, Step, StepList, Workflow

REDO_ORDER: Final = ("whole_group", "this_and_after", "this_step")


@dataclass(frozen=True, slots=True, eq=False)
class RedoFailure:
    """A failure that reaches a scope. ``found`` is the set of what may have succeeded inside its redo set."""

    failure: Failure
    found: int

    @property
    def step(self) -> Failed:
        """The failed step; a ``State`` stands for its entry."""
        return self.failure.step


@dataclass(frozen=True, slots=True, eq=False)
class RedoneAction:
    """An action inside a redo set: ``step`` is the action step (of ``home``, the Workfile or one that it calls),
    ``bit`` its set, ``failure`` the first failure, in document order, that brings it about."""

    step: Step
    home: Workflow
    bit: int
    failure: Failure


@dataclass(slots=True, eq=False)
class ScopeRedo:
    """The redo sets of one recovery scope.

    ``path`` is the scope's shown path, "" at the root; ``actions`` the table that its sets are read with; ``found`` the
    union over all failures. ``unsafe`` are the actions that may have succeeded and must not run again, ``may_hold``
    those of which an earlier attempt may have taken effect without a success.
    """

    recovery: Recovery
    owner: Owner
    path: str
    failures: list[RedoFailure]
    actions: Actions
    found: int
    unsafe: list[RedoneAction]
    may_hold: list[RedoneAction]

    @property
    def reachable(self) -> bool:
        """Whether any failure reaches the scope."""
        return bool(self.failures)


def redo_of(flow: Flow) -> list[ScopeRedo]:
    """The redo sets of every recovery scope in code that can run, in document order."""
    scopes = [_scope(arrivals, flow) for arrivals in flow.arrivals.values()]
    return sorted(scopes, key=lambda scope: scope.recovery.entry.key.start)


def _scope(arrivals: Arrivals, flow: Flow) -> ScopeRedo:
    recovery = arrivals.recovery
    failures = [RedoFailure(failure, redone_by(failure, recovery.redo)) for failure in arrivals.failures]
    failures.sort(key=lambda each: each.step.entry.key.start)
    actions = flow.numbers.tables[recovery]
    found = 0
    unsafe: list[tuple[int, RedoneAction]] = []
    may_hold: list[tuple[int, RedoneAction]] = []
    for each in failures:
        before, found = found, found | each.found
        if found == before:
            continue
        fresh = found ^ before
        unsafe += _first_seen(fresh & actions.unsafe, actions, each.failure)
        may_hold += _first_seen(fresh & actions.effectful, actions, each.failure)
    path = scope_path(recovery.owner)
    return ScopeRedo(recovery, recovery.owner, path, failures, actions, found, _ordered(unsafe), _ordered(may_hold))


def _first_seen(fresh: int, actions: Actions, failure: Failure) -> Iterator[tuple[int, RedoneAction]]:
    for bit in bits(fresh) if fresh else ():
        step, home = actions.step(bit)
        yield bit, RedoneAction(step, home, 1 << bit, failure)


def _ordered(found: list[tuple[int, RedoneAction]]) -> list[RedoneAction]:
    return [action for _, action in sorted(found, key=lambda pair: pair[0])]


def redone_by(failure: Failure, redo: str) -> int:
    """What may have succeeded inside the redo set of that policy, as the scope sees the failure."""
    if redo == "whole_group":
        return failure.executed
    return failure.after if redo == "this_and_after" else failure.inside


def narrower(scope: ScopeRedo) -> str | None:
    """The widest narrower ``redo`` under which nothing unsafe runs again; None when there is none."""
    redo = scope.recovery.redo
    if redo not in REDO_ORDER:
        return None
    for candidate in REDO_ORDER[REDO_ORDER.index(redo) + 1 :]:
        if not any(redone_by(each.failure, candidate) & scope.actions.unsafe for each in scope.failures):
            return candidate
    return None


def needed_undos(scopes: list[ScopeRedo]) -> set[Step]:
    """The steps with ``undo`` of which some redo set may hold a success."""
    return {step for scope in scopes for step in scope.actions.named(scope.found & scope.actions.undoable)}


def members(scope: ScopeRedo) -> list[Step]:
    """The steps that the scope's redo sets can name at all, in document order: what an editor highlights.

    Under ``this_step`` the steps that can fail it; under ``this_and_after`` where the suffix can begin and what follows
    there; under ``whole_group`` the direct children.
    """
    found: dict[Step, None] = {}
    for failed in dict.fromkeys(each.step for each in scope.failures):
        found.update(dict.fromkeys(_redone_steps(scope, failed)))
    return sorted(found, key=lambda step: step.entry.key.start)


def _redone_steps(scope: ScopeRedo, failed: Failed) -> list[Step]:
    redo = scope.recovery.redo
    if redo == "whole_group":
        return children(scope.owner)
    if isinstance(failed, State):
        return failed.all_steps
    return [failed] if redo == "this_step" else suffix(scope.owner, failed)


def children(owner: Owner) -> list[Step]:
    """The steps directly below a scope: of all branches, of all states."""
    if isinstance(owner, State):
        return owner.all_steps
    lists = owner.top_lists if isinstance(owner, Workflow) else owner.lists
    return [step for each in lists for step in each.steps]


def suffix(owner: Owner, failed: Step) -> list[Step]:
    """``this_and_after``: first where it begins, after the descent, then the later siblings from the inside out.

    Of a state machine it is the whole entry; of a scope that is a ``wf.parallel`` the branch with the failed step.
    """
    chain: list[tuple[StepList, Step]] = []
    step = failed
    for place, around in place_of(failed):
        chain.append((place, step))
        if around is owner or not isinstance(around, Step):
            break
        step = around
    place, step = chain.pop()
    if isinstance(owner, Workflow) and isinstance(place.owner, State):
        return place.owner.all_steps
    if isinstance(owner, Step) and owner.kind == "wf.parallel":
        return place.steps
    later = _behind(place, step)
    while chain and step.kind in DESCENDS and chain[-1][0] in step.lists:
        place, step = chain.pop()
        later = [*_behind(place, step), *later]
    return [step, *later]


def _behind(place: StepList, step: Step) -> list[Step]:
    behind = place.steps[step.index + 1 :]
    owner = place.owner
    if isinstance(owner, State) and place is owner.on_enter and owner.steps is not None:
        return [*behind, *owner.steps.steps]
    return behind
