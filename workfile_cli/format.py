"""``workfile format``: the canonical layout, comments kept."""

# ruff: noqa: PTH109, PTH123

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

import click

from analyzer.atomic import write_atomically
from analyzer.fixes import unified_diff
from analyzer.formatting import lay_out
from analyzer.report.common import Locator, plural
from workfile_cli import engine
from workfile_cli.console import ColourChoice, error_line, note, write_diff, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE
from workfile_cli.options import colour_option
from workfile_cli.targets import find_targets

STDIN = "-"
_COMMAND = "workfile format"


@dataclass(slots=True)
class _Tally:
    """What was done: the files that change, those that the layout has no place for, how many were looked at, and what
    could not be done."""

    changed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    seen: int = 0
    problems: list[str] = field(default_factory=list)


@click.command("format")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--check", "check_only", is_flag=True, help="Change nothing; the exit status is 1 when a file is not canonical."
)
@click.option("--diff", is_flag=True, help="Change nothing; show what would change.")
@click.option("--force-exclude", is_flag=True, help="Leave out what the configuration excludes even when it is named.")
@colour_option
def format_files(
    paths: tuple[str, ...], check_only: bool, diff: bool, force_exclude: bool, colour: ColourChoice
) -> int:
    """Bring files into the canonical layout; comments and meaning are kept.

    A folder is searched; `-` formats standard input to standard output. Without PATH the working directory is
    searched.
    """
    if STDIN in paths:
        if len(set(paths)) > 1:
            raise click.UsageError("`-` does not go with other paths.")
        return _format_stdin(check_only, diff, colour)
    files, problems = find_targets(list(paths) or ["."], engine.ENGINE, force_exclude=force_exclude)
    tally = _Tally(problems=problems)
    locator = Locator(os.getcwd())
    for path in files:
        _format_file(path, locator.path(path), tally, write=not (check_only or diff), diff=diff, colour=colour)
    if check_only and not diff:
        for name in tally.changed:
            write_result(f"{name}\n")
    for text in tally.left:
        note(text)
    for problem in tally.problems:
        error_line(problem, command=_COMMAND)
    verb = "would change" if check_only or diff else "changed"
    note(f"{plural(tally.seen, 'file')} looked at, {len(tally.changed)} {verb}")
    if tally.problems:
        return EXIT_USAGE
    return EXIT_FINDINGS if check_only and (tally.changed or tally.left) else EXIT_OK


def _left(name: str, why: str) -> str:
    return f"{name} stays as it is: {why}"


def _format_file(path: str, name: str, tally: _Tally, *, write: bool, diff: bool, colour: ColourChoice) -> None:
    try:
        with open(path, "rb") as stream:
            before = stream.read().decode("utf-8")
    except OSError as error:
        tally.problems.append(f"cannot read `{name}`: {error.strerror or error}")
        return
    except UnicodeDecodeError:
        tally.problems.append(f"cannot format `{name}`: it is not UTF-8")
        return
    tally.seen += 1
    layout = lay_out(before)
    after = layout.text
    if layout.problem:
        tally.problems.append(f"cannot format `{name}`: {layout.problem}")
    if layout.left:
        tally.left.append(_left(name, layout.left))
    if after == before:
        return
    tally.changed.append(name)
    if diff:
        write_diff(unified_diff(name, before, after), colour)
    if not write:
        return
    try:
        write_atomically(path, after.encode("utf-8"))
    except OSError as error:
        tally.problems.append(f"cannot write `{name}`: {error.strerror or error}")


def _format_stdin(check_only: bool, diff: bool, colour: ColourChoice) -> int:
    try:
        before = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8 (byte {error.start + 1}); convert it.") from None
    layout = lay_out(before)
    after = layout.text
    if layout.problem:
        error_line(f"cannot format standard input: {layout.problem}", command=_COMMAND)
    if layout.left:
        note(_left("standard input", layout.left))
    if diff:
        write_diff(unified_diff("<stdin>", before, after), colour)
    elif not check_only:
        write_result(after)
    if layout.problem:
        return EXIT_USAGE
    return EXIT_FINDINGS if check_only and (after != before or layout.left) else EXIT_OK
