"""A report always comes, soon after the budget, whatever the Workfile does; and state machines that go round are
followed for one round."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.driver.run import LimitReached
from sim_runtime.explore import Bounds, explore, write_scenarios
from sim_runtime.explore.branch import MAX_RECORDS
from sim_runtime.explore.exploration import CLOSING_S
from sim_runtime.explore.page import page
from sim_runtime.explore.report import json_report, text_report
from sim_runtime.simulation import prepare, simulate
from tests.sim.explore.common import explored, kinds, outcomes, plan, prepared
from tests.sim.lab import MANIFEST

SLACK_S = 2.5
"""What a busy machine, the last transaction and the report may take."""

STEPS = (
    "lab.pay: { n: 1 }",
    'lab.pay: { n: 1 }, idempotency_key: "k"',
    "lab.put: { n: 1 }, retry: { attempts: 3, delay: 1m }",
    "lab.send: { n: 1 }, on_unknown: halt",
    "lab.send: { n: 1 }, on_unknown: fail, on_fail: continue",
    "lab.get: { n: 1 }, on_fail: continue",
    "wf.wait: 1h",
    "wf.wait_for: lab.ping, match: { id: a }, timeout: 1d",
)
ROOTS = (
    "",
    "recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, delay: 5m, then: hold }\n",
)


def machine(seed: int) -> str:
    """A state machine that may go round for ever, with timers, events and counters."""
    draw = random.Random(seed)
    names = ["a", "b", "c"][: draw.randint(1, 3)]
    root = ROOTS[seed % 4 == 3]
    steps = [each for each in STEPS if not root or "send" not in each]
    lines = ["initial: a\n", root, "states:\n"]
    counts = len(names) > 1 and draw.random() < 0.4
    for place, name in enumerate(names):
        lines.append(f"  {name}:\n    steps:\n")
        if counts:
            other = names[place - 1]
            lines.append(f'      - count: {{ wf.let: {{ v: "{{{{ ({other}?.count?.v ?? 0) + 1 }}}}" }} }}\n')
        for number, step in enumerate(draw.sample(steps, draw.randint(1, 3))):
            lines.append(f"      - {name}{number}: {{ {step} }}\n")
        if draw.random() < 0.5:
            after = draw.choice(["30m", "2d"])
            lines.append(f"    timers: {{ late: {{ after: {after}, to: {draw.choice(names)} }} }}\n")
        lines.append(f"    routes: [ {{ to: {draw.choice(names)} }} ]\n")
    return "".join(lines)


def reports(found: Any, folder: Path) -> None:
    """Everything that is told of an exploration."""
    files = write_scenarios(found, str(folder))
    json_report(found, files)
    text_report(found, files, lambda text, _tone: text)
    page(found)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("budget", [0.05, 0.4])
def test_a_report_comes_soon_after_the_budget(seed: int, budget: float, tmp_path: Path) -> None:
    ready = prepared(machine(seed))
    started = time.monotonic()
    found = explore(ready, Bounds(budget_s=budget))
    reports(found, tmp_path)
    assert time.monotonic() - started < budget + CLOSING_S + SLACK_S
    assert found.complete or found.left
    assert not {"internal-error", "stuck", "fold-differs"} & set(kinds(found)), found.findings[0]


@pytest.mark.parametrize("seed", [3, 7])
def test_two_seconds_are_two_seconds(seed: int, tmp_path: Path) -> None:
    ready = prepared(machine(seed))
    started = time.monotonic()
    reports(explore(ready, Bounds(budget_s=2, crashes=2, deviations=2)), tmp_path)
    assert time.monotonic() - started < 2 + CLOSING_S + SLACK_S


ROUND = """
initial: a
states:
  a:
    steps:
      - bill: { lab.pay: { n: 1 }, retry: { attempts: 2, delay: 1h } }
      - month: { wf.wait_for: lab.ping, match: { id: x }, timeout: 30d }
    timers: { year: { after: 365d, to: done } }
    routes:
      - { when: "{{ month.status == 'received' }}", to: b }
      - { to: a }
  b:
    steps: [ { last: { lab.send: { v: "{{ a.bill?.value }}" }, on_unknown: halt } } ]
    routes: [ { to: a } ]
  done: { steps: [], final: true }
