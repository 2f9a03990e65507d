# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Faults that were found by use; each stays mended."""

from __future__ import annotations

import pytest

from sim_runtime.driver import circles
from sim_runtime.driver.run import LimitReached
from tests.sim.lab import (
    H,
    M,
    S,
    after,
    calls,
    event,
    fail,
    first,
    give_up,
    make,
    ok,
    outside,
    run,
    succeed,
    trace,
    unknown,
)

requirement = pytest.mark.requirement


# ---- an undo that an operator gives up ----------------------------------------------------------

OUTER = "recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }\n"
UNDONE = """
steps:
  - g:
      wf.group:
        - z: { lab.send: { n: 1 }, undo: { lab.scrap: { v: "{{ z.value }}" } } }
        - x: { lab.send: { n: 2 }, undo: { lab.scrap: { v: "{{ x.value }}" } } }
        - y: { lab.send: { n: 3 }, undo: { lab.scrap: { v: "{{ y.value }}" } } }
        - r: { lab.get: {} }
      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
"""
UNDO_FAILS = {"g.r": [fail(), ok("r")], "g.x.(undo)": [fail(), ok()]}


@requirement("D-REC-15")
def test_what_was_superseded_stays_so_when_its_undo_is_given_up() -> None:
    made = run(UNDONE, UNDO_FAILS, decisions=[give_up("g.x.(undo)", "gone")])
    assert (made.status, made.report()["failure"]) == (
        "failed",
        {"code": "gone", "message": "decided by dana", "path": "g"},
    )
    assert made.report()["bindings"] == {"g": {}}


@requirement("D-REC-15")
@requirement("D-UNDO-03")
def test_an_outer_recovery_supersedes_and_compensates_only_what_is_left() -> None:
    made = run(OUTER + UNDONE, UNDO_FAILS, decisions=[give_up("g.x.(undo)", "gone")])
    assert made.status == "succeeded"
    inner, outer = (set(each.data["records"]) for each in made.records if each.kind == "history.superseded")
    assert inner
    assert outer
    assert not inner & outer, "a record is superseded once"
    undone = [each for each in calls(made) if each.endswith("(undo)")]
    assert undone == ["g.y.(undo)", "g.x.(undo)", "g.x.(undo)", "g.z.(undo)"], "no success is compensated twice"
    assert outside(made).count("lab.send") == 6
    assert outside(made).count("lab.scrap") == 3


def test_nothing_superseded_comes_back_when_a_compensation_is_cut_off_by_a_cancellation() -> None:
    made = run(UNDONE, UNDO_FAILS, cancel_at=H)
    assert made.status == "cancelled"
    assert made.report()["bindings"] == {"g": {}}


def test_a_dry_run_skips_the_undo_of_a_read() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.get: {}, undo: { lab.drop: { v: "{{ a.value }}" } } }
                - b: { lab.look: {} }
              recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
        """,
        {"g.b": [fail(), ok()]},
        dry_run=True,
    )
    assert made.status == "succeeded"
    assert calls(made) == ["g.a", "g.b", "g.a", "g.b"]


# ---- a timer that elapses during a hold ----------------------------------------------------------

HELD_STATE = """
initial: s
states:
  s:
    steps: [ { a: { lab.send: {}, on_unknown: halt } }, { b: { lab.get: {} } } ]
    timers: { t: { after: 1h, to: e } }
    routes: [ { to: e } ]
  e: { steps: [ { c: { wf.let: { v: "{{ s.a?.value }}" } } } ], final: true }
