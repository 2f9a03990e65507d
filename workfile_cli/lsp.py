"""``workfile lsp``: the language server."""

from __future__ import annotations

import gc

import click

from workfile_cli.options import serve, serving_options


@click.command("lsp")
@serving_options
def lsp(port: int | None) -> int:
    """Serve an editor over the Language Server Protocol, on standard input and output.

    With `--tcp` the server waits for one client on that port of this machine; 0 takes a free one and names it on
    standard error.
    """
    # What is loaded stays for good: looking through it while it loads costs a tenth of the start. The server collects.
    gc.disable()
    from lsp_server.server import run_stdio, run_tcp  # slow to import, and only needed here

    return serve(port, run_stdio, run_tcp)
