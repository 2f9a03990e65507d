# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Compensation (profile: Compensation with undo)."""

from __future__ import annotations

import pytest

from sim_runtime.driver.protocol import Decision
from tests.sim.lab import (
    H,
    M,
    after,
    before,
    calls,
    check,
    fail,
    first,
    give_up,
    make,
    ok,
    outside,
    reissue,
    run,
    succeed,
    trace,
    unknown,
)

requirement = pytest.mark.requirement

TEXT = """
steps:
  - g:
      wf.group:
        - a: { lab.send: { n: 1 }, undo: { UNDO: { v: "{{ a.value }}", first: "{{ g0.value }}" } } }
        - b: { lab.send: { n: 2 }, undo: { UNDO: { v: "{{ b.value }}", first: "{{ a.value }}" } } }
        - k: { lab.pay: { n: 3 } }
        - c: { lab.pay: { n: 4 } }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
      CONF
"""
HEAD = "steps:\n  - g0: { lab.get: {} }\n"


def text(undo: str = "lab.drop", conf: str = "") -> str:
    return TEXT.replace("steps:\n", HEAD, 1).replace("UNDO", undo).replace("CONF", conf)


ANSWERS = {"g.a": [ok("a1"), ok("a2")], "g.b": [ok("b1"), ok("b2")], "g.c": [fail(), ok("c")], "g0": [ok("z")]}


def undos(made) -> list[tuple[str, dict]]:
    return [(each["path"], each["arguments"]) for each in made.report()["calls"] if each["path"].endswith("(undo)")]


@requirement("D-UNDO-03")
@requirement("D-UNDO-04")
@requirement("D-UNDO-05")
@requirement("D-UNDO-10")
def test_successes_are_compensated_in_reverse_order_and_the_rest_is_reissued() -> None:
    made = run(text(), ANSWERS)
    assert made.status == "succeeded"
    assert undos(made) == [("g.b.(undo)", {"v": "b1", "first": "a1"}), ("g.a.(undo)", {"v": "a1", "first": "z"})]
    assert calls(made)[1:] == ["g.a", "g.b", "g.k", "g.c", "g.b.(undo)", "g.a.(undo)", "g.a", "g.b", "g.k", "g.c"]
    assert (outside(made).count("lab.send"), outside(made).count("lab.drop"), outside(made).count("lab.pay")) == (
        4,
        2,
        2,
    )
    assert [each.data["result"] for each in made.records if each.kind == "action.succeeded" and each.path == "g.a"] == [
        {"value": "a1"},
        {"value": "a2"},
    ]
    assert {each["generation"] for each in made.report()["calls"] if each["path"].endswith("(undo)")} == {0}
    assert first(made, "history.superseded").data["undo"] == ["g.b", "g.a"]


@requirement("D-UNDO-06")
def test_intent_and_result_are_recorded_one_compensation_after_the_other() -> None:
    made = run(text(), ANSWERS)
    assert trace(made, "recovery", "history", "compensation", "generation") == [
        "recovery.decided g",
        "history.superseded g",
        "compensation.prepared g.b.(undo)",
        "compensation.dispatched g.b.(undo)",
        "compensation.succeeded g.b.(undo)",
        "compensation.prepared g.a.(undo)",
        "compensation.dispatched g.a.(undo)",
        "compensation.succeeded g.a.(undo)",
        "generation.started g",
    ]
    assert all(each.boundary for each in made.records if each.kind.startswith("compensation"))


def test_reverse_order_of_completion_not_of_the_document() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - p:
                    wf.parallel:
                      l: [ { a: { lab.send: {}, undo: { lab.drop: {} } } } ]
                      r: [ { b: { lab.send: {}, undo: { lab.drop: {} } } } ]
                - c: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.p.l.a": [ok("x", latency=2 * M)], "g.p.r.b": [ok("y", latency=M)], "g.c": [fail(), ok("c")]},
    )
    assert [path for path, _ in undos(made)] == ["g.p.l.a.(undo)", "g.p.r.b.(undo)"]


