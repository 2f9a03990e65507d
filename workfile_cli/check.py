"""``workfile check``: static analysis of Workfiles, manifests, overlays and scenarios."""

# ruff: noqa: PTH100, PTH109, PTH110, PTH112, PTH123

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import click

from analyzer.driver import Options, Outcome, check_files, is_excluded, problem_of_rule
from analyzer.findings import Finding
from analyzer.report.common import Locator, Report, plural
from analyzer.selection import Selection
from workfile_cli import engine
from workfile_cli.console import ColourChoice, error_line, note, output_width, use_colour, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE
from workfile_cli.options import colour_option, format_option, rules_option
from workfile_cli.progress import LazyProgress
from workfile_cli.targets import find_targets, kind_problem

Format: TypeAlias = Literal["text", "json", "sarif", "github", "junit"]

STDIN = "-"
STDIN_NAME = "<stdin>"
STDIN_FILE = "<stdin>.yaml"
"""What nameless standard input is called inside; no name that a search finds, so that no other file can refer to it."""
MAX_PROBLEM_LINES = 20


@dataclass(slots=True)
class Request:
    """What the call asks for, its options checked."""

    paths: list[str]
    stdin_filename: str | None
    format: Format
    options: Options
    baseline_file: str | None
    write_baseline: bool
    fix: bool
    unsafe: bool
    diff: bool
    strict: bool
    force_exclude: bool
    colour: ColourChoice
    histories: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def split_profiles(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The profiles of ``--profiles``, in their order; what no target can claim is refused."""
    if value is None:
        return None
    from analyzer.workspace.config import ConfigError, parse_profiles

    names = [name.strip() for name in value.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("name at least one profile: core, durable, replay.")
    try:
        return parse_profiles(names)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--stdin-filename", metavar="PATH", help="The file that standard input (PATH `-`) stands for.")
@format_option("text", "json", "sarif", "github", "junit")
@rules_option("--select", "Only these rules or families.")
@rules_option("--ignore", "Not these rules or families.")
@click.option(
    "--profiles", callback=split_profiles, metavar="PROFILE,...", help="What the target claims: core, durable, replay."
)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With `--fix` or `--diff`: likely fixes too, which need a look.")
@click.option("--diff", is_flag=True, help="Change nothing; show what `--fix` would change.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings that this file knows.")
@click.option("--write-baseline", is_flag=True, help="Write the findings to the file of `--baseline`.")
@click.option("--histories", metavar="DIR", help="Decide the recorded runs in this folder anew on the Workfiles.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; by default as many as pay off.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results of earlier runs.")
@click.option("--strict", is_flag=True, help="Warnings make the exit status 1 too.")
@click.option("--force-exclude", is_flag=True, help="Leave out what the configuration excludes even when it is named.")
@colour_option
def check(
    paths: tuple[str, ...],
    stdin_filename: str | None,
    format_: Format,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    profiles: tuple[str, ...] | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    baseline: str | None,
    write_baseline: bool,
    histories: str | None,
    jobs: int | None,
    no_cache: bool,
    strict: bool,
    force_exclude: bool,
    colour: ColourChoice,
) -> int:
    """Find what is wrong with Workfiles and the files beside them.

    A folder is searched; `-` is standard input. Without PATH the working directory is searched. The exit status is 1
    when there are findings of severity error.
    """
    options = Options(profiles, Selection(select, ignore), None, jobs, not no_cache, engine.ENGINE)
    if STDIN in paths and stdin_filename is None:
        options = replace(options, nameless=os.path.abspath(STDIN_FILE))
    request = Request(
        list(paths) or ["."],
        stdin_filename,
        format_,
        options,
        baseline,
        write_baseline,
        fix or diff,
        unsafe_fixes,
        diff,
        strict,
        force_exclude,
        colour,
        histories=histories,
    )
    _validate(request)
    return run_check(request)


def _validate(request: Request) -> None:
    """Refuse what contradicts itself, before anything is read."""
    if request.stdin_filename is not None and STDIN not in request.paths:
        raise click.UsageError("`--stdin-filename` is for standard input: add `-` to the paths.")
    if request.stdin_filename is not None:
        problem = kind_problem(request.stdin_filename)
        if problem is not None:
            raise click.UsageError(f"`--stdin-filename`: {problem}.")
    if request.write_baseline and request.baseline_file is None:
        raise click.UsageError("`--write-baseline` needs `--baseline FILE` to know where to write.")
    if request.write_baseline and request.fix:
        raise click.UsageError("`--write-baseline` does not go with `--fix` or `--diff`: fix first, then write it.")
    if request.unsafe and not request.fix:
        raise click.UsageError("`--unsafe-fixes` goes with `--fix` or `--diff`.")
    selection = request.options.selection
    for option, names in (("--select", selection.select), ("--ignore", selection.ignore)):
        for name in names:
            problem = problem_of_rule(name, request.options.engine)
            if problem is not None:
                raise click.UsageError(f"`{option}`: {problem}")


def run_check(request: Request) -> int:
    """Check, fix, report; the exit code."""
    from analyzer.baseline import Baseline, BaselineError

    try:
        if request.baseline_file is not None and not request.write_baseline:
            request.options = replace(request.options, baseline=Baseline.load(request.baseline_file))
        files, problems = _files(request)
        if request.histories is not None:
            _add_histories(request, files)
        with LazyProgress("checking") as progress:
            outcome = check_files(files, request.options, request.texts, progress)
        outcome.problems[:0] = problems
        if request.write_baseline and request.baseline_file is not None:
            return _write_baseline(request.baseline_file, outcome)
    except BaselineError as error:
        raise click.UsageError(str(error)) from None
    if request.fix:
        from workfile_cli.fixing import fix_files

        return fix_files(request, outcome)
    if outcome.stale_baseline:
        stale = plural(outcome.stale_baseline, "finding")
        note(f"gone since the baseline was written: {stale}; `--write-baseline` takes them out")
    return finish(request, outcome)


def _add_histories(request: Request, files: Sequence[str]) -> None:
    """Hold the Workfiles against recorded runs; what comes of it is reported with the rest."""
    from sim_runtime.rules.histories import FAMILY, SUFFIX, find_histories, history_findings

    assert request.histories is not None
    if not os.path.isdir(request.histories):
        raise click.UsageError(f"`--histories`: there is no folder `{request.histories}`.")
    histories = find_histories(request.histories)
    if not histories:
        raise click.UsageError(f"`--histories`: there is no history (`*{SUFFIX}`) in `{request.histories}`.")
    with LazyProgress("evaluating") as progress:
        extra = history_findings(files, histories, request.texts, request.options.jobs, progress)
    request.options = replace(request.options, run_families=(FAMILY,), extra=extra)


def finish(request: Request, outcome: Outcome, *, to_stderr: bool = False) -> int:
    """Print the report and the problems; the exit code."""
    if outcome.files or not outcome.problems:
        report = make_report(request, outcome)
        rendered = render(request, report, use_colour(request.colour, stderr=to_stderr))
        if to_stderr:
            sys.stderr.write(rendered)
        else:
            write_result(rendered)
    print_problems(request, outcome)
    return exit_code(request, outcome)


def print_problems(request: Request, outcome: Outcome) -> None:
    """What could not be done, a line each."""
    here = os.getcwd() + os.sep
    for problem in outcome.problems[:MAX_PROBLEM_LINES]:
        error_line(problem.replace(f"`{here}", "`"), command="workfile check")
    left = len(outcome.problems) - MAX_PROBLEM_LINES
    if left > 0:
        error_line(f"{plural(left, 'more problem')} like these", command="workfile check")
    if not outcome.files and not outcome.problems and request.format == "text":
        note("no Workfiles, manifests, overlays or scenarios here")


def exit_code(request: Request, outcome: Outcome) -> int:
    """2 when something could not be carried out, 1 for errors (``--strict``: and warnings), else 0."""
    if outcome.problems:
        return EXIT_USAGE
    failing = ("error", "warning") if request.strict else ("error",)
    return EXIT_FINDINGS if any(finding.severity in failing for finding in outcome.findings) else EXIT_OK


def _files(request: Request) -> tuple[list[str], list[str]]:
    """The files to check, standard input among them, and what could not be found."""
    given = [path for path in request.paths if path != STDIN]
    checked_by = request.options.engine
    files, problems = find_targets(given, checked_by, force_exclude=request.force_exclude)
    if STDIN in request.paths:
        path = os.path.abspath(request.stdin_filename or STDIN_FILE)
        try:
            request.texts[path] = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"standard input is not UTF-8 (byte {error.start + 1}); convert it.") from None
        if request.stdin_filename is None:
            request.names[path] = STDIN_NAME
        excluded = request.force_exclude and request.stdin_filename is not None and is_excluded(path, checked_by)
        if path not in files and not excluded:
            files.append(path)
    return files, problems


def make_report(request: Request, outcome: Outcome) -> Report:
    """The outcome with paths as users see them, and with sources where the format shows them."""
    locator = Locator(_base(request.format), request.names)
    report = locator.report(outcome.findings, outcome.files, outcome.suppressed)
    if request.format != "text":
        return report
    return replace(report, sources=_sources(outcome.findings, request.texts, locator))


def _base(format_: Format) -> str:
    """What paths in a report are relative to: the working directory, for GitHub the repository that it is in."""
    here = os.getcwd()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if not workspace or format_ not in ("github", "sarif"):
        return here
    root = os.path.realpath(workspace).rstrip(os.sep) + os.sep
    return root if f"{here}{os.sep}".startswith(root) else here


def _sources(findings: Sequence[Finding], texts: Mapping[str, str], locator: Locator) -> dict[str, str]:
    sources: dict[str, str] = {}
    for path in dict.fromkeys(finding.path for finding in findings):
        text = texts.get(path)
        if text is None:
            try:
                with open(path, "rb") as stream:
                    text = stream.read().decode("utf-8", "replace")
            except OSError:
                continue  # gone since it was checked: the finding is shown without its line
        sources[locator.path(path)] = text.removeprefix("\ufeff")
    return sources


def render(request: Request, report: Report, colour: bool) -> str:
    """The report in the format that was asked for; only that format's code is loaded."""
    if request.format == "json":
        from analyzer.report import json

        return json.render(report)
    if request.format == "sarif":
        from analyzer.__about__ import __version__
        from analyzer.report import sarif

        return sarif.render(report, rules=request.options.engine.all_rules(), version=__version__)
    if request.format == "github":
        from analyzer.report import github

        _append_summary(github.render_summary(report))
        return github.render(report)
    if request.format == "junit":
        from analyzer.report import junit

        return junit.render(report, strict=request.strict)
    from analyzer.report import excerpt, text

    return text.render(report, colour=colour, width=output_width(excerpt.MAX_WIDTH))


def _append_summary(markdown: str) -> None:
    """Add to the job summary, where there is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(markdown)
    except OSError as error:
        note(f"the job summary cannot be written: {error.strerror or error}")


def _write_baseline(file: str, outcome: Outcome) -> int:
    """Write the findings as known; problems keep it from being written, as their files' entries would be lost."""
    from analyzer.baseline import Baseline

    if outcome.problems:
        for problem in outcome.problems[:MAX_PROBLEM_LINES]:
            error_line(problem, command="workfile check")
        return EXIT_USAGE
    before = Baseline.load(file) if os.path.exists(file) else Baseline(file)
    after = before.rewritten(outcome.findings, outcome.looked_for)
    after.save()
    note(f"wrote {after.summary()} to {file}")
    return EXIT_OK
