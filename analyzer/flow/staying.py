"""What ``this_and_after`` leaves standing inside the work that it runs again.

When a parallel contains the failed step, its completed branches stay, although the construct around it may run again
from its start. A failure in front of that parallel can then come after their success: its redo set holds them, if the
construct is in it as a whole. So a second composition takes these sets as already there when such a step begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.flow.facts import DESCENDS
from analyzer.flow.scopes import Arrivals, place_of
from analyzer.flow.summary import Summary, consumed, others
from analyzer.model.nodes import Recovery, State, Step, StepList, Workflow


@dataclass(slots=True)
class Standing:
    """What may have succeeded inside a step before it begins again: ``own`` for its own sake, ``ahead`` also while what
    stands in front of it in its list runs again."""

    own: dict[Step, int] = field(default_factory=dict)
    ahead: dict[Step, int] = field(default_factory=dict)


def staying_inside(arrivals: dict[Recovery, Arrivals], lists: dict[StepList, Summary]) -> Standing:
    """What stays inside the steps that a ``this_and_after`` runs again as a whole."""
    found = Standing()
    kept: dict[StepList, int] = {}
    branches: dict[StepList, bool] = {}
    for recovery, each in arrivals.items():
        if recovery.redo == "this_and_after":
            for failed in dict.fromkeys(failure.step for failure in each.failures):
                if isinstance(failed, Step) and _in_branch(failed.parent, branches):
                    _follow(failed, recovery, lists, kept, found)
    return found


def _in_branch(place: StepList, known: dict[StepList, bool]) -> bool:
    """Whether a list stands in a branch of a parallel, at any depth."""
    passed: list[StepList] = []
    current: StepList | None = place
    result = False
    while current is not None:
        if current in known:
            result = known[current]
            break
        passed.append(current)
        if current.role == "branch":
            result = True
            break
        current = current.owner.parent if isinstance(current.owner, Step) else None
    known.update(dict.fromkeys(passed, result))
    return result


def _follow(
    failed: Step,
    recovery: Recovery,
    lists: dict[StepList, Summary],
    kept: dict[StepList, int],
    found: Standing,
) -> None:
    """Go outwards from a failed step to where its redo set begins."""
    chain: list[tuple[Step, int]] = []
    stays = 0
    step = failed
    descends: list[bool] = []
    for place, around in place_of(failed):
        chain.append((step, stays))
        descends.append(isinstance(around, Step) and around.kind in DESCENDS and place in around.lists)
        if around is recovery.owner or not isinstance(around, Step):
            break
        if place.role == "branch":
            stays |= _kept(place, around, lists, kept)
        step = around
    if not stays:
        return
    first = len(chain) - 1
    in_entry = isinstance(recovery.owner, Workflow) and isinstance(place_of(failed)[-1][1], State)
    while first > 0 and not in_entry and descends[first - 1]:
        first -= 1
    for position, (inside, standing) in enumerate(chain[: first + 1]):
        if standing:
            found.own[inside] = found.own.get(inside, 0) | standing
            if position < first or in_entry:
                found.ahead[inside] = found.ahead.get(inside, 0) | standing


def _kept(place: StepList, parallel: Step, lists: dict[StepList, Summary], kept: dict[StepList, int]) -> int:
    """What may have succeeded in the other branches once they are completed."""
    if place not in kept:
        ends = [consumed(lists[each], parallel.on_branch_fail)[0] or 0 for each in parallel.lists]
        kept.update(zip(parallel.lists, others(ends), strict=True))
    return kept[place]
