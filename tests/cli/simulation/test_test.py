"""``workfile test``: outcomes, differences and reports."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.cli.simulation.conftest import SCENARIO, Put, Run

FAILING = SCENARIO.replace("shop.charge: 1,", "shop.charge: 2,").replace("clock: 15m", "clock: 16m")
UNFIRED = SCENARIO.replace("path: paid }, down", "path: paid, nth: 2 }, down")
BROKEN = SCENARIO.replace("amount: 5 }", "amount: 5 ", 1)


@pytest.fixture
def four(put: Put) -> None:
    put("s/failing.scenario.yaml", FAILING.replace("sell.workfile", "../sell.workfile"))
    put("s/unfired.scenario.yaml", UNFIRED.replace("sell.workfile", "../sell.workfile"))
    put("s/broken.scenario.yaml", BROKEN.replace("sell.workfile", "../sell.workfile"))


def test_a_scenario_that_passes(workfile: Run) -> None:
    ran = workfile("test", "sell.scenario.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "passed  sell.scenario.yaml\n1 scenario: 1 passed\n"


@pytest.mark.usefixtures("four")
def test_json(workfile: Run) -> None:
    ran = workfile("test", "--format", "json")
    assert ran.code == 1
    report = json.loads(ran.out)
    assert report["version"] == 1
    assert report["summary"] == {"passed": 1, "failed": 1, "error": 2}
    by_path = {each["path"]: each for each in report["scenarios"]}
    assert list(by_path) == [
        "s/broken.scenario.yaml",
        "s/failing.scenario.yaml",
        "s/unfired.scenario.yaml",
        "sell.scenario.yaml",
    ]
    assert by_path["sell.scenario.yaml"] == {"path": "sell.scenario.yaml", "outcome": "passed", "differences": []}
    assert by_path["s/failing.scenario.yaml"] == {
        "path": "s/failing.scenario.yaml",
        "outcome": "failed",
        "differences": [
            {"at": "effects.shop.charge", "expected": 2, "actual": 1},
            {"at": "clock", "expected": "16m", "actual": "15m"},
        ],
    }
    assert by_path["s/broken.scenario.yaml"]["outcome"] == "error"
    assert "yaml-syntax" in by_path["s/broken.scenario.yaml"]["messages"][0]
    assert by_path["s/unfired.scenario.yaml"]["messages"] == [
        "the crash after `event.accepted` number 2 at `paid` never came"
    ]


@pytest.mark.usefixtures("four")
def test_text(workfile: Run) -> None:
    ran = workfile("test", "s", "sell.scenario.yaml")
    assert ran.code == 1
    assert (
        "failed  s/failing.scenario.yaml\n        effects.shop.charge: `shop.charge` took effect 1 time, expected 2\n"
        in ran.out
    )
    assert ran.out.endswith("4 scenarios: 1 passed, 1 failed, 2 error\n")


@pytest.mark.usefixtures("four")
def test_junit(workfile: Run) -> None:
    ran = workfile("test", "--format", "junit")
    assert ran.code == 1
    suites = ET.fromstring(ran.out)
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("4", "1", "2")
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    assert len(list(cases["sell.scenario.yaml"])) == 0
    failure = cases["s/failing.scenario.yaml"].find("failure")
    assert failure is not None
    assert failure.get("message") == "effects.shop.charge: `shop.charge` took effect 1 time, expected 2"
    assert cases["s/broken.scenario.yaml"].find("error") is not None
    times = [float(case.get("time", "-1")) for case in cases.values()]
    assert all(0 <= each < 60 for each in times)
    assert float(suites.get("time", "-1")) == pytest.approx(sum(times), abs=0.01)


def test_a_folder_without_scenarios(workfile: Run, put: Put) -> None:
    put("empty/a.txt", "")
    ran = workfile("test", "empty")
    assert (ran.code, ran.out) == (0, "")
    assert "no scenarios here" in ran.err


@pytest.mark.parametrize(
    ("path", "words"), [("none", "there is no such file or folder"), ("sell.workfile.yaml", "is not a scenario")]
)
def test_a_path_that_cannot_be_tested(workfile: Run, path: str, words: str) -> None:
    ran = workfile("test", path)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("inputs: { amount: 1 }\n", "1:1", "lacks `workfile`"),
        ("- 1\n", "1:1", "must be a map, but this is a list"),
        ("workfile: gone.workfile.yaml\n", "1:11", "cannot be read: there is no such file"),
        ("workfile: sell.workfile.yaml\ntrigger: { amount: 1 }\n", "2:10", "has no root `trigger`"),
        ("", "1:1", "The scenario is empty"),
    ],
)
def test_a_scenario_that_cannot_be_run_says_where_and_why(
    workfile: Run, put: Put, text: str, place: str, words: str
) -> None:
    put("s/x.scenario.yaml", text.replace("sell.", "../sell."))
    ran = workfile("test", "s", "--format", "json")
    (found,) = json.loads(ran.out)["scenarios"]
    assert (ran.code, found["outcome"], len(found["messages"])) == (1, "error", 1)
    assert found["messages"][0].startswith(f"s/x.scenario.yaml:{place}: scenario-invalid: ")
    assert words in found["messages"][0]


def test_all_faults_of_a_scenario_are_told_at_once(workfile: Run, put: Put) -> None:
    put("x.scenario.yaml", "workfile: sell.workfile.yaml\nactions: { shop.charge: { succeed: { id: 5 } } }\nfoo: 1\n")
    (found,) = json.loads(workfile("test", "x.scenario.yaml", "--format", "json").out)["scenarios"]
    assert [each.split(": ")[1] for each in found["messages"]] == ["answer-breaks-output", "scenario-invalid"]


def test_what_is_only_doubtful_does_not_stop_a_scenario(workfile: Run, put: Put) -> None:
    put("x.scenario.yaml", "workfile: sell.workfile.yaml\nactions: { shop.charge: { succeed: { id: 5 } } }\n")
    (found,) = json.loads(workfile("test", "x.scenario.yaml", "--format", "json").out)["scenarios"]
    assert found["outcome"] == "passed"


def test_a_call_that_is_missing_is_told_with_paths_and_times(workfile: Run, put: Put) -> None:
    calls = "  calls: [{ action: shop.charge, at: 90m }]\n"
    put("x.scenario.yaml", SCENARIO + calls)
    ran = workfile("test", "x.scenario.yaml")
    assert '`{"action": "shop.charge", "at": "1h30m"}`' in ran.out
    assert "the calls are 1 `shop.charge` at `charge` after 0s, 2" in ran.out
