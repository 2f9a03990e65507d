"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

colour_option = click.option(
    "--color",
    "--colour",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in the text report.",
)


def format_option(
    *formats: str, name: str = "format_", help_: str = "How to report."
) -> Callable[[_Command], _Command]:
    """``--format``, the first of ``formats`` by default."""
    return click.option("--format", name, type=click.Choice(formats), default=formats[0], show_default=True, help=help_)


def serving_options(command: Callable[[int | None], int]) -> Callable[..., int]:
    """How a server is reached: by the one client on standard input and output, or on a port of this machine."""

    @click.option(
        "--tcp",
        "port",
        metavar="PORT",
        type=click.IntRange(0, 65535),
        help="Serve one client on this port of this machine.",
    )
    @click.option("--stdio", is_flag=True, help="Serve the client on standard input and output; this is the default.")
    @wraps(command)
    def checked(port: int | None, stdio: bool) -> int:
        if stdio and port is not None:
            raise click.UsageError("`--stdio` does not go with `--tcp`.")
        return command(port)

    return checked


def serve(port: int | None, run_stdio: Callable[[], int], run_tcp: Callable[[int], int]) -> int:
    """Serve on standard input and output, or on a port. Raises ``click.UsageError`` for one that cannot be used."""
    if port is None:
        return run_stdio()
    try:
        return run_tcp(port)
    except OSError as error:
        raise click.UsageError(f"port {port} cannot be used: {error.strerror or error}; choose another.") from None