"""


def test_a_machine_that_goes_round_is_followed_for_one_round() -> None:
    found = explored(ROUND, states=3_000)
    assert found.complete, found.left
    assert found.never == []
    assert found.findings == []
    assert outcomes(found, "a.bill", "after", "action.dispatched") == ["running"]
    assert outcomes(found, "b.last", "after", "action.dispatched") == ["held"]
    rounds = [each["states"] for each in json_report(found, {})["rounds"]]
    assert rounds == [["a"], ["a", "b"]] or rounds == [["a"]], rounds


def test_a_counter_does_not_close_a_round() -> None:
    """Nothing is taken for the same that is not: after three rounds the way is another one."""
    found = explored(
        """
        initial: a
        states:
          a:
            steps: [ { count: { wf.let: { v: "{{ (b?.last?.v ?? 0) + 1 }}" } } }, { nap: { wf.wait: 1h } } ]
            routes: [ { to: b } ]
          b:
            steps: [ { last: { wf.let: { v: "{{ a?.count?.v ?? 0 }}" } } } ]
            routes: [ { when: "{{ last.v >= 4 }}", to: c }, { to: a } ]
          c: { steps: [ { end: { lab.pay: { n: 1 } } } ], final: true }
        """
    )
    assert found.complete
    assert found.never == []
    assert set(found.summary.outcomes) == {"succeeded", "failed", "held"}


def test_what_stands_of_a_round_before_is_not_forgotten() -> None:
    """A key that is the same in each round: the second call is no new effect, with other arguments it is not sent."""
    same = explored(ROUND.replace("{ n: 1 }, retry", '{ n: 1 }, idempotency_key: "k", retry'), states=3_000)
    assert same.findings == []
    assert same.complete


def test_a_run_is_left_at_the_bound_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_RECORDS == 20_000
    monkeypatch.setattr("sim_runtime.explore.branch.MAX_RECORDS", 60)
    found = explored(machine_with_counter(), deviations=0)
    assert kinds(found) == []
    assert found.left == ["what comes after 60 records of one run"]
    assert set(found.summary.outcomes) == {"running"}
    branch = plan(machine_with_counter()).start()
    with pytest.raises(LimitReached, match="more than 60 records, the last at"):
        branch.finish()


def machine_with_counter() -> str:
    return """
        initial: a
        states:
          a:
            steps: [ { count: { wf.let: { v: "{{ (b?.last?.v ?? 0) + 1 }}" } } } ]
            routes: [ { to: b } ]
          b:
            steps: [ { last: { wf.let: { v: "{{ a?.count?.v ?? 0 }}" } } }, { nap: { wf.wait: 1h } } ]
            routes: [ { to: a } ]
    """


def test_a_circle_in_which_no_time_passes_is_told() -> None:
    found = explored("initial: a\nstates:\n  a: { steps: [], routes: [ { to: a } ] }\n")
    assert found.left == ["a run that goes round in circles at one instant, through `a`"]


CARELESS = ROUND.replace(
    'lab.send: { v: "{{ a.bill?.value }}" }, on_unknown: halt',
    "lab.send: { n: 1 }, on_unknown: reconcile, retry: { attempts: 2, delay: 1s }, reconcile: "
    "{ steps: [ { probe: { lab.look: { n: 1 } } } ], outcome: \"{{ probe.value != '' }}\", "
    'result: { value: "{{ probe.value }}" } }',
)


def test_the_scenario_of_a_run_without_an_end_ends(tmp_path: Path) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "lab.connector.yaml").write_text(MANIFEST)
    workfile = str(tmp_path / "test.workfile.yaml")
    Path(workfile).write_text('workfile: "1.0"\nname: test\n' + CARELESS)
    found = explore(prepare(workfile), Bounds(budget_s=None, states=6_000))
    assert kinds(found) == ["effect-lost"]
    files = write_scenarios(found, str(tmp_path / "found"))
    path = files["effect-lost b.last"]
    assert "until: " in Path(path).read_text()
    played = simulate(workfile, path)
    assert played.status == "suspended"
    assert played.effects("lab.send") == 0


def test_nothing_explored_is_no_good_news() -> None:
    found = explored(ROUND, states=3)
    text = text_report(found, {}, lambda text, _tone: text)
    assert found.nothing
    assert not found.complete
    assert found.never == []
    assert "No rule" not in text
    assert "never" not in text
    part = explored(ROUND, states=200)
    text = text_report(part, {}, lambda text, _tone: text)
    assert not part.nothing
    assert "Steps that are not reached so far: " in text
    assert "in what was explored" in text
    assert json_report(part, {})["never"] == []


@pytest.mark.parametrize("seed", [0, 1, 5, 8, 10, 18])
def test_a_round_that_is_known_hides_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found when every round is followed, as far as that goes, is found in the first one too."""
    known = explored(machine(seed), states=6_000)
    assert known.ended
    monkeypatch.setattr("sim_runtime.explore.branch.is_entry", lambda *_: False)
    every = explored(machine(seed), states=1_500)
    assert not every.ended
    assert {each.violation for each in every.findings} <= {each.violation for each in known.findings}
    assert set(every.summary.outcomes) <= {*known.summary.outcomes, "running"}
    assert set(every.summary.reached) <= set(known.summary.reached)
    for point, cell in every.summary.cells.items():
        also = known.summary.cells[point]
        if cell.expected == also.expected:
            assert set(cell.outcomes) <= {*also.outcomes, "running"}, point
