# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Recovery scopes: decisions, limits, delays, holds, escalation (profile: Scope-Level Recovery)."""

from __future__ import annotations

import pytest

from sim_runtime.driver.protocol import Decision
from tests.sim.lab import (
    D,
    H,
    M,
    after,
    authorize,
    calls,
    check,
    fail,
    first,
    make,
    ok,
    outside,
    run,
    trace,
    unknown,
)

requirement = pytest.mark.requirement

GROUP = """
steps:
  - g:
      wf.group:
        - a: { lab.pay: { n: 1 } }
        - b: { lab.pay: { n: 2 } }
        - c: { lab.pay: { n: 3 } }
      recovery: { redo: REDO, stop_after: { failures: 2, within: 1h }, then: THEN, delay: DELAY }
      CONF
"""


def group(redo: str = "whole_group", then: str = "fail", delay: str = "0s", conf: str = "") -> str:
    return GROUP.replace("REDO", redo).replace("THEN", then).replace("DELAY", delay).replace("CONF", conf)


# ---- the decision and what follows it --------------------------------------------------------------


@requirement("D-REC-14")
@requirement("D-REC-26")
@requirement("D-HIST-08")
def test_the_order_of_the_records() -> None:
    made = run(group(), {"g.b": [fail(), ok("x")]})
    assert trace(made, "recovery", "history", "generation", "timer") == [
        "recovery.decided g",
        "history.superseded g",
        "generation.started g",
    ]
    decided, superseded = first(made, "recovery.decided"), first(made, "history.superseded")
    started = first(made, "generation.started")
    assert decided.boundary
    assert superseded.boundary
    assert decided.data["failed"] == "g.b"
    assert decided.data["time"] == decided.at
    assert decided.data["set"] == ["g.a", "g.b"]
    assert decided.data["next_generation"] == 1
    assert decided.data["redo"] == "whole_group"
    again = first(made, "step.started", "g.a", 2)
    assert decided.seq < superseded.seq < started.seq < again.seq
    assert superseded.data["records"] == [
        each.seq for each in made.records if each.path in ("g.a", "g.b") and each.seq < decided.seq
    ]
    assert {each.generation for each in made.records if each.seq < started.seq} == {0}
    assert {each.generation for each in made.records if each.seq >= started.seq} == {1}
    assert made.report()["generation"] == 1


@requirement("D-REC-15")
@requirement("D-REC-16")
def test_superseded_values_stay_in_history_and_define_nothing_any_more() -> None:
    made = run(
        group()
        .replace("lab.pay: { n: 2 }", "lab.pay: { n: 2, a: '{{ a.value }}' }")
        .replace("lab.pay: { n: 1 }", "lab.get: {}"),
        {"g.a": [ok("old"), ok("old")], "g.b": [fail(), ok("x")]},
    )
    results = [each.data["result"] for each in made.records if each.kind == "action.succeeded" and each.path == "g.a"]
    assert results == [{"value": "old"}, {"value": "old"}]
    succeeded = [(each.path, each.generation) for each in made.records if each.kind == "step.succeeded"]
    assert len(succeeded) == len(set(succeeded))


@requirement("D-REC-15")
def test_bindings_are_active_until_history_superseded() -> None:
    made = make(group(delay="10m"), {"g.b": [fail(), ok("x")]})
    made.advance(M)
    assert made.report()["bindings"] == {"g": {"a": {"value": "g.a"}}}
    made.now = made.start_us + 10 * M
    while not any(each.kind == "history.superseded" for each in made.records):
        assert made.step()
    assert made.report()["bindings"] == {"g": {}}
    assert made.report()["generation"] == 0


# ---- limits ---------------------------------------------------------------------------------------


@requirement("D-REC-17")
@requirement("D-REC-19")
def test_the_limit_counts_in_the_rolling_interval() -> None:
    made = run(group("this_step"), {"g.b": [fail(), fail(), fail()]})
    assert len(trace(made, "recovery.decided")) == 2
    assert made.status == "failed"
    failure = first(made, "step.failed", "g").data
    assert (failure["code"], failure["details"]) == ("broken", {"recovery": "limit"})
    assert made.report()["failure"]["path"] == "g"
    # Half an hour apart: at the third failure the first activation is exactly an hour old, and does not count any more.
    slow = [fail(latency=30 * M)] * 5 + [ok("x", latency=30 * M)]
    made = run(group("this_step"), {"g.b": slow})
    assert made.status == "succeeded"
    assert len(trace(made, "recovery.decided")) == 5
    slow = [fail(latency=30 * M - 1)] * 5 + [ok("x")]
    assert run(group("this_step"), {"g.b": slow}).status == "failed"


