"""The process of the API: it serves until it is told to end, and ends with an answer to everybody who waits."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final

import uvicorn

from sim_runtime.driver.store import StoreReadOnly, StoreUnavailable
from sim_runtime.host import claims
from sim_runtime.host.api.app import Api, Settings
from sim_runtime.host.heartbeat import Heartbeat
from sim_runtime.host.store import HostStore
from sim_runtime.host.timing import HEARTBEAT_MS

#: How long the loop waits for a lock of the store while requests wait for the loop.
_PATIENCE_SECONDS: Final = 0.5
#: How long requests may take once the process is told to end.
_GRACE_SECONDS: Final = 2


class _Server(uvicorn.Server):
    """Leaves the signals to us: the library's own way ends the process by the signal that it had caught."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Serving:
    """One per process."""

    def __init__(self, settings: Settings, token: str, log: Callable[[str], None]) -> None:
        """Raises ``StoreError``."""
        self._path = settings.store
        self._token = token
        self._log = log
        self._api = Api(settings, token, log)
        self._heartbeat = Heartbeat(settings.store, token, log, lambda: self._api.writer.commits)
        self._entered = False
        self._read_only = False
        self._server = _Server(
            uvicorn.Config(
                self._api,
                lifespan="off",
                log_level="critical",  # what goes wrong is told by the application, in one line
                access_log=False,
                server_header=False,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                limit_concurrency=2_048,
                ws="none",
                http="h11",
                loop="asyncio",
            )
        )

    def end(self) -> None:
        """End in order."""
        self._server.should_exit = True
        self._api.end()

    def run(self, listening: socket.socket) -> None:
        """Until it is told to end. Raises ``StoreError``."""
        asyncio.run(self._serve(listening))
        self._api.writer.stop()
        self._heartbeat.stop()
        if self._entered:
            with closing(HostStore(self._path, safe=False)) as store:
                store.change("update host_instances set ended = 1 where token = ?", self._token)

    async def _serve(self, listening: socket.socket) -> None:
        """Serve, and say that the loop turns."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.end)
        self._enter(first=True)
        serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not serving.done():
            self._heartbeat.turned()
            if not self._entered:
                self._enter()
            await asyncio.wait([serving], timeout=HEARTBEAT_MS / 1000)
        await serving

    def _enter(self, *, first: bool = False) -> None:
        """Become an instance. While the store cannot be written requests are told so."""
        try:
            with closing(HostStore(self._path, safe=False, patience=_PATIENCE_SECONDS)) as store:
                claims.register(store, self._token, claims.API, os.getpid())
        except StoreUnavailable as error:
            if first:
                self._log(f"{error}; it is tried again")
                self._read_only = isinstance(error, StoreReadOnly)
            if first or not self._read_only or not _may_write(self._path):
                return
        else:
            self._heartbeat.start()
            self._entered = True
        if self._read_only:
            # What a process has opened while the disk was read-only stays so.
            self._log("the store can be written again; the API begins anew")
            self.end()


def _may_write(store: str) -> bool:
    """Whether a store and files beside it can be written. It is not opened: closing it would end SQLite's locks."""
    try:
        os.close(os.open(f"{store}.lock", os.O_WRONLY))
    except OSError:
        return False
    return os.access(store, os.W_OK)
