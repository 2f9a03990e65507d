"""``workfile test``: run scenario files and compare with what each expects."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape

import click

from workfile_cli import engine
from workfile_cli.console import ColourChoice, note, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.progress import LazyProgress
from workfile_cli.simulating import colour_option, styler

if TYPE_CHECKING:
    from sim_runtime.world.expectations import Difference

MAX_ERRORS = 20


@dataclass(slots=True)
class Result:
    """One scenario: ``outcome`` is ``passed``, ``failed`` or ``error``; ``messages`` say why it is an error."""

    path: str
    outcome: str = "passed"
    differences: list[Difference] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--format", "format_", type=click.Choice(["text", "json", "junit"]), default="text", show_default=True)
@colour_option
def test(paths: tuple[str, ...], format_: Literal["text", "json", "junit"], colour: ColourChoice) -> int:
    """Run scenario files (`*.scenario.yaml`) and compare with what each expects.

    A folder is searched; without PATH the working directory is. The exit code is 1 when a scenario fails or is itself
    in error.
    """
    files = _files(list(paths) or ["."])
    results: list[Result] = []
    with LazyProgress("testing") as progress:
        for number, path in enumerate(files, 1):
            results.append(run_scenario(path))
            progress(number, len(files))
    if format_ == "json":
        write_result(_json(results))
    elif format_ == "junit":
        write_result(_junit(results))
    else:
        write_result(_text(results, colour))
    if not files and format_ == "text":
        note("no scenarios here; a scenario's name ends in `.scenario.yaml`")
    return EXIT_FINDINGS if any(each.outcome != "passed" for each in results) else EXIT_OK


def _files(paths: list[str]) -> list[str]:
    from analyzer.workspace.files import file_kind

    found = engine.ENGINE.find_files(paths)
    if found.problems:
        raise click.UsageError(f"{found.problems[0]}.")
    for path in paths:
        if os.path.isfile(path) and file_kind(path) != "scenario":  # noqa: PTH113
            raise click.UsageError(f"`{path}` is no scenario: its name must end in `.scenario.yaml`.")
    return [path for path in found.files if file_kind(path) == "scenario"]


def run_scenario(path: str) -> Result:
    """Run one scenario file and compare."""
    from sim_runtime.simulation import CannotSimulate, prepare
    from workfile_cli.run import unfired_words

    result = Result(_shown(path))
    try:
        simulation = prepare(scenario=path).simulation().finish()
    except CannotSimulate as error:
        result.outcome = "error"
        result.messages = [f"{_place(each)}: {each.rule}: {each.message}" for each in error.findings[:MAX_ERRORS]]
        result.messages = result.messages or [str(error)]
        return result
    result.messages = [f"the crash {unfired_words(point)} never came" for point in simulation.unfired]
    result.differences = simulation.differences()
    result.outcome = "error" if result.messages else "failed" if result.differences else "passed"
    return result


def _place(finding: Any) -> str:
    return f"{_shown(finding.path)}:{finding.range.start_line}:{finding.range.start_column}"


def _shown(path: str) -> str:
    from analyzer.report.common import Locator

    return Locator(os.getcwd()).path(path)  # noqa: PTH109


def _counts(results: list[Result]) -> dict[str, int]:
    return {outcome: sum(each.outcome == outcome for each in results) for outcome in ("passed", "failed", "error")}


def _json(results: list[Result]) -> str:
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
    whole = {"version": 1, "scenarios": scenarios, "summary": _counts(results)}
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


def _xml(text: str) -> str:
    """``text`` for an attribute or content; what XML cannot hold is shown as an escape."""
    safe = re.sub("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", _escape, text)
    return escape(safe, {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _junit(results: list[Result]) -> str:
    counts = _counts(results)
    head = f'tests="{len(results)}" failures="{counts["failed"]}" errors="{counts["error"]}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="workfile test" {head}>']
    lines.append(f' <testsuite name="workfile test" {head} skipped="0">')
    for each in results:
        name = _xml(each.path)
        opening = f'  <testcase classname="{name}" name="{name}" file="{name}"'
        if each.outcome == "passed":
            lines.append(f"{opening}/>")
            continue
        words = each.messages or [f"{one.at}: {one.words}" for one in each.differences]
        kind = "error" if each.outcome == "error" else "failure"
        body = f'   <{kind} type="{each.outcome}" message="{_xml(words[0])}">{_xml(chr(10).join(words))}</{kind}>'
        lines.extend((f"{opening}>", body, "  </testcase>"))
    lines.extend((" </testsuite>", "</testsuites>", ""))
    return "\n".join(lines)
