"""``workfile history reevaluate``: decide recorded runs anew, on the pinned definition or on another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from analyzer.shown import shown_path
from workfile_cli.console import ColourChoice, note, write_result
from workfile_cli.history.shared import Format, history_files, refusal_text, reporting, write_json
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.progress import LazyProgress
from workfile_cli.simulating import print_refusal, styler

if TYPE_CHECKING:
    from sim_runtime.replay.many import Result

COMMAND = "workfile history reevaluate"
_TONES = {"compatible": "good", "divergent": "bad", "refused": "bad"}
_MAX_TOLD = 20


@click.command("reevaluate")
@click.argument("histories", nargs=-1, required=True, metavar="HISTORY...")
@click.option(
    "--definition", metavar="FILE", help="A Workfile that stands for the one of its name; by default as pinned."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes; by default as many as pay off.")
@reporting
def reevaluate(
    histories: tuple[str, ...], definition: str | None, jobs: int | None, format_: Format, colour: ColourChoice
) -> int:
    """Decide recorded runs anew from what was recorded, and tell where they diverge.

    Folders are searched for `*.history.jsonl`. Nothing is called. The exit status is 0 when all histories are
    compatible.
    """
    from sim_runtime.replay.many import evaluate_files
    from sim_runtime.simulation import CannotSimulate, prepare

    paths = history_files(histories)
    try:
        other = None if definition is None else prepare(definition, namesakes=True)
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    with LazyProgress("evaluating") as progress:
        results = evaluate_files(paths, other, jobs, progress)
    for each in results:
        each.path = shown_path(each.path)
    if format_ == "json":
        found = [each.json() for each in results]
        write_json({"version": 1, "operation": "reevaluate", "histories": found})
    else:
        write_result(report_text(results, colour))
        spliced = sum(each.spliced for each in results)
        if spliced:
            what = "1 history was" if spliced == 1 else f"{spliced:,} histories were"
            words = "made under another version of a connector, overlay or time zone data"
            note(f"{what} {words}; such a run does not go on under this file as it is (`workfile history impact`)")
    return EXIT_OK if all(each.outcome == "compatible" for each in results) else EXIT_FINDINGS


def report_text(results: list[Result], colour: ColourChoice) -> str:
    """What diverges, at length; then a table."""
    style = styler(colour)
    parts: list[str] = []
    told = [each for each in results if each.outcome != "compatible"]
    for each in told[:_MAX_TOLD]:
        parts.append(f"{style(each.path, 'plain')}: {style(each.outcome, _TONES[each.outcome])}\n")
        if each.refusal is not None:
            parts.append(refusal_text(each.refusal, colour))
        else:
            parts.append(divergence_text(each, colour))
        parts.append("\n")
    if len(told) > _MAX_TOLD:
        parts.append(f"and {len(told) - _MAX_TOLD} more like these\n\n")
    if len(results) > 1:
        parts.append(_table(results, colour))
    counts = {name: sum(each.outcome == name for each in results) for name in _TONES}
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    parts.append(f"{len(results)} histor{'y' if len(results) == 1 else 'ies'}: {words}\n")
    return "".join(parts)


def divergence_text(result: Result, colour: ColourChoice) -> str:
    """Expected, got, the record, the line of the file, and what changed in it."""
    from sim_runtime.replay.divergence import CAUSES

    style = styler(colour)
    found = result.divergence
    place = f" at `{found['path']}`" if found["path"] else ""
    lines = [
        f"  record    {found['seq']}, `{found['kind']}`{place}, generation {found['generation']}",
        f"  cause     {found['cause']}: {CAUSES[found['cause']]}",
        f"  expected  {_record(found['recorded'], result.fields)}",
        f"  got       {_record(found['evaluated'], result.fields)}",
    ]
    if result.place is not None:
        path, line, column, text = result.place
        lines.append(f"  source    {shown_path(path)}:{line}:{column}: {text}")
    lines.extend(f"  {'changed' if not place_ else '':<9} {words}" for place_, words in enumerate(result.changes))
    return "".join(style(line, "plain") + "\n" for line in lines)


def _record(shown: dict[str, Any] | None, fields: tuple[str, ...]) -> str:
    """A record on one line: of two of a kind the fields that differ."""
    if shown is None:
        return "nothing"
    hidden = ("id", "kinds", "run")
    data = {key: each for key, each in shown["data"].items() if (key in fields if fields else key not in hidden)}
    text = json.dumps(data, ensure_ascii=False)
    place = f" at `{shown['path']}`" if shown["path"] else ""
    return f"`{shown['kind']}`{place} {text if len(text) <= 160 else text[:159] + '…'}"


def _table(results: list[Result], colour: ColourChoice) -> str:
    style = styler(colour)
    width = min(max(len(each.path) for each in results), 60)
    lines = []
    for each in results:
        where = ""
        if each.divergence is not None:
            where = f"record {each.divergence['seq']}, {each.divergence['cause']} at `{each.divergence['path']}`"
        elif each.refusal is not None:
            where = each.refusal.reason
        outcome = style(f"{each.outcome:<10}", _TONES[each.outcome])
        lines.append(f"{style(f'{each.path:<{width}}', 'plain')}  {outcome}  {style(where, 'plain')}".rstrip() + "\n")
    return "".join(lines) + "\n"
