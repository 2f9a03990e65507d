"""Cancellation: an operator cancels the run wherever it waits, also while a call is out."""

from __future__ import annotations

from typing import Any

import pytest

from sim_runtime.core import evolve, failing
from sim_runtime.explore.report import json_report, not_covered, words
from sim_runtime.explore.scenarios import simulated
from tests.sim.explore.common import explored, kinds, outcomes

WHOLE = """
recovery: { redo: whole_group, stop_after: { failures: 2, within: 1d }, delay: 10m, then: hold }
steps:
  - pay: { lab.pay: { n: 1 }, undo: { lab.refund: { v: "{{ pay.value }}" } } }
  - wait: { wf.wait_for: lab.ping, match: { id: a }, timeout: 1h }
  - nap: { wf.wait: 1d }
  - put: { lab.put: { n: 1 }, retry: { attempts: 2, delay: 1h } }
"""
CALLER = "steps: [ { call: { wf.call: child } }, { after: { lab.pay: { n: 1 } } } ]\n"
CHILD = "name: child\nsteps: [ { inner: { wf.wait: 1h } }, { tell: { lab.put: { n: 2 } } } ]\n"


def test_nothing_is_cancelled_unless_it_is_asked_for() -> None:
    found = explored(WHOLE)
    assert "cancelled" not in found.summary.outcomes
    assert any(each.startswith("cancellation, ") for each in not_covered(found))


def test_a_cancelled_run_ends_as_cancelled_and_undoes_nothing() -> None:
    found = explored(WHOLE, cancellations=1, deviations=0)
    assert found.findings == []
    assert found.complete
    assert found.summary.outcomes["cancelled"] > 10
    assert not any(each.startswith("cancellation") for each in not_covered(found))
    assert json_report(found, {})["bounds"]["cancellations"] == 1
    assert outcomes(found, "", "after", "cancel.decided") == ["cancelled"]
    ways = [words(each.chain) for cell in found.summary.cells.values() for each in cell.outcomes.values()]
    assert any("an operator cancels the run after `action.dispatched` at `pay`" in way for way in ways)
    assert any("an operator cancels the run after `run.suspended`" in way for way in ways)


def test_the_scenarios_of_cancelled_runs_are_played_exactly_so() -> None:
    found = explored(WHOLE, cancellations=1)
    played = 0
    for (_, _, record), cell in found.summary.cells.items():
        for status, example in cell.outcomes.items():
            if record in ("cancel.decided", "run.finished", "late_result.recorded", "timer.released"):
                written = found.scenario(example)
                assert written is not None, [each.words for each in example.chain]
                simulation = simulated(found.plan.prepared, written.parts)
                assert simulation is not None
                assert simulation.status == status
                played += "cancel" in written.parts
    assert played > 3


def test_a_child_run_is_cancelled_with_its_caller() -> None:
    found = explored(CALLER, "name: child\nsteps: [ { inner: { wf.wait: 1h } } ]\n", cancellations=1)
    assert found.findings == []
    assert "cancelled" in found.summary.outcomes


def test_a_timer_that_is_not_released_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "steps: [ { nap: { wf.wait: 1h } } ]\n"
    assert explored(text, cancellations=1, crashes=0).findings == []
    monkeypatch.setattr(failing, "_release_own", lambda *_: None)
    assert kinds(explored(text, cancellations=1, crashes=0)) == ["not-released"]


def test_work_after_a_cancellation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "steps: [ { nap: { wf.wait: 1h } }, { put: { lab.put: { n: 1 } } } ]\n"

    def nothing(*_: Any) -> None:
        """The run goes on as if."""

    monkeypatch.setitem(evolve.HANDLERS, "cancel.decided", nothing)
    assert "cancel-ignored" in kinds(explored(text, cancellations=1, crashes=0))
