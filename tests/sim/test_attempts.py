# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Retry, timeouts, late results, handlers and keys (language page, section 5)."""

from __future__ import annotations

from sim_runtime.core.definition import RetryDef
from sim_runtime.core.failing import retry_delay
from tests.sim.lab import M, S, calls, fail, first, make, never, ok, outside, run, succeed, trace, unknown

RETRY = "steps: [ { a: { lab.send: {}, retry: { attempts: 4, delay: 2s, backoff: 3, max_delay: 10s } } } ]"


def test_delays_grow_up_to_the_longest() -> None:
    made = run(RETRY, {"a": [fail("busy"), fail("busy"), fail("busy"), ok("x")]})
    assert made.status == "succeeded"
    delays = [
        (each.data["attempt"], each.data["delay"] // S, each.data["source"])
        for each in made.records
        if each.kind == "retry.scheduled"
    ]
    assert delays == [(2, 2, "policy"), (3, 6, "policy"), (4, 10, "policy")]
    assert [call["attempt"] for call in made.report()["calls"]] == [1, 2, 3, 4]
    assert made.report()["clock"]["now"] == "2026-01-01T00:00:18Z"


def test_attempts_run_out() -> None:
    made = run(RETRY, {"a": [fail("busy")]})
    assert made.report()["failure"]["code"] == "busy"
    assert outside(made).invoked("lab.send") == 4


def test_what_is_not_retryable_or_not_listed_is_not_tried_again() -> None:
    assert outside(run(RETRY, {"a": [fail("broken")]})).invoked("lab.send") == 1
    assert outside(run(RETRY, {"a": [fail("broken", True)]})).invoked("lab.send") == 4
    text = "steps: [ { a: { lab.send: {}, retry: { attempts: 4, on: [other] } } } ]"
    assert outside(run(text, {"a": [fail("busy")]})).invoked("lab.send") == 1
    assert outside(run(text, {"a": [fail("other", True)]})).invoked("lab.send") == 4
    assert outside(run(text, {"a": [fail("other", False)]})).invoked("lab.send") == 1


def test_the_larger_of_delay_and_retry_after_uncapped_and_without_jitter() -> None:
    text = "steps: [ { a: { lab.send: {}, retry: { attempts: 3, delay: 2s, max_delay: 3s, jitter: 1 } } } ]"
    made = run(text, {"a": [fail("busy", retry_after_us=40 * S), fail("busy", retry_after_us=1), ok("x")]})
    one, two = [each for each in made.records if each.kind == "retry.scheduled"]
    assert (one.data["delay"], one.data["source"]) == (40 * S, "server")
    assert two.data["source"] == "policy"


def test_jitter_is_drawn_from_the_seed() -> None:
    text = "steps: [ { a: { lab.send: {}, retry: { attempts: 3, delay: 10s, jitter: 0.5 } } } ]"
    answers = {"a": [fail("busy"), fail("busy"), ok("x")]}

    def delays(seed: int) -> list[int]:
        return [each.data["delay"] for each in run(text, answers, seed=seed).records if each.kind == "retry.scheduled"]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)
    assert all(5 * S <= each <= 10 * S for seed in range(20) for each in delays(seed))


def test_delays_are_bounded_whatever_the_numbers() -> None:
    retry = RetryDef(10**6, 10**12, 1e300, None, 0, None)
    assert retry_delay(retry, 10**6, 0) > 0
    assert retry_delay(RetryDef(9, 0, 1e300, None, 0, None), 10**6, 0) == 0


# ---- timeouts -----------------------------------------------------------------------------------


def test_a_write_that_is_not_answered_in_time_is_ambiguous() -> None:
    made = run("steps: [ { a: { lab.send: {}, timeout: 5s } } ]", {"a": [ok("x", latency=9 * S)]})
    assert made.status == "aborted"
    assert made.report()["failure"]["code"] == "timeout"
    assert first(made, "action.ambiguous", "a").data["code"] == "timeout"
    assert made.report()["clock"]["now"] == "2026-01-01T00:00:05Z"
    assert first(made, "late_result.recorded", "a").at == made.start_us + 9 * S
    assert made.report()["calls"][0]["answer"] == "late"


