# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Child runs (language page, section 5, "Child runs")."""

from __future__ import annotations

import pytest

from tests.sim.lab import H, M, after, calls, event, fail, first, make, ok, outside, run, succeed, trace, unknown

requirement = pytest.mark.requirement

CHILD = """
name: child
inputs: { n: integer, "at?": timestamp }
steps:
  - a: { lab.pay: { n: "{{ inputs.n }}", id: "{{ run.id }}" } }
  BODY
result: { got: "{{ a.value }}" }
"""
CALLER = """
steps:
  - call: { wf.call: child, inputs: { n: 7 }, CONF }
  - next: { wf.let: { got: "{{ call?.got }}" } }
"""
A = {"id": "a"}


def go(body: str = "", conf: str = "", answers=None, **options):
    return run(CALLER.replace("CONF", conf), answers, children=[CHILD.replace("BODY", body)], **options)


def test_a_child_gives_its_result_and_stands_in_the_callers_history() -> None:
    made = go()
    assert made.status == "succeeded"
    assert made.report()["bindings"] == {"call": {"got": "call/a"}, "next": {"got": "call/a"}}
    assert made.report()["calls"][0]["key"] == f"{made.run_id}:call/a"
    child = first(made, "child.started", "call").data["child"]
    assert child != made.run_id
    assert made.report()["calls"][0]["arguments"] == {"n": 7, "id": child}
    assert {each.data.get("run") for each in made.records if "/" in each.id} == {child}
    assert [each.path for each in made.records if each.kind == "run.finished"] == ["call", ""]
    assert trace(made, "child") == ["child.started call", "child.finished call"]


def test_a_failed_child_fails_the_call_with_its_code() -> None:
    made = go(answers={"call/a": [fail("broken", message="bad")]})
    assert made.report()["failure"] == {"code": "broken", "message": "bad", "path": "call"}
    made = go(conf="catch: [ { codes: [broken], result: { got: caught } } ]", answers={"call/a": [fail()]})
    assert made.report()["bindings"]["next"] == {"got": "caught"}


def test_a_stopped_child_succeeds_with_its_result() -> None:
    made = go("- s: { wf.stop: { reason: r, result: { got: early } } }")
    assert made.report()["bindings"]["next"] == {"got": "early"}
    assert made.status == "succeeded"


def test_an_aborted_child_fails_the_call() -> None:
    made = go("- s: { lab.void: {} }", answers={"call/s": [unknown()]})
    assert made.report()["failure"]["code"] == "child.aborted"


def test_wf_fail_in_a_child_is_a_failure_that_the_caller_handles() -> None:
    made = go("- s: { wf.fail: { code: no } }", "on_fail: continue")
    assert made.status == "succeeded"
    assert made.report()["bindings"]["call"] is None


def test_invalid_inputs_of_a_child() -> None:
    made = run(
        "inputs: { v: any }\nsteps: [ { call: { wf.call: child, inputs: { n: '{{ inputs.v }}' } } } ]",
        children=[CHILD.replace("BODY", "")],
        inputs={"v": "x"},
    )
    assert made.report()["failure"]["code"] == "input.invalid"
    assert made.report()["failure"]["path"] == "call"
    assert calls(made) == []


def test_kinds_of_inputs_and_results_cross_the_border() -> None:
    made = run(
        """
        steps:
          - call: { wf.call: child, inputs: { at: "2026-05-01T00:00:00Z" } }
          - n: { wf.let: { later: "{{ call.at + ('1h' | duration) }}" } }
        """,
        children=[
            "name: child\ninputs: { at: timestamp }\nsteps: [ { a: { wf.let: { at: \"{{ inputs.at + ('1h' | duration) }}\" } } } ]\nresult: { at: '{{ a.at }}' }"
        ],
    )
    assert made.report()["bindings"]["n"] == {"later": "2026-05-01T02:00:00Z"}


