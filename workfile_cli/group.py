"""The ``workfile`` group: a click group whose commands are loaded when they are called."""

from __future__ import annotations

import importlib

import click

from analyzer.__about__ import __version__
from workfile_cli.commands import COMMANDS

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """Commands come from the table; help lists them without loading one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the group's own signature
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load the command's module."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}:{entry.attribute} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown command is answered with the nearest one."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from analyzer.language.suggest import hint

            guess = hint(name, COMMANDS) or " `workfile --help` lists the commands."
            raise click.UsageError(f"there is no command `{name}`.{guess}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings=CONTEXT_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, "-V", "--version", prog_name="workfile", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Check, simulate and explore durable workflows written as Workfiles.

    The exit status is 0 when all is well, 1 when something must be mended, and 2 when the call cannot be carried out.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
