"""What is known when a state is entered: facts about what never changes in a run, over all ways that lead to it."""

from __future__ import annotations

from analyzer.expressions.scope import NO_FACTS, Env, Facts, join_facts
from analyzer.expressions.types import same
from analyzer.model.nodes import State, Workflow


class Entries:
    """The facts at the entry of each state, and at the end of the run; a way that is told joins those told before.

    ``moved``: something became less known since it was cleared. Facts about what a state binds do not leave it, as
    another entry may bind it anew.
    """

    __slots__ = ("_closed", "_facts", "_lasting", "_states", "end", "moved")

    def __init__(self, workflow: Workflow, env: Env) -> None:
        self._states = workflow.states or {}
        self._lasting = {*env.names.values()}
        self._facts: dict[str, Facts] = {}
        self._closed = not _all_ways_are_known(workflow)
        self.end: Facts | None = None
        self.moved = False
        if workflow.initial is not None:
            self._facts[workflow.initial] = env.facts

    def close(self) -> None:
        """Nothing is known at any entry, nor at the end."""
        self._closed = True

    def at(self, state: State) -> Facts:
        """What is known when the state is entered."""
        return NO_FACTS if self._closed else self._facts.get(state.name, NO_FACTS)

    def ordered(self) -> list[State]:
        """The states, each behind one that leads to it as far as that can be: so facts are carried on in one pass."""
        found: dict[str, State] = {}
        pending = [*self._facts]
        while pending:
            name = pending.pop()
            state = self._states.get(name)
            if state is not None and name not in found:
                found[name] = state
                pending += reversed([target for target in _targets(state) if target is not None])
        return [*found.values(), *(state for state in self._states.values() if state.name not in found)]

    def lead(self, state: State, target: str | None, facts: Facts) -> None:
        """A way leads from a state to another, with these facts."""
        if self._closed or target is None or state.name not in self._facts:
            return
        told = self._of_the_run(facts)
        known = self._facts.get(target)
        joined = told if known is None else join_facts(known, told) or NO_FACTS
        if known is None or not _are_same(known, joined):
            self._facts[target] = joined
            self.moved = True

    def finish(self, state: State, facts: Facts) -> None:
        """The run can end behind a state, with these facts."""
        if not self._closed and state.name in self._facts:
            self.end = join_facts(self.end, self._of_the_run(facts))

    def _of_the_run(self, facts: Facts) -> Facts:
        return {key: type_ for key, type_ in facts.items() if key[0] in self._lasting}


def _all_ways_are_known(workflow: Workflow) -> bool:
    """Whether it is certain which ways there are: what cannot be read may lead anywhere."""
    states = workflow.states or {}
    return (
        workflow.initial in states
        and not any(state.partial for state in states.values())
        and all(target in states for state in states.values() for target in _targets(state))
    )


def _targets(state: State) -> list[str | None]:
    """Where the state's routes and timers lead; None for what is not said."""
    return [*(route.to for route in state.routes), *(timer.to for timer in state.timers)]


def _are_same(before: Facts, now: Facts) -> bool:
    return len(before) == len(now) and all(same(type_, before[key]) for key, type_ in now.items())
