"""Work-done progress: the client is shown what long work does, and can end it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

if TYPE_CHECKING:
    from lsp_server.server import WorkfileServer

CREATE_S: Final = 2.0
"""How long the client may take to make room for a progress that it has not asked for itself."""


class Progress:
    """One piece of long work as the client sees it; without a token it sees nothing."""

    __slots__ = ("_server", "_token", "cancelled")

    def __init__(self, server: WorkfileServer, token: str | int | None) -> None:
        self._server = server
        self._token = token
        self.cancelled = asyncio.Event()

    def report(self, message: str) -> None:
        """Show how far the work is."""
        self._send(types.WorkDoneProgressReport(message=message, cancellable=True))

    def _send(self, value: Any) -> None:
        if self._token is not None:
            self._server.protocol.notify("$/progress", types.ProgressParams(self._token, value))


@asynccontextmanager
async def progress_of(server: WorkfileServer, token: str | int | None, title: str) -> AsyncIterator[Progress]:
    """Show work with this title while the block runs; ``token`` is the client's own, if it has sent one."""
    token = await _token(server) if token is None else token
    progress = Progress(server, token)
    if token is not None:
        server.works[token] = progress
    progress._send(types.WorkDoneProgressBegin(title=title, cancellable=True))
    try:
        yield progress
    finally:
        progress._send(types.WorkDoneProgressEnd())
        if token is not None:
            server.works.pop(token, None)


async def _token(server: WorkfileServer) -> str | None:
    """A token that the client knows of; None when it shows no progress."""
    window = server.client.window
    if window is None or not window.work_done_progress:
        return None
    token = f"workfile-{uuid.uuid4().hex[:12]}"
    created = server.protocol.send_request(
        types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(token)
    )
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(created), CREATE_S)
    return token