@requirement("D-UNDO-02")
@requirement("D-CAN-05")
@pytest.mark.parametrize("end", ["fail", "wf.fail", "wf.stop", "cancel", "not in the set"])
def test_nothing_else_runs_an_undo(end: str) -> None:
    last = {
        "fail": "lab.pay: {}",
        "wf.fail": "wf.fail: { code: x }",
        "wf.stop": "wf.stop: { reason: x }",
        "cancel": "wf.wait: 5h",
        "not in the set": "lab.pay: {}",
    }[end]
    recovery = "redo: this_step, stop_after: { failures: 1, within: 1h }" if end == "not in the set" else ""
    made = run(
        f"""
        steps:
          - g:
              wf.group:
                - a: {{ lab.send: {{}}, undo: {{ lab.drop: {{}} }} }}
                - b: {{ {last} }}
              {"recovery: {" + recovery + ", then: fail }" if recovery else ""}
        """,
        {"g.b": [fail()]},
        **({"cancel_at": H} if end == "cancel" else {}),
    )
    assert made.over
    assert outside(made).invoked("lab.drop") == 0


@requirement("D-UNDO-07")
@requirement("D-UNDO-08")
@pytest.mark.parametrize(
    "crash",
    [
        after("recovery.decided"),
        after("history.superseded"),
        after("compensation.prepared", "g.b.(undo)"),
        before("compensation.dispatched", "g.b.(undo)"),
        after("compensation.dispatched", "g.b.(undo)"),
        before("compensation.succeeded", "g.b.(undo)"),
        after("compensation.succeeded", "g.b.(undo)"),
        after("compensation.prepared", "g.a.(undo)"),
        after("compensation.succeeded", "g.a.(undo)"),
        before("generation.started"),
        after("generation.started"),
    ],
    ids=lambda each: f"{each.when} {each.kind} {each.path}",
)
@pytest.mark.parametrize("undo", ["lab.drop", "lab.refund"])
def test_compensation_goes_on_at_the_first_without_a_definite_success(crash, undo: str) -> None:
    made = run(text(undo), ANSWERS, crashes=[crash])
    assert made.crashes == 1
    assert made.status == "succeeded"
    assert (outside(made).count("lab.send"), outside(made).count(undo)) == (4, 2)
    assert trace(made, "compensation.succeeded") == [
        "compensation.succeeded g.b.(undo)",
        "compensation.succeeded g.a.(undo)",
    ]
    assert outside(made).invoked(undo) <= 3


@requirement("D-UNDO-08")
def test_an_ambiguous_unsafe_undo_holds() -> None:
    made = make(text("lab.scrap"), ANSWERS, crashes=[after("compensation.dispatched", "g.b.(undo)")]).finish()
    check(made)
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "g.b.(undo)", "reason": "undo_ambiguous"}]
    assert outside(made).invoked("lab.scrap") == 1
    assert made.report()["bindings"]["g"] == {}
    assert not made.decide(Decision("g.b.(undo)", "dana", "reissue")).accepted
    assert not made.decide(Decision("g.b.(undo)", "dana", "succeed", result=None)).accepted
    assert made.decide(Decision("g.b.(undo)", "dana", "succeed", result={"value": "ok"})).accepted
    made.finish()
    assert made.status == "succeeded"
    assert outside(made).invoked("lab.scrap") == 2


def test_an_ambiguous_safe_undo_is_reissued_three_times() -> None:
    made = run(text("lab.refund"), {**ANSWERS, "lab.refund": [unknown(), unknown(), unknown(), ok()]})
    assert made.status == "succeeded"
    assert outside(made).count("lab.refund") == 2
    keys = [each["key"] for each in made.report()["calls"] if each["path"] == "g.b.(undo)"]
    assert len(set(keys)) == 1
    made = make(text("lab.refund"), {**ANSWERS, "lab.refund": [unknown()]}).finish()
    assert made.report()["holds"] == [{"path": "g.b.(undo)", "reason": "undo_ambiguous"}]
    assert outside(made).invoked("lab.refund") == 4
    assert made.decide(Decision("g.b.(undo)", "dana", "reissue")).accepted


@requirement("D-UNDO-09")
def test_a_failed_undo_holds_and_no_redo_work_begins() -> None:
    answers = {**ANSWERS, "g.b.(undo)": [fail("cannot"), ok()]}
    made = make(text(), answers).finish()
    check(made)
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "g.b.(undo)", "reason": "undo_failed"}]
    assert calls(made)[-1] == "g.b.(undo)"
    assert not trace(made, "generation")
    assert outside(made).invoked("lab.drop") == 1
    assert run(text(), answers, decisions=[reissue("g.b.(undo)")]).status == "succeeded"
    made = run(text(), answers, decisions=[succeed("g.b.(undo)", None)])
    assert made.status == "succeeded"
    assert [path for path, _ in undos(made)] == ["g.b.(undo)", "g.a.(undo)"]


