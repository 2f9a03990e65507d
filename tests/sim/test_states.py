# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""State machines (language page, section 6)."""

from __future__ import annotations

import pytest

from tests.sim.lab import H, M, S, calls, event, fail, first, make, never, ok, run, succeed, trace, unknown

MACHINE = """
initial: asking
states:
  asking:
    on_enter: [ { note: { lab.void: {} } } ]
    steps:
      - w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 10h }
      - v: { lab.get: {} }
    timers: { expire: { after: 2h, to: gone }, later: { after: 3h, to: asking } }
    routes:
      - { when: "{{ w.status == 'received' }}", to: done }
      - { to: gone }
  done: { steps: [ { a: { wf.let: { n: "{{ asking.v?.value }}" } } } ], final: true }
  gone: { steps: [ { b: { lab.void: {} } } ], final: true }
result: { done: "{{ a?.n }}", gone: "{{ b }}" }
"""
A = {"id": "a"}


def test_a_route_that_holds_leads_on() -> None:
    made = run(MACHINE, {"v": [ok("x")]}, events=[event(A, H)])
    assert made.status == "succeeded"
    assert calls(made) == ["asking.note", "asking.v"]
    assert made.report()["result"] == {"done": "asking.v", "gone": None}
    assert trace(made, "state", "route", "timer.r") == [
        "state.entered asking",
        "timer.released asking.w",
        "route.selected asking",
        "timer.released asking",
        "timer.released asking",
        "state.entered done",
    ]
    assert set(made.report()["bindings"]) == {"asking", "done"}
    assert made.report()["bindings"]["asking"]["w"]["status"] == "received"


@pytest.mark.requirement("D-SUS-11")
def test_a_state_timer_leaves_the_state_at_once() -> None:
    made = run(MACHINE)
    assert calls(made) == ["asking.note", "gone.b"]
    assert made.clock == made.start_us + 2 * H
    assert trace(made, "subscription.r") == ["subscription.released asking.w"]
    assert first(made, "timer.fired").data["timer"] == "state:expire"


@pytest.mark.requirement("D-SUS-10")
@pytest.mark.requirement("D-SUS-11")
def test_a_state_timer_elapses_once_also_over_a_crash() -> None:
    from tests.sim.lab import after

    made = run(MACHINE, crashes=[after("run.suspended", down=5 * H), after("timer.fired")])
    assert trace(made, "timer.fired") == ["timer.fired asking"]
    assert first(made, "timer.fired").data["timer"] == "state:expire"
    assert made.clock == made.start_us + 5 * H


def test_a_call_out_of_a_state_that_was_left_answers_late() -> None:
    made = run(
        """
        initial: s
        states:
          s: { steps: [ { a: { lab.send: {} } } ], timers: { t: { after: 1m, to: e } }, routes: [ { to: e } ] }
          e: { steps: [ { b: { wf.wait: 1h } } ], final: true }
        """,
        {"s.a": [ok("x", latency=5 * M)]},
    )
    assert made.status == "succeeded"
    assert first(made, "late_result.recorded").at == made.start_us + 5 * M
    assert made.report()["bindings"]["s"] == {}


def test_the_outer_timer_wins_a_tie_and_a_step_that_ends_then_does_not_count() -> None:
    made = run(
        """
        initial: s
        states:
          s: { steps: [ { a: { wf.wait: 1h } }, { n: { lab.void: {} } } ], timers: { t: { after: 1h, to: e } }, routes: [ { to: f } ] }
          e: { steps: [], final: true }
          f: { steps: [], final: true }
        """
    )
    assert trace(made, "timer.fired", "state") == ["state.entered s", "timer.fired s", "state.entered e"]
    assert calls(made) == []


def test_entries_are_numbered_and_the_latest_counts() -> None:
    made = run(
        """
        initial: s
        states:
          s: { steps: [ { a: { lab.pay: {} } }, { w: { wf.wait: 1m } } ], routes: [ { when: "{{ a.value == 'stop' }}", to: e }, { to: s } ] }
          e: { steps: [], final: true }
        result: "{{ a?.value }}"
        """,
        {"s.a": [ok("go"), ok("go"), ok("stop")]},
    )
    assert [each.id for each in made.records if each.kind == "state.entered"] == ["s#1", "s#2", "s#3", "e#1"]
    assert [each.data["entry"] for each in made.records if each.kind == "state.entered"] == [1, 2, 3, 1]
    assert [call["key"] for call in made.report()["calls"]] == [f"{made.run_id}:s#{n}.a" for n in (1, 2, 3)]
    assert {call["path"] for call in made.report()["calls"]} == {"s.a"}
    assert made.report()["result"] == "stop"
    assert made.report()["bindings"]["s"]["a"] == {"value": "stop"}


def test_no_route_is_a_failure_of_the_state() -> None:
    text = """
    initial: s
    states:
      s: { steps: [ { a: { lab.get: {} } } ], routes: [ { when: "{{ a.value == 'x' }}", to: e } ] }
      e: { steps: [], final: true }
    """
    made = run(text, {"s.a": [ok("y")]})
    assert made.report()["failure"]["code"] == "route.none"
    assert made.report()["failure"]["path"] == "s"
    made = run(
        "recovery: { stop_after: { failures: 1, within: 1h }, then: fail }\n" + text.replace("\n    ", "\n"),
        {"s.a": [ok("y"), ok("x")]},
    )
    assert made.status == "succeeded"
    assert [each.id for each in made.records if each.kind == "state.entered"] == ["s#1", "s#1", "e#1"]


