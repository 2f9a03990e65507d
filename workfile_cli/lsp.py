"""``workfile lsp``: the language server."""

from __future__ import annotations

import gc

import click


@click.command("lsp")
@click.option("--tcp", "port", metavar="PORT", type=click.IntRange(0, 65535), help="Serve one client on this port.")
@click.option("--stdio", is_flag=True, help="Serve the client on standard input and output; this is the default.")
def lsp(port: int | None, stdio: bool) -> int:
    """Serve an editor over the Language Server Protocol, on standard input and output.

    With `--tcp` the server waits for one client on that port of this machine; 0 takes a free one and names it on
    standard error.
    """
    if stdio and port is not None:
        raise click.UsageError("`--stdio` does not go with `--tcp`.")
    # What is loaded stays for good: looking through it while it loads costs a tenth of the start. The server collects.
    gc.disable()
    from lsp_server.server import run_stdio, run_tcp  # slow to import, and only needed here

    if port is None:
        return run_stdio()
    try:
        return run_tcp(port)
    except OSError as error:
        raise click.UsageError(f"port {port} cannot be used: {error.strerror or error}; choose another.") from None
