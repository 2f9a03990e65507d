# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""``wf.wait`` and ``wf.wait_for`` (profile: wf.wait_for; language page, section 7)."""

from __future__ import annotations

import pytest

from sim_runtime.driver.protocol import ScriptedEvent
from tests.sim.lab import D, H, M, S, after, before, calls, event, fail, first, make, ok, run, trace

requirement = pytest.mark.requirement

WAIT = """
inputs: { id: string }
steps:
  - w: { wf.wait_for: lab.ping, match: { id: "{{ inputs.id }}" }, timeout: 1h }
result: "{{ w.status }}"
"""
STEPS = """
inputs: { id: string }
steps:
  - w:
      wf.wait_for: lab.ping
      match: { id: "{{ inputs.id }}" }
      timeout: 1h
      steps: [ { ask: { lab.send: {} } } ]
"""
A = {"id": "a"}


def seqs(made, *kinds: str) -> list[int]:
    return [first(made, kind).seq for kind in kinds]


# ---- wf.wait ------------------------------------------------------------------------------------


@requirement("D-SUS-11")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90),
        ('"2026-01-01T00:02:00Z"', 120),
        ("\"{{ run.started_at + ('3m' | duration) }}\"", 180),
        ('"2020-01-01T00:00:00Z"', 0),
    ],
)
def test_wait_for_a_duration_or_until_a_timestamp(value: str, seconds: int) -> None:
    made = run(f"steps: [ {{ w: {{ wf.wait: {value} }} }} ]")
    assert made.clock - made.start_us == seconds * S
    assert made.report()["bindings"] == {"w": None}
    assert trace(made, "timer", "run.sus", "run.res") == [
        "timer.set w",
        "run.suspended",
        "timer.fired w",
        "run.resumed",
    ]


@requirement("D-SUS-10")
@requirement("D-SUS-11")
def test_a_timer_that_elapsed_while_the_executor_was_down_fires_once() -> None:
    made = run(
        "steps: [ { w: { wf.wait: 1h } }, { x: { wf.wait: 1h } } ]",
        crashes=[after("run.suspended", down=5 * H), before("timer.fired", "w", down=1 * H), after("timer.fired", "w")],
    )
    assert made.crashes == 3
    assert trace(made, "timer.fired") == ["timer.fired w", "timer.fired x"]
    assert first(made, "timer.fired", "w").at == made.start_us + 6 * H
    assert first(made, "timer.fired", "w").data["deadline"] == made.start_us + 1 * H
    assert made.clock == made.start_us + 7 * H


# ---- what is fixed when the step begins -----------------------------------------------------------


@requirement("D-WAIT-13")
@pytest.mark.parametrize("fault", ["configuration: { room: '{{ inputs.m.gone }}' }", "configuration: { room: 7 }"])
def test_a_faulty_configuration_fails_before_anything_is_suspended(fault: str) -> None:
    text = "inputs: { m: 'map[string]', v: any }\nsteps: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h, FAULT } } ]"
    value = fault.replace("7", "'{{ inputs.v }}'")
    made = run(text.replace("FAULT", value), inputs={"m": {}, "v": 7})
    assert made.status == "failed"
    assert made.report()["failure"]["code"] in ("fault.missing_member", "config.invalid")
    assert not trace(made, "subscription", "timer", "run.suspended")


@requirement("D-WAIT-14")
@pytest.mark.parametrize("value", ["'{{ inputs.m.gone }}'", "'{{ inputs.v }}'"])
def test_a_faulty_match_fails_before_anything_is_suspended(value: str) -> None:
    text = "inputs: { m: 'map[string]', v: any }\nsteps: [ { w: { wf.wait_for: lab.ping, match: { id: VALUE }, timeout: 1h } } ]"
    made = run(text.replace("VALUE", value), inputs={"m": {}, "v": 7})
    assert made.report()["failure"]["code"] in ("fault.missing_member", "config.invalid")
    assert not trace(made, "subscription", "timer", "run.suspended")


