# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Finer points of the language page that a mutation of the runtime would otherwise survive (see ``mutants``)."""

from __future__ import annotations

import pytest

from sim_runtime.core.decide import transact
from sim_runtime.core.frames import EMPTY
from sim_runtime.core.inputs import Proceed, Start
from tests.sim.lab import (
    D,
    H,
    M,
    after,
    authorize,
    calls,
    definition,
    event,
    fail,
    make,
    ok,
    outside,
    run,
    trace,
    unknown,
)

# ---- stopped siblings ----------------------------------------------------------------------------

PAIR = """
steps:
  - p:
      wf.parallel:
        l: [ {LEFT} ]
        r: [ { c: { lab.get: {} } } ]
"""


def pair(left: str) -> str:
    return PAIR.replace("{LEFT}", left)


def test_a_stopped_branch_starts_no_further_step() -> None:
    made = run(
        pair("{ a: { lab.get: {} } }, { b: { wf.let: { n: 1 } } }"), {"p.l.a": [ok("x", latency=H)], "p.r.c": [fail()]}
    )
    assert made.status == "failed"
    assert "step.started p.l.b" not in trace(made)


def test_a_stopped_action_enters_no_handler_and_is_not_tried_again() -> None:
    made = run(
        pair("{ a: { lab.put: {}, retry: { attempts: 3 }, catch: [ { result: { value: caught } } ] } }"),
        {"p.l.a": [fail("busy", latency=H)], "p.r.c": [fail()]},
    )
    assert made.status == "failed"
    assert trace(made, "handler", "retry") == []
    assert outside(made).invoked("lab.put") == 1
    made = run(
        pair("{ a: { lab.put: {}, catch: [ { result: { value: caught } } ] } }"),
        {"p.l.a": [fail(latency=H)], "p.r.c": [fail()]},
    )
    assert trace(made, "handler") == []


def test_an_inner_scope_does_not_recover_in_a_stopped_branch() -> None:
    made = run(
        pair(
            "{ g: { wf.group: [ { a: { lab.put: {} } } ], recovery: { stop_after: { failures: 2, within: 1h }, then: fail } } }"
        ),
        {"p.l.g.a": [fail(latency=H), ok()], "p.r.c": [fail()]},
    )
    assert made.status == "failed"
    assert trace(made, "recovery") == []
    assert made.report()["failure"]["path"] == "p.r.c"


# ---- escalation ----------------------------------------------------------------------------------

INNER = "recovery: { stop_after: { failures: 1, within: 10h }, then: escalate }"


def test_an_escalated_failure_passes_the_scopes_own_handler_also_after_a_hold() -> None:
    text = f"""
    steps:
      - g:
          wf.group:
            - i:
                wf.group: [ {{ a: {{ lab.get: {{}} }} }} ]
                {INNER}
                catch: [ {{ result: {{ a: {{ value: caught }} }} }} ]
          recovery: {{ redo: whole_group, stop_after: {{ failures: 1, within: 10h }}, then: hold }}
    """
    answers = {"g.i.a": [fail()] * 3 + [ok("x")]}
    assert make(text, answers).finish().status == "held"
    made = run(text, answers, decisions=[authorize("g", at=H)])
    assert made.status == "succeeded"
    assert trace(made, "handler") == []
    assert made.report()["bindings"] == {"g": {"i": {"a": {"value": "x"}}}}


def test_an_escalated_failure_leaves_a_handler_past_its_on_fail() -> None:
    text = f"""
    steps:
      - g:
          wf.group:
            - x:
                lab.get: {{}}
                on_fail: continue
                catch: [ {{ steps: [ {{ i: {{ wf.group: [ {{ a: {{ lab.look: {{}} }} }} ], {INNER} }} }} ] }} ]
          recovery: {{ redo: whole_group, stop_after: {{ failures: 1, within: 10h }}, then: fail }}
    """
    made = run(text, {"g.x": [fail(), ok("x")], "lab.look": [fail()]})
    assert made.status == "succeeded"
    assert made.report()["bindings"] == {"g": {"x": {"value": "x"}}}
    assert trace(made, "recovery") == ["recovery.decided g.x.(catch:0).i", "recovery.decided g"]


# ---- ambiguity and keys --------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["lab.pay", "lab.put"])
def test_an_explicit_policy_of_a_safe_action_is_applied(action: str) -> None:
    made = run(f"steps: [ {{ a: {{ {action}: {{}}, on_unknown: fail }} }} ]", {"a": [unknown()]})
    assert (made.status, made.report()["failure"]["code"]) == ("failed", "lost")
    assert outside(made).invoked(action) == 1


