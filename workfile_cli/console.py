"""What the commands print with: results to standard output, everything else to standard error, nothing raw."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Literal, TypeAlias

from analyzer.report.common import printable

ColourChoice: TypeAlias = Literal["auto", "always", "never"]

MIN_WIDTH = 40
_DIFF_STYLES = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_CHUNK = 65536
_CLICK = re.compile(r"No such |Invalid value|Missing |Option '|Argument '|Got unexpected ")
_QUOTED = re.compile(r"(?<!\w)'\[?([^'`\[\]]*)\]?'(?!\w)")


def write_result(text: str) -> None:
    """Print a command's result to standard output, as it is."""
    for start in range(0, len(text), _CHUNK):
        sys.stdout.write(text[start : start + _CHUNK])


def write_diff(diff: str, choice: ColourChoice) -> None:
    """Print a unified diff: exact for a file or a program, coloured and made safe to show for a terminal."""
    colour = use_colour(choice)
    if not colour and not sys.stdout.isatty():
        write_result(diff)
        return
    for line in diff.splitlines(keepends=True) if diff else ():
        shown = "\t".join(printable(part) for part in line.rstrip("\r\n").split("\t"))
        style = _DIFF_STYLES.get(line[:1], "") if colour else ""
        sys.stdout.write(f"{style}{shown}\x1b[0m\n" if style else f"{shown}\n")


def note(text: str) -> None:
    """Print a line about what was done to standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def error_line(text: str, command: str = "workfile") -> None:
    """Print the one line of a call that cannot be carried out to standard error."""
    line = printable(" ".join(text.split()))
    stop = "" if line.endswith((".", "?")) else "."
    sys.stderr.write(f"{command}: error: {line}{stop}\n")


def usage_line(text: str, command: str) -> None:
    """Print what is wrong with a call. What click says itself is put as we say things: small, names in backticks."""
    if _CLICK.match(text):
        text = _QUOTED.sub(r"`\1`", text[:1].lower() + text[1:])
    error_line(text, command)


def use_colour(choice: ColourChoice, *, stderr: bool = False) -> bool:
    """Whether to write terminal styles: as asked for, else on a terminal that wants them (``NO_COLOR``, ``TERM``)."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    stream = sys.stderr if stderr else sys.stdout
    return stream.isatty()


def output_width(default: int) -> int:
    """The columns of the terminal that standard output is; ``default`` when it is none."""
    if not sys.stdout.isatty():
        return default
    return max(MIN_WIDTH, shutil.get_terminal_size((default, 24)).columns)
