# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""``wf.parallel`` and ``wf.for_each``: order, concurrency, failures and siblings (language page, section 5)."""

from __future__ import annotations

import pytest

from tests.sim.lab import H, M, S, calls, fail, first, make, ok, outside, reissue, run, succeed, trace, unknown

LOOP = """
inputs: { xs: "list[string]" }
steps:
  - each: { wf.for_each: "{{ inputs.xs }}", CONF steps: [ { a: { lab.send: { x: "{{ item }}", i: "{{ index }}" } } }, { b: { lab.send: { y: "{{ a.value }}" } } } ] }
"""


def test_a_loop_runs_one_iteration_after_the_other() -> None:
    made = run(LOOP.replace("CONF", ""), inputs={"xs": ["p", "q"]})
    assert calls(made) == ["each[0].a", "each[0].b", "each[1].a", "each[1].b"]
    assert [call["arguments"] for call in made.report()["calls"]][0::2] == [{"x": "p", "i": 0}, {"x": "q", "i": 1}]
    assert made.report()["bindings"]["each"] == [
        {"a": {"value": f"each[{i}].a"}, "b": {"value": f"each[{i}].b"}} for i in range(2)
    ]
    assert first(made, "iterations.planned").data == {"items": ["p", "q"], "concurrency": 1}


def test_concurrent_iterations_start_in_order_as_places_become_free() -> None:
    made = run(
        LOOP.replace("CONF", "concurrency: 2,"),
        {"each[0].a": [ok("x", latency=9 * S)], "each[1].a": [ok("x", latency=2 * S)]},
        inputs={"xs": list("pqrs")},
    )
    begun = [
        each.data["index"] for each in made.records if each.kind == "step.started" and each.data["step"] == "iteration"
    ]
    assert begun == [0, 1, 2, 3]
    assert calls(made) == [
        "each[0].a", "each[1].a", "each[1].b", "each[2].a", "each[2].b", "each[3].a", "each[3].b", "each[0].b"
    ]  # fmt: skip
    active = most = 0
    for record in made.records:
        if record.path.startswith("each[") and record.path.endswith("]"):
            active += {"step.started": 1, "step.succeeded": -1}.get(record.kind, 0)
            most = max(most, active)
    assert most == 2


def test_an_empty_list_binds_an_empty_list() -> None:
    made = run(LOOP.replace("CONF", ""), inputs={"xs": []})
    assert made.report()["bindings"] == {"each": []}


def test_a_failed_iteration_under_continue_is_null() -> None:
    made = run(
        LOOP.replace("CONF", "on_iteration_fail: continue,"), {"each[1].a": [fail()]}, inputs={"xs": list("pqr")}
    )
    assert made.status == "succeeded"
    assert [each is None for each in made.report()["bindings"]["each"]] == [False, True, False]
    assert calls(made) == ["each[0].a", "each[0].b", "each[1].a", "each[2].a", "each[2].b"]


def test_a_failed_iteration_ends_the_loop() -> None:
    made = run(LOOP.replace("CONF", ""), {"each[1].a": [fail()]}, inputs={"xs": list("pqr")})
    assert made.report()["failure"]["path"] == "each[1].a"
    assert calls(made) == ["each[0].a", "each[0].b", "each[1].a"]


def test_the_inner_loop_hides_the_outer() -> None:
    made = run(
        """
        steps:
          - outer:
              wf.for_each: [[1, 2], [3]]
              as: row
              steps:
                - inner:
                    wf.for_each: "{{ row }}"
                    steps: [ { v: { wf.let: { i: "{{ index }}", x: "{{ item }}", row: "{{ row | length }}" } } } ]
        """
    )
    values = [cell["v"] for row in made.report()["bindings"]["outer"] for cell in row["inner"]]
    assert values == [{"i": 0, "x": 1, "row": 2}, {"i": 1, "x": 2, "row": 2}, {"i": 0, "x": 3, "row": 1}]


# ---- parallel -----------------------------------------------------------------------------------