@requirement("D-WAIT-13")
@requirement("D-WAIT-14")
@requirement("D-SUS-08")
def test_configuration_and_match_are_recorded_and_not_evaluated_again() -> None:
    text = """
    inputs: { id: string }
    steps:
      - w:
          wf.wait_for: lab.ping
          configuration: { room: "room-{{ inputs.id }}" }
          match: { id: "{{ inputs.id }}" }
          timeout: "{{ run.started_at + ('2h' | duration) }}"
    """
    made = make(text, inputs=A).finish()
    crashed = make(text, inputs=A, events=[event(A, 90 * M)], crashes=[after("run.suspended", down=H)]).finish()
    opened = first(made, "subscription.opened").data
    assert (opened["configuration"], opened["match"]) == ({"room": "room-a"}, {"id": "a"})
    assert trace(crashed, "subscription.opened", "timer.set") == ["subscription.opened w", "timer.set w"]
    assert crashed.report()["bindings"]["w"]["status"] == "received"


@requirement("D-WAIT-15")
def test_the_timeout_is_measured_from_its_evaluation() -> None:
    made = run(STEPS, {"w.ask": [ok("x", latency=20 * M)]}, inputs=A)
    assert first(made, "timer.set", "w").data["deadline"] == made.start_us + H
    assert made.clock == made.start_us + H
    assert made.report()["bindings"]["w"]["status"] == "timeout"


@requirement("D-WAIT-16")
def test_subscription_and_timer_are_one_boundary_and_the_steps_come_after() -> None:
    made = run(STEPS, inputs=A)
    opened, timer, ask = (
        first(made, "subscription.opened"),
        first(made, "timer.set"),
        first(made, "step.started", "w.ask"),
    )
    assert (opened.seq + 1, opened.boundary, timer.boundary) == (timer.seq, False, True)
    assert ask.seq > timer.seq
    assert calls(made) == ["w.ask"]


# ---- events -------------------------------------------------------------------------------------


@requirement("D-WAIT-17")
def test_an_event_before_the_subscription_is_not_eligible() -> None:
    made = run(
        "steps: [ { first: { wf.wait: 10m } }, { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]",
        events=[event(A, 5 * M)],
    )
    assert first(made, "event.refused").data["reason"] == "unmatched"
    assert made.report()["bindings"]["w"]["status"] == "timeout"


@requirement("D-WAIT-18")
@requirement("D-WAIT-19")
def test_an_event_is_kept_while_the_steps_go_on() -> None:
    made = run(STEPS, {"w.ask": [ok("x", latency=30 * M)]}, inputs=A, events=[event(A, 10 * M)])
    accepted, answered, selected = seqs(made, "event.accepted", "action.succeeded", "wait.selected")
    assert accepted < answered < selected
    assert first(made, "wait.selected").at == made.start_us + 30 * M
    assert made.report()["bindings"]["w"] == {"status": "received", "event": A, "ask": {"value": "x"}}


@requirement("D-WAIT-18")
def test_only_an_event_whose_fields_match_is_taken() -> None:
    made = run(WAIT, inputs=A, events=[event({"id": "b"}, 10 * M), event({"id": "a", "note": "n"}, 20 * M)])
    assert first(made, "event.refused").data["reason"] == "unmatched"
    assert made.report()["bindings"]["w"]["event"] == {"id": "a", "note": "n"}


@requirement("D-WAIT-19")
def test_the_timeout_too_is_selected_after_the_steps_only() -> None:
    made = run(STEPS, {"w.ask": [ok("x", latency=3 * H)]}, inputs=A)
    fired, answered, selected = seqs(made, "timer.fired", "action.succeeded", "wait.selected")
    assert fired < answered < selected
    assert made.report()["bindings"]["w"]["status"] == "timeout"


@requirement("D-WAIT-20")
@pytest.mark.parametrize(("at", "status"), [(H - 1, "received"), (H, "received"), (H + 1, "timeout")])
def test_an_event_at_the_deadline_wins(at: int, status: str) -> None:
    assert run(WAIT, inputs=A, events=[event(A, at)]).report()["result"] == status


