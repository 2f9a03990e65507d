"""The process of an API or a worker: ``python -m sim_runtime.host.child ROLE``, started by the supervisor only.

What it is to do stands on the first line of its standard input, as JSON. The input stays open: its end is the
supervisor's end, and then this process ends too, at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from sim_runtime.driver.store import StoreError
from sim_runtime.host.timing import BOOT_MS, HEARTBEAT_MS

EXIT_STORE: Final = 3
_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> int:
    """Be a child. The exit code is 0 for an orderly end."""
    role = arguments[0]
    orders: dict[str, Any] = json.loads(_first_line(sys.stdin.fileno()))
    _end_with(orders["supervisor"], sys.stdin.fileno())
    token = f"{role}-{secrets.token_urlsafe(18)}"
    try:
        if role == "worker":
            _work(orders, token)
        else:
            _serve(orders, token)
    except StoreError as error:
        log(f"{role}: {error}")
        return EXIT_STORE
    return 0


def _first_line(descriptor: int) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        more = os.read(descriptor, 65_536)
        if not more:
            break
        data += more
    return data


def log(message: str) -> None:
    """One line for the operator."""
    sys.stderr.write(f"workfile host: {message}\n")
    sys.stderr.flush()


def _end_with(supervisor: int, descriptor: int) -> None:
    """Die when the supervisor does: by the kernel's signal where there is one, and by the end of its pipe."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os.kill(os.getpid(), signal.SIGKILL)
    # Ctrl-C in a terminal reaches the whole group; the supervisor is the one that ends its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        # Past the buffer, which a thread that still waits at the end of the process must not hold.
        while os.read(descriptor, 1):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True, name="supervisor").start()


def _tell_slow_boot(orders: dict[str, Any], role: str) -> None:
    took = (time.monotonic() - orders["started"]) * 1000
    if took > BOOT_MS:
        log(f"{role}: the start took {took:.0f} ms, more than the {BOOT_MS} ms that the declared bounds allow for")


def _work(orders: dict[str, Any], token: str) -> None:
    import gc

    from sim_runtime.host.worker import Worker

    worker = Worker(orders["store"], token, allow_private=orders["allow_private"], log=log)
    signal.signal(signal.SIGTERM, lambda _number, _frame: worker.stop())
    # Records and states hold no rings; looking through all of them again and again costs more than the runs.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    _tell_slow_boot(orders, "worker")
    worker.run()


def _serve(orders: dict[str, Any], token: str) -> None:
    import uvicorn

    class _Server(uvicorn.Server):
        """Leaves the signals to us: the library's own way ends the process by the signal that it had caught."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    from sim_runtime.host import claims
    from sim_runtime.host.api.app import Api, Settings
    from sim_runtime.host.heartbeat import Heartbeat
    from sim_runtime.host.store import HostStore

    settings = Settings(
        orders["store"],
        os.environ["WORKFILE_HOST_KEY"],
        orders["build"],
        orders["rate"],
        orders["exercises"],
        orders["allow_private"],
        tuple(orders["signing_keys"]),
    )
    store = HostStore(settings.store, safe=False)
    claims.register(store, token, claims.API, os.getpid())
    api = Api(settings, token, log)
    heartbeat = Heartbeat(settings.store, token, log, lambda: api.writer.commits)
    heartbeat.start()
    config = uvicorn.Config(
        api,
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=2,
        limit_concurrency=2_048,
        ws="none",
        http="h11",
        loop="asyncio",
    )
    server = _Server(config)
    signal.signal(signal.SIGTERM, lambda _number, _frame: setattr(server, "should_exit", True))

    async def serve(listening: socket.socket) -> None:
        """Serve, and say that the loop turns."""
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not serving.done():
            heartbeat.turned()
            await asyncio.wait([serving], timeout=HEARTBEAT_MS / 1000)
        await serving

    _tell_slow_boot(orders, "api")
    with socket.socket(fileno=orders["socket"]) as listening, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(listening))
    api.writer.stop()
    heartbeat.stop()
    store.change("update host_instances set ended = 1 where token = ?", token)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # Threads whose calls are out would be waited for, and nobody wants their answers any more.
    os._exit(status)
