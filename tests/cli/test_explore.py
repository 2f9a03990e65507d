"""``workfile explore``: the JSON that others rely on, exit codes, files that are written, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.reported import check_report

ROOT = Path(__file__).resolve().parents[2]

CONNECTOR = """\
connector: shop
version: 1.0.0
actions:
  look: { effect: read, input: { name: string }, output: { found: boolean } }
  charge: { effect: write, idempotency: keyed, input: { amount: integer }, output: { id: string } }
  print: { effect: write, idempotency: none, input: { text: string }, output: { page: string } }
"""
SAFE = """\
workfile: "1.0"
name: safe
inputs: { amount: integer }
steps:
  - charge: { shop.charge: { amount: "{{ inputs.amount }}" } }
  - nap: { wf.wait: 1h }
  - look: { shop.look: { name: x } }
"""
HALTING = """\
workfile: "1.0"
name: halting
steps:
  - receipt: { shop.print: { text: thanks }, on_unknown: halt }
  - never: { shop.charge: { amount: 1 }, when: "{{ receipt.page == 'none' }}" }
"""
BLIND = """\
workfile: "1.0"
name: blind
steps:
  - receipt:
      shop.print: { text: thanks }
      retry: { attempts: 2, delay: 1s }
      on_unknown: reconcile
      reconcile:
        steps: [ { probe: { shop.look: { name: x } } } ]
        outcome: "{{ probe.found and not probe.found }}"
        result: { page: p }
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "shop.connector.yaml").write_text(CONNECTOR)
    for name, text in (("safe", SAFE), ("halting", HALTING), ("blind", BLIND)):
        (tmp_path / f"{name}.workfile.yaml").write_text(text)
    return tmp_path


