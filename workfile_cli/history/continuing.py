"""``workfile history continue``: go on from a recorded history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.shown import shown_path
from workfile_cli.console import ColourChoice, error_line, note, write_result
from workfile_cli.history.shared import Format, print_refused, reporting, require_file, write_json
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE
from workfile_cli.simulating import print_refusal, styler, write_file

if TYPE_CHECKING:
    from sim_runtime.replay.continuation import Continuation

COMMAND = "workfile history continue"
_MAX_LISTED = 12


@click.command("continue")
@click.argument("history", metavar="HISTORY")
@click.option(
    "--definition", metavar="FILE", help="Start a successor run on this Workfile; by default the same run goes on."
)
@click.option("--scenario", metavar="SCENARIO", help="The outside world from there on; its times count from there.")
@click.option("-o", "--output", metavar="FILE", help="Write the continued history to this file.")
@reporting
def continue_(
    history: str,
    definition: str | None,
    scenario: str | None,
    output: str | None,
    format_: Format,
    colour: ColourChoice,
) -> int:
    """Go on from a recorded history, simulated; the history itself stays as it is.

    Recorded boundaries are taken over as long as they are compatible. The exit status is 0 when the run succeeded,
    stopped, or waits.
    """
    from sim_runtime.history.refusal import Refused
    from sim_runtime.replay.continuation import GOOD, CannotContinue
    from sim_runtime.replay.continuation import continue_ as continued
    from sim_runtime.replay.reading import read
    from sim_runtime.simulation import CannotSimulate, prepare

    if output is not None and Path(output).exists() and Path(history).exists() and Path(output).samefile(history):
        raise click.UsageError(f"`{output}` is the history itself, which stays as it is: write to another file.")
    require_file(history)
    try:
        other = None if definition is None else prepare(definition, namesakes=True)
        found = continued(read(history), other, scenario).finish()
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    except CannotContinue as error:
        error_line(str(error), COMMAND)
        return EXIT_USAGE
    except Refused as error:
        return print_refused("continue", shown_path(history), error.refusal, format_, colour)
    report = found.json()
    if output is not None:
        write_file(output, "".join(found.lines()), "the history")
    if format_ == "json":
        write_json(report)
    else:
        write_result(report_text(found, report, colour))
    if output is not None:
        note(f"wrote {len(found.run.records)} records of run {found.header.run} to {output}")
    good = report["status"] in GOOD
    return EXIT_OK if good and not _unfired(found) else EXIT_FINDINGS


def _unfired(found: Continuation) -> bool:
    from sim_runtime.simulation import unfired_words

    for point in found.run.unfired:
        error_line(f"the scenario's crash {unfired_words(point)} never came; name a record that is written", COMMAND)
    return bool(found.run.unfired)


def report_text(found: Continuation, report: dict[str, Any], colour: ColourChoice) -> str:
    """What was taken over, what not, and what the run came to."""
    from sim_runtime.history.paths import shown_path as paths
    from sim_runtime.replay.divergence import INVALIDATED
    from workfile_cli.run import text_report_of

    style = styler(colour)
    lineage, invalidated = report["lineage"], report["invalidated"]
    if found.chosen.is_pinned:
        lines = [f"run {report['run']} goes on, pinned as it was started"]
    else:
        lines = [f"run {report['run']} follows {lineage['run']} after its record {lineage['seq']}"]
    lines.append(f"  reused    {_listed(report['reused'])}")
    if invalidated is not None:
        place = f" at `{invalidated['path']}`" if invalidated["path"] else ""
        cause = invalidated["cause"]
        words = f"{cause}: {INVALIDATED[cause]}"
        lines.append(f"  invalid   record {invalidated['seq']}, `{invalidated['kind']}`{place}, {words}")
        lines.append(f"  discarded {_numbers(report['discarded'])}")
    for each in found.plan.effects:
        state = "may be taken over" if each["reusable"] else "is not taken over"
        lines.append(f"  effect    of `{each['action']}` at `{paths(each['id'])}` may stand outside, and {state}")
    head = "".join(style(line, "plain") + "\n" for line in lines)
    new = found.run.records[len(found.run.records) - found.written :]
    return head + text_report_of(new, found.run.start_us, report, colour)


def _listed(reused: list[dict[str, Any]]) -> str:
    if not reused:
        return "no boundary"
    last = reused[-1]
    place = f" at `{last['path']}`" if last["path"] else ""
    count = f"{len(reused)} boundar{'y' if len(reused) == 1 else 'ies'}"
    return f"{count}, the last one record {last['seq']}, `{last['kind']}`{place}"


def _numbers(seqs: list[int]) -> str:
    """Sequence numbers as ranges: ``5-9, 12``."""
    parts: list[list[int]] = []
    for seq in seqs:
        if parts and parts[-1][-1] == seq - 1:
            parts[-1] = [parts[-1][0], seq]
        else:
            parts.append([seq])
    words = [f"{each[0]}-{each[-1]}" if len(each) > 1 else str(each[0]) for each in parts[:_MAX_LISTED]]
    more = ", …" if len(parts) > _MAX_LISTED else ""
    return f"record{'' if len(seqs) == 1 else 's'} {', '.join(words)}{more}" if words else "nothing"