FAN = """
steps:
  - fan:
      wf.parallel:
        left: [ { a: { lab.send: {} } }, { b: { lab.send: {} } } ]
        right: [ { a: { lab.send: {} } }, { b: { lab.send: {} } } ]
      CONF
"""


def test_branches_act_in_document_order_at_one_instant() -> None:
    made = run(FAN.replace("CONF", ""))
    assert calls(made) == ["fan.left.a", "fan.right.a", "fan.left.b", "fan.right.b"]
    assert made.report()["bindings"]["fan"]["right"]["b"] == {"value": "fan.right.b"}


def test_a_failed_branch_under_continue_is_null_and_the_other_goes_on() -> None:
    made = run(FAN.replace("CONF", "on_branch_fail: continue"), {"fan.left.a": [fail()]})
    assert made.status == "succeeded"
    assert made.report()["bindings"]["fan"]["left"] is None
    assert calls(made) == ["fan.left.a", "fan.right.a", "fan.right.b"]


def test_siblings_come_to_the_end_of_the_step_in_progress() -> None:
    made = run(FAN.replace("CONF", ""), {"fan.left.a": [fail(latency=2 * S)], "fan.right.a": [ok("x", latency=9 * S)]})
    assert made.status == "failed"
    assert calls(made) == ["fan.left.a", "fan.right.a"]
    assert first(made, "step.succeeded", "fan.right.a").at == made.start_us + 9 * S
    assert made.clock == made.start_us + 9 * S
    assert made.report()["calls"][1]["answer"] == "success"


def test_of_two_failures_the_first_recorded_one_counts() -> None:
    made = run(
        FAN.replace("CONF", ""),
        {"fan.left.a": [fail("second", latency=9 * S)], "fan.right.a": [fail("first", latency=2 * S)]},
    )
    assert made.report()["failure"]["code"] == "first"
    assert made.report()["failure"]["path"] == "fan.right.a"


@pytest.mark.parametrize("step", ["wf.wait: 1h", "wf.wait_for: lab.ping, match: { id: a }, timeout: 1h"])
def test_waits_of_siblings_stand_still_at_once(step: str) -> None:
    made = run(
        f"steps: [ {{ fan: {{ wf.parallel: {{ left: [ {{ a: {{ lab.send: {{}} }} }} ], right: [ {{ w: {{ {step} }} }} ] }} }} }} ]",
        {"fan.left.a": [fail(latency=M)]},
    )
    assert made.status == "failed"
    assert made.clock == made.start_us + M
    assert not trace(made, "timer.fired")
    assert trace(made, "timer.released") == ["timer.released fan.right.w"]


def test_retry_delays_of_siblings_stand_still_at_once() -> None:
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { a: { lab.send: {} } } ]
            right: [ { a: { lab.send: {}, retry: { attempts: 5, delay: 1h } } } ]
    """
    made = run(text, {"fan.left.a": [fail(latency=M)], "fan.right.a": [fail("busy")]})
    assert made.clock == made.start_us + M
    assert outside(made).invoked("lab.send") == 2
    made = run(text, {"fan.left.a": [fail(latency=M)], "fan.right.a": [fail("busy", latency=2 * M)]})
    assert made.clock == made.start_us + 2 * M
    assert outside(made).invoked("lab.send") == 2
    assert not trace(made, "retry")


def test_a_sibling_of_a_failure_enters_no_handler_and_no_new_iteration() -> None:
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { a: { lab.send: {} } } ]
            right:
              - each: { wf.for_each: [1, 2, 3], steps: [ { b: { lab.send: {}, catch: [ { steps: [ { c: { lab.void: {} } } ] } ] } } ] }
    """
    made = run(text, {"fan.left.a": [fail(latency=M)], "fan.right.each[0].b": [fail(latency=2 * M)]})
    assert calls(made) == ["fan.left.a", "fan.right.each[0].b"]
    made = run(text, {"fan.left.a": [fail(latency=M)], "fan.right.each[0].b": [ok("x", latency=2 * M)]})
    assert calls(made) == ["fan.left.a", "fan.right.each[0].b"]
    assert made.report()["bindings"]["fan"]["right"]["each"] == [{"b": {"value": "x"}}]


