"""``workfile completion``: the script that makes a shell complete commands, options and rule names."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from workfile_cli.console import write_result
from workfile_cli.main import COMPLETION, PROGRAM


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish.

    \b
    bash:  eval "$(workfile completion bash)"       in ~/.bashrc
    zsh:   eval "$(workfile completion zsh)"        in ~/.zshrc
    fish:  workfile completion fish | source        in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for `{shell}`.")
    from workfile_cli.group import cli

    # Not the class's own `source`: for bash it starts a shell to ask for its version, which is not ours to judge.
    write_result(ShellComplete.source(found(cli, {}, PROGRAM, COMPLETION)))
