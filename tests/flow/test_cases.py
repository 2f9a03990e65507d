"""Redo sets by example: what the language page says, and what trying everything once found to be wrong.

``a`` to ``f`` are writes that must not be repeated. Each case names the scope (the root is "") and what may have
succeeded inside its redo sets; a scope that is not named holds nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.flow.compare import actual, expected
from tests.flow.mini import MiniState, Node, Program

X = ("x",)


def act(name: str, **options: Any) -> Node:
    return Node("act", name, unknown=options.pop("unknown", "halt"), **options)


def group(name: str, *steps: Node, **options: Any) -> Node:
    return Node("group", name, lists=[list(steps)], **options)


def each(name: str, *steps: Node, **options: Any) -> Node:
    return Node("each", name, lists=[list(steps)], **options)


def fan(name: str, *branches: list[Node], **options: Any) -> Node:
    return Node("parallel", name, lists=list(branches), **options)


def choose(name: str, *branches: list[Node], **options: Any) -> Node:
    return Node("if", name, lists=list(branches), **options)


def run(*steps: Node, redo: str = "", then: str = "hold") -> Program:
    return Program(steps=list(steps), redo=redo, then=then)


def machine(redo: str = "", then: str = "hold", **states: MiniState) -> Program:
    return Program(states=states, redo=redo, then=then)


def state(*steps: Node, to: str = "", **options: Any) -> MiniState:
    routes = [(False, False, to)] if to else []
    return MiniState(steps=list(steps), routes=routes, final=not to, **options)


def pick(number: int, *steps: Node) -> Node:
    """A call of a child with these steps."""
    return Node("call", f"call{number}", child=run(*steps))


STEP, AFTER, WHOLE = "this_step", "this_and_after", "whole_group"

CASES: dict[str, tuple[Program, dict[str, str]]] = {
    # The three policies on a list.
    "a failed action has not succeeded": (run(act("a"), redo=STEP), {}),
    "this_step leaves what came before": (run(act("a"), act("b"), redo=STEP), {}),
    "this_and_after leaves what came before": (run(act("a"), act("b"), redo=AFTER), {}),
    "whole_group takes what came before": (run(act("a"), act("b"), redo=WHOLE), {"": "a"}),
    "a literal wait cannot fail": (run(act("a"), Node("wait", "w"), redo=WHOLE), {}),
    "a wait with something to evaluate can": (run(act("a"), Node("wait", "w", fault=True), redo=WHOLE), {"": "a"}),
    # Handlers.
    "a handler for everything consumes": (run(act("a"), act("b", handlers=[(None, [])]), redo=WHOLE), {}),
    "a handler for some codes does not": (run(act("a"), act("b", handlers=[(X, [])]), redo=WHOLE), {"": "a"}),
    "a handler's failure is its step's": (run(act("a", handlers=[(None, [act("b"), act("c")])]), redo=STEP), {"": "b"}),
    "the handled step has not succeeded": (run(act("a", handlers=[(None, [act("b")])]), redo=STEP), {}),
    "own handlers stand outside the scope": (
        run(group("g", act("a"), redo=WHOLE, then="fail", handlers=[(None, [act("b"), act("c")])])),
        {},
    ),
    # Loops.
    "earlier iterations are in the whole": (run(each("e", act("a")), redo=WHOLE), {"": "a"}),
    "completed iterations stay": (run(each("e", act("a"), act("b")), redo=AFTER), {}),
    "one literal element has no earlier iteration": (run(each("e", act("a"), count=1), redo=WHOLE), {}),
    "a scope sees its own iteration only": (run(each("e", group("g", act("a"), act("b"), redo=STEP))), {}),
    "a group in a failed iteration runs as a whole": (
        run(each("e", group("g", act("a"), act("b"))), redo=AFTER),
        {"": "a"},
    ),
    "a loop inside a group runs as a whole": (run(group("g", each("e", act("a"))), redo=AFTER), {"": "a"}),
    "a concurrent iteration that is not done is rebuilt": (
        run(each("e", act("a"), act("b"), concurrency=2), redo=AFTER),
        {"": "a"},
    ),
    "a concurrent iteration that is done stays": (run(each("e", act("a"), concurrency=2), redo=AFTER), {}),
    "an iteration is not done while even an empty loop is to come": (
        run(each("e", act("a"), each("f", act("b"), count=0), concurrency=2), redo=AFTER),
        {"": "a"},
    ),
    # Parallels.
    "a completed branch stays": (run(fan("p", [act("a")], [act("b")]), redo=AFTER), {}),
    "a branch that is not done is rebuilt": (run(fan("p", [act("a"), act("b")], [act("c")]), redo=AFTER), {"": "a"}),
    "whole_group takes completed branches": (run(fan("p", [act("a")], [act("b")]), redo=WHOLE), {"": "ab"}),
    "under continue nothing leaves": (run(fan("p", [act("a")], [act("b")], keep_going=True), redo=WHOLE), {}),
    "a parallel in an earlier iteration is redone whole": (
        run(group("g", each("e", fan("p", [act("a")], [act("b")]))), redo=AFTER),
        {"": "ab"},
    ),
    # Scopes in scopes.
    "hold keeps failures inside": (run(group("g", act("a"), act("b"), redo=STEP), redo=WHOLE), {}),
    "then fail makes the construct the failed step": (
        run(group("g", act("a"), act("b"), redo=STEP, then="fail"), redo=STEP),
        {"": "a"},
    ),
    "escalate leaves the failed step the innermost": (
        run(group("g", act("a"), act("b"), redo=STEP, then="escalate"), redo=STEP),
        {},
    ),
    "escalate passes catch, on_fail and continue": (
        run(
            act("a"),
            fan(
                "p",
                [group("g", act("b"), redo=STEP, then="escalate", on_fail="continue")],
                keep_going=True,
                handlers=[(None, [])],
            ),
            redo=WHOLE,
        ),
        {"": "a"},
    ),
    "a failure of the construct after an escalation does not escalate": (
        run(
            group(
                "g",
                choose("i", [act("a")], redo=STEP, then="escalate"),
                redo=STEP,
                then="fail",
                on_fail="abort",
                handlers=[(None, [])],
            ),
            redo=AFTER,
        ),
        {},
    ),
    # States.
    "a state's entry is its failed step": (
        machine(redo=STEP, s=MiniState(steps=[act("a")], routes=[(True, False, "s")])),
        {"": "a"},
    ),
    "a route's failure is not for the state's own scope": (
        machine(s=MiniState(steps=[act("a")], routes=[(True, False, "s")], redo=WHOLE)),
        {},
    ),
    "this_and_after redoes the entry": (machine(redo=AFTER, s=state(act("a"), to="t"), t=state(act("b"))), {}),
    "whole_group redoes all entries": (machine(redo=WHOLE, s=state(act("a"), to="t"), t=state(act("b"))), {"": "a"}),
    "a timer leads on after any success": (
        machine(redo=WHOLE, s=state(act("a", on_fail="continue"), timers=["t"]), t=state(act("b"))),
        {"": "a"},
    ),
    # Calls.
    "a child's actions count": (run(pick(1, act("a")), act("b"), redo=WHOLE), {"": "a"}),
    "a failed call redoes the child": (run(pick(1, act("a"), act("b")), redo=STEP), {"": "a"}),
    "nothing of the child fails after its last action": (run(pick(1, act("a")), redo=STEP), {}),
    # Reconcile.
    "a probe runs before its step fails": (run(act("a", unknown="reconcile", probes=[act("b")]), redo=STEP), {"": "b"}),
    # What stays over a redo, and what then fails in front of it.
    "a completed branch inside work that runs again": (
        run(group("g", Node("let", "l", fault=True), fan("p", [act("a")], [act("b")])), redo=AFTER),
        {"": "ab"},
    ),
    "a completed branch in a handler stays when the handler runs again": (
        run(
            act(
                "a",
                handlers=[(None, [fan("p", [act("b")], [Node("let", "l", fault=True)], redo=WHOLE, then="escalate")])],
                on_fail="abort",
            ),
            redo=AFTER,
        ),
        {"p": "b"},
    ),
    "not when the redo begins at the parallel": (
        run(Node("let", "l", fault=True), fan("p", [act("a")], [act("b")]), redo=AFTER),
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_redo_set(name: str) -> None:
    program, wanted = CASES[name]
    found = {scope: "".join(sorted(answer.succeeded)) for scope, answer in actual(program).items()}
    assert {scope: actions for scope, actions in found.items() if actions} == wanted


@pytest.mark.parametrize("name", CASES)
def test_trying_everything_agrees(name: str) -> None:
    program, _ = CASES[name]
    assert actual(program) == expected(program, 20_000)


@pytest.mark.parametrize("step", [act("a", unknown="fail"), act("a", output=True)], ids=["unknown", "output"])
def test_an_attempt_in_doubt_is_in_the_redo_set(step: Node) -> None:
    assert actual(run(step, redo=STEP))[""].in_doubt == {"a"}
    assert actual(run(act("b"), redo=STEP))[""].in_doubt == set()


def test_a_keyed_attempt_is_never_in_doubt() -> None:
    assert actual(run(act("a", unknown="fail", idempotency="keyed"), redo=STEP))[""].in_doubt == set()
