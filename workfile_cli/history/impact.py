"""``workfile history impact``: what an edit of a Workfile means for runs under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from analyzer.report.common import plural
from analyzer.shown import shown_path
from workfile_cli.console import ColourChoice, note, write_result
from workfile_cli.history.shared import Format, history_files, reporting, write_json
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.simulating import print_refusal, styler

if TYPE_CHECKING:
    from sim_runtime.replay.impact import Impact, RunImpact

COMMAND = "workfile history impact"
_TONES = {"compatible": "good", "before": "good", "successor": "wait", "unsafe": "bad", None: "bad"}


@click.command("impact")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--histories", metavar="DIR", help="Recorded runs: what the edit means for each of them.")
@click.option("--under-way", is_flag=True, help="Leave out recorded runs that are over: no edit touches them.")
@reporting
def impact(old: str, new: str, histories: str | None, under_way: bool, format_: Format, colour: ColourChoice) -> int:
    """Tell what an edit of a Workfile means for its runs.

    Two versions are compared, and for each change it is told which runs can go on under the new one.

    The exit status is 1 when a recorded run cannot go on under the new file, or must be refused.
    """
    from sim_runtime.replay.impact import impact_of
    from sim_runtime.simulation import CannotSimulate, prepare

    try:
        before, after = prepare(old, namesakes=True), prepare(new, namesakes=True)
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    if before.workflow.name != after.workflow.name:
        names = f"`{before.workflow.name}` and `{after.workflow.name}`"
        raise click.UsageError(f"these are two workflows, {names}: compare two versions of one.")
    paths = [] if histories is None else history_files([histories])
    found = impact_of(before, after, paths, under_way=under_way)
    for each in found.runs:
        each.path = shown_path(each.path)
    if format_ == "json":
        write_json(
            {
                "version": 1,
                "operation": "impact",
                "workflow": after.workflow.name,
                "class": found.worst,
                "changes": [each.json() for each in found.changes],
                "histories": [each.json() for each in found.runs],
            }
        )
    else:
        write_result(report_text(found, shown_path(new), colour))
        if histories is not None and not found.runs:
            which = "under way " if under_way else ""
            note(f"no runs of `{after.workflow.name}` {which}in `{histories}`")
    touched = any(each.class_ != "compatible" for each in found.runs)
    return EXIT_FINDINGS if touched else EXIT_OK


def report_text(found: Impact, path: str, colour: ColourChoice) -> str:
    """The changes with their classes, then the runs."""
    from sim_runtime.replay.impact import CLASSES

    style = styler(colour)
    lines: list[str] = []
    for each in found.changes:
        place = f"{path}:{each.line}" if each.line is not None else path
        point = f" ({each.point})" if each.point and each.class_ != "compatible" else ""
        lines.append(
            f"{style(f'{each.class_:<10}', _TONES[each.class_])}  {style(f'{place}: {each.change.words}', 'plain')}"
        )
        lines.append(style(f"            {CLASSES[each.class_]}{point}", "plain"))
        if each.runs:
            count = len(each.runs)
            lines.append(
                style(f"            touches {count} run{'' if count == 1 else 's'}: {_names(each.runs)}", "plain")
            )
    if not found.changes:
        lines.append("nothing differs that a run could see")
    lines.extend(_run_line(each, colour) for each in found.runs)
    if found.runs:
        lines.append(f"{_counts(found.runs)} of {plural(len(found.runs), 'run')}")
    return "\n".join(lines) + "\n"


def _counts(runs: Sequence[RunImpact]) -> str:
    """``2 unsafe, 1 compatible``, the worst first."""
    from sim_runtime.replay.impact import CLASSES

    names = [each.class_ or "refused" for each in runs]
    order = ["refused", *reversed(CLASSES)]
    return ", ".join(f"{names.count(name):,} {name}" for name in order if name in names)


def _run_line(run: RunImpact, colour: ColourChoice) -> str:
    style = styler(colour)
    where = ""
    if run.divergence is not None:
        told = run.divergence
        place = f" at `{told['path']}`" if told["path"] else ""
        where = f"record {told['seq']}, {told['cause']}{place}"
    elif run.refusal is not None:
        where = run.refusal["message"]
    held = f"; held at {_names(run.holds)}" if run.holds else ""
    status = f" ({run.status})" if run.status is not None else ""
    word = style(f"{run.class_ or 'refused':<10}", _TONES[run.class_])
    return f"{word}  {style(f'{run.path}{status}  {where}{held}'.rstrip(), 'plain')}"


def _names(names: list[str]) -> str:
    shown = ", ".join(f"`{each}`" for each in names[:8])
    return shown + (", …" if len(names) > 8 else "")