def test_a_held_sibling_is_decided_before_the_failure_acts() -> None:
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { a: { lab.send: {} } } ]
            right: [ { a: { lab.send: {}, on_unknown: halt } } ]
    """
    answers = {"fan.left.a": [fail(latency=M)], "fan.right.a": [unknown()]}
    made = make(text, answers).finish()
    assert made.status == "held"
    assert first(made, "step.failed", "fan.left.a").at == made.start_us + M
    made = run(text, answers, decisions=[succeed("fan.right.a", "y", at=H)])
    assert made.status == "failed"
    assert made.report()["bindings"]["fan"]["right"] == {"a": {"value": "y"}}
    assert made.clock == made.start_us + H


def test_a_construct_that_catches_lets_go_of_its_standing_siblings() -> None:
    made = run(
        """
        steps:
          - fan:
              wf.parallel:
                left: [ { a: { lab.send: {} } } ]
                right: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]
              catch: [ { steps: [ { c: { wf.wait: 2h } } ] } ]
          - next: { lab.void: {} }
        """,
        {"fan.left.a": [fail(latency=M)]},
    )
    assert made.status == "succeeded"
    entered, released, begun = (
        first(made, "handler.entered"),
        first(made, "subscription.released"),
        first(made, "step.started", "fan.(catch:0).c"),
    )
    assert entered.seq < released.seq < begun.seq
    assert made.clock == made.start_us + M + 2 * H


def test_branches_of_nested_constructs_come_to_a_stand_too() -> None:
    made = run(
        """
        steps:
          - fan:
              wf.parallel:
                left: [ { g: { wf.group: [ { a: { lab.send: {} } }, { b: { lab.void: {} } } ] } }, { c: { lab.void: {} } } ]
                right: [ { a: { lab.send: {} } } ]
        """,
        {"fan.right.a": [fail(latency=M)], "fan.left.g.a": [ok("x", latency=2 * M)]},
    )
    assert calls(made) == ["fan.left.g.a", "fan.right.a"]
    assert made.report()["bindings"]["fan"]["left"] == {"g": {"a": {"value": "x"}}}


def test_many_concurrent_waits_end_together() -> None:
    made = make(
        "inputs: { xs: 'list[integer]' }\nsteps: [ { e: { wf.for_each: '{{ inputs.xs }}', concurrency: 300, steps: [ { w: { wf.wait: 1h } } ] } } ]",
        inputs={"xs": list(range(300))},
    ).finish()
    assert made.status == "succeeded"
    assert made.clock == made.start_us + H
    fired = [each.path for each in made.records if each.kind == "timer.fired"]
    assert fired == [f"e[{i}].w" for i in range(300)]


def test_a_failure_that_a_standing_sibling_could_handle_waits_with_it() -> None:
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { a: { lab.send: {} } } ]
            right: [ { g: { wf.group: [ { b: { lab.send: {} } } ], catch: [ { steps: [ { c: { lab.void: {} } } ] } ] } } ]
    """
    answers = {"fan.left.a": [fail("first", latency=M)], "fan.right.g.b": [fail("second", latency=2 * M)]}
    made = run(text, answers)
    assert made.report()["failure"]["code"] == "first"
    assert calls(made) == ["fan.left.a", "fan.right.g.b"]
    assert made.clock == made.start_us + 2 * M


def test_a_held_sibling_that_an_operator_has_sent_again_comes_to_its_end_before_the_failure_acts() -> None:
    made = run(
        """
        steps:
          - p:
              wf.parallel:
                l: [ { a: { lab.pay: {} } }, { b: { lab.get: {} } } ]
                r: [ { w: { wf.wait: 1h } }, { c: { lab.get: {} } } ]
        """,
        {"p.l.a": [unknown()] * 4 + [ok("x")], "p.r.c": [fail()]},
        decisions=[reissue("p.l.a", at=2 * H)],
    )
    assert made.status == "failed"
    assert first(made, "step.succeeded", "p.l.a").at == made.start_us + 2 * H
    assert calls(made) == ["p.l.a"] * 4 + ["p.r.c", "p.l.a"]