def test_a_fault_in_a_route_belongs_to_its_state() -> None:
    made = run(
        """
        inputs: { m: "map[boolean]" }
        initial: s
        states:
          s: { steps: [], routes: [ { when: "{{ inputs.m.gone }}", to: e } ] }
          e: { steps: [], final: true }
        """,
        inputs={"m": {}},
    )
    assert (made.report()["failure"]["code"], made.report()["failure"]["path"]) == ("fault.missing_member", "s")


def test_a_timer_that_elapses_during_a_hold_acts_after_the_decision() -> None:
    text = """
    initial: s
    states:
      s: { steps: [ { a: { lab.send: {}, on_unknown: halt } }, { n: { lab.void: {} } } ], timers: { t: { after: 1h, to: e } }, routes: [ { to: f } ] }
      e: { steps: [], final: true }
      f: { steps: [], final: true }
    """
    made = make(text, {"s.a": [unknown()]}).finish()
    assert made.status == "held"
    assert first(made, "timer.fired").at == made.start_us + H
    made = run(text, {"s.a": [unknown()]}, decisions=[succeed("s.a", "x", at=2 * H)])
    assert trace(made, "timer.fired", "operator", "state") == [
        "state.entered s",
        "timer.fired s",
        "operator.decided s.a",
        "state.entered e",
    ]
    assert "lab.void" not in [call["action"] for call in made.report()["calls"]]


def test_waiting_shows_state_timers() -> None:
    made = make(MACHINE, until=M).finish()
    assert [(each["kind"], each["path"]) for each in made.report()["waiting"]] == [
        ("timer", "asking"),
        ("timer", "asking"),
        ("timer", "asking.w"),
        ("event", "asking.w"),
    ]


def test_timers_keep_running_over_a_recovery_of_the_state() -> None:
    made = run(
        """
        initial: s
        states:
          s:
            steps: [ { a: { lab.send: {} } }, { w: { wf.wait: 10h } } ]
            timers: { t: { after: 1h, to: e } }
            routes: [ { to: e } ]
            recovery: { redo: whole_group, stop_after: { failures: 3, within: 1h }, delay: 10m, then: fail }
          e: { steps: [], final: true }
        """,
        {"s.a": [fail(), fail(), ok("x")]},
    )
    assert made.clock == made.start_us + H
    assert trace(made, "timer.set s", "state") == ["state.entered s", "state.entered e"]
    assert [each.data["timer"] for each in made.records if each.kind == "timer.set" and each.path == "s"] == [
        "state:t", "delay", "delay",
    ]  # fmt: skip
    assert made.state.generation == 2


def test_a_state_timer_in_a_recovery_delay_leaves_the_state() -> None:
    made = run(
        """
        initial: s
        states:
          s:
            steps: [ { a: { lab.send: {} } } ]
            timers: { t: { after: 1h, to: e } }
            routes: [ { to: e } ]
            recovery: { stop_after: { failures: 3, within: 1h }, delay: 5h, then: fail }
          e: { steps: [], final: true }
        """,
        {"s.a": [fail()]},
    )
    assert made.status == "succeeded"
    assert made.clock == made.start_us + H
    assert not trace(made, "generation")


def test_a_machine_that_goes_round_hits_the_bound_and_says_so() -> None:
    from sim_runtime.driver.run import LimitReached

    made = make("initial: s\nstates: { s: { steps: [ { a: { lab.get: {} } } ], routes: [ { to: s } ] } }", limit=500)
    with pytest.raises(LimitReached, match="500 records"):
        made.finish()


def test_a_call_that_never_answers_in_a_state_is_no_hang() -> None:
    made = make("initial: s\nstates: { s: { steps: [ { a: { lab.send: {} } } ], final: true } }", {"s.a": [never()]})
    made.finish()
    assert made.status == "running"
    assert made.report()["waiting"] == [{"kind": "answer", "path": "s.a"}]
    assert made.next_due() is None
    assert S


def test_of_two_timers_of_one_state_the_first_in_the_document_acts() -> None:
    made = run(
        """
        initial: s
        states:
          s: { steps: [ { w: { wf.wait: 9h } } ], timers: { z: { after: 1h, to: one }, a: { after: 1h, to: two } }, routes: [ { to: one } ] }
          one: { steps: [], final: true }
          two: { steps: [], final: true }
        """
    )
    assert [each.data["state"] for each in made.records if each.kind == "state.entered"] == ["s", "one"]
    assert trace(made, "timer.fired") == ["timer.fired s"]


def test_a_state_is_left_after_a_compensation_and_not_in_the_middle_of_it() -> None:
    made = run(
        """
        initial: s
        states:
          s:
            steps:
              - g:
                  wf.group: [ { a: { lab.send: {}, undo: { lab.drop: {} } } }, { b: { lab.send: {}, undo: { lab.drop: {} } } }, { c: { lab.pay: {} } } ]
                  recovery: { redo: whole_group, stop_after: { failures: 3, within: 9h }, then: fail }
            timers: { t: { after: 1h, to: e } }
            routes: [ { to: e } ]
          e: { steps: [], final: true }
        """,
        {"s.g.c": [fail(latency=59 * M)], "lab.drop": [ok({}, latency=10 * M)]},
    )
    assert made.status == "succeeded"
    assert [path for path in calls(made) if path.endswith("(undo)")] == ["s.g.b.(undo)", "s.g.a.(undo)"]
    assert trace(made, "timer.fired", "generation", "state.e")[1:] == [
        "timer.fired s",
        "generation.started s.g",
        "state.entered e",
    ]
    assert made.clock == made.start_us + 79 * M
