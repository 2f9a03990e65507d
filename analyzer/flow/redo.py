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
        fresh = each.found & ~found
        found |= fresh
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
    """The steps that the scope's redo sets can name at all, outermost first: what an editor highlights.

    Under ``this_step`` the steps that can fail it; under ``this_and_after`` where the suffix can begin and what follows
    there; under ``whole_group`` the direct children.
    """
    found: dict[Step, None] = {}
    for each in scope.failures:
        for step in _redone_steps(scope, each.step):
            found.setdefault(step)
    return sorted(found, key=lambda step: step.entry.key.start)


def _redone_steps(scope: ScopeRedo, failed: Failed) -> list[Step]:
    redo = scope.recovery.redo
    if redo == "whole_group":
        return _children(scope.owner)
    if isinstance(failed, State):
        return failed.all_steps
    if redo == "this_step":
        return [failed]
    return _suffix(scope.owner, failed)


def _children(owner: Owner) -> list[Step]:
    if isinstance(owner, Step):
        return [step for each in owner.lists for step in each.steps]
    if isinstance(owner, State):
        return owner.all_steps
    if owner.states is not None:
        return [step for state in owner.states.values() for step in state.all_steps]
    return owner.steps.steps if owner.steps is not None else []


def _suffix(owner: Owner, failed: Step) -> list[Step]:
    """``this_and_after``: where it begins, after the descent, and the later siblings outwards."""
    chain: list[tuple[StepList, Step]] = []
    step = failed
    for place, around in place_of(failed):
        chain.append((place, step))
        if around is owner or not isinstance(around, Step):
            break
        step = around
    if isinstance(owner, Workflow) and isinstance(chain[-1][0].owner, State):
        return chain[-1][0].owner.all_steps
    if isinstance(owner, Step) and owner.kind == "wf.parallel":
        return _children(owner)
    found: list[Step] = []
    for place, step in reversed(chain):
        found += [each for each in _siblings(place) if _comes_after(each, step)]
        inner = chain[chain.index((place, step)) - 1][0] if (place, step) != chain[0] else None
        if step.kind not in DESCENDS or inner is None or inner not in step.lists:
            found.append(step)
            break
    return found


def _siblings(place: StepList) -> list[Step]:
    return place.owner.all_steps if isinstance(place.owner, State) else place.steps


def _comes_after(step: Step, other: Step) -> bool:
    return step.entry.key.start > other.entry.key.start
