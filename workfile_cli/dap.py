"""``workfile dap``: the debug adapter."""

from __future__ import annotations

import click


@click.command("dap")
@click.option("--tcp", "port", metavar="PORT", type=click.IntRange(0, 65535), help="Serve one client on this port.")
@click.option("--stdio", is_flag=True, help="Serve the client on standard input and output; this is the default.")
def dap(port: int | None, stdio: bool) -> int:
    """Debug simulated runs and recorded histories over the Debug Adapter Protocol, on standard input and output.

    With `--tcp` the adapter waits for one client on that port of this machine; 0 takes a free one and names it on
    standard error.
    """
    if stdio and port is not None:
        raise click.UsageError("`--stdio` does not go with `--tcp`.")
    from lsp_server.dap.server import run_stdio, run_tcp  # slow to import, and only needed here

    if port is None:
        return run_stdio()
    try:
        return run_tcp(port)
    except OSError as error:
        raise click.UsageError(f"port {port} cannot be used: {error.strerror or error}; choose another.") from None