@requirement("D-REC-17")
def test_each_scope_path_has_its_own_count() -> None:
    made = run(
        """
        steps:
          - each:
              wf.for_each: [1, 2, 3]
              steps:
                - g: { wf.group: [ { a: { lab.pay: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, then: fail } }
        """,
        {f"each[{i}].g.a": [fail(), ok("x")] for i in range(3)},
    )
    assert made.status == "succeeded"
    assert made.state.generation == 3


@requirement("D-REC-20")
def test_then_fail_fails_the_construct_which_catches_or_fails_outwards() -> None:
    made = run(group("this_step", conf="catch: [ { codes: [broken] } ]"), {"g.b": [fail()]})
    assert made.status == "succeeded"
    assert first(made, "handler.entered", "g").data["error"]["details"] == {"recovery": "limit"}
    assert first(made, "handler.entered", "g").data["error"]["step"] == "g"
    made = run(group("this_step", conf="on_fail: continue"), {"g.b": [fail()]})
    assert made.report()["bindings"] == {"g": None}


NESTED = """
steps:
  - outer:
      wf.group:
        - a: { lab.pay: {} }
        - mid:
            wf.group:
              - inner:
                  wf.group: [ { b: { lab.pay: {} } }, { c: { lab.pay: {} } } ]
                  recovery: { redo: this_step, stop_after: { failures: 1, within: 1h }, then: THEN }
                  catch: [ { codes: [never] }, CATCH ]
            on_fail: FAIL
      recovery: { redo: REDO, stop_after: { failures: 1, within: 1h }, then: fail }
"""


def nested(then: str, redo: str, catch: str = "{ codes: [nothing] }", fail_: str = "fail") -> str:
    return NESTED.replace("THEN", then).replace("REDO", redo).replace("CATCH", catch).replace("FAIL", fail_)


@requirement("D-REC-20")
def test_escalate_applies_recovery_at_the_next_scope_past_every_policy_between() -> None:
    answers = {"outer.mid.inner.c": [fail(), fail(), ok("x")]}
    made = run(nested("escalate", "this_step", "{}", "continue"), answers)
    assert made.status == "succeeded"
    assert [(each.path, each.data["failed"]) for each in made.records if each.kind == "recovery.decided"] == [
        ("outer.mid.inner", "outer.mid.inner.c"),
        ("outer", "outer.mid.inner.c"),
    ]
    assert first(made, "recovery.decided", "outer").data["set"] == ["outer.mid.inner.c"]
    assert not trace(made, "handler")
    assert [path.rpartition(".")[2] for path in calls(made)] == ["a", "b", "c", "c", "c"]


@requirement("D-REC-20")
def test_then_fail_makes_the_construct_the_failed_step_of_the_outer_scope() -> None:
    answers = {"outer.mid.inner.c": [fail(), fail(), ok("x")]}
    made = run(nested("fail", "this_step"), answers)
    assert first(made, "recovery.decided", "outer").data["failed"] == "outer.mid.inner"
    assert [path.rpartition(".")[2] for path in calls(made)] == ["a", "b", "c", "c", "b", "c"]
    made = run(nested("fail", "this_step", "{}"), answers)
    assert made.status == "succeeded"
    assert len(trace(made, "recovery.decided")) == 1


@requirement("D-REC-19")
@requirement("D-REC-20")
@requirement("D-REC-22")
def test_then_hold_holds_at_the_scope_until_it_is_decided() -> None:
    made = make(group("this_step", "hold"), {"g.b": [fail()]}).finish()
    check(made)
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "g", "reason": "recovery_limit"}]
    assert made.report()["waiting"] == [{"kind": "decision", "path": "g", "reason": "recovery_limit"}]
    made.advance(1000 * D)
    assert made.status == "held"
    assert made.next_due() is None
    assert not made.decide(Decision("g", "dana", "succeed", result=None)).accepted
    assert not made.decide(Decision("g", "dana", "fail", code="x")).accepted
    assert not made.decide(Decision("g", "dana", "reissue")).accepted