def test_an_operator_who_gives_an_undo_up_fails_the_scope() -> None:
    answers = {**ANSWERS, "g.b.(undo)": [fail("cannot")]}
    made = run(text(), answers, decisions=[give_up("g.b.(undo)", "left")])
    assert made.status == "failed"
    assert (made.report()["failure"]["code"], made.report()["failure"]["path"]) == ("left", "g")
    made = run(text(conf="catch: [ { codes: [left] } ]"), answers, decisions=[give_up("g.b.(undo)", "left")])
    assert made.status == "succeeded"
    assert made.report()["bindings"]["g"] is None


def test_a_faulting_undo_argument_is_a_definite_failure() -> None:
    made = make(
        """
        inputs: { m: "map[string]" }
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, undo: { lab.drop: { v: "{{ inputs.m.gone }}" } } }
                - b: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"g.b": [fail()]},
        inputs={"m": {}},
    ).finish()
    assert made.report()["holds"] == [{"path": "g.a.(undo)", "reason": "undo_failed"}]
    assert first(made, "compensation.failed").data["code"] == "fault.missing_member"
    assert outside(made).invoked("lab.drop") == 0


def test_a_compensated_keyed_action_gets_a_new_key_and_its_undo_too() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.pay: {}, undo: { lab.refund: {} } }
                - e: { lab.pay: {}, idempotency_key: mine, undo: { lab.refund: {} } }
                - b: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.b": [fail(), fail(), ok("x")]},
    )
    assert made.status == "succeeded"
    by_path: dict[str, list[str]] = {}
    for each in made.report()["calls"]:
        by_path.setdefault(each["path"], []).append(each["key"])
    assert len(set(by_path["g.a"])) == len(set(by_path["g.e"])) == 3
    assert by_path["g.e"][0] == "mine"
    assert len(set(by_path["g.a.(undo)"])) == len(set(by_path["g.e.(undo)"])) == 2
    assert len(set(by_path["g.b"])) == 1
    assert outside(made).count("lab.pay") == 7
    assert outside(made).count("lab.refund") == 4


def test_of_an_inherent_action_a_compensation_ends_the_effect() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.put: { x: 1 }, undo: { lab.refund: {} } }
                - b: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.b": [fail(), ok("x")]},
    )
    assert outside(made).count("lab.put") == 2


def test_an_outer_recovery_undoes_what_an_inner_one_had_redone() -> None:
    made = run(
        """
        steps:
          - o:
              wf.group:
                - i:
                    wf.group: [ { a: { lab.send: {}, undo: { lab.drop: { v: "{{ a.value }}" } } } }, { b: { lab.pay: {} } } ]
                    recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: escalate }
                - c: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"o.i.a": [ok("1"), ok("2"), ok("3"), ok("4")], "o.i.b": [fail(), fail(), ok("x")], "o.c": [fail(), ok("y")]},
    )
    assert made.status == "succeeded"
    assert [arguments["v"] for _, arguments in undos(made)] == ["1", "2", "3"]
    assert [(each.path, each.data["number"]) for each in made.records if each.kind == "compensation.prepared"] == [
        ("o.i.a.(undo)", 1),
        ("o.i.a.(undo)", 2),
        ("o.i.a.(undo)", 3),
    ]
    assert (outside(made).count("lab.send"), made.state.generation) == (4, 3)


def test_a_success_that_an_operator_or_a_probe_established_is_compensated_too() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, on_unknown: halt, undo: { lab.drop: { v: "{{ a.value }}" } } }
                - b:
                    lab.send: {}
                    on_unknown: reconcile
                    reconcile: { steps: [ { p: { lab.look: {} } } ], outcome: "{{ p.found }}", result: { value: "{{ p.value }}" } }
                    undo: { lab.drop: { v: "{{ b.value }}" } }
                - c: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.a": [unknown(), ok("2")], "g.b": [unknown(), ok("2")], "g.c": [fail(), ok("x")]},
        decisions=[succeed("g.a", "op")],
    )
    assert [arguments["v"] for _, arguments in undos(made)] == ["g.b.(reconcile).p", "op"]
