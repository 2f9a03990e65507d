"""The pytest plugin: scenario files as tests, the fixture, the switches, and that it costs nothing when unused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.simulation.conftest import FILES, SCENARIO

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[3]
#: Registers the plugin whether the installed distribution brings it or not, and leaves out what is not under test.
OPTIONS = ("-p", "no:workfile", "-p", "sim_runtime.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:asyncio")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a small project and nothing else."""
    for name, text in FILES.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pytester


def ran(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*OPTIONS, *options)


def test_a_scenario_is_a_test(project: pytest.Pytester) -> None:
    result = ran(project, "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*sell.scenario.yaml::sell PASSED*"])


def test_a_difference_is_told_in_words_without_a_traceback(project: pytest.Pytester) -> None:
    (project.path / "bad.scenario.yaml").write_text(SCENARIO.replace("shop.charge: 1,", "shop.charge: 2,"))
    result = ran(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*scenario: bad*", "effects.shop.charge: `shop.charge` took effect 1 time, expected 2"]
    )
    assert "Traceback" not in result.stdout.str()
    assert "pytest_plugin.py" not in result.stdout.str()


def test_a_scenario_that_cannot_be_played_shows_the_findings(project: pytest.Pytester) -> None:
    (project.path / "bad.scenario.yaml").write_text(SCENARIO.replace("inputs:", "input:"))
    result = ran(project, "bad.scenario.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["bad.scenario.yaml:2:1: scenario-invalid: `input` is not a key*"])


def test_a_crash_that_never_came_is_a_failure(project: pytest.Pytester) -> None:
    text = SCENARIO.replace("path: paid }, down", "path: paid, nth: 2 }, down")
    (project.path / "bad.scenario.yaml").write_text(text)
    result = ran(project, "bad.scenario.yaml")
    result.stdout.fnmatch_lines(["the crash after `event.accepted` number 2 at `paid` never came"])


@pytest.mark.parametrize("way", ["option", "setting"])
def test_it_can_be_switched_off(project: pytest.Pytester, way: str) -> None:
    if way == "setting":
        project.makeini("[pytest]\nworkfile_scenarios = false\n")
    result = ran(project, *(["--no-workfile-scenarios"] if way == "option" else []))
    result.assert_outcomes()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_fixture(project: pytest.Pytester) -> None:
    folder = project.path / "tests"
    folder.mkdir()
    (folder / "test_sell.py").write_text(
        """
import pytest
from datetime import timedelta

def test_with_the_vocabulary_of_scenarios(workfile_run):
    run = workfile_run(
        "../sell.workfile.yaml",
        inputs={"amount": 5},
        actions={"shop.charge": [{"fail": {"code": "busy"}}, {"succeed": {"id": "c-1"}}]},
        events=[{"at": timedelta(minutes=10), "deliver": "shop.paid", "payload": {"id": "c-1", "amount": 5}}],
    )
    assert run.status == "succeeded"
    assert run.result["status"] == "received"
    assert run.binding("paid.status") == "received"
    assert (run.effects("shop.charge"), run.invocations("shop.charge")) == (1, 2)
    run.expect(status="succeeded", effects={"shop.print": 1}, clock="10m")
    with pytest.raises(KeyError):
        run.binding("nothing.here")

def test_with_a_scenario_file(workfile_run):
    workfile_run(scenario="../sell.scenario.yaml").expect(status="held", holds=["receipt"])

def test_that_fails(workfile_run):
    workfile_run("../sell.workfile.yaml", inputs={"amount": 5}).expect(status="failed", clock="2h")
"""
    )
    result = ran(project, "tests")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *AssertionError: status: the status is `succeeded`, expected `failed`",
            "E *clock: the time that passed is 1h, expected 2h",
        ]
    )
    assert "simulation.py" not in result.stdout.str()


def test_a_file_that_changed_is_read_again(project: pytest.Pytester) -> None:
    ran(project).assert_outcomes(passed=1)
    path = project.path / "sell.scenario.yaml"
    path.write_text(SCENARIO.replace("status: held", "status: failed  "))
    ran(project).assert_outcomes(failed=1)
    path.write_text(SCENARIO)
    manifest = project.path / "connectors" / "shop.connector.yaml"
    manifest.write_text(manifest.read_text().replace("{ page: string }", "{ page: string, n: integer }"))
    ran(project).assert_outcomes(passed=1)


def test_nothing_of_the_simulator_is_loaded_before_it_is_used(project: pytest.Pytester) -> None:
    (project.path / "sell.scenario.yaml").unlink()
    (project.path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    code = (
        f"import sys, pytest\npytest.main([{', '.join(map(repr, OPTIONS))}, '-q'])\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('sim_runtime', 'analyzer')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 passed" in done.stdout
    assert done.stdout.splitlines()[-1] == "['sim_runtime', 'sim_runtime.pytest_plugin']"


def test_our_own_suite_is_run_without_it(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.is_blocked("workfile")
    assert not request.config.pluginmanager.has_plugin("sim_runtime.pytest_plugin")
