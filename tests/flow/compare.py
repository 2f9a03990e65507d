"""The analyzer's redo sets against what trying everything finds."""

from __future__ import annotations

from typing import NamedTuple

from analyzer.flow.analysis import analyse
from analyzer.flow.redo import redo_of
from analyzer.flow.scopes import scope_path
from analyzer.model.nodes import State, Step, Workflow
from tests.flow.mini import MiniState, Node, Program, every_node, model, nodes_of
from tests.flow.oracle import enumerate_runs


class Found(NamedTuple):
    """What redo sets of a scope may hold: successes; attempts that may have taken effect and failed."""

    succeeded: frozenset[str]
    in_doubt: frozenset[str]


#: By the name of a scope that a failure reaches ("" is the root).
Answers = dict[str, Found]


def scopes_of(program: Program) -> dict[int, str]:
    """Every recovery scope: identity to name."""
    found: dict[int, str] = {id(program): ""} if program.redo else {}
    scopes: list[Node | MiniState] = [node for node in nodes_of(program) if node.redo]
    for name, state in program.states.items():
        if state.redo:
            found[id(state)] = f"state {name}"
    found.update({id(node): node.id for node in scopes if isinstance(node, Node)})
    return found


def expected(program: Program, limit: int = 4000, redos: int = 1) -> Answers:
    """The answers of trying everything."""
    answer = enumerate_runs(program, limit, redos)
    effectful = {node.id for node in every_node(program) if node.kind == "act" and node.idempotency == "none"}
    return {
        name: Found(
            frozenset(action for scope, action in answer.succeeded if scope == mark),
            frozenset(action for scope, action in answer.in_doubt if scope == mark and action in effectful),
        )
        for mark, name in scopes_of(program).items()
        if mark in answer.reached
    }


def actual(program: Program) -> Answers:
    """The answers of the analyzer."""
    return answers_of(model(program))


def answers_of(workflow: Workflow) -> Answers:
    """The answers of the analyzer for a model."""
    return {
        name_of(scope.owner): Found(
            frozenset(step.id for step in scope.actions.named(scope.found)),
            frozenset(each.step.id for each in scope.may_hold),
        )
        for scope in redo_of(analyse(workflow, every=True))
        if scope.reachable
    }


def unsafe_of(workflow: Workflow) -> dict[str, frozenset[str]]:
    """The unsafe actions of each scope that has some, in an analysis that numbers only what matters."""
    found = {name_of(scope.owner): scope.unsafe for scope in redo_of(analyse(workflow))}
    return {name: frozenset(each.step.id for each in unsafe) for name, unsafe in found.items() if unsafe}


def unsafe_among(answers: Answers, program: Program) -> dict[str, frozenset[str]]:
    """The successes that must not be repeated."""
    unsafe = {node.id for node in every_node(program) if node.idempotency == "none" and not node.undo}
    found = {name: answer.succeeded & unsafe for name, answer in answers.items()}
    return {name: actions for name, actions in found.items() if actions}


def name_of(owner: Workflow | State | Step) -> str:
    """The name of a scope as ``scopes_of`` gives it."""
    if isinstance(owner, Step):
        return owner.id
    return f"state {owner.name}" if isinstance(owner, State) else scope_path(owner)