def test_an_explicit_key_must_not_be_empty() -> None:
    made = run(
        "inputs: { k: string }\nsteps: [ { a: { lab.pay: {}, idempotency_key: '{{ inputs.k }}' } } ]", inputs={"k": ""}
    )
    assert (made.status, made.report()["failure"]["code"]) == ("failed", "fault.conversion")
    assert calls(made) == []


def test_keys_are_those_of_the_lineages_first_run() -> None:
    known = definition("steps: [ { a: { lab.pay: {} } } ]")
    _, state = transact(EMPTY, known, Start(0, "second", {}, key_run="first"))
    records, _ = transact(state, known, Proceed(0))
    assert records[-1].data["key"] == "first:a"


# ---- time ----------------------------------------------------------------------------------------


def test_every_attempt_draws_its_own_jitter() -> None:
    made = run("steps: [ { a: { lab.get: {}, retry: { attempts: 4, delay: 1h, jitter: 1 } } } ]", {"a": [fail("busy")]})
    delays = [each.data["delay"] for each in made.records if each.kind == "retry.scheduled"]
    assert len(set(delays)) == 3


END = 3_600_000 * D


@pytest.mark.parametrize(
    ("step", "answers", "options"),
    [
        ("lab.get: {}, retry: { attempts: 60, delay: 1d, backoff: 10 }", [fail("busy")], {}),
        ("lab.get: {}, retry: { attempts: 2 }", [fail("busy", retry_after_us=END), ok()], {}),
        ("lab.get: {}, timeout: 3600000d", [ok()], {}),
        ("lab.get: {}", [ok(latency=END)], {}),
        ("lab.get: {}", [ok()], {"crashes": [after("action.dispatched", down=END)]}),
        ("wf.wait: 1h", [], {"cancel_at": END}),
        (
            "wf.group: [ { b: { lab.get: {} } } ], recovery: { stop_after: { failures: 1, within: 1h }, delay: 3600000d, then: fail }",
            [fail(), ok()],
            {},
        ),
    ],
)
def test_time_ends_with_the_year_9999(step: str, answers: list, options: dict) -> None:
    made = run(f"steps: [ {{ a: {{ {step} }} }} ]", {"a": answers, "a.b": answers}, **options)
    assert made.over
    assert made.report()["clock"]["now"] <= "9999-12-31T23:59:59.999999Z"


def test_the_clock_can_be_moved_to_the_end_of_time_only() -> None:
    made = make("steps: [ { a: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]", until=END)
    made.advance(H)
    made.advance(END)
    assert made.report()["clock"]["now"] <= "9999-12-31T23:59:59.999999Z"


def test_a_branch_is_not_begun_when_one_before_it_has_failed() -> None:
    made = run(
        "inputs: { n: integer }\nsteps: [ { p: { wf.parallel: { l: [ { a: { wf.let: { n: '{{ 1 / inputs.n }}' } } } ], r: [ { b: { lab.get: {} } } ] } } } ]",
        inputs={"n": 0},
    )
    assert made.status == "failed"
    assert calls(made) == []
    assert "step.started p.r" not in trace(made)


def test_an_iteration_beside_one_that_has_just_failed_stands_still() -> None:
    made = run(
        """
        inputs: { xs: "list[integer]" }
        steps:
          - e:
              wf.for_each: "{{ inputs.xs }}"
              concurrency: 2
              steps:
                - w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h }
                - a: { wf.let: { n: "{{ 1 / item }}" } }
        """,
        inputs={"xs": [0, 1]},
        events=[event({"id": "a"}, M)],
    )
    assert made.status == "failed"
    assert trace(made, "event.accepted") == ["event.accepted e[0].w", "event.accepted e[1].w"]
    assert trace(made, "wait.selected") == ["wait.selected e[0].w"]


def test_each_compensation_of_a_step_has_its_own_key_and_number() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, undo: { lab.refund: { v: "{{ a.value }}" } } }
                - b: { lab.get: {} }
              recovery: { redo: whole_group, stop_after: { failures: 3, within: 1h }, then: fail }
        """,
        {"g.a": [ok("same")], "g.b": [fail(), fail(), ok()]},
    )
    assert made.status == "succeeded"
    prepared = [each for each in made.records if each.kind == "compensation.prepared"]
    assert [each.data["number"] for each in prepared] == [1, 2]
    keys = [each.data["key"] for each in prepared]
    assert [each.rpartition(":")[2] for each in keys] == ["1", "2"]
    assert outside(made).count("lab.refund") == 2
