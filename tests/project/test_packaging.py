"""The version, the lock, the package's data, the hooks and the action."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from ruamel.yaml import YAML

from analyzer.__about__ import __version__
from analyzer.workspace.project import forget_projects
from workfile_cli.main import main

ROOT = Path(__file__).resolve().parents[2]
HOOKS: dict[str, dict[str, Any]] = {hook["id"]: hook for hook in YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pinned() -> dict[str, Version]:
    lines = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", name).lower(): Version(version) for name, version in pins}


def test_the_version_stands_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "analyzer/__about__.py"
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    Version(__version__)


def test_the_lock_pins_every_requirement_inside_its_bounds() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    pins = pinned()
    for text in [*project["dependencies"], *extras["dev"], *extras["bench"]]:
        requirement = Requirement(text)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        assert requirement.specifier.contains(pins[name]), text


def test_bounds_are_lower_bounds_only() -> None:
    for text in PROJECT["project"]["dependencies"]:
        assert [spec.operator for spec in Requirement(text).specifier] == [">="], text


def test_every_package_ships_its_types() -> None:
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert (ROOT / package / "py.typed").exists(), package


def test_hooks_take_exactly_the_files_of_the_language() -> None:
    hooks = [hook for hook in HOOKS.values() if hook.get("pass_filenames", True)]
    assert [hook["id"] for hook in hooks] == ["workfile-check-changed", "workfile-format"]
    # They are called with files by name, which `exclude` does not touch otherwise.
    assert all("--force-exclude" in hook["entry"].split() for hook in hooks)
    taken = ["Workfile", "a/Workfile", "a.workfile.yaml", "a/b.workfile.yml", "c.connector.yaml", "o.overlay.yaml"]
    passed_over = ["workfile.toml", "MyWorkfile", "a.yaml", "a.workfile.yaml.orig", "Workfile/readme.md", "s.scenario"]
    for hook in hooks:
        assert "always_run" not in hook
        pattern = re.compile(hook["files"])
        assert all(pattern.search(name) for name in [*taken, "scenarios/s.scenario.yaml"])
        assert not any(pattern.search(name) for name in passed_over)
        assert hook["entry"].split()[0] == "workfile"


def test_the_hook_sees_what_a_manifest_breaks_in_files_that_the_commit_does_not_touch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As pre-commit calls the hooks: with the files of the commit, or with none where it is told to pass none."""
    manifest = tmp_path / "connectors" / "ledger.connector.yaml"
    manifest.parent.mkdir()
    manifest.write_text("connector: ledger\nactions: { lookup: { effect: read } }\n", encoding="utf-8")
    steps = "steps: [{ look: { ledger.lookup: {} } }]\n"
    (tmp_path / "claim.workfile.yaml").write_text(f'workfile: "1.0"\nname: claim\n{steps}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    whole, changed = HOOKS["workfile-check"], HOOKS["workfile-check-changed"]
    assert (whole["pass_filenames"], whole["always_run"], whole["require_serial"]) == (False, True, True)
    program, *arguments = whole["entry"].split()
    assert program == "workfile"
    assert main(arguments) == 0
    manifest.write_text("connector: ledger\nactions: { find: { effect: read } }\n", encoding="utf-8")
    forget_projects()
    assert main([*changed["entry"].split()[1:], "connectors/ledger.connector.yaml"]) == 0
    capsys.readouterr()
    assert main(arguments) == 1
    assert "unknown-action" in capsys.readouterr().out
    manifest.unlink()  # a commit without any file of ours to pass
    forget_projects()
    assert main(arguments) == 1
    assert "unknown-connector" in capsys.readouterr().out


def test_the_action_never_puts_an_input_into_a_script() -> None:
    """Text of a workflow's author would become a command there."""
    action = YAML(typ="safe").load(ROOT / "action.yml")
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)


STUB = """#!/bin/sh
echo "<$*>"
case "$1" in check) exit ${CHECK:-0};; *) exit ${TEST:-0};; esac
"""


def in_a_shell(
    script: str, folder: Path, shell: str = "bash --noprofile --norc -eo pipefail", **environment: str
) -> int:
    """The exit status of a script as a service runs it, where `workfile` is a stub that ends as it is told to."""
    (folder / "workfile").write_text(STUB, encoding="utf-8")
    (folder / "workfile").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        [*shell.split(), "-c", script],
        cwd=folder,
        env={"PATH": path, "RUNNER_TEMP": str(folder), **environment},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode


@pytest.mark.parametrize(("status", "expected", "written"), [("0", 0, True), ("1", 1, True), ("2", 1, False)])
def test_the_action_leaves_no_empty_file_to_upload(tmp_path: Path, status: str, expected: int, written: bool) -> None:
    action = YAML(typ="safe").load(ROOT / "action.yml")
    script = action["runs"]["steps"][-1]["run"]
    asked = {"WORKFILE_PATHS": "a b", "WORKFILE_ARGS": "--strict", "WORKFILE_SARIF": "out.sarif", "CHECK": status}
    assert in_a_shell(script, tmp_path, **asked) == expected
    found = tmp_path / "out.sarif"
    assert found.exists() == written
    if written:
        assert found.read_text(encoding="utf-8") == "<check --strict --format sarif -- a b>\n"


@pytest.mark.parametrize(("check", "test"), [("0", "0"), ("1", "0"), ("0", "1"), ("2", "1")])
def test_the_job_for_gitlab_writes_both_reports(tmp_path: Path, check: str, test: str) -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    text = next(each for each in fences if "\n  script:" in each)
    job = YAML(typ="safe").load(text)["workfiles"]
    status = in_a_shell("\n".join(job["script"]), tmp_path, "sh -e", CHECK=check, TEST=test)
    assert status == int(test if test != "0" else check)
    assert all((tmp_path / name).read_text(encoding="utf-8") for name in job["artifacts"]["reports"]["junit"])