result: "{{ s.a?.value }}"
"""


@pytest.mark.parametrize(
    "crashes", [(), (after("timer.fired"),), (after("operator.decided"),), (after("step.succeeded", "s.a"),)]
)
def test_a_success_that_an_operator_established_is_bound_before_an_elapsed_timer_acts(crashes: tuple) -> None:
    made = run(
        HELD_STATE,
        {"s.a": [unknown()]},
        decisions=[succeed("s.a", "seen", 2 * H)],
        crashes=list(crashes),
    )
    assert made.status == "succeeded"
    assert made.report()["result"] == "seen"
    assert made.report()["bindings"] == {"s": {"a": {"value": "seen"}}, "e": {"c": {"v": "seen"}}}
    assert trace(made, "operator", "step.succeeded", "state")[1:4] == [
        "operator.decided s.a",
        "step.succeeded s.a",
        "state.entered e",
    ]
    assert calls(made) == ["s.a"], "the remaining steps are not run"


# ---- reads on their way over a crash -------------------------------------------------------------

RACE = """
initial: s
states:
  s: { steps: [ { a: { lab.get: {} } }, { b: { lab.pay: {} } } ], timers: { t: { after: 1m, to: e } }, routes: [ { to: e } ] }
  e: { steps: [ { c: { lab.void: {} } } ], final: true }
