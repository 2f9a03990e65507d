"""``workfile test``: run scenario files and compare with what each expects."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import click

from analyzer.report.junit import xml_text
from analyzer.shown import shown_path
from workfile_cli import engine
from workfile_cli.console import ColourChoice, note, write_result
from workfile_cli.covering import add_unplayed, is_enough, print_coverage, write_coverage
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.options import colour_option, format_option
from workfile_cli.progress import LazyProgress
from workfile_cli.simulating import styler

if TYPE_CHECKING:
    from sim_runtime.coverage.measure import Coverage
    from sim_runtime.world.expectations import Difference

MAX_ERRORS = 20


@dataclass(slots=True)
class Result:
    """One scenario: ``outcome`` is ``passed``, ``failed`` or ``error``; ``messages`` say why it is an error;
    ``seconds`` is how long it took here, not on its clock."""

    path: str
    outcome: str = "passed"
    differences: list[Difference] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    seconds: float = 0.0


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@format_option("text", "json", "junit")
@click.option("--coverage", is_flag=True, help="Tell which steps, branches, guards, outcomes … no scenario reaches.")
@click.option("--coverage-html", metavar="FILE", help="Write a page that marks the Workfiles' sources to this file.")
@click.option("--coverage-json", metavar="FILE", help="Write the coverage as JSON to this file.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail when less than this is covered."
)
@colour_option
def test(
    paths: tuple[str, ...],
    format_: Literal["text", "json", "junit"],
    coverage: bool,
    coverage_html: str | None,
    coverage_json: str | None,
    fail_under: float | None,
    colour: ColourChoice,
) -> int:
    """Run scenario files (`*.scenario.yaml`) and compare with what each expects.

    A folder is searched. Without PATH the working directory is searched. The exit status is 1 when a scenario fails or
    is itself in error, or with `--fail-under` when too little is covered.
    """
    asked = list(paths) or ["."]
    files = _files(asked)
    measured = None
    if coverage or coverage_html is not None or coverage_json is not None or fail_under is not None:
        from sim_runtime.coverage.measure import Coverage

        measured = Coverage()
    results: list[Result] = []
    with LazyProgress("testing") as progress:
        for number, path in enumerate(files, 1):
            started = time.perf_counter()
            results.append(run_scenario(path, measured))
            results[-1].seconds = time.perf_counter() - started
            progress(number, len(files))
    if measured is not None:
        add_unplayed(measured, asked)
    shown_coverage = measured if coverage else None
    if format_ == "json":
        write_result(_json(results, shown_coverage))
    elif format_ == "junit":
        write_result(_junit(results))
    else:
        write_result(_text(results, colour))
    if not files and format_ == "text":
        note("no scenarios here; a scenario's name ends in `.scenario.yaml`")
    code = EXIT_FINDINGS if any(each.outcome != "passed" for each in results) else EXIT_OK
    if measured is None:
        return code
    if coverage and format_ != "json":
        print_coverage(measured, colour, to_stdout=format_ == "text")
    write_coverage(measured, coverage_html, coverage_json)
    return code if fail_under is None or is_enough(measured, fail_under) else EXIT_FINDINGS


def _files(paths: list[str]) -> list[str]:
    from analyzer.workspace.files import file_kind

    found = engine.ENGINE.find_files(paths)
    if found.problems:
        raise click.UsageError(f"{found.problems[0]}.")
    for path in paths:
        if os.path.isfile(path) and file_kind(path) != "scenario":  # noqa: PTH113
            raise click.UsageError(f"`{path}` is not a scenario: its name must end in `.scenario.yaml`.")
    return [path for path in found.files if file_kind(path) == "scenario"]


def run_scenario(path: str, coverage: Coverage | None = None) -> Result:
    """Run one scenario file and compare; what happened is counted in ``coverage``."""
    from sim_runtime.simulation import CannotSimulate, prepare, unfired_words

    result = Result(shown_path(path))
    try:
        prepared = prepare(scenario=path)
        simulation = prepared.simulation().finish()
    except CannotSimulate as error:
        result.outcome = "error"
        result.messages = [f"{_place(each)}: {each.rule}: {each.message}" for each in error.findings[:MAX_ERRORS]]
        result.messages = result.messages or [str(error)]
        return result
    if coverage is not None:
        coverage.add_run(prepared.project, prepared.workflow, simulation.run.records, result.path)
    result.messages = [f"the crash {unfired_words(point)} never came" for point in simulation.unfired]
    result.differences = simulation.differences()
    result.outcome = "error" if result.messages else "failed" if result.differences else "passed"
    return result


def _place(finding: Any) -> str:
    return f"{shown_path(finding.path)}:{finding.range.start_line}:{finding.range.start_column}"


def _counts(results: list[Result]) -> dict[str, int]:
    return {outcome: sum(each.outcome == outcome for each in results) for outcome in ("passed", "failed", "error")}


def _json(results: list[Result], coverage: Coverage | None) -> str:
    scenarios = []
    for each in results:
        scenario: dict[str, Any] = {
            "path": each.path,
            "outcome": each.outcome,
            "differences": [difference.json() for difference in each.differences],
        }
        if each.messages:
            scenario["messages"] = each.messages
        scenarios.append(scenario)
    whole: dict[str, Any] = {"version": 1, "scenarios": scenarios, "summary": _counts(results)}
    if coverage is not None:
        from sim_runtime.coverage.report import coverage_json

        whole["coverage"] = coverage_json(coverage, shown_path)
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _text(results: list[Result], colour: ColourChoice) -> str:
    style = styler(colour)
    lines: list[str] = []
    for each in results:
        tone = "good" if each.outcome == "passed" else "bad"
        lines.append(f"{style(f'{each.outcome:<6}', tone)}  {style(each.path, 'plain')}")
        lines.extend(f"        {style(message, 'plain')}" for message in each.messages)
        lines.extend(f"        {style(one.at, 'bad')}: {style(one.words, 'plain')}" for one in each.differences)
    counts = _counts(results)
    if results:
        words = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count or outcome == "passed")
        lines.append(f"{len(results)} scenario{'' if len(results) == 1 else 's'}: {words}")
    return "\n".join(lines) + "\n" if lines else ""


def _junit(results: list[Result]) -> str:
    counts = _counts(results)
    seconds = sum(each.seconds for each in results)
    head = f'tests="{len(results)}" failures="{counts["failed"]}" errors="{counts["error"]}" time="{seconds:.3f}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="workfile test" {head}>']
    lines.append(f' <testsuite name="workfile test" {head} skipped="0">')
    for each in results:
        name = xml_text(each.path)
        opening = f'  <testcase classname="{name}" name="{name}" file="{name}" time="{each.seconds:.3f}"'
        if each.outcome == "passed":
            lines.append(f"{opening}/>")
            continue
        words = each.messages or [f"{one.at}: {one.words}" for one in each.differences]
        kind = "error" if each.outcome == "error" else "failure"
        body = (
            f'   <{kind} type="{each.outcome}" message="{xml_text(words[0])}">{xml_text(chr(10).join(words))}</{kind}>'
        )
        lines.extend((f"{opening}>", body, "  </testcase>"))
    lines.extend((" </testsuite>", "</testsuites>", ""))
    return "\n".join(lines)
