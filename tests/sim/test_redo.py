# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Redo sets at run time (language page, section 5, "Redo sets")."""

from __future__ import annotations

import pytest

from tests.sim.lab import (
    H,
    M,
    calls,
    fail,
    first,
    make,
    ok,
    run,
    trace,
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


@requirement("D-REC-08")
def test_this_step_redoes_the_failed_step() -> None:
    made = run(group("this_step"), {"g.b": [fail(), ok("x")]})
    assert calls(made) == ["g.a", "g.b", "g.b", "g.c"]
    assert first(made, "recovery.decided").data["set"] == ["g.b"]


@requirement("D-REC-09")
def test_this_and_after_redoes_the_direct_child_as_a_whole() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.pay: {} }
                - h: { wf.group: [ { b: { lab.pay: {} } }, { c: { lab.pay: {} } } ] }
                - d: { lab.pay: {} }
              recovery: { redo: this_and_after, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.h.c": [fail(), ok("x")]},
    )
    assert calls(made) == ["g.a", "g.h.b", "g.h.c", "g.h.b", "g.h.c", "g.d"]
    assert first(made, "recovery.decided").data["set"] == ["g.h"]


@requirement("D-REC-10")
@pytest.mark.parametrize(("redo", "again"), [("whole_group", ["s.a", "s.b"]), ("this_and_after", ["s.b"])])
def test_on_enter_and_steps_are_one_list(redo: str, again: list[str]) -> None:
    made = run(
        f"""
        initial: s
        states:
          s:
            on_enter: [ {{ a: {{ lab.pay: {{}} }} }} ]
            steps: [ {{ b: {{ lab.pay: {{}} }} }} ]
            recovery: {{ redo: {redo}, stop_after: {{ failures: 2, within: 1h }}, then: fail }}
            final: true
        """,
        {"s.b": [fail(), ok("x")]},
    )
    assert calls(made) == ["s.a", "s.b", *again]
    assert first(made, "recovery.decided").path == "s"
    assert trace(made, "state") == ["state.entered s"]


@requirement("D-REC-11")
def test_inside_a_branch_or_iteration_the_rule_applies_first_and_completed_iterations_stay() -> None:
    made = run(
        """
        inputs: { xs: "list[integer]" }
        steps:
          - g:
              wf.group:
                - i:
                    wf.if: "{{ (inputs.xs | length) > 0 }}"
                    then:
                      - a: { lab.pay: {} }
                      - each: { wf.for_each: "{{ inputs.xs }}", steps: [ { b: { lab.pay: {} } }, { c: { lab.pay: {} } } ] }
                - d: { lab.pay: {} }
              recovery: { redo: this_and_after, stop_after: { failures: 2, within: 1h }, then: fail }
        """,
        {"g.i.(then).each[1].c": [fail(), ok("x")]},
        inputs={"xs": [1, 2, 3]},
    )
    short = [path.replace("g.i.(then).", "") for path in calls(made)]
    assert short == [
        "a",
        "each[0].b",
        "each[0].c",
        "each[1].b",
        "each[1].c",
        "each[1].c",
        "each[2].b",
        "each[2].c",
        "g.d",
    ]
    assert first(made, "recovery.decided").data["set"] == ["g.i.(then).each[1].c"]
    assert len(trace(made, "branch.selected")) == len(trace(made, "iterations.planned")) == 1


@requirement("D-REC-11")
def test_a_failure_of_the_conditions_own_step_redoes_the_condition() -> None:
    made = make(
        """
        inputs: { xs: "list[integer]" }
        steps:
          - g:
              wf.group:
                - a: { lab.pay: {} }
                - i: { wf.if: "{{ inputs.xs[3] > 1 }}", then: [ { b: { lab.pay: {} } } ] }
              recovery: { redo: this_and_after, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        inputs={"xs": []},
    ).finish()
    assert first(made, "recovery.decided").data["set"] == ["g.i"]
    assert made.report()["failure"]["code"] == "fault.range"


PARALLEL = """
steps:
  - g:
      wf.group:
        - z: { lab.pay: {} }
        - fan:
            wf.parallel:
              done: [ { a: { lab.pay: {} } } ]
              broken: [ { b: { lab.pay: {} } }, { c: { lab.pay: {} } } ]
              open: [ { d: { lab.pay: {} } }, { w: { wf.wait: 1h } }, { e: { lab.pay: {} } } ]
        - y: { lab.pay: {} }
      recovery: { redo: REDO, stop_after: { failures: 2, within: 1d }, then: fail }
"""
BROKEN = {"g.fan.broken.c": [fail(latency=M), ok("x")]}


@requirement("D-REC-12")
def test_completed_branches_stay_and_the_others_are_rebuilt() -> None:
    made = run(PARALLEL.replace("REDO", "this_and_after"), BROKEN)
    assert first(made, "recovery.decided").data["set"] == ["g.fan.broken", "g.fan.open"]
    short = [path.removeprefix("g.fan.") for path in calls(made)]
    assert short == [
        "g.z",
        "done.a",
        "broken.b",
        "open.d",
        "broken.c",
        "broken.b",
        "open.d",
        "broken.c",
        "open.e",
        "g.y",
    ]
    assert made.clock == made.start_us + M + H


@requirement("D-REC-08")
def test_under_this_step_siblings_go_on_from_where_they_stood() -> None:
    made = run(PARALLEL.replace("REDO", "this_step"), BROKEN)
    assert first(made, "recovery.decided").data["set"] == ["g.fan.broken.c"]
    short = [path.removeprefix("g.fan.") for path in calls(made)]
    assert short == ["g.z", "done.a", "broken.b", "open.d", "broken.c", "broken.c", "open.e", "g.y"]
    assert made.clock == made.start_us + H


@requirement("D-REC-13")
def test_whole_group_redoes_everything_in_the_scope() -> None:
    made = run(PARALLEL.replace("REDO", "whole_group"), BROKEN)
    assert first(made, "recovery.decided").data["set"] == ["g.z", "g.fan"]
    short = [path.removeprefix("g.fan.") for path in calls(made)]
    half = ["g.z", "done.a", "broken.b", "open.d", "broken.c"]
    assert short == [*half, *half, "open.e", "g.y"]
    assert trace(made, "timer.r") == ["timer.released g.fan.open.w"]


def test_a_parallel_deeper_in_a_group_that_is_redone_keeps_its_completed_branches() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - h:
                    wf.group:
                      - z: { lab.pay: {} }
                      - fan: { wf.parallel: { l: [ { a: { lab.pay: {} } } ], r: [ { b: { lab.pay: {} } } ] } }
              recovery: { redo: this_and_after, stop_after: { failures: 2, within: 1d }, then: fail }
        """,
        {"g.h.fan.r.b": [fail(), ok("x")]},
    )
    assert calls(made) == ["g.h.z", "g.h.fan.l.a", "g.h.fan.r.b", "g.h.z", "g.h.fan.r.b"]
    assert made.status == "succeeded"


