"""The simulated outside: which answer a call gets, and what the ledger counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from analyzer.workspace.manifests import load_manifest
from sim_runtime.driver.protocol import Answer, Call, Undone
from sim_runtime.world.connectors import CannotAnswer, SimulatedWorld, includes, same
from sim_runtime.world.scenario import AnswerList, ScriptedAnswer

MANIFEST = """
connector: pay
version: 1.0.0
actions:
  get: { effect: read, input: { type: object }, output: { v: string } }
  charge: { effect: write, idempotency: keyed, input: { type: object }, output: { id: string } }
  set: { effect: write, idempotency: inherent, input: { type: object } }
  post: { effect: write, idempotency: none, input: { type: object } }
  hard: { effect: write, idempotency: none, input: { type: object }, output: { type: string, pattern: "(?=a)b" } }
"""


def actions() -> dict[str, Any]:
    manifest, problems = load_manifest(parse(Source(MANIFEST)), "/pay.connector.yaml")
    assert manifest is not None
    assert not problems
    return {f"pay.{name}": action for name, action in manifest.actions.items()}


ACTIONS = actions()


def world(**answers: list[ScriptedAnswer]) -> SimulatedWorld:
    return SimulatedWorld(ACTIONS, {key.replace("__", "."): AnswerList(key, each) for key, each in answers.items()})


def call(name: str, path: str = "step", **more: Any) -> Call:
    action = ACTIONS[f"pay.{name}"]
    given = {
        "seq": 1,
        "at": 0,
        "action": f"pay.{name}",
        "path": path,
        "id": path,
        "generation": 0,
        "attempt": 1,
        "reissue": 0,
        "effect": action.effect,
        "idempotency": action.idempotency,
        "key": "k" if action.idempotency == "keyed" else None,
        "connection": None,
        "arguments": {},
    }
    return Call(**{**given, **more})


def succeed(result: Any, **more: Any) -> ScriptedAnswer:
    return ScriptedAnswer("succeed", result=result, **more)


def fail(code: str = "busy", **more: Any) -> ScriptedAnswer:
    return ScriptedAnswer("fail", code=code, **more)


def ambiguous(happened: bool) -> ScriptedAnswer:
    return ScriptedAnswer("ambiguous", code="timeout", happened=happened)


def counts(world: SimulatedWorld) -> list[tuple[str, str, int, int]]:
    return [(each.action, each.path, each.count, each.invocations) for each in world.effects()]


def test_default_answers_name_the_path_and_the_number_of_the_call() -> None:
    outside = world()
    assert outside.dispatch(call("get", "a.look")).result == {"v": "a.look#1"}
    assert outside.dispatch(call("get", "a.look")).result == {"v": "a.look#2"}
    assert outside.dispatch(call("get", "b")).result == {"v": "b#1"}
    assert outside.dispatch(call("post")) == Answer("success")


def test_a_list_answers_one_call_each_and_its_last_entry_repeats() -> None:
    outside = world(pay__post=[fail("a"), fail("b"), succeed(None)])
    assert [outside.dispatch(call("post")).code for _ in range(5)] == ["a", "b", "", "", ""]
    assert counts(outside) == [("pay.post", "step", 3, 5)]


def test_a_step_path_wins_and_each_list_has_its_own_counter() -> None:
    outside = world(pay__post=[fail("action"), succeed(None)], step=[fail("one"), fail("two")])
    assert outside.dispatch(call("post")).code == "one"
    assert outside.dispatch(call("post", "other")).code == "action"
    assert outside.dispatch(call("post")).code == "two"
    assert outside.dispatch(call("post", "other")).kind == "success"


def test_an_entry_whose_where_does_not_fit_is_kept() -> None:
    outside = world(pay__post=[fail("a", where={"n": 1}), fail("b", where={"n": 2}), fail("c", where={"m": {"x": 1}})])
    assert outside.dispatch(call("post", arguments={"n": 2})).code == "b"
    assert outside.dispatch(call("post", arguments={"n": 1, "more": True})).code == "a"
    assert outside.dispatch(call("post", arguments={"n": 1})).kind == "success"
    assert outside.dispatch(call("post", arguments={"m": {"x": 1, "y": 2}})).code == "c"
    assert outside.dispatch(call("post", arguments={"m": {"x": 1.0}})).code == "c"


def test_where_no_entry_of_the_path_fits_the_action_answers() -> None:
    outside = world(pay__post=[fail("action")], step=[fail("path", where={"n": 1})])
    assert outside.dispatch(call("post", arguments={"n": 2})).code == "action"


def test_an_answer_carries_what_the_scenario_says() -> None:
    script = fail("busy", message="later", details={"n": 1}, retryable=True, retry_after_us=5, latency_us=7)
    wanted = Answer("failure", None, "busy", "later", {"n": 1}, True, 5, 7)
    assert world(pay__post=[script]).dispatch(call("post")) == wanted


@pytest.mark.parametrize(("name", "first", "again"), [("charge", {"key": "k"}, {"key": "k", "path": "other"})])
def test_a_keyed_effect_takes_place_once_over_all_paths(name: str, first: Any, again: Any) -> None:
    outside = world(pay__charge=[succeed({"id": "c1"}, latency_us=9), succeed({"id": "c2"})])
    assert outside.dispatch(call(name, **first)).latency_us == 9
    answer = outside.dispatch(call(name, **again))
    assert (answer.result, answer.latency_us) == ({"id": "c1"}, 0)
    assert outside.dispatch(call(name, key="other")).result == {"id": "c2"}
    assert counts(outside) == [
        ("pay.charge", "step", 1, 1),
        ("pay.charge", "other", 0, 1),
        ("pay.charge", "step", 1, 1),
    ]


def test_an_inherent_effect_is_known_by_its_arguments() -> None:
    outside = world()
    for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, {"a": 2}):
        outside.dispatch(call("set", arguments=arguments))
    assert counts(outside) == [("pay.set", "step", 2, 3)]


def test_an_undo_ends_the_effect_of_an_inherent_action() -> None:
    outside = world(pay__post=[ambiguous(happened=False), ambiguous(happened=True)])
    outside.dispatch(call("set"))
    undo = call("post", "step.(undo)", undoes=Undone("pay.set", "step", None, {}))
    outside.dispatch(undo)  # it was lost: nothing is undone
    outside.dispatch(call("set"))
    assert counts(outside)[0] == ("pay.set", "step", 1, 2)
    outside.dispatch(undo)
    outside.dispatch(call("set"))
    assert counts(outside)[0] == ("pay.set", "step", 2, 3)


@pytest.mark.parametrize(("happened", "after_it"), [(True, 1), (False, 0)])
def test_after_an_ambiguous_answer_the_next_entry_answers(happened: bool, after_it: int) -> None:
    outside = world(pay__charge=[ambiguous(happened), fail("busy"), succeed({"id": "c2"}), succeed({"id": "c3"})])
    assert outside.dispatch(call("charge")).kind == "ambiguous"
    assert counts(outside)[0][2] == after_it
    assert outside.dispatch(call("charge", reissue=1)).code == "busy"
    assert outside.dispatch(call("charge", reissue=2)).result == {"id": "c2"}
    assert outside.dispatch(call("charge", reissue=3)).result == {"id": "c2"}
    assert counts(outside) == [("pay.charge", "step", 1, 4)]


def test_each_call_without_idempotency_is_an_effect_of_its_own() -> None:
    outside = world(pay__post=[succeed(None), ambiguous(happened=True), ambiguous(happened=False), fail()])
    for _ in range(4):
        outside.dispatch(call("post"))
    assert counts(outside) == [("pay.post", "step", 2, 4)]


@pytest.mark.parametrize(("at", "left"), [(3, 2), (5, 0), (9, 0)])
def test_a_read_that_is_reissued_after_a_crash_gets_the_same_answer_when_it_was_to_come(at: int, left: int) -> None:
    outside = world(pay__get=[fail("busy", latency_us=5), succeed({"v": "x"})])
    first = outside.dispatch(replace(call("get"), at=0))
    again = replace(call("get", reissue=1, interrupted=True), at=at)
    assert outside.dispatch(again) == replace(first, latency_us=left)
    assert outside.dispatch(call("get", attempt=2)).result == {"v": "x"}
    assert counts(outside) == [("pay.get", "step", 0, 3)]


def test_a_fork_goes_its_own_way() -> None:
    outside = world(pay__post=[fail("a"), fail("b"), succeed(None)])
    outside.dispatch(call("post"))
    copy = outside.fork()
    assert copy.dispatch(call("post")).code == "b"
    copy.dispatch(call("set"))
    assert outside.dispatch(call("post")).code == "b"
    assert (len(copy.effects()), len(outside.effects())) == (2, 1)


def test_an_output_that_nothing_fits_is_said() -> None:
    with pytest.raises(CannotAnswer, match=r"no default answer for `pay\.hard` \(at `step`\)"):
        world().dispatch(call("hard"))


def test_equality_is_by_value_and_kind() -> None:
    assert same({"a": [1, "x"]}, {"a": [1.0, "x"]})
    assert not same(True, 1)
    assert not same("1", 1)
    assert not same(None, False)
    assert includes({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}})
    assert not includes({"a": [1, 2]}, {"a": [1]})


def test_what_was_undone_and_done_again_is_undone_again() -> None:
    """An inherent undo with the same arguments is an effect of its own each time."""
    outside = world()
    done, undone = call("set"), replace(call("set"), path="step.(undo)", arguments={"n": 9})
    undone = replace(undone, undoes=Undone("pay.set", "step", None, done.arguments))
    for _ in range(3):
        outside.dispatch(done)
        outside.dispatch(undone)
        outside.dispatch(undone)
    assert [each[1:] for each in counts(outside)] == [
        ("step", 3, 3),
        ("step.(undo)", 3, 6),
    ]
