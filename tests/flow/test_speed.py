"""The analysis stays close to linear, and deep or wide Workfiles stay quick (processor time, generous bounds)."""

from __future__ import annotations

import sys
import time

import pytest

from analyzer.flow.analysis import analyse
from analyzer.flow.redo import redo_of
from analyzer.model.nodes import Workflow
from tests.flow.mini import Node, Program, model

pytestmark = pytest.mark.slow


def seconds(workflow: Workflow, rounds: int = 3) -> float:
    """The processor time of the quickest of some analyses."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        redo_of(analyse(workflow))
        best = min(best, time.process_time() - begin)
    return best


def blocks(steps: int) -> Workflow:
    """Groups of ten steps with a choice, a loop and a recovery of their own."""
    found: list[Node] = []
    for block in range(steps // 10):
        number = iter(range(block * 10, block * 10 + 10))
        actions = [Node("act", f"a{next(number)}", unknown="halt") for _ in range(7)]
        choice = Node("if", f"c{next(number)}", lists=[actions[0:2], actions[2:3]])
        loop = Node("each", f"e{next(number)}", lists=[actions[3:5]])
        scope = Node("group", f"g{next(number)}", lists=[[choice, loop, *actions[5:]]], redo="whole_group", then="fail")
        found.append(scope)
    return model(Program(steps=found))


def test_ten_times_the_steps_cost_about_ten_times() -> None:
    small, large = blocks(1_000), blocks(10_000)
    assert seconds(large) < 20 * seconds(small)


def nested(depth: int) -> Workflow:
    steps = [Node("act", "a0")]
    for level in range(1, depth + 1):
        then = "escalate" if level % 2 else "fail"
        inner = Node("group", f"g{level}", lists=[steps], redo="whole_group", then=then)
        steps = [Node("act", f"b{level}"), inner, Node("act", f"c{level}")]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # for making the model, not for the analysis
    try:
        return model(Program(steps=steps))
    finally:
        sys.setrecursionlimit(limit)


def test_two_hundred_nested_scopes_take_less_than_a_second() -> None:
    assert seconds(nested(200)) < 1


def test_five_hundred_branches_take_less_than_a_second() -> None:
    branches = [[Node("act", f"a{number}_{step}") for step in range(4)] for number in range(500)]
    assert seconds(model(Program(steps=[Node("parallel", "p", lists=branches, redo="this_and_after")]))) < 1


def test_a_chain_of_five_hundred_calls_is_no_depth() -> None:
    program = Program(steps=[Node("act", "a"), Node("act", "b")])
    for number in range(500):
        program = Program(steps=[Node("call", f"call{number}", child=program)], redo="this_step", then="fail")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        workflow = model(program)
    finally:
        sys.setrecursionlimit(limit)
    (scope,) = redo_of(analyse(workflow))
    assert [each.step.id for each in scope.unsafe] == ["a"]
