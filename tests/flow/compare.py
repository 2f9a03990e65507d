"""The analyzer's redo sets against what trying everything finds."""

from __future__ import annotations

from analyzer.flow.analysis import analyse
from analyzer.flow.redo import redo_of
from analyzer.flow.scopes import scope_path
from analyzer.model.nodes import State, Step, Workflow
from tests.flow.mini import MiniState, Node, Program, every_node, model, nodes_of
from tests.flow.oracle import enumerate_runs

Pairs = dict[str, tuple[set[str], set[str]]]


def scopes_of(program: Program) -> dict[int, str]:
    """Every recovery scope: identity to name."""
    found: dict[int, str] = {id(program): ""} if program.redo else {}
    scopes: list[Node | MiniState] = [node for node in nodes_of(program) if node.redo]
    for name, state in program.states.items():
        if state.redo:
            found[id(state)] = f"state {name}"
    found.update({id(node): node.id for node in scopes if isinstance(node, Node)})
    return found


def expected(program: Program, limit: int, redos: int) -> Pairs:
    """For each scope that a failure reaches: what may have succeeded in a redo set, and what is in doubt."""
    answer = enumerate_runs(program, limit, redos)
    effectful = {node.id for node in every_node(program) if node.kind == "act" and node.idempotency == "none"}
    return {
        name: (
            {action for scope, action in answer.succeeded if scope == mark},
            {action for scope, action in answer.in_doubt if scope == mark and action in effectful},
        )
        for mark, name in scopes_of(program).items()
        if mark in answer.reached
    }


def actual(program: Program) -> Pairs:
    """The same from the analyzer."""
    flow = analyse(model(program), every=True)
    found: Pairs = {}
    for scope in redo_of(flow):
        if scope.reachable:
            successes = {step.id for step in scope.actions.named(scope.found)}
            found[name_of(scope.owner)] = (successes, {each.step.id for each in scope.may_hold})
    return found


def name_of(owner: Workflow | State | Step) -> str:
    """The name of a scope as ``scopes_of`` gives it."""
    if isinstance(owner, Step):
        return owner.id
    return f"state {owner.name}" if isinstance(owner, State) else scope_path(owner)