@requirement("D-REC-21")
def test_an_operator_authorizes_one_activation_that_does_not_count() -> None:
    text = group("this_step", "hold", "10m")
    made = run(text, {"g.b": [fail(), fail(), fail(), ok("x")]}, decisions=[authorize("g", at=2 * H)])
    assert made.status == "succeeded"
    decided, third = first(made, "operator.decided"), first(made, "recovery.decided", nth=3)
    assert (decided.data["actor"], third.data["authorized_by"]) == ("dana", "dana")
    assert decided.seq < third.seq < first(made, "history.superseded", nth=3).seq
    assert first(made, "timer.fired", nth=3).at == made.start_us + 2 * H + 10 * M
    assert made.state.activations.get("g") == (made.start_us, made.start_us + 10 * M)
    made = make(text, {"g.b": [fail()]}, decisions=[authorize("g", at=21 * M), authorize("g", at=35 * M)]).finish()
    assert made.status == "held"
    assert len(trace(made, "recovery.decided")) == 4


def test_the_root_scope_is_held_at_the_empty_path() -> None:
    text = "recovery: { stop_after: { failures: 1, within: 1h }, then: hold }\nsteps: [ { a: { lab.pay: {} } } ]"
    made = make(text, {"a": [fail()]}).finish()
    assert made.report()["holds"] == [{"path": "", "reason": "recovery_limit"}]
    made = run(text, {"a": [fail(), fail(), ok("x")]}, decisions=[authorize("", at=M)])
    assert made.status == "succeeded"


@requirement("D-REC-18")
@requirement("D-SUS-05")
def test_the_delay_is_a_durable_timer_from_the_decision() -> None:
    made = make(group(delay="10m"), {"g.b": [fail(), ok("x")]}, until=5 * M).finish()
    assert made.status == "suspended"
    assert made.report()["waiting"] == [{"kind": "recovery_delay", "path": "g", "deadline": "2026-01-01T00:10:00Z"}]
    made = run(
        group(delay="10m"),
        {"g.b": [fail(), ok("x")]},
        crashes=[after("recovery.decided", down=4 * M), after("timer.set", "g", down=M)],
    )
    assert made.status == "succeeded"
    assert first(made, "history.superseded").at == made.start_us + 10 * M
    assert made.clock == made.start_us + 10 * M
    made = run(group(delay="10m"), {"g.b": [fail(), ok("x")]}, crashes=[after("run.suspended", down=H)])
    assert trace(made, "timer.fired") == ["timer.fired g"]
    assert made.clock == made.start_us + H


@requirement("D-REC-23")
def test_notify_means_nothing() -> None:
    answers = {"g.b": [fail(), ok("x")]}
    plain = run(group(), answers)
    told = run(group(conf="").replace("then: fail", "then: fail, notify: '#ops {{ not evaluated'"), answers)
    assert trace(plain) == trace(told)


@requirement("D-REC-24")
def test_recovery_is_reached_after_retry_and_catch_only() -> None:
    text = """
    steps:
      - g:
          wf.group: [ { a: { lab.pay: {}, retry: { attempts: 2, delay: 1s } CATCH } } ]
          recovery: { stop_after: { failures: 1, within: 1h }, then: fail }
    """
    made = run(text.replace("CATCH", ""), {"g.a": [fail("busy"), fail("busy"), ok("x")]})
    assert [call["attempt"] for call in made.report()["calls"]] == [1, 2, 1]
    made = run(text.replace("CATCH", ", catch: [ {} ]"), {"g.a": [fail("busy")]})
    assert not trace(made, "recovery")
    assert made.status == "succeeded"


@requirement("D-REC-25")
@pytest.mark.parametrize("policy", ["step", "iteration", "branch", "abort", "own"])
def test_what_consumes_a_failure_before_recovery(policy: str) -> None:
    inner = "{ a: { lab.pay: {} } }"
    recovery = "recovery: { stop_after: { failures: 9, within: 1h }, then: fail }"
    text = {
        "step": "g: { wf.group: [ { a: { lab.pay: {}, on_fail: continue } } ], RECOVERY }",
        "abort": "g: { wf.group: [ { a: { lab.pay: {}, on_fail: abort } } ], RECOVERY }",
        "iteration": f"g: {{ wf.group: [ {{ e: {{ wf.for_each: [1], on_iteration_fail: continue, steps: [ {inner} ] }} }} ], RECOVERY }}",
        "branch": f"g: {{ wf.group: [ {{ p: {{ wf.parallel: {{ l: [ {inner} ] }}, on_branch_fail: continue }} }} ], RECOVERY }}",
        "own": f"g: {{ wf.for_each: [1], on_iteration_fail: continue, steps: [ {inner} ], RECOVERY }}",
    }[policy].replace("RECOVERY", recovery)
    made = run(f"steps: [ {{ {text} }} ]", {"lab.pay": [fail()]})
    assert made.status == ("aborted" if policy == "abort" else "succeeded")
    assert not trace(made, "recovery")


