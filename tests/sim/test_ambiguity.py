# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Ambiguous outcomes (profile: Ambiguous Outcomes and on_unknown; language page, section 5)."""

from __future__ import annotations

import pytest

from sim_runtime.driver.protocol import Decision
from tests.sim.lab import (
    H,
    M,
    S,
    after,
    before,
    calls,
    event,
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

HALT = "steps: [ { a: { lab.send: {}, on_unknown: halt, CONF } }, { b: { lab.get: { v: '{{ a?.value }}' } } } ]"
RECONCILE = """
steps:
  - a:
      lab.send: { x: 1 }
      retry: { attempts: 3, delay: 1m }
      on_unknown: reconcile
      reconcile:
        steps: [ { probe: { lab.look: { for: "{{ run.id }}" } } } ]
        outcome: "{{ probe.found }}"
        result: { value: "{{ probe.value }}" }
"""
FOUND = ok({"found": True, "value": "it"})
LOST = ok({"found": False, "value": ""})


@requirement("D-AMB-07")
def test_an_ambiguous_attempt_binds_nothing_and_the_step_stays_in_progress() -> None:
    made = make(HALT.replace("CONF", ""), {"a": [unknown("gone")]}).finish()
    assert made.status == "held"
    assert made.report()["bindings"] == {}
    assert made.report()["holds"] == [{"path": "a", "reason": "ambiguous"}]
    assert made.report()["waiting"] == [{"kind": "decision", "path": "a", "reason": "ambiguous"}]
    assert not trace(made, "step.succeeded", "step.failed", "action.failed", "action.succeeded")
    assert first(made, "action.ambiguous", "a").data["code"] == "gone"


def test_the_default_is_abort() -> None:
    made = run("steps: [ { a: { lab.send: {}, catch: [ {} ], on_fail: continue } } ]", {"a": [unknown("gone")]})
    assert made.status == "aborted"
    assert (made.report()["failure"]["code"], made.report()["failure"]["path"]) == ("gone", "a")


def test_fail_makes_it_a_definite_failure_without_retry() -> None:
    made = run(
        "steps: [ { a: { lab.send: {}, on_unknown: fail, retry: { attempts: 3 }, catch: [ { codes: [gone], result: { value: c } } ] } } ]",
        {"a": [unknown("gone")]},
    )
    assert made.report()["bindings"] == {"a": {"value": "c"}}
    assert first(made, "action.failed").data["effect"] == "possible"
    assert outside(made).invoked("lab.send") == 1


@pytest.mark.parametrize("action", ["lab.pay", "lab.put"])
def test_a_safe_action_is_reissued_at_once_three_times_then_held(action: str) -> None:
    text = f"steps: [ {{ a: {{ {action}: {{}} }} }} ]"
    made = run(text, {"a": [unknown(), unknown(happened=False), unknown(), ok("x")]})
    assert made.status == "succeeded"
    assert made.clock == made.start_us
    assert [each.data["reissue"] for each in made.records if each.kind == "action.dispatched"] == [0, 1, 2, 3]
    assert outside(made).count(action) == 1
    made = make(text, {"a": [unknown()]}).finish()
    assert made.report()["holds"] == [{"path": "a", "reason": "reissue"}]
    assert outside(made).invoked(action) == 4


def test_a_reissue_hold_is_decided_like_halt() -> None:
    text = "steps: [ { a: { lab.pay: {} } } ]"
    answers = {"a": [unknown()] * 4 + [ok("x")]}
    assert run(text, answers, decisions=[succeed("a", "op")]).report()["bindings"] == {"a": {"value": "op"}}
    assert run(text, answers, decisions=[give_up("a", "nope")]).report()["failure"]["code"] == "nope"
    made = run(text, answers, decisions=[reissue("a")])
    assert made.report()["bindings"] == {"a": {"value": "x"}}
    assert [each.data["reissue"] for each in made.records if each.kind == "action.dispatched"] == [0, 1, 2, 3, 4]


def test_reissues_after_crashes_are_counted() -> None:
    made = make(
        "steps: [ { a: { lab.pay: {} } } ]",
        {"a": [unknown()]},
        crashes=[after("action.dispatched", nth=1), after("action.dispatched", nth=2)],
    ).finish()
    assert made.status == "held"
    assert outside(made).invoked("lab.pay") == 4


def test_each_attempt_has_its_own_reissues() -> None:
    made = run(
        "steps: [ { a: { lab.pay: {}, retry: { attempts: 2 } } } ]",
        {"a": [unknown(), unknown(), unknown(), fail("busy"), unknown(), unknown(), unknown(), ok("x")]},
    )
    assert made.status == "succeeded"


# ---- halt ---------------------------------------------------------------------------------------


@requirement("D-AMB-08")
@requirement("D-AMB-09")
def test_an_operator_establishes_success() -> None:
    made = run(HALT.replace("CONF", ""), {"a": [unknown()]}, decisions=[succeed("a", "op", at=M)])
    assert made.status == "succeeded"
    assert made.report()["bindings"]["a"] == {"value": "op"}
    assert made.report()["calls"][1]["arguments"] == {"v": "op"}
    decided, resumed, done = (
        first(made, "operator.decided"),
        first(made, "run.resumed"),
        first(made, "step.succeeded", "a"),
    )
    assert decided.data["actor"] == "dana"
    assert decided.boundary
    assert decided.seq + 1 == resumed.seq
    assert resumed.seq < done.seq


@requirement("D-AMB-08")
@requirement("D-AMB-09")
def test_an_operator_establishes_failure_with_code_and_details() -> None:
    made = make(
        HALT.replace("CONF", "catch: [ { steps: [ { c: { wf.let: { e: '{{ error }}' } } } ] } ]"), {"a": [unknown()]}
    ).finish()
    reply = made.decide(Decision("a", "sam", "fail", code="no_effect", message="looked", details={"n": 1}))
    assert reply.accepted
    made.finish()
    error = first(made, "handler.entered").data["error"]
    assert error == {"code": "no_effect", "message": "looked", "details": {"n": 1}, "step": "a"}
    assert first(made, "operator.decided").data["actor"] == "sam"


def test_an_established_retryable_failure_is_retried() -> None:
    made = run(
        HALT.replace("CONF", "retry: { attempts: 2, delay: 1m }"),
        {"a": [unknown(), ok("x")]},
        decisions=[give_up("a", "no_effect", retryable=True)],
    )
    assert made.report()["bindings"]["a"] == {"value": "x"}
    assert outside(made).invoked("lab.send") == 2


@requirement("D-AMB-08")
@pytest.mark.parametrize(
    ("decision", "word"),
    [
        (Decision("a", "dana", "succeed", result={"value": 1}), "output"),
        (Decision("a", "dana", "succeed", result=None), "output"),
        (Decision("a", "dana", "fail"), "code"),
        (Decision("a", "", "fail", code="x"), "actor"),
        (Decision("a", "dana", "reissue"), "cannot be decided"),
        (Decision("a", "dana", "authorize_recovery"), "cannot be decided"),
        (Decision("b", "dana", "fail", code="x"), "no hold at `b`"),
    ],
)
def test_what_may_not_be_decided_is_refused_and_nothing_is_written(decision: Decision, word: str) -> None:
    made = make(HALT.replace("CONF", ""), {"a": [unknown()]}).finish()
    count = len(made.records)
    reply = made.decide(decision)
    assert not reply.accepted
    assert word in reply.reason
    assert len(made.records) == count
    assert made.status == "held"


def test_succeed_null_where_there_is_no_output() -> None:
    text = "steps: [ { a: { lab.void: {}, on_unknown: halt } } ]"
    assert run(text, {"a": [unknown()]}, decisions=[succeed("a", None)]).report()["bindings"] == {"a": None}
    made = make(text, {"a": [unknown()]}).finish()
    assert not made.decide(Decision("a", "dana", "succeed", result={"value": "x"})).accepted


@requirement("D-SUS-05")
def test_a_hold_is_not_terminal_and_other_work_goes_on() -> None:
    made = make(
        """
        steps:
          - fan:
              wf.parallel:
                left: [ { a: { lab.send: {}, on_unknown: halt } } ]
                right: [ { w: { wf.wait: 1h } }, { c: { lab.get: {} } }, { x: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h } } ]
        """,
        {"fan.left.a": [unknown()]},
        events=[event({"id": "a"}, 2 * H)],
    ).finish()
    assert made.status == "held"
    assert calls(made) == ["fan.left.a", "fan.right.c"]
    assert made.report()["bindings"]["fan"]["right"]["x"]["status"] == "received"
    assert made.clock == made.start_us + 2 * H
    assert trace(made, "run.held", "run.suspended") == ["run.held"] * 3


# ---- reconcile ----------------------------------------------------------------------------------


@requirement("D-AMB-10")
def test_an_outcome_of_true_binds_the_result() -> None:
    made = run(RECONCILE, {"a": [unknown()], "a.(reconcile).probe": [FOUND]})
    assert made.report()["bindings"] == {"a": {"value": "it"}}
    assert calls(made) == ["a", "a.(reconcile).probe"]
    assert first(made, "reconcile.decided").data == {"number": 1, "outcome": "succeeded", "result": {"value": "it"}}
    assert first(made, "action.prepared", "a.(reconcile).probe").id == "a.(reconcile)#1.probe"


@requirement("D-AMB-11")
def test_an_outcome_of_false_is_a_retryable_failure_with_the_ambiguous_code() -> None:
    answers = {"a": [unknown("gone"), ok("second")], "a.(reconcile).probe": [LOST]}
    made = run(RECONCILE, answers)
    assert made.report()["bindings"] == {"a": {"value": "second"}}
    assert first(made, "retry.scheduled").data["attempt"] == 2
    assert made.clock == made.start_us + M
    made = run(RECONCILE.replace("attempts: 3", "attempts: 1"), answers)
    assert made.report()["failure"]["code"] == "gone"


def test_reconciliations_are_numbered() -> None:
    made = run(RECONCILE, {"a": [unknown(), unknown(), ok("x")], "a.(reconcile).probe": [LOST]})
    assert [each.id for each in made.records if each.kind == "step.started" and "probe" in each.id] == [
        "a.(reconcile)#1.probe",
        "a.(reconcile)#2.probe",
    ]


@requirement("D-AMB-12")
@pytest.mark.parametrize(
    ("probe", "outcome", "result"),
    [
        (fail("busy", False), "{{ probe.found }}", "{{ probe.value }}"),
        (FOUND, "{{ 1 / inputs.zero > 0 }}", "{{ probe.value }}"),
        (FOUND, "{{ probe.found }}", "{{ 1 / inputs.zero | string }}"),
        (FOUND, "{{ probe.found }}", "{{ inputs.any }}"),
    ],
)
def test_a_failed_probe_a_fault_or_a_bad_result_applies_halt(probe, outcome: str, result: str) -> None:
    text = "inputs: { zero: integer, any: any }" + RECONCILE.replace("{{ probe.found }}", outcome).replace(
        "{{ probe.value }}", result
    )
    options = {"inputs": {"zero": 0, "any": 7}}
    answers = {"a": [unknown(), ok("y")], "a.(reconcile).probe": [probe]}
    made = make(text, answers, **options).finish()
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "a", "reason": "ambiguous"}]
    assert first(made, "reconcile.decided").data["outcome"] == "unresolved"
    made = run(text, answers, decisions=[succeed("a", "op")], **options)
    assert made.report()["bindings"] == {"a": {"value": "op"}}


