"""Small Workfiles that the oracle once told apart from the analyzer, and their like: exact findings, and the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.expectations import Found, compare, load_expectations
from tests.typing.judge import analyse, faults_of

CASES = sorted((Path(__file__).parent / "cases").glob("*.workfile.yaml"))
#: The oracle has values as they were written: it does not put null for what a result leaves out.
TRIED = [path for path in CASES if not path.name.startswith("catch-result-optional")]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.partition(".")[0])
def test_a_case_gives_exactly_what_it_expects(path: Path) -> None:
    analysed = analyse(path.read_text(encoding="utf-8"))
    found = []
    for problem in analysed.problems:
        line, column = analysed.source.line_column(problem.start)
        found.append(Found(line + 1, column + 1, problem.rule))
    difference = compare(load_expectations(path), found)
    assert not difference, difference


@pytest.mark.parametrize("path", TRIED, ids=lambda path: path.name.partition(".")[0])
def test_the_oracle_agrees_with_a_case(path: Path) -> None:
    assert faults_of(path.read_text(encoding="utf-8")) == []
