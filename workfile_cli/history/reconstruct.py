"""``workfile history reconstruct``: the state that a history represents at a boundary."""

from __future__ import annotations

import json
from typing import Any

import click

from analyzer.shown import shown_path
from workfile_cli.console import ColourChoice, write_result
from workfile_cli.history.shared import Format, print_refused, reporting, require_file, write_json
from workfile_cli.main import EXIT_OK
from workfile_cli.simulating import styler

_AT = "A record's number, a time (or a duration since the start), or a step path; by default the last boundary."
_MAX_LISTED = 20


@click.command("reconstruct")
@click.argument("history", metavar="HISTORY")
@click.option("--at", metavar="SEQ|TIME|PATH", help=_AT)
@click.option("--since", metavar="SEQ|TIME|PATH", help="Show what changed since this boundary too.")
@reporting
def reconstruct(history: str, at: str | None, since: str | None, format_: Format, colour: ColourChoice) -> int:
    """Show the state of a recorded run at a durable boundary.

    The records are folded, and nothing else is done: no expression is evaluated and nothing is called. Neither the
    Workfile nor its connectors are needed.
    """
    from sim_runtime.history.refusal import Refused
    from sim_runtime.replay.reading import NoBoundary, boundary_at, read
    from sim_runtime.replay.reconstruction import changes
    from sim_runtime.replay.reconstruction import reconstruct as reconstructed

    require_file(history)
    try:
        loaded = read(history)
        found = reconstructed(loaded, boundary_at(loaded, at).seq).json()
        if since is not None:
            before = reconstructed(loaded, boundary_at(loaded, since).seq).json()
            found["since"] = {"at": before["at"], "changes": changes(before, found)}
    except NoBoundary as error:
        raise click.UsageError(f"{error}.".replace("..", ".")) from None
    except Refused as error:
        return print_refused("reconstruct", shown_path(history), error.refusal, format_, colour)
    if format_ == "json":
        write_json(found)
    else:
        write_result(report_text(found, colour))
    return EXIT_OK


def report_text(found: dict[str, Any], colour: ColourChoice) -> str:
    """A reconstruction for people."""
    from workfile_cli.run import summary

    style = styler(colour)
    at = found["at"]
    place = f" at `{at['path']}`" if at["path"] else ""
    parts = [style(f"run {found['run']} at record {at['seq']}, `{at['kind']}`{place}", "plain") + "\n"]
    parts.append(summary({**found, "effects": []}, colour))
    if found["active"]:
        parts.append(_line("active", ", ".join(f"`{each}`" for each in found["active"][:_MAX_LISTED]), style))
    parts.extend(_line("binding", f"{name} = {_value(value)}", style) for name, value in found["bindings"].items())
    parts.extend(
        _line("ambiguous", f"attempt {each['attempt']} at `{each['path']}`, record {each['seq']}", style)
        for each in found["ambiguous"]
    )
    parts.extend(_superseded(found["superseded"], style))
    parts.extend(
        _line("withheld", f"{each['class']} at `{each['path']}`, record {each['seq']}", style)
        for each in found["withheld"]
    )
    if "since" in found:
        parts.append(_changes(found["since"], style))
    return "".join(parts)


def _superseded(entries: list[dict[str, Any]], style: Any) -> list[str]:
    outcomes = [each for each in entries if each["kind"] in ("action.succeeded", "child.finished")]
    lines = []
    for each in outcomes[:_MAX_LISTED]:
        undone = ", compensated" if each["compensated"] else ""
        lines.append(
            _line(
                "superseded",
                f"`{each['path']}` in generation {each['generation']}, record {each['seq']}{undone}",
                style,
            )
        )
    left = len(entries) - len(lines)
    if left:
        lines.append(_line("superseded", f"{left} more record{'' if left == 1 else 's'}", style))
    return lines


def _changes(since: dict[str, Any], style: Any) -> str:
    if not since["changes"]:
        return str(style("nothing changed", "plain")) + "\n"
    lines = [f"changed since record {since['at']['seq']}, `{since['at']['kind']}`:"]
    lines.extend(f"  {each['at']}: {_value(each['before'])} -> {_value(each['after'])}" for each in since["changes"])
    return "".join(style(line, "plain") + "\n" for line in lines)


def _line(what: str, text: str, style: Any) -> str:
    return str(style(f"  {what:<9} {text}", "plain")) + "\n"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:119] + "…"
