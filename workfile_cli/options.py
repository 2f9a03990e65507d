"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

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


def complete_rules(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rules and families that begin with what was typed."""
    from click.shell_completion import CompletionItem

    from workfile_cli import engine

    rules = engine.ENGINE.all_rules()
    names = {name: rule.summary for name, rule in rules.items()}
    names.update({rule.code: "family" for rule in rules.values()})
    return [CompletionItem(name, help=names[name]) for name in sorted(names) if name.startswith(incomplete)]


def complete_several_rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same for a list with commas: its last name, those before it left out."""
    before, comma, last = incomplete.rpartition(",")
    found = [each for each in complete_rules(context, parameter, last) if each.value not in before.split(",")]
    for each in found:
        each.value = f"{before}{comma}{each.value}"
    return found


def rules_option(name: str, help_: str) -> Callable[[_Command], _Command]:
    """An option that takes rules and families, several times or with commas between them."""
    return click.option(
        name, multiple=True, callback=split_names, metavar="RULE,...", help=help_, shell_complete=complete_several_rules
    )


def split_names(_context: click.Context, _option: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """``--select a,b --select c``: one list, each once, in the order given."""
    names = (name.strip() for part in value for name in part.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


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
