"""``workfile explore``: every way that a run can go."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from workfile_cli.console import ColourChoice, error_line, note, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.options import colour_option, format_option
from workfile_cli.simulating import changes_of, print_refusal, styler, write_file

if TYPE_CHECKING:
    from sim_runtime.explore import Bounds, Exploration

COMMAND = "workfile explore"
MAX_JOBS = 64


@click.command("explore")
@click.argument("file", metavar="FILE")
@click.option("--scenario", metavar="SCENARIO", help="The outside world that deviations start from.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=YAML", help="An input; what is missing is made up.")
@click.option(
    "--trigger", metavar="FILE", help="The payload of the root trigger, YAML or JSON (`-` is standard input)."
)
@click.option(
    "--crashes", metavar="N", type=click.IntRange(0, 5), default=1, show_default=True, help="Crashes in one run."
)
@click.option(
    "--deviations",
    metavar="N",
    type=click.IntRange(0, 5),
    default=1,
    show_default=True,
    help="Steps with unexpected answers or events in one run.",
)
@click.option(
    "--cancellations",
    metavar="N",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Cancellations in one run: an operator cancels it wherever it waits.",
)
@click.option("--down", metavar="TIME", default="0s", show_default=True, help="How long a crashed executor is down.")
@click.option("--budget", metavar="TIME", default="1m", show_default=True, help="End after this time.")
@click.option("--states", type=click.IntRange(1), metavar="N", help="End after so many states.  [default: 300000]")
@click.option("--require-complete", is_flag=True, help="The exit status is 1 too when a bound ended the exploration.")
@click.option(
    "--write-counterexamples", "folder", metavar="DIR", help="Write scenarios of what was found to this folder."
)
@click.option("--html", metavar="FILE", help="Write the report as one page, with pictures, to this file.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, MAX_JOBS), default=1, show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Explore on the Dask cluster of this scheduler.")
@format_option("text", "json")
@colour_option
def explore(
    file: str,
    scenario: str | None,
    inputs: tuple[str, ...],
    trigger: str | None,
    crashes: int,
    deviations: int,
    cancellations: int,
    down: str,
    budget: str,
    states: int | None,
    require_complete: bool,
    folder: str | None,
    html: str | None,
    jobs: int,
    dask: str | None,
    format_: Literal["text", "json"],
    colour: ColourChoice,
) -> int:
    """Explore every way that a run of a Workfile can go: crashes, answers, events, decisions.

    The exit status is 1 when a rule of durable execution is broken, or an effect happens twice or is lost against it.
    That a crash ends in a hold or an abort is an answer, not a failure.
    """
    from sim_runtime.explore import CannotShare, write_scenarios
    from sim_runtime.simulation import CannotSimulate, prepare

    bounds = replace(_bounds(crashes, deviations, down, budget, states), cancellations=cancellations)
    try:
        prepared = prepare(file, scenario)
        prepared.changes = changes_of(inputs, trigger, None, False, None, prepared.scenario.start_us)
        found = _explored(prepared, bounds, jobs, dask)
        files = write_scenarios(found, folder) if folder is not None else {}
    except CannotShare as error:
        raise click.UsageError(f"{error}.") from None
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    except OSError as error:
        if folder is None:
            raise
        raise click.UsageError(f"cannot write into `{folder}`: {error.strerror or error}.") from None
    if html is not None:
        from sim_runtime.explore.page import page

        write_file(html, page(found), "the page")
    _print(found, files, format_, colour)
    if found.nothing:
        error_line(f"nothing was explored: {found.left[0]}; allow more", COMMAND)
        return EXIT_FINDINGS
    missed = require_complete and not found.complete
    if missed:
        error_line(f"not everything was explored: {found.left[0]}", COMMAND)
    return EXIT_FINDINGS if found.findings or missed else EXIT_OK


def _print(found: Exploration, files: dict[str, str], format_: str, colour: ColourChoice) -> None:
    from sim_runtime.explore.exploration import command
    from sim_runtime.explore.report import json_report, text_report

    if format_ == "json":
        write_result(json.dumps(json_report(found, files), ensure_ascii=False, indent=1) + "\n")
        return
    write_result(text_report(found, files, styler(colour)))
    for path in files.values():
        note(command(found, path))


def _explored(prepared: Any, bounds: Bounds, jobs: int, dask: str | None) -> Exploration:
    """The exploration; its progress is shown on a terminal."""
    from sim_runtime.explore import explore as search

    if not sys.stderr.isatty():
        return search(prepared, bounds, jobs=jobs, dask=dask)

    def progress(states: int, done: int, total: int) -> None:
        sys.stderr.write(f"\r{states:,} states, {done:,} of {total:,} parts\x1b[K")
        sys.stderr.flush()

    try:
        return search(prepared, bounds, jobs=jobs, dask=dask, progress=progress)
    finally:
        sys.stderr.write("\r\x1b[K")


def _bounds(crashes: int, deviations: int, down: str, budget: str, states: int | None) -> Bounds:
    from sim_runtime.explore import Bounds
    from sim_runtime.explore.plan import DEFAULT_STATES

    seconds = _duration("--budget", budget) / 1_000_000
    if not seconds:
        raise click.UsageError("`--budget`: nothing can be explored in no time.")
    return Bounds(
        crashes=crashes,
        deviations=deviations,
        down_us=_duration("--down", down),
        states=states or DEFAULT_STATES,
        budget_s=seconds,
    )


def _duration(option: str, text: str) -> int:
    from analyzer.language.durations import explain_duration_error, parse_duration

    us = parse_duration(text)
    if us is None:
        raise click.UsageError(f"`{option}`: {explain_duration_error(text)}")
    return us
