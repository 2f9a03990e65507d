"""``workfile test --coverage`` and ``workfile run --timeline``."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.simulation.conftest import SCENARIO, Put, Run

OTHER = 'workfile: "1.0"\nname: other\nsteps: [ { a: { wf.wait: 1s } } ]\n'


def test_a_table_after_the_results(workfile: Run) -> None:
    ran = workfile("test", "--coverage")
    assert (ran.code, ran.err) == (0, "")
    results, _, table = ran.out.partition("\n\n")
    assert results.endswith("1 scenario: 1 passed")
    assert table.splitlines()[0] == "sell.workfile.yaml      7 of 10     70.0 %"
    assert "    11  paid: never times out" in table.splitlines()
    assert table.splitlines()[-1] == "coverage: 7 of 10 places, 70.0 %"


def test_workfiles_of_a_searched_folder_count_when_nothing_plays_them(workfile: Run, put: Put) -> None:
    put("more/other.workfile.yaml", OTHER)
    put("more/broken.workfile.yaml", OTHER.replace("name: other", "name: third").replace("wf.wait", "wf.wai"))
    ran = workfile("test", "--coverage")
    assert "no scenario plays it" in ran.out
    assert "coverage: 7 of 11 places, 63.6 %" in ran.out
    assert "not counted in the coverage: `more/broken.workfile.yaml` cannot be run" in ran.err
    assert "coverage: 7 of 10 places" in workfile("test", "--coverage", "sell.scenario.yaml").out


def test_json_has_a_key_only_when_asked(workfile: Run) -> None:
    report = json.loads(workfile("test", "--coverage", "--format", "json").out)
    assert report["coverage"]["total"] == 10
    assert report["coverage"]["workfiles"][0]["path"] == "sell.workfile.yaml"
    assert "coverage" not in json.loads(workfile("test", "--format", "json").out)


def test_the_table_does_not_spoil_a_report_for_programs(workfile: Run) -> None:
    ran = workfile("test", "--coverage", "--format", "junit")
    ET.fromstring(ran.out)
    assert "coverage: 7 of 10 places" in ran.err


def test_files_are_written(workfile: Run) -> None:
    ran = workfile("test", "--coverage-html", "c.html", "--coverage-json", "c.json")
    assert (ran.code, ran.err) == (0, "")
    assert "coverage" not in ran.out
    assert Path("c.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(Path("c.json").read_text(encoding="utf-8"))["percent"] == 70.0


@pytest.mark.parametrize(("wanted", "code"), [("70", 0), ("71", 1)])
def test_too_little_fails(workfile: Run, wanted: str, code: int) -> None:
    ran = workfile("test", "--fail-under", wanted)
    assert ran.code == code
    assert ("less than the 71 % that `--fail-under` asks for" in ran.err) == bool(code)


def test_nothing_to_cover_is_too_little(workfile: Run) -> None:
    Path("nothing").mkdir()
    ran = workfile("test", "--fail-under", "0", "nothing")
    assert (ran.code, "nothing can be covered here" in ran.err) == (1, True)


def test_a_failed_scenario_stays_a_failure_and_counts(workfile: Run, put: Put) -> None:
    put("sell.scenario.yaml", SCENARIO.replace("clock: 15m", "clock: 16m"))
    ran = workfile("test", "--coverage", "--fail-under", "10")
    assert ran.code == 1
    assert "coverage: 7 of 10 places" in ran.out


@pytest.mark.parametrize("options", [["--fail-under", "101"], ["--coverage-html", "no/such/folder/c.html"]])
def test_options_that_cannot_be(workfile: Run, options: list[str]) -> None:
    ran = workfile("test", *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(("name", "start"), [("run.svg", "<svg "), ("run.html", "<!doctype html>")])
def test_a_run_is_drawn(workfile: Run, name: str, start: str) -> None:
    plain = workfile("run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml")
    ran = workfile("run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml", "--timeline", name)
    assert (ran.code, ran.out, ran.err) == (0, plain.out, "")
    text = Path(name).read_text(encoding="utf-8")
    assert text.startswith(start)
    assert "sell: held" in text
    assert "crash, down 5m" in text


def test_a_drawing_needs_a_name_that_says_what_it_is(workfile: Run) -> None:
    ran = workfile("run", "sell.workfile.yaml", "--timeline", "run.png")
    assert (ran.code, ran.out) == (2, "")
    assert "must end in `.html` or `.svg`" in ran.err
    assert not Path("run.png").exists()
