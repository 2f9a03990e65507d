"""What runs come to, and the graph of states: which follows by itself, and where everything ends."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple, TypeAlias

from sim_runtime.core.frames import Ending, State
from sim_runtime.core.looking import holds
from sim_runtime.driver.report import state_report
from sim_runtime.explore.branch import Branch
from sim_runtime.explore.monitor import Violation
from sim_runtime.history import records
from sim_runtime.history.paths import shown_path

Json: TypeAlias = Any

#: Outcomes in the order in which reports list them.
LEFT: Final = "running"
"""The outcome of runs that go on for ever, or were left before they came to rest."""
OUTCOMES: Final = (*records.OUTCOMES, "held", "suspended", LEFT)


class End:
    """Where a run came to rest: ``status``, and a few words on why."""

    __slots__ = ("_branch", "_value", "status", "why")

    def __init__(self, branch: Branch) -> None:
        state = branch.state
        ended = state.run.ended if state.root is not None else None
        self.status = state.status
        self.why = _why(state, ended)
        self._branch: Branch | None = branch
        self._value = ""

    @property
    def value(self) -> str:
        """Everything that a crash must not change, as text: outcome, result, bindings, what stands outside."""
        branch, self._branch = self._branch, None
        if branch is not None:
            report = state_report(branch.state, branch.definition, branch.start_us, branch.clock)
            told = [report[name] for name in ("status", "result", "stop", "cancel", "failure", "bindings", "holds")]
            self._value = json.dumps([*told, standing(branch)], sort_keys=True, ensure_ascii=False)
        return self._value

    def __getstate__(self) -> tuple[str, str, str]:
        return self.status, self.why, self.value

    def __setstate__(self, state: tuple[str, str, str]) -> None:
        self.status, self.why, self._value = state
        self._branch = None


def standing(branch: Branch) -> list[tuple[str, str, int]]:
    """The effects of steps that stand: action, identity, count."""
    return sorted((action, id_, count) for (action, id_, _), count in branch.world.net.items() if count)


class Outcome(NamedTuple):
    """What follows from a state when nothing more goes wrong: the end, the time until then, whether a policy for
    ambiguity had its say on the way, and the state that it ends in."""

    end: End
    elapsed_us: int
    acted: bool
    key: int


class Round(NamedTuple):
    """What goes on for ever when nothing more goes wrong: the states through which it goes round; ``at_once``: no time
    passes in it."""

    states: tuple[str, ...]
    at_once: bool


def status_of(outcome: Outcome | Round | None) -> str:
    """The status of what a state comes to; ``running`` where that is no end, or not known."""
    return outcome.end.status if isinstance(outcome, Outcome) else LEFT


def _why(state: State, ended: Ending | None) -> str:
    if ended is None:
        return "; ".join(
            f"{_HOLDS.get(each.hold.reason, '')} at {_place(shown_path(each.id))}" for each in holds(state)
        )
    failure: Any = ended.failure
    if failure:
        return f"`{failure['code']}` at {_place(str(failure['path']))}"
    stop: Any = ended.stop
    return f"{stop['reason']} at {_place(str(stop['path']))}" if stop else ""


def _place(path: str) -> str:
    return f"`{path}`" if path else "the root scope"


_HOLDS: Final = {
    "ambiguous": "the outcome is not known",
    "recovery_limit": "the recovery limit is spent",
    "undo_failed": "a compensation failed",
    "undo_ambiguous": "the outcome of a compensation is not known",
    "reissue": "sending it again may repeat an effect",
    "unsafe_continuation": "going on may repeat an effect",
}


def stuck(branch: Branch) -> Violation | None:
    """Whether a run at rest has nothing to wait for."""
    state = branch.state
    if branch.over or (state.status == "held" and state.root is not None and state.root.held):
        return None
    report = state_report(state, branch.definition, branch.start_us, branch.clock)
    waits = ", ".join(f"{each['kind']} at `{each['path']}`" for each in report["waiting"]) or "nothing"
    path = report["waiting"][0]["path"] if report["waiting"] else ""
    return Violation("stuck", path, f"the run rests as {state.status}, waits for {waits}, and nothing of it ever comes")


class Graph:
    """The states that were found, by their numbers. ``following`` is what happens when nothing goes otherwise,
    ``entered`` the states of the Workfile that are entered there."""

    __slots__ = ("_outcomes", "decided", "ends", "entered", "following", "parent")

    def __init__(self, parent: Graph | None = None) -> None:
        self.parent = parent
        self.following: dict[int, tuple[int, int, bool]] = {}
        self.ends: dict[int, End] = {}
        self.decided: dict[int, list[int]] = {}
        self.entered: dict[int, str] = {}
        self._outcomes: dict[int, Outcome | Round | None] = {}

    def follow(self, key: int, then: int, elapsed_us: int, acted: bool, entered: str = "") -> None:
        """``then`` follows ``key`` by itself after some time; ``entered`` is the state that is entered with it."""
        if entered:
            self.entered[then] = entered
        if key != then or entered:
            self.following[key] = (then, elapsed_us, acted)

    def decide(self, key: int, then: int) -> None:
        """An operator may lead from ``key``, where the run is held, to ``then``."""
        self.decided.setdefault(key, []).append(then)

    def outcome(self, key: int) -> Outcome | Round | None:
        """What a state comes to by itself; None where the exploration was left before."""
        known = self._outcomes
        chain: dict[int, None] = {}
        found: Outcome | Round | None = None
        here = key
        while True:
            if here in known:
                found = known[here]
                break
            if here in chain:
                found = self._round(list(chain), here)
                break
            end, step = self.ends.get(here), self.following.get(here)
            if end is None and step is None and self.parent is not None:
                found = self.parent.outcome(here)
                break
            if end is not None:
                found = known[here] = Outcome(end, 0, False, here)
                break
            if step is None:
                break
            chain[here] = None
            here = step[0]
        for each in reversed(chain):
            step = self.following[each]
            if isinstance(found, Outcome):
                found = Outcome(found.end, found.elapsed_us + step[1], found.acted or step[2], found.key)
            known[each] = found
        return found

    def _round(self, chain: list[int], first: int) -> Round:
        """The circle that a chain of states comes to, which goes on with ``first``."""
        circle = chain[chain.index(first) :]
        names = [self.entered[each] for each in circle if each in self.entered]
        start = names.index(min(names)) if names else 0
        at_once = not any(self.following[each][1] for each in circle)
        return Round(tuple(dict.fromkeys(names[start:] + names[:start])), at_once)