@requirement("D-WAIT-20")
@pytest.mark.parametrize(("at", "status"), [(H, "received"), (H + 1, "timeout")])
def test_what_counts_is_when_it_was_accepted(at: int, status: str) -> None:
    made = run(STEPS, {"w.ask": [ok("x", latency=3 * H)]}, inputs=A, events=[event(A, at)])
    assert made.report()["bindings"]["w"]["status"] == status


@requirement("D-WAIT-20")
@requirement("D-SUS-01")
def test_an_event_accepted_in_time_wins_although_the_executor_is_down_past_the_deadline() -> None:
    made = run(WAIT, inputs=A, events=[event(A, H - 1)], crashes=[after("event.accepted", "w", down=3 * H)])
    assert made.report()["result"] == "received"
    made = run(WAIT, inputs=A, events=[event(A, H - 1)], crashes=[before("event.accepted", "w", down=3 * H)])
    assert made.report()["result"] == "timeout"
    assert first(made, "event.accepted").at == made.start_us + 4 * H - 1


@requirement("D-WAIT-21")
def test_a_delivery_is_accepted_once() -> None:
    text = """
    steps:
      - w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h }
      - x: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h }
    """
    same = [event(A, 1 * M, delivery="e-1"), event(A, 2 * M, delivery="e-1")]
    made = run(text, events=same)
    assert first(made, "event.refused").data == {"trigger": "lab.ping", "delivery": "e-1", "reason": "duplicate"}
    assert [made.report()["bindings"][name]["status"] for name in "wx"] == ["received", "timeout"]
    other = [event(A, 1 * M, delivery="e-1"), event(A, 2 * M, delivery="e-2")]
    assert [run(text, events=other).report()["bindings"][name]["status"] for name in "wx"] == ["received", "received"]


@requirement("D-WAIT-21")
def test_of_several_events_the_first_accepted_is_selected() -> None:
    events = [event({"id": "a", "note": "2"}, 2 * M), event({"id": "a", "note": "1"}, 1 * M)]
    made = run(STEPS, {"w.ask": [ok("x", latency=30 * M)]}, inputs=A, events=events)
    assert made.report()["bindings"]["w"]["event"]["note"] == "1"


def test_an_event_goes_to_every_open_wait_that_it_fits() -> None:
    text = """
    steps:
      - p:
          wf.parallel:
            one: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]
            two: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]
            three: [ { w: { wf.wait_for: lab.ping, match: { id: b }, timeout: 1h } } ]
    """
    for crashes in ([], [after("event.accepted", "p.one.w")], [before("event.accepted", "p.two.w")]):
        made = run(text, events=[event(A, 1 * M)], crashes=crashes)
        assert trace(made, "event") == ["event.accepted p.one.w", "event.accepted p.two.w"]
        assert made.clock == made.start_us + H


@requirement("D-WAIT-22")
def test_the_selection_stands_before_the_releases() -> None:
    made = run(WAIT, inputs=A, events=[event(A, M)])
    assert trace(made, "wait", "subscription.r", "timer.r", "step.s") == [
        "step.started w",
        "wait.selected w",
        "subscription.released w",
        "timer.released w",
        "step.succeeded w",
    ]


@requirement("D-WAIT-24")
def test_a_timeout_is_no_failure() -> None:
    made = run(WAIT, inputs=A)
    assert made.status == "succeeded"
    assert made.report()["bindings"]["w"] == {"status": "timeout", "event": None}
    assert not trace(made, "step.failed")


@requirement("D-WAIT-25")
def test_an_invalid_payload_is_refused_and_does_not_use_the_id_up() -> None:
    events = [event({"id": "a", "note": 7}, 1 * M, delivery="e"), event(A, 2 * M, delivery="e")]
    made = run(WAIT, inputs=A, events=events)
    assert first(made, "event.refused").data["reason"] == "invalid"
    assert first(made, "event.accepted").at == made.start_us + 2 * M
    assert made.report()["result"] == "received"


