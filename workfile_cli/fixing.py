"""``workfile check --fix`` and ``--diff``."""

# ruff: noqa: PTH109, PTH123

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from analyzer.atomic import write_atomically
from analyzer.driver import Outcome, check_files, forget
from analyzer.findings import Finding
from analyzer.fixes import MAX_ROUNDS, Fixed, count_fixable, fix_texts, unified_diff, wanted_fix
from analyzer.report.common import Locator, plural, printable
from workfile_cli.check import Request, exit_code, finish, make_report, print_problems, render
from workfile_cli.console import note, use_colour, write_diff, write_result


def fix_files(request: Request, outcome: Outcome) -> int:
    """Fix what the outcome has fixes for; report what is left, or with ``--diff`` show what would change."""
    before = _texts(request, outcome)

    def recheck(texts: Mapping[str, str]) -> Sequence[Finding]:
        return check_files(sorted(texts), request.options, {**request.texts, **texts}).findings

    fixed = fix_texts(before, outcome.findings, recheck, request.unsafe)
    locator = Locator(os.getcwd(), request.names)
    _warn(fixed, locator)
    if request.diff:
        _show_diff(request, before, fixed, locator)
        # To standard error, as standard output is the patch; without them nobody would know why this is not clean.
        staying = [finding for finding in outcome.findings if not _is_fixed(finding, fixed, request.unsafe)]
        if staying:
            shown = make_report(request, replace(outcome, findings=staying))
            sys.stderr.write(render(request, shown, use_colour(request.colour, stderr=True)))
        print_problems(request, outcome)
        _summary(fixed, outcome.findings, request.unsafe, would=True)
        return exit_code(request, outcome)
    written = [path for path in sorted(fixed.texts) if path not in request.texts]
    problems = [problem for path in written if (problem := _write(path, before[path], fixed.texts[path])) is not None]
    forget(written, request.options.engine)
    from_stdin = bool(request.texts)
    for path in request.texts:
        request.texts[path] = fixed.texts.get(path, request.texts[path])
        write_result(request.texts[path])
    after = outcome
    if fixed.texts:
        after = check_files([*outcome.files], request.options, request.texts)
        after.problems[:0] = outcome.problems
    after.problems.extend(problems)
    code = finish(request, after, to_stderr=from_stdin)
    _summary(fixed, after.findings, request.unsafe, would=False)
    return code


def _is_fixed(finding: Finding, fixed: Fixed, unsafe: bool) -> bool:
    fix = wanted_fix(finding, unsafe)
    return fix is not None and all(edit.path in fixed.texts for edit in fix.edits)


def _texts(request: Request, outcome: Outcome) -> dict[str, str]:
    """The texts of the files that fixes would change; a file that is not UTF-8 cannot be fixed and is left out."""
    wanted = {edit.path for finding in outcome.findings for fix in finding.fixes for edit in fix.edits}
    texts: dict[str, str] = {}
    for path in sorted(wanted):
        if path in request.texts:
            texts[path] = request.texts[path]
            continue
        try:
            with open(path, "rb") as stream:
                texts[path] = stream.read().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return texts


def _write(path: str, before: str, after: str) -> str | None:
    """Write the new text unless the file changed meanwhile; in words what went wrong, or None."""
    try:
        with open(path, "rb") as stream:
            if stream.read() != before.encode("utf-8"):
                return f"`{path}` changed while it was being fixed and was left as it is"
        write_atomically(path, after.encode("utf-8"))
    except OSError as error:
        return f"cannot write `{path}`: {error.strerror or error}"
    return None


def _show_diff(request: Request, before: Mapping[str, str], fixed: Fixed, locator: Locator) -> None:
    for path in sorted(fixed.texts):
        write_diff(unified_diff(printable(locator.path(path)), before[path], fixed.texts[path]), request.colour)


def _warn(fixed: Fixed, locator: Locator) -> None:
    for path in fixed.refused:
        note(f"a fix in {locator.path(path)} would have broken its YAML and was left out")
    for path in fixed.unstable:
        note(f"the fixes in {locator.path(path)} did not settle in {MAX_ROUNDS} rounds; look at it before going on")


def _summary(fixed: Fixed, left: Sequence[Finding], unsafe: bool, *, would: bool) -> None:
    """One line: how many were fixed, and how many more could be."""
    count = plural(fixed.fixed, "finding")
    where = f" in {plural(len(fixed.texts), 'file')}" if fixed.texts else ""
    text = f"would fix {count}{where}" if would else f"fixed {count}{where}"
    if not unsafe:
        more = count_fixable(left, unsafe=True) - count_fixable(left, unsafe=False)
        if more:
            text += f"; {more} more with `--unsafe-fixes`"
    sys.stderr.write(text + "\n")
