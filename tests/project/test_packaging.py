"""The version, the lock, the package's data, the hooks and the action."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version
from ruamel.yaml import YAML

from analyzer.__about__ import __version__

ROOT = Path(__file__).resolve().parents[2]
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
    hooks = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    assert [hook["id"] for hook in hooks] == ["workfile-check", "workfile-format"]
    # They are called with files by name, which `exclude` does not touch otherwise.
    assert all("--force-exclude" in hook["entry"].split() for hook in hooks)
    taken = ["Workfile", "a/Workfile", "a.workfile.yaml", "a/b.workfile.yml", "c.connector.yaml", "o.overlay.yaml"]
    passed_over = ["workfile.toml", "MyWorkfile", "a.yaml", "a.workfile.yaml.orig", "Workfile/readme.md", "s.scenario"]
    for hook in hooks:
        pattern = re.compile(hook["files"])
        assert all(pattern.search(name) for name in [*taken, "scenarios/s.scenario.yaml"])
        assert not any(pattern.search(name) for name in passed_over)
        assert hook["entry"].split()[0] == "workfile"


def test_the_action_never_puts_an_input_into_a_script() -> None:
    """Text of a workflow's author would become a command there."""
    action = YAML(typ="safe").load(ROOT / "action.yml")
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)