def test_a_read_over_its_time_is_a_retryable_failure() -> None:
    made = run(
        "steps: [ { a: { lab.get: {}, timeout: 5s, retry: { attempts: 2, delay: 1s } } } ]",
        {"a": [ok("late", latency=9 * S), ok("in time")]},
    )
    assert made.report()["bindings"]["a"] == {"value": "in time"}
    failed = first(made, "action.failed", "a").data
    assert (failed["code"], failed["retryable"]) == ("timeout", True)
    assert [call["answer"] for call in made.report()["calls"]] == ["late", "success"]


def test_an_answer_exactly_at_the_limit_is_in_time() -> None:
    made = run("steps: [ { a: { lab.send: {}, timeout: 5s } } ]", {"a": [ok("x", latency=5 * S)]})
    assert made.status == "succeeded"


def test_the_timeout_counts_for_each_attempt() -> None:
    made = run(
        "steps: [ { a: { lab.get: {}, timeout: 5s, retry: { attempts: 2, delay: 4s } } } ]",
        {"a": [never(), ok("x", latency=5 * S)]},
    )
    assert made.status == "succeeded"
    assert made.report()["clock"]["now"] == "2026-01-01T00:00:14Z"


# ---- handlers -----------------------------------------------------------------------------------


def test_the_first_handler_that_fits_and_what_it_reads() -> None:
    made = run(
        """
        steps:
          - a:
              lab.send: {}
              catch:
                - { codes: [other] }
                - codes: [broken]
                  steps: [ { b: { wf.let: { all: "{{ error }}" } } } ]
                  result: { value: "{{ b.all.message }} at {{ error.step }}" }
                - {}
        result: "{{ a?.value }}"
        """,
        {"a": [fail("broken", message="bad", details={"n": 1})]},
    )
    assert made.report()["result"] == "bad at a"
    entered = first(made, "handler.entered", "a").data
    assert entered["handler"] == 1
    assert entered["error"] == {"code": "broken", "message": "bad", "details": {"n": 1}, "step": "a"}
    assert trace(made, "step.started") == ["step.started a", "step.started a.(catch:1).b"]


def test_a_handler_without_result_binds_null() -> None:
    made = run("steps: [ { a: { lab.send: {}, catch: [ {} ] } } ]", {"a": [fail()]})
    assert made.report()["bindings"] == {"a": None}
    assert made.status == "succeeded"


def test_a_failure_inside_a_handler_is_a_new_failure_of_the_step() -> None:
    text = """
    steps:
      - a:
          lab.send: {}
          catch: [ { codes: [broken], steps: [ { b: { lab.put: {} } } ] }, { codes: [worse], result: { value: no } } ]
          ON
    """
    answers = {"a": [fail("broken")], "a.(catch:0).b": [fail("worse")]}
    made = run(text.replace("ON", ""), answers)
    assert made.report()["failure"]["code"] == "worse"
    assert made.report()["failure"]["path"] == "a"
    made = run(text.replace("ON", "on_fail: continue"), answers)
    assert made.report()["bindings"] == {"a": None}


def test_a_faulting_handler_result_is_a_failure_of_the_step() -> None:
    made = run(
        "inputs: { n: integer }\nsteps: [ { a: { lab.send: {}, catch: [ { result: { value: '{{ 1 / inputs.n | string }}' } } ], on_fail: continue } } ]",
        {"a": [fail()]},
        inputs={"n": 0},
    )
    assert first(made, "step.failed", "a").data["code"] == "fault.division"
    assert made.report()["bindings"] == {"a": None}


