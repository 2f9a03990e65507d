"""Static requirements: the cases that would fail if one were broken, by requirement id (``REQUIREMENTS.toml``)."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.corpus import FOLDER, check_root, roots
from tests.conformance.expectations import Found, compare, load_expectations

CASES: dict[str, list[str]] = tomllib.loads((FOLDER / "REQUIREMENTS.toml").read_text(encoding="utf-8"))


@cache
def findings_under(root: Path) -> dict[Path, list[Found]]:
    return check_root(root)


def root_of(path: Path) -> Path:
    return next(root for root in roots() if path.is_relative_to(root))


@pytest.mark.parametrize(
    "files",
    [pytest.param(files, id=name, marks=pytest.mark.requirement(name)) for name, files in CASES.items()],
)
def test_the_cases_of_a_requirement(files: list[str]) -> None:
    for file in files:
        path = FOLDER / file
        difference = compare(load_expectations(path), findings_under(root_of(path))[path])
        assert not difference, f"{file}\n{difference}"


@pytest.mark.parametrize(("name", "files"), CASES.items(), ids=CASES)
def test_a_requirement_has_a_case_that_can_fail(name: str, files: list[str]) -> None:
    """A case that expects a finding fails when the analyzer is silent; a silent case alone is not enough."""
    expected = [each for file in files for each in load_expectations(FOLDER / file)]
    structural = {"D-WAIT-10", "D-WAIT-11", "D-AMB-06", "D-UNDO-01", "D-ACT-01"}
    assert expected or name in structural, f"{name}: every case of it expects nothing"
