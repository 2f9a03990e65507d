"""The coverage options of ``workfile test``: what is counted beside the scenarios, and where it is written."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from analyzer.shown import shown_path
from workfile_cli import engine
from workfile_cli.console import ColourChoice, error_line, note, write_result
from workfile_cli.simulating import styler, write_file

if TYPE_CHECKING:
    from sim_runtime.coverage.measure import Coverage

COMMAND = "workfile test"


def add_unplayed(coverage: Coverage, paths: list[str]) -> None:
    """Count the Workfiles in the searched folders that no scenario plays; one with errors is only told about."""
    from analyzer.workspace.files import file_kind
    from sim_runtime.simulation import CannotSimulate, prepare

    folders = [path for path in paths if os.path.isdir(path)]  # noqa: PTH112
    found = engine.ENGINE.find_files(folders).files if folders else []
    for path in found:
        if file_kind(path) != "workflow" or path in coverage.files:
            continue
        try:
            prepared = prepare(path)
        except CannotSimulate as error:
            note(f"not counted in the coverage: {error}")
            continue
        coverage.add_workfile(prepared.project, prepared.workflow)


def print_coverage(coverage: Coverage, colour: ColourChoice, *, to_stdout: bool) -> None:
    """The table, with the results, or on standard error where they are for a program."""
    from sim_runtime.coverage.report import coverage_text

    text = coverage_text(coverage, shown_path, styler(colour))
    if not text:
        return
    if to_stdout:
        write_result("\n" + text)
    else:
        sys.stderr.write(text)


def write_coverage(coverage: Coverage, html: str | None, data: str | None) -> None:
    """Write the files that were asked for. Raises ``click.UsageError``."""
    if html is not None:
        from sim_runtime.coverage.page import coverage_page

        write_file(html, coverage_page(coverage, shown_path), "the coverage")
    if data is not None:
        from sim_runtime.coverage.report import coverage_json

        text = json.dumps(coverage_json(coverage, shown_path), indent=1, ensure_ascii=False) + "\n"
        write_file(data, text, "the coverage")


def is_enough(coverage: Coverage, wanted: float) -> bool:
    """Whether so many percent are covered; says so where not, also where nothing is there to be covered."""
    from sim_runtime.coverage.measure import percent

    if not coverage.total:
        error_line("nothing can be covered here, as there are no Workfiles: name the folder that has them", COMMAND)
        return False
    share = percent(coverage.covered, coverage.total)
    if share >= wanted:
        return True
    error_line(f"the coverage is {share:.1f} %, less than the {wanted:g} % that `--fail-under` asks for", COMMAND)
    return False