def test_a_call_over_its_time_cancels_the_child() -> None:
    made = go("- w: { wf.wait: 5h }", "timeout: 1h")
    assert made.report()["failure"]["code"] == "timeout"
    assert made.clock == made.start_us + H
    assert trace(made, "timer.fired", "child", "cancel", "timer.r") == [
        "child.started call",
        "timer.fired call",
        "child.cancel_requested call",
        "cancel.decided call",
        "timer.released call/w",
        "child.finished call",
    ]


@requirement("D-SUS-12")
@requirement("D-SUS-05")
def test_a_suspended_child_and_its_caller_stay_linked_over_a_crash() -> None:
    body = "- w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h }"
    made = make(CALLER.replace("CONF", ""), children=[CHILD.replace("BODY", body)], until=M).finish()
    assert made.status == "suspended"
    assert [(each["kind"], each["path"]) for each in made.report()["waiting"]] == [
        ("child", "call"),
        ("timer", "call/w"),
        ("event", "call/w"),
    ]
    made = go(body, events=[event(A, 2 * H)], crashes=[after("run.suspended", down=H), after("event.accepted", down=H)])
    assert made.status == "succeeded"
    assert outside(made).count("lab.pay") == 1
    assert trace(made, "child") == ["child.started call", "child.finished call"]


@requirement("D-SUS-05")
def test_while_the_child_is_held_the_caller_is_held() -> None:
    body = "- s: { lab.send: {}, on_unknown: halt }"
    answers = {"call/s": [unknown()]}
    made = make(CALLER.replace("CONF", ""), answers, children=[CHILD.replace("BODY", body)]).finish()
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "call/s", "reason": "ambiguous"}]
    made = go(body, answers=answers, decisions=[succeed("call/s", "x", at=M)])
    assert made.status == "succeeded"


def test_the_timeout_of_a_call_during_a_hold_acts_after_the_decision() -> None:
    body = "- s: { lab.send: {}, on_unknown: halt }"
    made = go(body, "timeout: 1h", {"call/s": [unknown()]}, decisions=[succeed("call/s", "x", at=2 * H)])
    assert made.report()["failure"]["code"] == "timeout"
    assert made.clock == made.start_us + 2 * H


def test_a_child_recovers_by_itself_and_its_caller_redoes_all_of_it() -> None:
    body = """- g: { wf.group: [ { b: { lab.pay: { g: 1 } } }, { c: { lab.pay: { g: 2 } } } ], recovery: { redo: this_step, stop_after: { failures: 1, within: 1h }, then: fail } }"""
    caller = "recovery: { redo: this_step, stop_after: { failures: 1, within: 1h }, then: fail }\n" + CALLER.replace(
        "CONF", ""
    )
    made = run(caller, {"call/g.c": [fail(), fail(), ok("x")]}, children=[CHILD.replace("BODY", body)])
    assert made.status == "succeeded"
    assert [(each.path, each.data["failed"]) for each in made.records if each.kind == "recovery.decided"] == [
        ("call/g", "call/g.c"),
        ("", "call"),
    ]
    assert calls(made) == ["call/a", "call/g.b", "call/g.c", "call/g.c", "call/a", "call/g.b", "call/g.c"]
    assert outside(made).count("lab.pay") == 3


@requirement("D-UNDO-03")
def test_the_callers_recovery_compensates_the_childs_successes_in_completion_order_over_both() -> None:
    child = """
name: child
inputs: { n: integer }
steps:
  - a: { lab.send: { n: "{{ inputs.n }}" }, undo: { lab.drop: { v: "{{ a.value }}" } } }
result: { got: "{{ a.value }}" }
"""
    made = run(
        """
        steps:
          - g:
              wf.group:
                - x: { lab.send: {}, undo: { lab.drop: { v: "{{ x.value }}" } } }
                - call: { wf.call: child, inputs: { n: 1 } }
                - y: { lab.send: {}, undo: { lab.drop: { v: "{{ y.value }}" } } }
                - z: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"g.z": [fail(), ok("z")]},
        children=[child],
    )
    assert made.status == "succeeded"
    undone = [each["path"] for each in made.report()["calls"] if each["action"] == "lab.drop"]
    assert undone == ["g.y.(undo)", "g.call/a.(undo)", "g.x.(undo)"]
