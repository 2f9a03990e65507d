"""The examples: complete, clean, formatted, and each with a scenario; and so are the benchmark's Workfiles."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from benchmarks.generate import STEPS_MIN, workfile_text, write_project

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
WORKFILES = sorted(EXAMPLES.glob("*.workfile.yaml"))
SCENARIOS = sorted(EXAMPLES.glob("scenarios/*.scenario.yaml"))

# What somebody who learns the language should find an example of.
SHOWN = (
    *("wf.wait_for:", "wf.wait:", "wf.if:", "wf.switch:", "wf.parallel:", "wf.for_each:", "wf.group:", "wf.call:"),
    *("wf.let:", "wf.fail:", "wf.stop:", "states:", "timers:", "on_enter:", "routes:", "trigger:", "connectors:"),
    *("when:", "timeout:", "retry:", "catch:", "on_fail:", "on_unknown: halt", "on_unknown: reconcile", "undo:"),
    *("idempotency_key:", "recovery:", "on_branch_fail:", "on_iteration_fail:", "concurrency:", "then: escalate"),
)


def load(path: Path) -> dict[str, Any]:
    # The C parser refuses a timestamp in a flow map.
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load(path)
    return loaded


def findings(path: str, cwd: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "workfile_cli", "check", "--no-cache", "--format", "json", path]
    env = {"PYTHONPATH": str(ROOT)}
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=env)
    assert finished.returncode in (0, 1), finished.stderr
    found: list[dict[str, Any]] = json.loads(finished.stdout)["findings"]
    return found


def test_examples_are_clean() -> None:
    """One says on purpose what a redo may not be able to repeat, and is told so."""
    found = findings("examples", ROOT)
    assert [f"{finding['path']} {finding['rule']} {finding['severity']}" for finding in found] == [
        "examples/order.workfile.yaml redo-may-hold information",
        "examples/order.workfile.yaml redo-may-hold information",
    ]


def test_every_part_of_the_language_is_shown() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFILES)
    assert [part for part in SHOWN if not re.search(rf"(^|[\s{{]){re.escape(part)}", text, re.MULTILINE)] == []


def test_every_workfile_but_called_ones_has_a_scenario() -> None:
    simulated = {load(path)["workfile"] for path in SCENARIOS}
    called = {
        name for path in WORKFILES for name in re.findall(r"wf\.call: ([\w-]+)", path.read_text(encoding="utf-8"))
    }
    without = {f"../{path.name}" for path in WORKFILES if load(path)["name"] not in called}
    assert without <= simulated
    assert all((EXAMPLES / "scenarios" / target).resolve().exists() for target in simulated)


def count_steps(steps: list[dict[str, Any]]) -> int:
    total = 0
    for step in steps:
        (body,) = step.values()
        lists = [body.get(key) for key in ("then", "else", "default", "steps", "wf.group")]
        lists += [*body.get("cases", {}).values(), *body.get("wf.parallel", {}).values()]
        total += 1 + sum(count_steps(found) for found in lists if found)
    return total


@pytest.mark.parametrize("steps", [STEPS_MIN, 20, 99, 100, 101])
def test_generated_workfiles_have_as_many_steps_as_asked_for(steps: int) -> None:
    text = workfile_text(steps)
    assert count_steps(YAML(typ="safe").load(text)["steps"]) == steps
    assert workfile_text(steps) == text


def test_generated_workfiles_are_of_the_size_that_they_claim() -> None:
    assert 150 < len(workfile_text(1_000)) / 1_000 < 166


@pytest.mark.parametrize("steps", [STEPS_MIN, 200])
def test_generated_workfiles_are_clean(steps: int, tmp_path: Path) -> None:
    write_project(tmp_path, 2, steps)
    assert [(finding["path"], finding["rule"], finding["message"]) for finding in findings(".", tmp_path)] == []