def test_retry_comes_before_catch_and_catch_before_on_fail() -> None:
    made = run(
        """
        steps:
          - a: { lab.send: {}, retry: { attempts: 2 }, catch: [ { codes: [busy], result: { value: caught } } ], on_fail: abort }
        """,
        {"a": [fail("busy")]},
    )
    assert outside(made).invoked("lab.send") == 2
    assert made.report()["bindings"] == {"a": {"value": "caught"}}


def test_a_construct_catches_what_comes_from_inside() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - h: { wf.group: [ { a: { lab.send: {} } }, { b: { lab.void: {} } } ] }
              catch: [ { codes: [broken], steps: [ { c: { lab.get: { from: "{{ error.step }}" } } } ] } ]
        """,
        {"lab.send": [fail()]},
    )
    assert made.status == "succeeded"
    assert calls(made) == ["g.h.a", "g.(catch:0).c"]
    assert made.report()["calls"][1]["arguments"] == {"from": "g.h.a"}
    assert made.report()["bindings"] == {"g": None}
    assert trace(made, "step.failed") == ["step.failed g.h.a", "step.failed g.h"]


# ---- keys ---------------------------------------------------------------------------------------


def test_a_key_is_fixed_for_every_attempt_and_reissue() -> None:
    made = run(
        "steps: [ { a: { lab.pay: {}, retry: { attempts: 3 } } } ]",
        {"a": [fail("busy"), unknown(), fail("busy"), ok("x")]},
    )
    keys = {call["key"] for call in made.report()["calls"]}
    assert keys == {f"{made.run_id}:a"}
    assert [call["attempt"] for call in made.report()["calls"]] == [1, 2, 2, 3]
    assert outside(made).count("lab.pay") == 1


def test_derived_keys_hold_loop_indexes_and_explicit_ones_are_taken() -> None:
    made = run(
        """
        inputs: { xs: "list[string]" }
        steps:
          - each: { wf.for_each: "{{ inputs.xs }}", steps: [ { a: { lab.pay: {} } }, { b: { lab.pay: { x: "{{ item }}" }, idempotency_key: "k-{{ item }}" } } ] }
        """,
        inputs={"xs": ["p", "q"]},
    )
    keys = [call["key"] for call in made.report()["calls"]]
    assert keys == [f"{made.run_id}:each[0].a", "k-p", f"{made.run_id}:each[1].a", "k-q"]


def test_only_keyed_actions_have_keys() -> None:
    made = run("steps: [ { a: { lab.put: {} } }, { b: { lab.get: {} } }, { c: { lab.send: {} } } ]")
    assert [call["key"] for call in made.report()["calls"]] == [None, None, None]


def test_other_arguments_under_a_used_key_are_not_sent() -> None:
    text = """
    steps:
      - a: { lab.pay: { n: 1 }, idempotency_key: same }
      - b: { lab.pay: { n: 1 }, idempotency_key: same }
      - c: { lab.pay: { n: 2 }, idempotency_key: same }
    """
    made = run(text)
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "c", "reason": "reissue"}]
    assert calls(made) == ["a", "b"]
    assert not [each for each in made.records if each.kind == "action.prepared" and each.path == "c"]
    made = run(text, decisions=[succeed("c", "by hand", at=2 * M)])
    assert made.report()["bindings"]["c"] == {"value": "by hand"}
    made = make(text).finish()
    from sim_runtime.driver.protocol import Decision

    assert not made.decide(Decision("c", "dana", "reissue")).accepted


def test_a_timeout_may_be_evaluated() -> None:
    text = "inputs: { t: duration }\nsteps: [ { a: { lab.get: {}, timeout: '{{ inputs.t }}' } } ]"
    made = run(text, {"a": [ok("x", latency=9 * S)]}, inputs={"t": "5s"})
    assert made.report()["failure"]["code"] == "timeout"
    assert first(made, "action.prepared").data["timeout"] == 5 * S
    made = run(text, inputs={"t": "0s"})
    assert made.report()["failure"]["code"] == "fault.range"
    assert calls(made) == []