def test_an_unmatched_event_does_not_use_its_id_up_either() -> None:
    events = [event({"id": "b"}, 1 * M, delivery="e"), event(A, 2 * M, delivery="e")]
    assert run(WAIT, inputs=A, events=events).report()["result"] == "received"


# ---- failures and endings inside the steps ---------------------------------------------------------


@requirement("D-WAIT-23")
def test_a_failure_in_the_steps_prevents_selection_and_releases_after_it_is_durable() -> None:
    made = run(STEPS, {"w.ask": [fail(latency=5 * M)]}, inputs=A, events=[event(A, 1 * M)])
    assert made.status == "failed"
    assert not trace(made, "wait.selected")
    failed = first(made, "step.failed", "w")
    released = [first(made, "subscription.released"), first(made, "timer.released")]
    assert failed.boundary
    assert all(each.seq > failed.seq for each in released)


@requirement("D-WAIT-23")
@pytest.mark.parametrize("policy", ["on_fail: continue", "catch: [ {} ]"])
def test_a_consumed_failure_of_a_wait_releases_too(policy: str) -> None:
    text = STEPS + f"      {policy}\n  - b: {{ wf.wait: 1m }}\n"
    made = run(text, {"w.ask": [fail()]}, inputs=A)
    assert made.report()["bindings"] == {"w": None, "b": None}
    disposed = first(made, "step.failed" if "continue" in policy else "handler.entered", "w")
    assert disposed.boundary
    assert first(made, "subscription.released").seq > disposed.seq
    assert first(made, "step.started", "b").seq > first(made, "timer.released").seq
    assert made.clock == made.start_us + M


@requirement("D-WAIT-23")
@pytest.mark.parametrize("ending", ["wf.stop: { reason: enough }", "wf.fail: { code: no }"])
def test_the_end_of_the_run_in_the_steps_releases(ending: str) -> None:
    made = run(
        f"steps: [ {{ w: {{ wf.wait_for: lab.ping, match: {{ id: a }}, timeout: 1h, steps: [ {{ e: {{ {ending} }} }} ] }} }} ]"
    )
    assert made.over
    decided = [each for each in made.records if each.path == "w.e"][-1]
    assert decided.boundary
    assert first(made, "subscription.released").seq > decided.seq
    assert not trace(made, "wait.selected")


def test_after_and_by_count_from_the_active_subscription() -> None:
    text = "steps: [ { x: { wf.wait: 2h } }, { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1d } } ]"
    made = run(text, events=[ScriptedEvent("lab.ping", A, after="w", by_us=3 * H)])
    assert made.clock == made.start_us + 5 * H


def test_what_a_wait_waits_for() -> None:
    made = make(WAIT, inputs=A, until=M).finish()
    assert made.status == "suspended"
    assert made.report()["waiting"] == [
        {"kind": "timer", "path": "w", "deadline": "2026-01-01T01:00:00Z"},
        {"kind": "event", "path": "w", "trigger": "lab.ping", "match": {"id": "a"}},
    ]
    assert made.report()["clock"]["now"] == "2026-01-01T00:01:00Z"
    assert made.report()["bindings"] == {"w": {}}


def test_a_year_of_waits_ends_at_its_instant() -> None:
    made = run("steps: [ { a: { wf.wait: 365d } } ]")
    assert made.clock == made.start_us + 365 * D


@pytest.mark.parametrize("value", ["{{ inputs.d }}", "{{ inputs.t }}"])
def test_a_wait_past_the_year_9999_is_a_fault(value: str) -> None:
    text = "inputs: { d: duration, t: timestamp }\nsteps: [ { w: { wf.wait: '" + value + "' } } ]"
    made = make(text, inputs={"d": "3000000d", "t": "9999-12-31T00:00:00Z"}, until=M).finish()
    assert made.status == ("failed" if "d }" in value else "suspended")
    if made.over:
        assert made.report()["failure"]["code"] == "fault.range"
