"""What ``run``, ``step`` and ``test`` have in common: options, inputs from the command line, errors, colours."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workfile_cli.console import ColourChoice, error_line, output_width, use_colour, write_result

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from sim_runtime.simulation import CannotSimulate, Changes

Command = TypeVar("Command", bound=Callable[..., Any])

MAX_INPUT_BYTES = 16 * 1024 * 1024
STDIN = "-"
_STYLES = {"good": "\x1b[32m", "bad": "\x1b[31m", "wait": "\x1b[33m"}


def simulation_options(command: Command) -> Command:
    """The options that say what is simulated."""
    options = (
        click.option("--scenario", metavar="SCENARIO", help="The outside world, and what happens to the run."),
        click.option("--input", "inputs", multiple=True, metavar="NAME=YAML", help="An input, before the scenario's."),
        click.option(
            "--trigger", metavar="FILE", help="The payload of the root trigger, YAML or JSON (`-` is standard input)."
        ),
        click.option("--store", metavar="FILE.sqlite", help="Keep the run's records in this store."),
        click.option("--history", metavar="FILE.history.jsonl", help="Write the run's history to this file."),
        click.option(
            "--until", metavar="TIME", help="End the simulation then: a duration from the start, or a timestamp."
        ),
        click.option("--dry-run", is_flag=True, help="Reads run, writes are suppressed."),
        click.option("--seed", type=int, metavar="N", help="Seed of the jitter of retries."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def changes_of(
    inputs: Sequence[str], trigger: str | None, until: str | None, dry_run: bool, seed: int | None, start_us: int
) -> Changes:
    """What the options set. Raises ``click.UsageError``."""
    from sim_runtime.simulation import Changes
    from sim_runtime.world.scenario import UNSET

    return Changes(
        inputs=dict(map(_input, inputs)),
        trigger=UNSET if trigger is None else _trigger(trigger),
        until_us=None if until is None else _until(until, start_us),
        seed=seed,
        dry_run=dry_run,
    )


def _input(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(f"`--input`: `{text[:60]}` is not of the form NAME=YAML, such as `amount=5`.")
    return name.strip(), yaml_value(value, f"`--input {name.strip()}`")


def yaml_value(text: str, what: str) -> Any:
    """The JSON value of a YAML text. Raises ``click.UsageError``."""
    from analyzer.expressions.schema_faults import json_value
    from analyzer.syntax.parse import parse
    from analyzer.syntax.source import Source

    tree = parse(Source(text))
    if tree.problems:
        raise click.UsageError(f"{what} is not YAML: {tree.problems[0].message} Quote it if it is a string.")
    if tree.root is None:
        raise click.UsageError(f'{what} has no value: write one, `null`, or `""` for an empty string.')
    value = json_value(tree.root)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise click.UsageError(f"{what} holds a number that is not finite: write another one.") from None
    return value


def _trigger(path: str) -> Any:
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    else:
        try:
            with open(path, "rb") as stream:  # noqa: PTH123
                data = stream.read(MAX_INPUT_BYTES + 1)
        except (OSError, ValueError) as error:
            raise click.UsageError(f"`--trigger`: cannot read `{path}`: {_reason(error)}.") from None
    if len(data) > MAX_INPUT_BYTES:
        raise click.UsageError(f"`--trigger`: `{path}` is larger than {MAX_INPUT_BYTES // 1024 // 1024} MiB.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"`--trigger`: `{path}` is not UTF-8 (byte {error.start + 1}).") from None
    return yaml_value(text.removeprefix("\ufeff"), f"`--trigger`: `{path}`")


def _until(text: str, start_us: int) -> int:
    from analyzer.expressions.times import parse_timestamp
    from analyzer.language.durations import explain_duration_error, parse_duration

    us = parse_duration(text)
    if us is not None:
        return us
    instant = parse_timestamp(text)
    if instant is None:
        also = "A timestamp such as `2026-01-31T12:00:00Z` is fine too."
        raise click.UsageError(f"`--until`: {explain_duration_error(text)} {also}")
    if instant.us < start_us:
        raise click.UsageError(f"`--until`: `{text}` is before the start of the simulated clock.")
    return instant.us - start_us


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def print_refusal(error: CannotSimulate, format_: str, colour: ColourChoice, command: str) -> int:
    """Say why nothing is simulated: the findings as ``check`` reports them, else one line. Gives the exit code."""
    from workfile_cli.main import EXIT_FINDINGS, EXIT_USAGE

    if not error.findings:
        error_line(str(error), command=command)
        return EXIT_USAGE
    write_result(findings_report(error.findings, error.files, format_, colour))
    error_line(str(error), command=command)
    return EXIT_FINDINGS


def findings_report(findings: Sequence[Finding], files: Sequence[str], format_: str, colour: ColourChoice) -> str:
    """Findings as ``workfile check`` prints them."""
    from dataclasses import replace

    from analyzer.report.common import Locator

    locator = Locator(os.getcwd())  # noqa: PTH109
    report = locator.report(findings, files)
    if format_ == "json":
        from analyzer.report import json

        return json.render(report)
    from analyzer.report import excerpt, text

    sources = {}
    for path in dict.fromkeys(finding.path for finding in findings):
        try:
            with open(path, "rb") as stream:  # noqa: PTH123
                sources[locator.path(path)] = stream.read().decode("utf-8", "replace").removeprefix("\ufeff")
        except OSError:
            continue  # gone since it was checked: the finding is shown without its line
    shown = replace(report, sources=sources)
    return text.render(shown, colour=use_colour(colour), width=output_width(excerpt.MAX_WIDTH))


def styler(colour: ColourChoice) -> Callable[[str, str], str]:
    """How texts of a tone are shown; whatever came from a file is made safe to show."""
    from analyzer.report.common import printable

    coloured = use_colour(colour)

    def style(text: str, tone: str) -> str:
        safe = printable(text)
        code = _STYLES.get(tone) if coloured else None
        return safe if code is None else f"{code}{safe}\x1b[0m"

    return style


def write_file(path: str, text: str, what: str) -> None:
    """Write a result to a file, whole or not at all. Raises ``click.UsageError``."""
    from analyzer.atomic import write_atomically

    try:
        write_atomically(path, text.encode())
    except (OSError, ValueError) as error:
        raise click.UsageError(f"cannot write {what} to `{path}`: {_reason(error)}.") from None