def test_scopes_that_do_not_contain_each_other_recover_independently() -> None:
    one = "[ { g: { wf.group: [ { a: { lab.pay: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, delay: DELAY, then: fail } } } ]"
    made = run(
        f"steps: [ {{ p: {{ wf.parallel: {{ l: {one.replace('DELAY', '10m')}, r: {one.replace('DELAY', '5m')} }} }} }} ]",
        {"p.l.g.a": [fail(), ok("x")], "p.r.g.a": [fail(), ok("y")]},
    )
    assert made.status == "succeeded"
    assert [each.data["next_generation"] for each in made.records if each.kind == "recovery.decided"] == [1, 2]
    assert [(each.path, each.data["started"]) for each in made.records if each.kind == "generation.started"] == [
        ("p.r.g", 2),
        ("p.l.g", 1),
    ]
    assert made.clock == made.start_us + 10 * M


def test_an_enclosing_scope_waits_until_inner_recoveries_have_ended() -> None:
    made = run(
        """
        steps:
          - o:
              wf.group:
                - p:
                    wf.parallel:
                      l: [ { g: { wf.group: [ { a: { lab.pay: {} } }, { b: { lab.pay: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, delay: 10m, then: fail } } } ]
                      r: [ { c: { lab.pay: {} } } ]
              recovery: { redo: this_step, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"o.p.l.g.a": [fail(), ok("x")], "o.p.r.c": [fail(latency=M), ok("y")]},
    )
    assert made.status == "succeeded"
    inner, outer = first(made, "generation.started", "o.p.l.g"), first(made, "recovery.decided", "o")
    assert inner.seq < outer.seq
    assert outer.at == made.start_us + 10 * M
    assert calls(made)[2:] == ["o.p.l.g.a", "o.p.r.c", "o.p.l.g.b"]


def test_a_redo_without_compensation_keeps_its_key_and_effect() -> None:
    made = run(group(), {"g.c": [fail(), ok("x")]})
    keys = [call["key"] for call in made.report()["calls"] if call["path"] == "g.a"]
    assert keys == [f"{made.run_id}:g.a"] * 2
    assert outside(made).count("lab.pay") == 3


def test_an_explicit_key_is_the_same_in_a_redo() -> None:
    made = make(
        """
        steps:
          - g:
              wf.group:
                - t: { lab.get: {} }
                - a: { lab.pay: { n: 1 }, idempotency_key: "k-{{ t.value }}" }
                - b: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.t": [ok("one"), ok("two")], "g.b": [fail(), ok("x")]},
    ).finish()
    assert [call["key"] for call in made.report()["calls"] if call["path"] == "g.a"] == ["k-one", "k-one"]
    assert made.status == "succeeded"


def test_a_redo_that_would_send_an_unsure_action_again_holds() -> None:
    text = """
    steps:
      - g:
          wf.group: [ { a: { lab.send: {}, on_unknown: fail } } ]
          recovery: { stop_after: { failures: 5, within: 1h }, then: fail }
    """
    made = make(text, {"g.a": [unknown("gone"), ok("x")]}).finish()
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "g.a", "reason": "reissue"}]
    assert outside(made).invoked("lab.send") == 1
    assert made.report()["generation"] == 1
    assert not made.decide(Decision("g.a", "dana", "reissue")).accepted
    assert made.decide(Decision("g.a", "dana", "succeed", result={"value": "by hand"})).accepted
    assert made.finish().report()["bindings"] == {"g": {"a": {"value": "by hand"}}}
    check(made)


@pytest.mark.parametrize("action", ["lab.pay", "lab.put"])
def test_an_unsure_action_that_may_be_repeated_is(action: str) -> None:
    text = f"""
    steps:
      - g:
          wf.group: [ {{ a: {{ {action}: {{}}, on_unknown: fail }} }} ]
          recovery: {{ stop_after: {{ failures: 5, within: 1h }}, then: fail }}
    """
    made = run(text, {"g.a": [unknown("gone"), ok("x")]})
    assert made.status == "succeeded"
    assert outside(made).count(action) == 1


