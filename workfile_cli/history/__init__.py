"""``workfile history``: what can be done with recorded histories; one module a subcommand."""

from __future__ import annotations

import click

from workfile_cli.history.continuing import continue_
from workfile_cli.history.export import export
from workfile_cli.history.impact import impact
from workfile_cli.history.reconstruct import reconstruct
from workfile_cli.history.reevaluate import reevaluate


@click.group("history")
def history() -> None:
    """Work with the recorded histories of runs: export, reconstruct, reevaluate, continue, impact.

    The three operations on a history are different ones: reconstruct shows a recorded state and evaluates nothing,
    reevaluate decides anew from what was recorded and has no effect, continue goes on.
    """


for _command in (export, reconstruct, reevaluate, continue_, impact):
    history.add_command(_command)

__all__ = ["history"]
