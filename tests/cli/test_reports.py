"""What the commands print as JSON is what the published schemas say, on every file of the corpus and the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reported import check_report
from workfile_cli import reports
from workfile_cli.main import main

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "conformance"
SCENARIOS = sorted((ROOT / "examples").rglob("*.scenario.yaml"))
FAULTY = sorted(CORPUS / "scenarios" / f"{name}.scenario.yaml" for name in ("answers", "names", "shapes", "syntax"))


def _report(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> dict[str, Any]:
    main([*arguments, "--format", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    check_report(name, report)
    return report


@pytest.mark.parametrize("folder", ["ok", "err", "projects", "scenarios"])
def testcheck_report(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = _report(capsys, "check-report", "check", "--no-cache", str(CORPUS / folder))
    assert report["files"] > 10
    assert folder == "ok" or report["findings"]


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(_report(capsys, "explain-report", "explain")["rules"]) > 70


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.workfile.yaml")), ids=lambda path: path.name)
def test_graph(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(capsys, "graph-report", "graph", str(path))["nodes"]


def _workfile_of(scenario: Path) -> Path:
    for line in scenario.read_text(encoding="utf-8").splitlines():
        if line.startswith("workfile:"):
            return scenario.parent / line.partition(":")[2].partition("#")[0].strip().strip("\"'")
    return scenario


@pytest.mark.parametrize("scenario", [*SCENARIOS, *FAULTY], ids=lambda path: path.name)
def test_run(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _workfile_of(scenario)
    code = main(["run", str(path), "--scenario", str(scenario), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    if "findings" in report:
        assert code == 1
        check_report("check-report", report)
    else:
        check_report("run-report", report)
        assert report["history"]["records"] > 0


def test_what_is_printed_instead_where_a_workfile_has_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.workfile.yaml"
    path.write_text('workfile: "1.0"\nname: aa\nsteps: [ { one: { no.such: {} } } ]\n')
    history = ["history", "impact", str(path), str(path)]
    for command in (["run", str(path)], ["explore", str(path)], history):
        assert main([*command, "--format", "json"]) == 1
        check_report("check-report", json.loads(capsys.readouterr().out))
    assert "check-report" in reports.schema("run-report")["description"]


def test_test_with_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    report = _report(capsys, "test-report", "test", "--coverage", str(ROOT / "examples"))
    check_report("coverage-report", report["coverage"])
    assert all(each["outcome"] == "passed" for each in report["scenarios"])


def test_a_failed_scenario_and_one_that_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.workfile.yaml").write_text(
        'workfile: "1.0"\nname: aa\nsteps:\n  - one: { wf.let: { x: 1 } }\nresult: "{{ one.x }}"\n'
    )
    (tmp_path / "failed.scenario.yaml").write_text("workfile: a.workfile.yaml\nexpect: { result: 2 }\n")
    (tmp_path / "broken.scenario.yaml").write_text("workfile: none.workfile.yaml\n")
    report = _report(capsys, "test-report", "test", str(tmp_path))
    assert [each["outcome"] for each in report["scenarios"]] == ["error", "failed"]


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(capsys, "doctor-report", "doctor")["checks"]
