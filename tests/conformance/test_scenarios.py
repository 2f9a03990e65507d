"""Scenario files give exactly the findings that their comments expect: rule, line, column."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from analyzer.driver import Options, check_files
from tests.conformance.corpus import FOLDER
from tests.conformance.expectations import Found, compare, load_expectations
from workfile_cli.engine import ENGINE

SCENARIOS = FOLDER / "scenarios"
CASES = sorted(SCENARIOS.glob("*.scenario.yaml"))
RULES = {"scenario-invalid", "answer-invalid", "answer-breaks-output", "event-unmatched", "crash-unmatched"}


@cache
def found_in_all() -> dict[Path, list[Found]]:
    outcome = check_files(ENGINE.find_files([str(SCENARIOS)]).files, Options(cache=False, jobs=1, engine=ENGINE))
    assert outcome.problems == []
    found: dict[Path, list[Found]] = {Path(path): [] for path in outcome.files}
    for finding in outcome.findings:
        place = Found(finding.range.start_line, finding.range.start_column, finding.rule)
        found[Path(finding.path)].append(place)
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.partition(".")[0])
def test_a_scenario_gives_exactly_what_it_expects(path: Path) -> None:
    difference = compare(load_expectations(path), found_in_all()[path])
    assert not difference, f"{path.name}\n{difference}"


def test_the_files_beside_them_give_what_they_expect() -> None:
    others = {path: found for path, found in found_in_all().items() if path not in CASES}
    assert [path.name for path, found in others.items() if compare(load_expectations(path), found)] == []


def test_every_rule_of_the_family_has_a_case() -> None:
    assert {each.rule for path in CASES for each in load_expectations(path)} >= RULES