BROKEN_OUTPUT = """
steps:
  - g:
      wf.group: [ { a: { lab.send: {}, undo: { lab.drop: {} } } }, { b: { lab.pay: {} } } ]
      recovery: { redo: whole_group, stop_after: { failures: 5, within: 1h }, then: fail }
"""


def test_a_result_that_broke_its_output_may_not_be_sent_again_unasked() -> None:
    answers = {"g.a": [ok({"value": 1}), ok("x"), ok("y")], "g.b": [fail(), ok("z")]}
    made = make(BROKEN_OUTPUT, answers).finish()
    assert made.report()["holds"] == [{"path": "g.a", "reason": "reissue"}]
    # A decision settles what the action did: the redo after it is like any other.
    assert made.decide(Decision("g.a", "dana", "succeed", result={"value": "by hand"})).accepted
    made.finish()
    check(made)
    assert made.status == "succeeded"
    assert outside(made).invoked("lab.drop") == 1
    assert outside(made).invoked("lab.send") == 2


def test_an_established_failure_lets_the_redo_send_it_again() -> None:
    answers = {"g.a": [ok({"value": 1}), ok("x")]}
    made = make(BROKEN_OUTPUT, answers).finish()
    assert made.decide(Decision("g.a", "dana", "fail", code="no_effect")).accepted
    made.finish()
    check(made)
    assert made.status == "succeeded"
    assert made.state.generation == 2


@requirement("D-REC-21")
def test_the_delay_of_an_authorized_activation_counts_from_the_operators_decision() -> None:
    made = run(
        group("this_step", "hold", "10m"),
        {"g.b": [fail(), fail(), fail(), ok("x")]},
        decisions=[authorize("g", at=2 * H)],
        crashes=[after("operator.decided", down=4 * M)],
    )
    assert made.clock == made.start_us + 2 * H + 10 * M
    assert first(made, "recovery.decided", nth=3).data["since"] == made.start_us + 2 * H
    assert first(made, "recovery.decided", nth=3).data["time"] == made.start_us + 2 * H + 4 * M


def test_a_wider_redo_of_a_standing_sibling_asks_about_what_is_not_known() -> None:
    made = make(
        """
        steps:
          - g:
              wf.group:
                - p:
                    wf.parallel:
                      l: [ { a: { lab.pay: {} } } ]
                      r: [ { b: { lab.send: {}, undo: { lab.drop: {} }, on_unknown: reconcile, reconcile: { steps: [ { w: { wf.wait: 1h } } ], outcome: "{{ true }}", result: { value: x } } } } ]
              recovery: { redo: whole_group, stop_after: { failures: 5, within: 1h }, then: fail }
        """,
        {"g.p.l.a": [fail(latency=M), ok("y")], "g.p.r.b": [unknown()]},
    ).finish()
    check(made)
    assert first(made, "history.superseded").data["unsure"] == ["g.p.r.b"]
    assert made.report()["holds"] == [{"path": "g.p.r.b", "reason": "reissue"}]
    assert outside(made).invoked("lab.send") == 1


def test_two_failures_in_siblings_are_recovered_one_after_the_other() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group: [ { p: { wf.parallel: { l: [ { a: { lab.pay: {} } } ], r: [ { b: { lab.pay: {} } } ] } } } ]
              recovery: { redo: this_step, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.p.l.a": [fail(latency=2 * M), ok("x")], "g.p.r.b": [fail(latency=M), ok("y")]},
    )
    assert made.status == "succeeded"
    assert [each.data["failed"] for each in made.records if each.kind == "recovery.decided"] == ["g.p.r.b", "g.p.l.a"]
    assert first(made, "recovery.decided").at == made.start_us + 2 * M


def test_an_escalation_out_of_a_branch_goes_past_the_join() -> None:
    made = run(
        """
        steps:
          - o:
              wf.group:
                - p:
                    wf.parallel:
                      l: [ { i: { wf.group: [ { a: { lab.pay: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, then: escalate } } } ]
                      r: [ { w: { wf.wait: 1h } }, { b: { lab.pay: {} } } ]
                    on_branch_fail: continue
                    catch: [ {} ]
              recovery: { redo: this_step, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"o.p.l.i.a": [fail(latency=M), fail(latency=M), ok("x")]},
    )
    assert made.status == "succeeded"
    assert [each.path for each in made.records if each.kind == "recovery.decided"] == ["o.p.l.i", "o"]
    assert made.report()["bindings"]["o"]["p"]["l"] == {"i": {"a": {"value": "x"}}}
    assert made.clock == made.start_us + H