def test_a_parallel_that_is_the_scope_itself() -> None:
    text = """
    steps:
      - fan:
          wf.parallel: { l: [ { a: { lab.pay: {} } } ], r: [ { b: { lab.pay: {} } }, { c: { lab.pay: {} } } ] }
          recovery: { redo: REDO, stop_after: { failures: 2, within: 1d }, then: fail }
    """
    answers = {"fan.r.c": [fail(), ok("x")]}
    for redo, expected in {
        "this_step": ["fan.r.c"],
        "this_and_after": ["fan.r"],
        "whole_group": ["fan.l", "fan.r"],
    }.items():
        made = run(text.replace("REDO", redo), answers)
        assert first(made, "recovery.decided").data["set"] == expected
        assert made.status == "succeeded"


def test_a_loop_that_is_the_scope_itself() -> None:
    text = """
    steps:
      - each:
          wf.for_each: [1, 2, 3]
          concurrency: 2
          steps: [ { a: { lab.pay: {} } }, { b: { lab.pay: {} } } ]
          recovery: { redo: REDO, stop_after: { failures: 2, within: 1d }, then: fail }
    """
    answers = {"each[0].b": [fail(latency=M), ok("x")], "each[1].a": [ok("y", latency=2 * M)]}
    for redo, expected in {
        "this_step": ["each[0].b"],
        "this_and_after": ["each[0].b", "each[1]"],
        "whole_group": ["each[0]", "each[1]"],
    }.items():
        made = run(text.replace("REDO", redo), answers)
        assert first(made, "recovery.decided").data["set"] == expected
        assert made.status == "succeeded"
        assert [value["b"]["value"] for value in made.report()["bindings"]["each"]] == ["x", "each[1].b", "each[2].b"]


def test_a_handlers_failure_is_that_of_the_step_that_owns_it() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, undo: { lab.drop: {} }, catch: [ { steps: [ { h: { lab.pay: {} } } ] } ] }
              recovery: { stop_after: { failures: 2, within: 1d }, then: fail }
        """,
        {"g.a": [fail(), ok("x")], "g.a.(catch:0).h": [fail()]},
    )
    assert first(made, "recovery.decided").data["failed"] == "g.a"
    assert calls(made) == ["g.a", "g.a.(catch:0).h", "g.a"]


def test_this_step_inside_a_waits_steps_keeps_the_wait() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h, steps: [ { ask: { lab.pay: {} } } ] } } ]
              recovery: { stop_after: { failures: 2, within: 1d }, delay: 10m, then: fail }
        """,
        {"g.w.ask": [fail(), ok("x")]},
    )
    assert made.status == "succeeded"
    assert made.clock == made.start_us + H
    assert trace(made, "subscription") == ["subscription.opened g.w", "subscription.released g.w"]


def test_an_escalation_out_of_a_handler_redoes_the_step_that_owns_it() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - e:
                    wf.for_each: [1]
                    steps: [ { a: { lab.pay: {} } } ]
                    catch: [ { steps: [ { i: { wf.group: [ { h: { lab.put: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, then: escalate } } } ] } ]
              recovery: { redo: this_and_after, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"g.e[0].a": [fail(), ok("x")], "g.e.(catch:0).i.h": [fail()]},
    )
    assert made.status == "succeeded"
    assert [each.data["set"] for each in made.records if each.kind == "recovery.decided"] == [
        ["g.e.(catch:0).i.h"],
        ["g.e"],
    ]
    assert made.report()["bindings"]["g"]["e"] == [{"a": {"value": "x"}}]
