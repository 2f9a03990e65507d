"""What the subcommands of ``workfile history`` have in common: refusals, and files that are histories."""

# ruff: noqa: PTH110, PTH112, PTH118

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click

from workfile_cli.console import ColourChoice, write_result
from workfile_cli.main import EXIT_FINDINGS
from workfile_cli.options import colour_option
from workfile_cli.simulating import styler

if TYPE_CHECKING:
    from sim_runtime.history.refusal import Refusal

Format: TypeAlias = Literal["text", "json"]
Command = TypeVar("Command", bound=Callable[..., Any])

SUFFIX = ".history.jsonl"
MAX_HISTORIES = 100_000

_format_option = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report."
)


def reporting(command: Command) -> Command:
    """The options of a command that reports."""
    return _format_option(colour_option(command))


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
        raise click.UsageError(f"`{path}` cannot be read: you may not.")


def history_files(paths: Sequence[str]) -> list[str]:
    """The histories that paths mean: files as they are, folders searched for ``*.history.jsonl``; sorted in a folder.

    Raises ``click.UsageError`` for a path that is not there.
    """
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(path):
            found.update(dict.fromkeys(_in_folder(path)))
        elif os.path.exists(path):
            found[path] = None
        else:
            raise click.UsageError(f"there is no file or folder `{path}`.")
    if len(found) > MAX_HISTORIES:
        raise click.UsageError(f"these are {len(found):,} histories, and at most {MAX_HISTORIES:,} are read at once.")
    return list(found)


def _in_folder(folder: str) -> list[str]:
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        found.extend(os.path.join(root, each) for each in sorted(files) if each.endswith(SUFFIX))
    return found


def shown_path(path: str) -> str:
    """A path as users see it: relative where that is shorter, with ``/``."""
    absolute = os.path.abspath(path)  # noqa: PTH100
    relative = os.path.relpath(absolute)
    return (absolute if relative.startswith(os.pardir) else relative).replace(os.sep, "/")
