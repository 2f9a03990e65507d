"""The page for users says what the code does."""

from __future__ import annotations

from pathlib import Path

from sim_runtime.qualify import extension
from sim_runtime.qualify.names import REFUSALS, RUNGS, SINGLE_INSTANCE_ROWS, SUITE_NAME
from sim_runtime.qualify.verify import EXIT_CODES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "qualification.md").read_text(encoding="utf-8")


def test_the_table_of_refusals_is_that_of_the_code() -> None:
    lines = PAGE.partition("### Refusals\n")[2].strip().splitlines()
    assert lines[2:] == [f"| `{name}` | {meaning} |" for name, meaning in REFUSALS.items()]


def test_rungs_rows_outcomes_and_names_are_on_the_page() -> None:
    rows = [name.rpartition(".")[2] for name in SINGLE_INSTANCE_ROWS]
    outcomes = [f"| {code} | `{outcome}` |" for outcome, code in EXIT_CODES.items()]
    for name in (*RUNGS, *rows, *outcomes, SUITE_NAME, extension.MEMBER, *extension.OVER):
        assert name in PAGE