def workfile(folder: Path, *arguments: str) -> Done:
    """The command, in a process of its own."""
    command = [sys.executable, "-m", "workfile_cli", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_json_is_that_of_the_interfaces(folder: Path) -> None:
    done = workfile(folder, "explore", "safe.workfile.yaml", "--format", "json")
    assert done.code == 0, done.err
    report = done.json
    check_report("explore-report", report)
    assert list(report)[:8] == [
        "version",
        "workflow",
        "complete",
        "states",
        "runs",
        "outcomes",
        "crash_points",
        "never",
    ]
    assert report["version"] == 1
    assert report["complete"] is True
    assert report["findings"] == []
    assert report["never"] == []
    assert report["states"] > 50
    assert set(report["outcomes"]) == {"succeeded", "held", "failed"}, "held when four answers in a row are lost"
    for point in report["crash_points"]:
        assert {"path", "point", "record", "outcomes"} <= set(point)
        assert point["point"] in ("before", "after")
        assert not point["expected"] or point["outcomes"] == ["succeeded"], point
    known = {(each["path"], each["point"], each["record"]) for each in report["crash_points"]}
    assert ("charge", "after", "action.dispatched") in known
    assert ("nap", "before", "timer.fired") in known
    assert ("", "after", "run.finished") in known


def test_a_crash_that_ends_in_a_hold_is_an_answer(folder: Path) -> None:
    done = workfile(folder, "explore", "halting.workfile.yaml", "--format", "json")
    assert done.code == 0
    (point,) = [
        each
        for each in done.json["crash_points"]
        if (each["path"], each["point"], each["record"]) == ("receipt", "after", "action.dispatched")
    ]
    assert point["outcomes"] == ["held"]
    assert point["decided"] == ["succeeded"]
    assert point["why"] == {"held": "the outcome is not known at `receipt`"}
    assert done.json["never"] == ["never"]
    text = workfile(folder, "explore", "halting.workfile.yaml")
    assert text.code == 0
    assert "held, the outcome is not known at `receipt`; after a decision: succeeded" in text.out
    assert "Steps that are never reached: never" in text.out


def test_an_effect_that_happens_twice_is_a_failure_with_a_scenario(folder: Path) -> None:
    done = workfile(folder, "explore", "blind.workfile.yaml", "--write-counterexamples", "found", "--format", "json")
    assert done.code == 1
    check_report("explore-report", done.json)
    (finding,) = done.json["findings"]
    assert finding["kind"] == "effect-twice"
    assert finding["path"] == "receipt"
    assert finding["scenario"] == "found/01-effect-twice-receipt.scenario.yaml"
    run = workfile(folder, "run", "blind.workfile.yaml", "--scenario", finding["scenario"], "--format", "json")
    assert run.code == 0
    assert run.json["effects"][0]["count"] == 2
    assert workfile(folder, "test", "found").code == 0
    assert workfile(folder, "check", "found").code == 0
    assert workfile(folder, "format", "--check", "found").code == 0


def test_the_command_that_plays_it_is_told(folder: Path) -> None:
    done = workfile(folder, "explore", "blind.workfile.yaml", "--write-counterexamples", "found")
    command = "workfile run blind.workfile.yaml --scenario found/01-effect-twice-receipt.scenario.yaml"
    assert command in done.err
    assert f"# {command}\n" in (folder / "found" / "01-effect-twice-receipt.scenario.yaml").read_text()


def test_the_page_is_written(folder: Path) -> None:
    assert workfile(folder, "explore", "halting.workfile.yaml", "--html", "page.html").code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert 'href="#run-0"' in page


def test_bounds_are_honest(folder: Path) -> None:
    done = workfile(folder, "explore", "safe.workfile.yaml", "--states", "30", "--format", "json")
    assert done.code == 0
    assert done.json["complete"] is False
    assert "the bound of 30 states was reached (`--states`)" in done.json["not_covered"]
    must = workfile(folder, "explore", "safe.workfile.yaml", "--states", "30", "--require-complete")
    assert (must.code, must.err) == (
        1,
        "workfile explore: error: not everything was explored: the bound of 30 states was reached (`--states`).\n",
    )
    whole = workfile(folder, "explore", "safe.workfile.yaml", "--require-complete")
    assert (whole.code, whole.err) == (0, "")
    none = workfile(folder, "explore", "safe.workfile.yaml", "--crashes", "0", "--deviations", "0", "--format", "json")
    check_report("explore-report", none.json)
    assert none.json["outcomes"] == {"succeeded": 1}
    assert none.json["crash_points"] == []


def test_nothing_explored_is_a_failure_in_one_line(folder: Path) -> None:
    done = workfile(folder, "explore", "safe.workfile.yaml", "--states", "3")
    assert done.code == 1
    assert done.err == (
        "workfile explore: error: nothing was explored: the bound of 3 states was reached (`--states`); allow more.\n"
    )
    assert "No rule" not in done.out
    told = workfile(folder, "explore", "safe.workfile.yaml", "--states", "3", "--format", "json")
    check_report("explore-report", told.json)
    assert (told.code, told.json["complete"], told.json["never"]) == (1, False, [])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_budget_ends_it_with_a_report(folder: Path, jobs: str) -> None:
    (folder / "round.workfile.yaml").write_text(
        """\
workfile: "1.0"
name: round
initial: a
recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: hold }
states:
  a:
    steps: [ { charge: { shop.charge: { amount: 1 } } }, { day: { wf.wait: 1d } } ]
    routes: [ { to: a } ]
"""
    )
    started = time.monotonic()
    done = workfile(folder, "explore", "round.workfile.yaml", "--budget", "3s", "--jobs", jobs, "--format", "json")
    assert time.monotonic() - started < 3 + 6, "with what it takes to start on a busy machine"
    assert done.code == 0, done.err
    assert done.json["complete"] is False
    assert done.json["states"] > 0
    assert "the time budget of 3 s was spent (`--budget`)" in done.json["not_covered"]


def test_inputs_and_scenarios_are_taken(folder: Path) -> None:
    (folder / "s.scenario.yaml").write_text(
        "workfile: halting.workfile.yaml\nactions:\n  shop.print:\n    - ambiguous: { code: lost, effect: happened }\n"
    )
    done = workfile(folder, "explore", "halting.workfile.yaml", "--scenario", "s.scenario.yaml", "--format", "json")
    assert done.code == 0
    assert done.json["outcomes"]["held"] > done.json["outcomes"].get("succeeded", 0)
    given = workfile(
        folder, "explore", "safe.workfile.yaml", "--input", "amount=7", "--crashes", "0", "--format", "json"
    )
    assert given.code == 0
    wrong = workfile(
        folder, "explore", "safe.workfile.yaml", "--input", "amount=x", "--crashes", "0", "--format", "json"
    )
    assert wrong.json["outcomes"] == {"failed": 1}, "a run with invalid inputs is a run that failed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.workfile.yaml",), "cannot read `missing.workfile.yaml`"),
        (("connectors/shop.connector.yaml",), "is not a Workfile"),
        (("safe.workfile.yaml", "--crashes", "9"), "9 is not in the range"),
        (("safe.workfile.yaml", "--crashes", "x"), "not a valid integer"),
        (("safe.workfile.yaml", "--states", "0"), "0 is not in the range"),
        (("safe.workfile.yaml", "--budget", "soon"), "--budget"),
        (("safe.workfile.yaml", "--budget", "0s"), "no time"),
        (("safe.workfile.yaml", "--down", "-1s"), "--down"),
        (("safe.workfile.yaml", "--input", "amount"), "NAME=YAML"),
        (("safe.workfile.yaml", "--jobs", "0"), "0 is not in the range"),
        (("safe.workfile.yaml", "--html", "no/such/folder/page.html"), "cannot write the page"),
        (("safe.workfile.yaml", "--write-counterexamples", "safe.workfile.yaml/x"), "cannot write into"),
        ((), "FILE"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    done = workfile(folder, "explore", *arguments)
    assert done.code == 2, done.out
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_an_action_that_cannot_be_answered_is_one_line(folder: Path) -> None:
    connector = CONNECTOR.replace("output: { id: string }", "output: { id: { type: string, pattern: '^(?=a)b$' } }")
    (folder / "connectors" / "shop.connector.yaml").write_text(connector)
    done = workfile(folder, "explore", "safe.workfile.yaml")
    assert done.code == 2
    assert "no default answer for `shop.charge`" in done.err
    assert "Traceback" not in done.err


def test_a_workfile_with_errors_is_not_explored(folder: Path) -> None:
    (folder / "bad.workfile.yaml").write_text(
        SAFE.replace("shop.look", "shop.nothing").replace("name: safe", "name: bad")
    )
    done = workfile(folder, "explore", "bad.workfile.yaml", "--format", "json")
    assert done.code == 1
    assert done.json["findings"][0]["rule"] == "unknown-action"


@pytest.mark.parametrize("text", ["", "\x00", "steps: [", "workfile: '1.0'\nname: x\nsteps: []\n"])
def test_odd_files_are_refused_or_explored(folder: Path, text: str) -> None:
    (folder / "odd.workfile.yaml").write_text(text)
    done = workfile(folder, "explore", "odd.workfile.yaml")
    assert done.code in (0, 1, 2)
    assert "Traceback" not in done.err
    assert "internal error" not in done.err


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "odd.workfile.yaml").write_bytes(b"workfile: '1.0'\nname: \xff\xfe\n")
    done = workfile(folder, "explore", "odd.workfile.yaml")
    assert done.code in (1, 2)
    assert "internal error" not in done.err
