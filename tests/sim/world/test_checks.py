"""Checks of scenarios beyond the corpus: what a result depends on, and Workfiles of another configuration."""

from __future__ import annotations

from pathlib import Path

from analyzer.check import FileResult, check_file
from analyzer.workspace.project import forget_projects, project_for
from sim_runtime.rules.engine import register

CONNECTOR = 'connector: lab\nversion: "1"\nactions:\n  get: { effect: read, output: { v: string } }\n'
WORKFILE = 'workfile: "1.0"\nname: w\nsteps:\n  - a: { lab.get: {} }\nresult: "{{ a.v }}"\n'


def found(path: Path) -> FileResult:
    register()
    forget_projects()
    return check_file(project_for(str(path)), str(path))


def layout(folder: Path, scenario: str) -> Path:
    """A Workfile with a configuration of its own, and a scenario beside that folder."""
    inner = folder / "inner"
    (inner / "connectors").mkdir(parents=True)
    (inner / "workfile.toml").write_text("", encoding="utf-8")
    (folder / "workfile.toml").write_text("", encoding="utf-8")
    (inner / "connectors" / "lab.connector.yaml").write_text(CONNECTOR, encoding="utf-8")
    (inner / "w.workfile.yaml").write_text(WORKFILE, encoding="utf-8")
    path = folder / "s.scenario.yaml"
    path.write_text(f"workfile: inner/w.workfile.yaml\n{scenario}", encoding="utf-8")
    return path


def test_a_workfile_is_resolved_under_its_own_configuration(tmp_path: Path) -> None:
    path = layout(tmp_path, "actions: { lab.get: { succeed: { v: x } } }\nexpect: { bindings: { a.v: x } }\n")
    result = found(path)
    assert [each.message for each in result.findings] == []
    manifest = tmp_path / "inner" / "connectors" / "lab.connector.yaml"
    assert {str(manifest), str(tmp_path / "inner" / "w.workfile.yaml")} <= set(result.dependencies)


def test_a_broken_answer_there_is_found(tmp_path: Path) -> None:
    path = layout(tmp_path, "actions: { lab.get: { succeed: { v: 1 } } }\n")
    assert [each.rule for each in found(path).findings] == ["answer-breaks-output"]


def test_a_crash_is_not_looked_for_in_a_workfile_with_errors(tmp_path: Path) -> None:
    path = layout(tmp_path, "crashes: [{ after: { seq: 999 } }]\n")
    assert [each.rule for each in found(path).findings] == ["crash-unmatched"]
    (tmp_path / "inner" / "w.workfile.yaml").write_text(WORKFILE.replace("a.v", "b.v"), encoding="utf-8")
    assert [each.rule for each in found(path).findings] == []


def test_a_run_without_an_end_is_no_finding(tmp_path: Path) -> None:
    path = layout(tmp_path, "crashes: [{ after: { seq: 99999999 } }]\n")
    endless = (
        'workfile: "1.0"\nname: w\ninitial: one\nstates:\n'
        "  one: { steps: [a: { lab.get: {} }], routes: [{ to: two }] }\n"
        "  two: { steps: [w: { wf.wait: 1s }], routes: [{ to: one }] }\n"
    )
    (tmp_path / "inner" / "w.workfile.yaml").write_text(endless, encoding="utf-8")
    assert [each.rule for each in found(path).findings] == []
