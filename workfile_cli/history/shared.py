"""What the subcommands of ``workfile history`` have in common: refusals, and files that are histories."""

# ruff: noqa: PTH110, PTH112

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click

from workfile_cli.console import ColourChoice, write_result
from workfile_cli.main import EXIT_FINDINGS
from workfile_cli.options import colour_option, format_option
from workfile_cli.simulating import styler

if TYPE_CHECKING:
    from sim_runtime.history.refusal import Refusal

Format: TypeAlias = Literal["text", "json"]
Command = TypeVar("Command", bound=Callable[..., Any])

MAX_HISTORIES = 100_000


def reporting(command: Command) -> Command:
    """The options of a command that reports."""
    return format_option("text", "json")(colour_option(command))


def write_json(value: Any) -> None:
    """Print a JSON object."""
    write_result(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def print_refused(operation: str, path: str, refusal: Refusal, format_: Format, colour: ColourChoice) -> int:
    """Say why a history is refused; the exit code."""
    if format_ == "json":
        write_json({"version": 1, "operation": operation, "outcome": "refused", "refusal": refusal.json()})
    else:
        style = styler(colour)
        write_result(f"{style(path, 'plain')}: {style('refused', 'bad')}\n{refusal_text(refusal, colour)}")
    return EXIT_FINDINGS


def refusal_text(refusal: Refusal, colour: ColourChoice) -> str:
    """The reason, the first record that cannot be used, and what is missing."""
    style = styler(colour)
    boundary = refusal.boundary
    if isinstance(boundary, str):
        place = "its header"
    else:
        kind = f" `{boundary['kind']}`" if boundary["kind"] else ""
        at = f" at `{boundary['path']}`" if boundary["path"] else ""
        place = f"record {boundary['seq']}{kind}{at}"
    lines = [f"  {style(refusal.message, 'plain')}", f"  reason    {refusal.reason}, from {style(place, 'plain')} on"]
    if refusal.missing:
        lines.append(style(f"  missing   {', '.join(refusal.missing)}", "plain"))
    return "\n".join(lines) + "\n"


def require_file(path: str) -> None:
    """A history must be a file that can be read. Raises ``click.UsageError``."""
    if os.path.isdir(path):
        raise click.UsageError(f"`{path}` is a folder: name one history.")
    if not os.path.exists(path):
        raise click.UsageError(f"there is no file `{path}`.")
    if not os.access(path, os.R_OK):
        raise click.UsageError(f"`{path}` cannot be read: check its permissions.")


def history_files(paths: Sequence[str]) -> list[str]:
    """The histories that paths mean: files as they are, folders searched for ``*.history.jsonl``; sorted in a folder.

    Raises ``click.UsageError`` for a path that is not there, and when there are none: who asks about recorded runs and
    has none most likely named the wrong folder, and must not take that for a good answer.
    """
    from sim_runtime.rules.histories import SUFFIX, find_histories

    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(path):
            found.update(dict.fromkeys(find_histories(path)))
        elif os.path.exists(path):
            found[path] = None
        else:
            raise click.UsageError(f"there is no file or folder `{path}`.")
    if not found:
        raise click.UsageError(f"there is no history (`*{SUFFIX}`) in {', '.join(f'`{path}`' for path in paths)}.")
    if len(found) > MAX_HISTORIES:
        raise click.UsageError(f"these are {len(found):,} histories, and at most {MAX_HISTORIES:,} are read at once.")
    return list(found)