"""


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(RACE, {}, id="a state timer"),
        pytest.param(
            "steps: [ { a: { lab.get: {}, timeout: 1m, retry: { attempts: 2 } } }, { b: { lab.pay: {} } } ]",
            {},
            id="its own limit",
        ),
        pytest.param(
            "steps: [ { p: { wf.parallel: { l: [ { a: { lab.get: {} } }, { b: { lab.pay: {} } } ], r: [ { w: { wf.wait: 2m } }, { f: { wf.stop: {} } } ] } } } ]",
            {},
            id="a wait beside it",
        ),
        pytest.param(
            "steps: [ { a: { lab.get: {} } }, { b: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]",
            {"events": [event({"id": "a"}, 4 * M)]},
            id="an event",
        ),
        pytest.param(
            "steps: [ { a: { lab.get: {} } }, { b: { lab.pay: {} } } ]", {"cancel_at": 3 * M}, id="a cancellation"
        ),
        pytest.param(
            "steps: [ { a: { lab.get: {} } }, { b: { lab.pay: {} } } ]",
            {"until": 3 * M},
            id="the end of the simulation",
        ),
    ],
)
def test_a_crash_does_not_decide_what_a_read_on_its_way_races_with(text: str, options: dict) -> None:
    answers = {"a": [ok("x", latency=5 * M)], "s.a": [ok("x", latency=5 * M)], "p.l.a": [ok("x", latency=5 * M)]}

    def came_to(crashes: list) -> tuple:
        made = run(text, answers, crashes=crashes, **options)
        report = made.report()
        return (
            made.status,
            report["bindings"],
            report["failure"],
            [each["path"] for each in report["effects"] if each["count"]],
        )

    plain = came_to([])
    assert came_to([after("action.dispatched")]) == plain
    assert came_to([after("run.started")]) == plain


def test_a_read_that_races_with_nothing_is_there_at_once_after_a_crash() -> None:
    made = run(
        "steps: [ { a: { lab.get: {}, timeout: 1h } } ]",
        {"a": [ok("x", latency=5 * M)]},
        crashes=[after("action.dispatched", down=M)],
    )
    assert made.clock == made.start_us + M
    assert [each.data["reissue"] for each in made.records if each.kind == "action.dispatched"] == [0, 1]


def test_a_limit_that_passed_while_the_executor_was_down_counts_anew() -> None:
    text = "steps: [ { a: { lab.get: {}, timeout: 1m } }, { w: { wf.wait: 1m } } ]"
    made = run(text, {"a": [ok("x", latency=30 * S)]}, crashes=[after("action.dispatched", down=H)])
    assert made.status == "succeeded"
    assert first(made, "action.dispatched", nth=2).data["deadline"] == made.start_us + H + M


# ---- what never lets time pass -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "initial: a\nstates:\n  a: { steps: [ { s: { lab.get: {} } } ], routes: [ { when: '{{ s.value == \"\" }}', to: b }, { to: a } ] }\n  b: { steps: [ { t: { wf.let: { n: 1 } } } ], final: true }",
            "the state `a` was entered 200 times",
        ),
        ("steps: [ { a: { lab.get: {}, retry: { attempts: 1000000, delay: 0s } } } ]", "`a` was tried 200 times"),
        (
            "recovery: { redo: whole_group, stop_after: { failures: 1000000, within: 1h }, then: fail }\nsteps: [ { a: { lab.get: {} } } ]",
            "the run recovered 200 times",
        ),
    ],
    ids=["states", "retries", "recoveries"],
)
def test_what_goes_round_at_one_instant_is_ended_with_what_it_is(
    text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circles, "MAX_TURNS", 200)
    made = make(text, {} if "initial" in text else {"a": [fail("busy")]})
    with pytest.raises(LimitReached, match=words):
        made.finish()
    with pytest.raises(LimitReached, match=words):
        made.step()


def test_a_circle_in_which_time_passes_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circles, "MAX_TURNS", 200)
    text = "initial: a\nstates:\n  a: { steps: [ { s: { wf.wait: 1s } } ], routes: [ { when: '{{ false }}', to: b }, { to: a } ] }\n  b: { steps: [ { t: { wf.let: { n: 1 } } } ], final: true }"
    made = make(text, until=(210) * S).finish()
    assert made.status == "suspended"
    assert made.state.run.entries[-1] == "a#211"


def test_much_work_at_one_instant_is_no_circle_but_has_a_bound() -> None:
    text = "inputs: { xs: 'list[integer]' }\nsteps: [ { e: { wf.for_each: '{{ inputs.xs }}', steps: [ { a: { lab.get: {} } } ] } } ]"
    assert run(text, inputs={"xs": list(range(1_000))}).status == "succeeded"
    words = r"more than 3,000 records, the last at 2026-01-01T00:00:00Z, `e\[\d+\]\.a`"
    with pytest.raises(LimitReached, match=words):
        make(text, inputs={"xs": list(range(1_000))}, limit=3_000).finish()


# ---- a handler of a probe ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probe", "status"),
    [
        ("lab.look: {}", "held"),
        ("lab.look: {}, on_fail: abort", "aborted"),
        ("lab.look: {}, on_fail: continue", "succeeded"),
    ],
)
def test_the_policies_of_a_probe_step_come_before_the_halt(probe: str, status: str) -> None:
    text = f"""
    steps:
      - a:
          lab.send: {{}}
          on_unknown: reconcile
          reconcile: {{ steps: [ {{ p: {{ {probe} }} }} ], outcome: "{{{{ p?.found ?? true }}}}", result: {{ value: x }} }}
    """
    made = run(text, {"a": [unknown()], "a.(reconcile).p": [fail()]})
    assert made.status == status


# ---- equality ------------------------------------------------------------------------------------


def test_a_map_without_its_optional_fields_equals_a_plain_one() -> None:
    text = """
    steps:
      - a: { lab.when: {} }
      - b: { wf.let: { same: "{{ a == { 'at': a.at } }}", other: "{{ a == { 'at': a.at, 'note': 'x' } }}", swapped: "{{ { 'at': a.at } == a }}" } }
    result: "{{ b }}"
    """
    assert run(text).report()["result"] == {"same": True, "other": False, "swapped": True}


# ---- effects that a redo could repeat --------------------------------------------------------------


def test_a_write_that_ended_ambiguous_in_an_aborted_child_is_not_sent_again_unasked() -> None:
    child = "name: child\nsteps: [ { a: { lab.send: {}, on_unknown: abort } } ]\n"
    text = """
    recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
    steps: [ { c: { wf.call: child, inputs: {} } } ]
    """
    made = run(text, {"c/a": [unknown(), ok("second")]}, children=[child])
    assert made.status == "held"
    assert made.report()["holds"] == [{"path": "c/a", "reason": "reissue"}]
    assert outside(made).count("lab.send") == 1
