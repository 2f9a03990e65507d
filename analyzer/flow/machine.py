"""The state machine of a Workfile: which states are entered, after which others, and with what behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.flow.facts import FAULTS, Codes, failure_of
from analyzer.flow.summary import Summary, join, lifted
from analyzer.model.nodes import Route, State, Workflow
from analyzer.syntax.nodes import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A way from a state to the next; ``carry`` is what may have succeeded in the entry that is left."""

    source: State
    target: State
    carry: int


@dataclass(slots=True, eq=False)
class RunFlow:
    """What a run can do as a whole. For a state machine also: the states that can be entered, in document order; the
    ways between them; the rings among them (in document order, one state that leads to itself is one); the states whose
    steps can complete."""

    summary: Summary = field(default_factory=Summary)
    reached: dict[State, None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    rings: list[list[State]] = field(default_factory=list)
    completing: dict[State, None] = field(default_factory=dict)


def taken_routes(state: State) -> list[Route]:
    """The routes that can be tried: up to the first one that always holds."""
    taken: list[Route] = []
    for route in state.routes:
        taken.append(route)
        if _always_holds(route):
            break
    return taken


def may_find_no_route(state: State) -> bool:
    """Whether all routes of a state can be false: none always holds, and typing saw that some case is left out."""
    routes = taken_routes(state)
    return not routes or not (state.covered or _always_holds(routes[-1]))


def _always_holds(route: Route) -> bool:
    return route.when is None or (isinstance(route.when, Scalar) and route.when.value is True)


def route_codes(state: State) -> Codes | None:
    """The codes that a state's routes can fail with; None when they cannot."""
    if state.final:
        return None
    names: frozenset[str] = frozenset()
    if any(route.may_fault for route in taken_routes(state)):
        names |= FAULTS.names
    if may_find_no_route(state):
        names |= {"route.none"}
    return Codes(False, names) if names else None


def summarize_states(workflow: Workflow, states: dict[State, Summary]) -> RunFlow:
    """Put the states together: ``executed`` of every failure then counts the entries before it too."""
    flow = RunFlow()
    assert workflow.states is not None
    _add_route_failures(states)
    initial = workflow.states.get(workflow.initial) if workflow.initial is not None else None
    ways = {state: _ways(workflow, state, found) for state, found in states.items()}
    reached: Iterable[State] = states if initial is None else _reach(initial, ways)
    known = set(reached)
    flow.reached = {state: None for state in states if state in known}
    flow.edges = [edge for state in flow.reached for edge in ways[state]]
    flow.completing = {state: None for state in flow.reached if states[state].out is not None}
    prior = _priors(flow, ways)
    total = Summary(out=None)
    for state in flow.reached:
        _add_entry(total, state, states[state], prior[state])
    flow.summary = total
    return flow


def _add_route_failures(states: dict[State, Summary]) -> None:
    for state, found in states.items():
        codes = route_codes(state)
        if found.out is not None and codes is not None:
            found.failures.append(failure_of(state, "route", codes, found.out))


def _ways(workflow: Workflow, state: State, found: Summary) -> list[Edge]:
    assert workflow.states is not None
    targets: list[tuple[str | None, int | None]] = []
    if not state.final:
        targets += [(route.to, found.out) for route in taken_routes(state)]
    targets += [(timer.to, found.may | (found.stand or 0)) for timer in state.timers]
    return [
        Edge(state, workflow.states[to], carry)
        for to, carry in targets
        if carry is not None and to is not None and to in workflow.states
    ]


def _reach(initial: State, ways: dict[State, list[Edge]]) -> list[State]:
    seen = {initial: None}
    stack = [initial]
    while stack:
        for edge in ways[stack.pop()]:
            if edge.target not in seen:
                seen[edge.target] = None
                stack.append(edge.target)
    return list(seen)


def _priors(flow: RunFlow, ways: dict[State, list[Edge]]) -> dict[State, int]:
    """What may have succeeded in earlier entries when a state is entered, ring by ring in their order."""
    order = {state: position for position, state in enumerate(flow.reached)}
    prior: dict[State, int] = dict.fromkeys(flow.reached, 0)
    for ring in reversed(components(list(flow.reached), ways)):
        members = set(ring)
        behind = 0
        inner = [edge for state in ring for edge in ways[state] if edge.target in members]
        for state in ring:
            behind |= prior[state]
        for edge in inner:
            behind |= edge.carry
        for state in ring:
            prior[state] = behind
            for edge in ways[state]:
                if edge.target not in members:
                    prior[edge.target] |= behind | edge.carry
        if inner:
            flow.rings.append(sorted(ring, key=order.__getitem__))
    flow.rings.sort(key=lambda ring: order[ring[0]])
    return prior


def components(nodes: list[State], ways: dict[State, list[Edge]]) -> list[list[State]]:
    """Strongly connected components, each after all that it leads to (Tarjan, without recursion)."""
    index: dict[State, int] = {}
    low: dict[State, int] = {}
    active: dict[State, None] = {}
    result: list[list[State]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(ways[root]))]
        index[root] = low[root] = len(index)
        active[root] = None
        while work:
            node, edges = work[-1]
            edge = next(edges, None)
            if edge is not None:
                target = edge.target
                if target not in index:
                    index[target] = low[target] = len(index)
                    active[target] = None
                    work.append((target, iter(ways[target])))
                elif target in active:
                    low[node] = min(low[node], index[target])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                ring: list[State] = []
                while not ring or ring[-1] is not node:
                    ring.append(active.popitem()[0])
                result.append(ring)
    return result


def _add_entry(total: Summary, state: State, found: Summary, prior: int) -> None:
    """Count one state's entries into the run."""
    total.may |= found.may
    for failure in found.failures:
        total.failures.append(failure.seen(failure.after, failure.whole, failure.executed | prior))
    total.stand = join(total.stand, lifted(found.stand, prior))
    total.ended = join(total.ended, lifted(found.ended, prior))
    total.stopped = join(total.stopped, lifted(found.stopped, prior))
    if state.final:
        total.out = join(total.out, lifted(found.out, prior))
        total.early |= prior | found.early
    else:
        total.early |= prior | found.may
