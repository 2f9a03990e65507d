"""Cancellation (profile: Cancellation)."""

from __future__ import annotations

import pytest

from sim_runtime.driver.protocol import CrashPoint
from tests.sim.lab import H, M, after, before, calls, check, fail, first, make, ok, outside, run, trace, unknown

requirement = pytest.mark.requirement

TEXT = """
steps:
  - p:
      wf.parallel:
        w: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 9h } } ]
        t: [ { t: { wf.wait: 9h } } ]
        c: [ { c: { wf.call: child, timeout: 9h } } ]
        o: [ { o: { lab.send: {}, undo: { lab.drop: {} } } }, { n: { lab.void: {} } } ]
        r: [ { r: { lab.pay: {}, retry: { attempts: 3, delay: 8h } } } ]
"""
CHILD = "name: child\nsteps: [ { a: { lab.pay: {} } }, { x: { wf.wait: 9h } } ]"
ANSWERS = {"p.o.o": [ok("x", latency=2 * H)], "p.r.r": [fail("busy")]}


@requirement("D-CAN-01")
@requirement("D-CAN-02")
@requirement("D-CAN-03")
@requirement("D-WAIT-26")
def test_the_decision_is_durable_before_anything_is_let_go() -> None:
    made = run(TEXT, ANSWERS, children=[CHILD], cancel_at=H, cancel_reason={"by": "customer"})
    assert made.status == "cancelled"
    assert made.report()["cancel"] == {"reason": {"by": "customer"}}
    decided = first(made, "cancel.decided", "")
    assert decided.boundary
    assert decided.data["reason"] == {"by": "customer"}
    assert [f"{each.kind} {each.path}".strip() for each in made.records[decided.seq - 1 :]] == [
        "cancel.decided",
        "subscription.released p.w.w",
        "timer.released p.w.w",
        "timer.released p.t.t",
        "child.cancel_requested p.c.c",
        "cancel.decided p.c.c",
        "timer.released p.c.c/x",
        "run.finished p.c.c",
        "timer.released p.c.c",
        "child.finished p.c.c",
        "run.finished",
        "late_result.recorded p.o.o",
    ]
    assert first(made, "run.finished", "p.c.c").data["outcome"] == "cancelled"


@requirement("D-CAN-04")
def test_answers_still_out_are_late_results() -> None:
    made = run(TEXT, ANSWERS, children=[CHILD], cancel_at=H)
    late = first(made, "late_result.recorded")
    assert (late.path, late.at, late.data["result"]) == ("p.o.o", made.start_us + 2 * H, {"value": "x"})
    assert "p.o.n" not in calls(made)
    assert made.report()["bindings"]["p"]["o"] == {}
    assert made.report()["clock"]["now"] == "2026-01-01T01:00:00Z"
    assert [call["answer"] for call in made.report()["calls"] if call["path"] == "p.o.o"] == ["late"]


@requirement("D-CAN-02")
@pytest.mark.parametrize("status", ["suspended", "held", "retry", "delay", "undo held"])
def test_a_run_that_stands_still_can_be_cancelled(status: str) -> None:
    recovery = "recovery: { redo: whole_group, stop_after: { failures: 9, within: 9h }, delay: DELAY, then: fail }"
    group = "g: { wf.group: [ { a: { lab.send: {}, undo: { lab.scrap: {} } } }, { b: { lab.pay: {} } } ], RECOVERY }"
    text, answers = {
        "suspended": ("w: { wf.wait: 9h }", {}),
        "held": ("a: { lab.send: {}, on_unknown: halt }", {"a": [unknown()]}),
        "retry": ("a: { lab.send: {}, retry: { attempts: 2, delay: 9h } }", {"a": [fail("busy")]}),
        "delay": (group.replace("RECOVERY", recovery.replace("DELAY", "9h")), {"g.b": [fail()]}),
        "undo held": (
            group.replace("RECOVERY", recovery.replace("DELAY", "0s")),
            {"g.b": [fail()], "lab.scrap": [unknown()]},
        ),
    }[status]
    made = make(f"steps: [ {{ {text} }} ]", answers, until=M).finish()
    assert made.status == ("held" if "held" in status else "suspended")
    count = outside(made).invoked("lab.scrap")
    assert made.cancel("enough").accepted
    made.finish()
    check(made)
    assert made.status == "cancelled"
    assert made.report()["holds"] == made.report()["waiting"] == []
    assert outside(made).invoked("lab.scrap") == count
    assert not made.cancel("again").accepted


@requirement("D-CAN-05")
def test_a_cancellation_during_a_compensation_starts_no_further_undo() -> None:
    made = run(
        """
        steps:
          - g:
              wf.group:
                - a: { lab.send: {}, undo: { lab.drop: {} } }
                - b: { lab.send: {}, undo: { lab.drop: {} } }
                - c: { lab.pay: {} }
              recovery: { redo: whole_group, stop_after: { failures: 9, within: 9h }, then: fail }
        """,
        {"g.c": [fail()], "lab.drop": [ok({}, latency=H)]},
        cancel_at=M,
    )
    assert made.status == "cancelled"
    assert outside(made).invoked("lab.drop") == 1
    assert first(made, "late_result.recorded").path == "g.b.(undo)"


@requirement("D-CAN-01")
def test_a_crash_around_the_decision() -> None:
    for crash in (
        before("cancel.decided", down=H),
        after("cancel.decided", down=H),
        after("cancel.decided", "p.c.c", down=H),
        before("run.finished", ""),
        CrashPoint("after", "run.finished", "p.c.c"),
    ):
        text = TEXT.replace("lab.send: {},", "lab.send: {}, on_unknown: halt,")
        made = run(text, ANSWERS, children=[CHILD], cancel_at=H, crashes=[crash])
        assert made.crashes == 1
        assert made.status == "cancelled"
        assert trace(made, "cancel") == ["cancel.decided", "cancel.decided p.c.c"]
        assert len(trace(made, "child.cancel")) == 1


def test_at_one_instant_events_and_decisions_come_before_a_cancellation_and_timers_after() -> None:
    from tests.sim.lab import event

    made = run(
        "steps: [ { w: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h } } ]",
        events=[event({"id": "a"}, H)],
        cancel_at=H,
    )
    assert made.status == "succeeded"
    assert run("steps: [ { w: { wf.wait: 1h } } ]", cancel_at=H).status == "cancelled"


def test_nothing_is_decided_about_a_run_that_is_over() -> None:
    from sim_runtime.core.decide import decide
    from sim_runtime.core.inputs import Cancelled, Decided, EventArrived, Proceed, TimerDue

    made = run("steps: [ { w: { wf.wait: 1h } } ]")
    for given in (
        Cancelled(made.now),
        Proceed(made.now),
        EventArrived(made.now, "lab.ping", "d", {"id": "a"}),
        Decided(made.now, "", "dana", "authorize_recovery"),
        TimerDue(made.now, "w", "wait", made.start_us + H),
    ):
        assert decide(made.state, made.definition, given) == []
