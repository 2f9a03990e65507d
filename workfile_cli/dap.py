"""``workfile dap``: the debug adapter."""

from __future__ import annotations

import click

from workfile_cli.options import serve, serving_options


@click.command("dap")
@serving_options
def dap(port: int | None) -> int:
    """Debug simulated runs and recorded histories over the Debug Adapter Protocol, on standard input and output.

    With `--tcp` the adapter waits for one client on that port of this machine; 0 takes a free one and names it on
    standard error.
    """
    from lsp_server.dap.server import run_stdio, run_tcp  # slow to import, and only needed here

    return serve(port, run_stdio, run_tcp)
