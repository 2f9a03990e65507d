"""``workfile run``: one simulated run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import click

from workfile_cli.console import ColourChoice, error_line, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.options import colour_option, format_option
from workfile_cli.simulating import changes_of, print_refusal, simulation_options, styler, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_runtime.driver.protocol import CrashPoint
    from sim_runtime.history.records import Record
    from sim_runtime.observed import Crash
    from sim_runtime.simulation import Simulation

COMMAND = "workfile run"


@click.command("run")
@click.argument("file", metavar="FILE")
@simulation_options
@click.option("--timeline", metavar="FILE.html|FILE.svg", help="Draw the run over virtual time to this file.")
@format_option("text", "json")
@colour_option
def run(
    file: str,
    scenario: str | None,
    inputs: tuple[str, ...],
    trigger: str | None,
    store: str | None,
    history: str | None,
    until: str | None,
    dry_run: bool,
    seed: int | None,
    timeline: str | None,
    format_: Literal["text", "json"],
    colour: ColourChoice,
) -> int:
    """Simulate one run of a Workfile, under a fake clock and with a simulated outside world.

    Without a scenario every action succeeds at once with a small value, and nothing else happens. The exit status is 0
    whenever the simulation could be carried out, whatever the run came to.
    """
    from sim_runtime.driver.store import StoreError
    from sim_runtime.simulation import CannotSimulate, prepare
    from sim_runtime.stores import open_store

    if timeline is not None and not timeline.endswith((".html", ".svg")):
        raise click.UsageError(f"`--timeline`: `{timeline}` must end in `.html` or `.svg`, which says what is drawn.")
    try:
        prepared = prepare(file, scenario)
        prepared.changes = changes_of(inputs, trigger, until, dry_run, seed, prepared.scenario.start_us)
        with open_store(store) as opened:
            simulation = prepared.simulation(opened).finish()
            report = simulation.report
    except StoreError as error:
        raise click.UsageError(f"{error}.") from None
    except CannotSimulate as error:
        return print_refusal(error, format_, colour, COMMAND)
    if history is not None:
        write_file(history, "".join(simulation.history_lines()), "the history")
    if timeline is not None:
        write_file(timeline, _picture(simulation, report, timeline), "the timeline")
    if format_ == "json":
        write_result(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        write_result(text_report(simulation, report, colour))
    return _unfired(simulation.unfired)


def _picture(simulation: Simulation, report: dict[str, Any], path: str) -> str:
    from sim_runtime.picture import picture_of

    picture = picture_of(simulation.run, report)
    if path.endswith(".svg"):
        from sim_runtime.picture.drawing import svg

        return svg(picture)
    from sim_runtime.picture.page import page

    return page(picture, simulation.run.records)


def _unfired(points: list[CrashPoint]) -> int:
    from sim_runtime.simulation import unfired_words

    for point in points:
        error_line(f"the scenario's crash {unfired_words(point)} never came; name a record that is written", COMMAND)
    return EXIT_FINDINGS if points else EXIT_OK


def text_report(simulation: Simulation, report: dict[str, Any], colour: ColourChoice) -> str:
    """The timeline, and what the run came to."""
    from sim_runtime.observed import crashes_of

    run = simulation.run
    return text_report_of(run.records, run.start_us, report, colour, crashes_of(run))


def text_report_of(
    records: Sequence[Record],
    start_us: int,
    report: dict[str, Any],
    colour: ColourChoice,
    crashes: Sequence[Crash] = (),
) -> str:
    """The timeline of records and crashes, and what their run came to."""
    from sim_runtime.timeline import render, timeline

    style = styler(colour)
    return render(timeline(records, start_us, crashes), style) + "\n" + summary(report, colour)


def summary(report: dict[str, Any], colour: ColourChoice) -> str:
    """What a run came to, a few lines."""
    style = styler(colour)
    status = report["status"]
    tone = "good" if status in ("succeeded", "stopped") else "wait" if status in ("running", "suspended") else "bad"
    lines = [f"{report['workflow']}: {style(status, tone)} at {report['clock']['now']}"]
    failure, stop, cancel = report["failure"], report["stop"], report["cancel"]
    if failure:
        place = f" at `{failure['path']}`" if failure.get("path") else ""
        lines.append(style(f"  failure   {failure['code']}{place}: {failure.get('message') or ''}".rstrip(": "), "bad"))
    if stop:
        lines.append(style(f"  stopped   at `{stop['path']}`: {stop['reason']}", "plain"))
    if cancel:
        lines.append(style(f"  cancelled {json.dumps(cancel.get('reason'), ensure_ascii=False)}", "plain"))
    if report["result"] is not None:
        lines.append(style(f"  result    {json.dumps(report['result'], ensure_ascii=False)}", "plain"))
    for each in report["waiting"]:
        what = f"`{each['trigger']}` {json.dumps(each['match'], ensure_ascii=False)}" if "trigger" in each else ""
        until = f"until {each['deadline']}" if each.get("deadline") else ""
        words = " ".join(part for part in (each["kind"], what, until) if part)
        lines.append(style(f"  waits     at `{each['path']}`: {words}", "wait"))
    lines.extend(style(f"  held      at `{each['path']}`: {each['reason']}", "bad") for each in report["holds"])
    for each in report["effects"]:
        calls = f"{each['invocations']} call{'' if each['invocations'] == 1 else 's'}"
        lines.append(style(f"  effect    {each['action']} at `{each['path']}`: {each['count']} in {calls}", "plain"))
    if report["crashes"] or report["generation"]:
        lines.append(f"  crashes   {report['crashes']}, generation {report['generation']}")
    lines.append(f"  history   {report['history']['records']} records, {report['history']['digest'][:19]}…")
    return "\n".join(lines) + "\n"
