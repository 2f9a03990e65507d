"""What exploring says of small Workfiles: each crash point, the questions, and what is honest about the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from sim_runtime.explore import explore
from sim_runtime.explore.report import json_report, rows, text_report
from sim_runtime.explore.search import Search
from sim_runtime.simulation import CannotSimulate
from tests.sim.explore.common import explored, kinds, outcomes, plan, prepared

PLAIN = """
steps:
  - a: { lab.pay: { n: 1 } }
  - b: { lab.put: { n: 2 } }
  - c: { lab.get: { n: 3 } }
result: { c: "{{ c.value }}" }
"""


def step(modifiers: str, action: str = "send") -> str:
    return f"steps:\n  - a: {{ lab.{action}: {{ n: 1 }}{', ' if modifiers else ''}{modifiers} }}\n"


def test_a_crash_of_what_may_be_sent_again_changes_nothing() -> None:
    found = explored(PLAIN, deviations=0)
    assert found.complete
    assert {tuple(cell.outcomes) for cell in found.summary.cells.values()} == {("succeeded",)}
    assert found.findings == []
    assert found.never == []
    # Before and after each of the records of the run: that is every crash point that there is.
    points = set(found.summary.cells)
    assert {(path, record) for path, _, record in points} >= {
        ("", "run.accepted"),
        ("", "run.finished"),
        ("a", "step.started"),
        ("a", "action.prepared"),
        ("a", "action.dispatched"),
        ("a", "action.succeeded"),
        ("c", "step.succeeded"),
    }
    assert {(path, "before", record) for path, _, record in points} <= points
    assert {(path, "after", record) for path, _, record in points} <= points


@pytest.mark.parametrize(
    ("modifiers", "after_dispatch"),
    [
        ("", ["aborted"]),
        ("on_unknown: abort", ["aborted"]),
        ("on_unknown: fail", ["failed"]),
        ("on_unknown: fail, on_fail: continue", ["succeeded"]),
        ("on_unknown: halt", ["held"]),
    ],
)
def test_a_crash_while_a_write_is_out_does_what_its_policy_says(modifiers: str, after_dispatch: list[str]) -> None:
    found = explored(step(modifiers))
    assert outcomes(found, "a", "after", "action.dispatched") == after_dispatch
    assert outcomes(found, "a", "before", "action.succeeded") == after_dispatch
    assert outcomes(found, "a", "after", "action.prepared") == ["succeeded"]
    assert outcomes(found, "a", "before", "action.dispatched") == ["succeeded"]
    assert outcomes(found, "a", "after", "action.succeeded") == ["succeeded"]
    assert found.findings == []


def test_what_an_operator_makes_of_a_hold_is_told_apart() -> None:
    found = explored(step("on_unknown: halt"))
    cell = found.summary.cells["a", "after", "action.dispatched"]
    assert list(cell.outcomes) == ["held"]
    assert cell.outcomes["held"].why == "the outcome is not known at `a`"
    assert cell.decided == {"succeeded"}, "the call took effect, and the operator knows it"


TRUTHFUL = """
steps:
  - a:
      lab.send: { n: 1 }
      on_unknown: reconcile
      retry: { attempts: 3, delay: 1s }
      reconcile:
        steps: [ { probe: { lab.look: { n: 1 } } } ]
        outcome: "{{ probe.found }}"
        result: { value: "{{ probe.value }}" }
"""


def test_a_probe_that_can_tell_the_truth_tells_it() -> None:
    found = explored(TRUTHFUL)
    assert found.findings == []
    assert outcomes(found, "a", "after", "action.dispatched") == ["succeeded"]
    assert found.never == []


@pytest.mark.parametrize(
    ("outcome", "kind"), [("{{ probe.value == 'sent' }}", "effect-twice"), ("{{ probe.value != '' }}", "effect-lost")]
)
def test_a_probe_that_cannot_tell_makes_effects_happen_twice_or_not_at_all(outcome: str, kind: str) -> None:
    found = explored(TRUTHFUL.replace("{{ probe.found }}", outcome))
    assert kinds(found) == [kind]
    finding = found.findings[0]
    assert finding.violation.path == "a"
    assert len(finding.chain) == 1, "the shortest way: the answer is lost once"
    assert finding.written is not None


QUESTIONS = """
inputs: { n: integer }
recovery: { redo: whole_group, stop_after: { failures: 1, within: 30d }, delay: 10m, then: fail }
steps:
  - a: { lab.pay: { n: 1 }, undo: { lab.refund: { v: "{{ a.value }}" } } }
  - b: { lab.pay: { n: 2 }, undo: { lab.drop: { v: "{{ b.value }}" } } }
  - nap: { wf.wait: 1d }
  - c: { lab.put: { n: 3 } }
  - d: { lab.get: { n: 4 }, when: "{{ inputs.n > 100 }}" }
