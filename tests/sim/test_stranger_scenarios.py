"""Whole scenarios, worked out by hand from the language page, pass under ``workfile test``."""

from __future__ import annotations

from pathlib import Path

import pytest

from workfile_cli.scenarios import run_scenario

RUNS = Path(__file__).parents[1] / "conformance" / "scenarios" / "runs"
CASES = sorted(RUNS.rglob("*.scenario.yaml"))


def test_there_are_scenarios() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.relative_to(RUNS).as_posix().partition(".")[0])
def test_a_scenario_passes(path: Path) -> None:
    result = run_scenario(str(path))
    words = [*result.messages, *(f"{each.at}: {each.words}" for each in result.differences)]
    assert (result.outcome, words) == ("passed", [])