def test_a_probe_may_wait_and_the_hold_lets_go_of_what_it_left_open() -> None:
    text = RECONCILE.replace(
        "steps: [ { probe",
        "steps: [ { p: { wf.parallel: { l: [ { w: { wf.wait: 9h } } ], r: [ { x: { lab.get: {} } } ] } } }, { probe",
    )
    made = make(text, {"a": [unknown()], "a.(reconcile).p.r.x": [fail("busy", False)]}).finish()
    assert made.status == "held"
    assert trace(made, "timer.released") == ["timer.released a.(reconcile).p.l.w"]
    assert made.clock == made.start_us


@requirement("D-AMB-13")
def test_a_recorded_success_is_never_replaced() -> None:
    made = run(
        RECONCILE.replace("retry: { attempts: 3, delay: 1m }", "timeout: 5m"),
        {"a": [ok("first", latency=2 * S)]},
        crashes=[after("action.succeeded", "a"), before("step.succeeded", "a")],
    )
    assert made.report()["bindings"] == {"a": {"value": "first"}}
    assert outside(made).invoked("lab.send") == 1
    assert not trace(made, "reconcile", "action.ambiguous")


@requirement("D-AMB-14")
def test_a_definite_failure_never_goes_to_on_unknown() -> None:
    for text in (RECONCILE, HALT.replace("CONF", "")):
        made = run(text, {"a": [fail("broken")]})
        assert made.report()["failure"]["code"] == "broken"
        assert not trace(made, "reconcile", "hold", "action.ambiguous")


def test_a_late_answer_after_a_decision_is_recorded_and_not_used() -> None:
    made = run(
        HALT.replace("CONF", "timeout: 1m"),
        {"a": [ok("late", latency=H)]},
        decisions=[succeed("a", "op", at=2 * M)],
    )
    assert made.report()["bindings"]["a"] == {"value": "op"}
    assert first(made, "late_result.recorded", "a").data["result"] == {"value": "late"}
    assert made.report()["calls"][0]["answer"] == "late"