"""


def test_the_questions_are_answered_over_all_runs() -> None:
    found = explored(QUESTIONS, inputs={"n": 5})
    report = json_report(found, {})
    assert report["never"] == ["d"]
    assert report["reached"]["c"] > 0
    assert report["limits"][0]["path"] == ""
    assert report["limits"][0]["then"] == "fail"
    assert ["b", "a"] in [each["order"] for each in report["undo_orders"]]
    assert [(each["path"], each["fewest"], each["most"]) for each in report["effects"]] == [
        ("a", 0, 1),
        ("b", 0, 1),
        ("c", 0, 1),
    ]
    # Both tries wait a day, and the delay of the recovery lies between them.
    assert report["longest"]["time"] == "2d10m"
    assert report["complete"] is True
    assert any("more than 1 crash" in each for each in report["not_covered"])


EVENT = """
steps:
  - wait:
      wf.wait_for: lab.ping
      match: { id: a }
      timeout: 1h
  - then:
      wf.if: "{{ wait.status == 'received' }}"
      then: [ { yes: { lab.pay: { n: 1 } } } ]
      else: [ { no: { lab.pay: { n: 2 } } } ]
"""


def test_what_an_event_leads_to_is_a_world_of_its_own() -> None:
    """Both branches are explored as fully: with a crash and another answer after the event."""
    found = explored(EVENT)
    assert found.never == []
    assert found.worlds == ["nothing deviates", "`lab.ping` comes in time"]
    for path in ("then.(then).yes", "then.(else).no"):
        assert outcomes(found, path, "after", "action.dispatched") == ["succeeded"]
        assert found.summary.cells[path, "after", "action.failed"].outcomes["failed"]


def test_interleavings_of_branches_are_explored() -> None:
    """Two branches fail at once: which failure counts depends on the order in which their answers come."""
    text = """
    steps:
      - fan:
          wf.parallel:
            left: [ { l: { lab.get: { n: 1 } } }, { m: { lab.get: { n: 2 } } } ]
            right: [ { r: { lab.get: { n: 3 } } } ]
    """
    found = explored(text, crashes=0)
    assert any("later" in each.chain[-1].words for each in [found.summary.longest[1]])
    assert set(found.summary.outcomes) == {"succeeded", "failed"}


def test_a_streak_of_failures_counts_as_one_deviation() -> None:
    found = explored(step("retry: { attempts: 4, delay: 1s }, on_fail: continue", "pay"), crashes=0)
    assert found.summary.outcomes.keys() == {"succeeded", "held"}
    assert found.summary.longest[0] == 3_000_000, "three delays between four attempts"


# ---- bounds -------------------------------------------------------------------------------------


def test_no_crashes_and_no_deviations_is_the_run_itself() -> None:
    found = explored(PLAIN, crashes=0, deviations=0)
    assert found.summary.runs == 1
    assert found.summary.outcomes == {"succeeded": 1}
    assert not found.summary.cells


def test_two_crashes_are_more_than_one() -> None:
    one, two = (explored(step("on_unknown: halt"), crashes=crashes) for crashes in (1, 2))
    assert two.summary.runs > one.summary.runs
    assert two.findings == []


def test_an_executor_may_be_down_for_a_while() -> None:
    """Time passes meanwhile: what elapsed fires once when it is back, and what came is taken then."""
    found = explored(EVENT, down_us=7_200_000_000)
    assert found.findings == []
    assert found.summary.longest[0] == 3 * 3_600_000_000, "an hour of waiting, two hours down after it"
    written = found.scenario(found.summary.longest[1])
    assert written is not None
    assert written.parts["crashes"][0]["down"] == "2h"


def test_a_bound_that_is_hit_is_said() -> None:
    found = explored(PLAIN, states=40)
    assert not found.complete
    assert found.left == ["the bound of 40 states was reached (`--states`)"]
    assert found.summary.states <= 40
    assert "not everything" in text_report(found, {}, lambda text, _: text)


def test_no_time_is_said_too() -> None:
    found = explored(PLAIN, budget_s=0.0)
    assert found.left == [] or "time budget" in found.left[0]


def test_an_exploration_can_be_cancelled() -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    found = explore(prepared(QUESTIONS, inputs={"n": 5}), cancelled=cancelled)
    assert found.left == ["the exploration was cancelled"]


def test_progress_is_told() -> None:
    told: list[tuple[int, int, int]] = []
    explore(prepared(PLAIN), progress=lambda *each: told.append(each))
    assert [each[1] for each in told] == list(range(1, len(told) + 1))
    assert told[-1][0] == explore(prepared(PLAIN)).summary.states


def test_endless_workfiles_end() -> None:
    found = explored(
        """
        initial: a
        states:
          a: { steps: [ { s: { lab.get: { n: 1 } } } ], routes: [ { to: b } ] }
          b: { steps: [ { w: { wf.wait: 1s } } ], routes: [ { to: a } ] }
        """,
        states=2_000,
        deviations=0,
    )
    assert found.complete
    assert set(found.summary.outcomes) == {"running"}
    assert json_report(found, {})["rounds"] == [{"states": ["a", "b"], "steps": []}]


def test_inputs_are_made_up_or_asked_for() -> None:
    found = explored(
        'inputs: { n: integer, xs: "list[integer]", "more?": string }\nsteps: [ { a: { wf.wait: 1s } } ]\n'
    )
    assert found.plan.inputs == {"n": 1, "xs": [1]}
    with pytest.raises(CannotSimulate, match="no value could be made up for the input `n`"):
        explored('inputs: { n: { type: string, pattern: "^(?=a)b$" } }\nsteps: [ { a: { wf.wait: 1s } } ]\n')


# ---- the search itself --------------------------------------------------------------------------


def test_the_run_without_deviations_is_the_run_of_the_driver() -> None:
    """The branch goes under the same driver, so it writes the same history."""
    for text in (PLAIN, QUESTIONS, EVENT):
        ready = prepared(text, inputs={"n": 5} if "inputs" in text else {})
        found = explore(ready)
        written = found.scenario(())
        assert written is not None
        assert written.records == len(ready.simulation().finish().run.records)


def test_a_state_after_a_crash_is_known_without_a_copy() -> None:
    """The number that is found cheaply is that of a branch that really died."""
    for text in (PLAIN, QUESTIONS.replace("inputs: { n: integer }\n", "").replace("inputs.n", "5"), EVENT):
        made = plan(text)
        search = Search(made, made.start())
        branch = search.origin.fork()
        checked = 0
        for _ in search.alone(branch):
            cheap = branch.crashed_key(made.keys)
            dead = branch.fork()
            dead.die(0, "", "", None)
            assert dead.key(made.keys) == cheap
            assert dead.state == branch.state
            checked += 1
        assert checked > 5


def test_a_copy_shares_nothing_that_changes() -> None:
    """Whatever a run may come to keep: a copy has its own. Crash points that are used up do not change any more."""
    branch = plan(PLAIN).start()
    branch.step()
    copy = vars(branch.fork())
    for name, value in vars(branch).items():
        if isinstance(value, list | dict | set) or hasattr(value, "fork"):
            assert copy[name] is not value or name == "_crash_points", name


def test_the_matrix_has_a_row_for_each_call() -> None:
    table = rows(explored(step("on_unknown: halt")))
    assert list(table) == ["a"]
    assert [sorted(each) for each in table["a"]] == [
        ["succeeded"],
        ["succeeded"],
        ["succeeded"],
        ["held"],
        ["held"],
        ["succeeded"],
    ]


def test_an_exploration_begins_where_a_run_stands() -> None:
    """From the middle of a run only what is still to come is explored, and the run stays as it is."""
    ready = prepared(QUESTIONS, inputs={"n": 5})
    run = ready.simulation().run
    while not any(each.kind == "timer.set" for each in run.records):
        run.step()
    before = len(run.records)
    found = explore(ready, start=run)
    assert len(run.records) == before
    assert found.findings == []
    reached: dict[str, Any] = found.summary.reached
    assert "c" in reached
    assert found.summary.states < explored(QUESTIONS, inputs={"n": 5}).summary.states
    assert {path for path, _, _ in found.summary.cells} >= {"c"}


def test_loops_and_calls_are_explored_inside() -> None:
    child = """
    name: child
    inputs: { n: integer }
    steps: [ { s: { lab.send: { n: "{{ inputs.n }}" }, on_unknown: halt } } ]
    """
    text = """
    steps:
      - each:
          wf.for_each: [1, 2]
          steps: [ { call: { wf.call: child, inputs: { n: "{{ item }}" } } } ]
    """
    found = explored(text, child)
    assert outcomes(found, "each[1].call/s", "after", "action.dispatched") == ["held"]
    assert found.findings == []
