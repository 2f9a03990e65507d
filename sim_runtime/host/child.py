"""The process of an API or a worker: ``python -m sim_runtime.host.child ROLE``, started by the supervisor only.

What it is to do stands on the first line of its standard input, as JSON. The input stays open: its end is the
supervisor's end, and then this process ends too, at once.
"""

from __future__ import annotations

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
from typing import Any, Final

from sim_runtime.driver.store import StoreError
from sim_runtime.host.telling import tell
from sim_runtime.host.timing import BOOT_MS

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
        tell(f"{role}: {error}")
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
        tell(f"{role}: the start took {took:.0f} ms, more than the {BOOT_MS} ms that the declared bounds allow for")


def _work(orders: dict[str, Any], token: str) -> None:
    import gc

    from sim_runtime.host.worker import Worker

    worker = Worker(orders["store"], token, allow_private=orders["allow_private"], log=tell)
    signal.signal(signal.SIGTERM, lambda _number, _frame: worker.stop())
    # Records and states hold no rings; looking through all of them again and again costs more than the runs.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    _tell_slow_boot(orders, "worker")
    worker.run()


def _serve(orders: dict[str, Any], token: str) -> None:
    from sim_runtime.host.api.app import Settings
    from sim_runtime.host.api.serving import Serving

    settings = Settings(
        orders["store"],
        os.environ["WORKFILE_HOST_KEY"],
        orders["build"],
        orders["rate"],
        orders["exercises"],
        orders["allow_private"],
        tuple(orders["signing_keys"]),
    )
    serving = Serving(settings, token, tell)
    signal.signal(signal.SIGTERM, lambda _number, _frame: serving.end())
    _tell_slow_boot(orders, "api")
    with socket.socket(fileno=orders["socket"]) as listening, contextlib.suppress(KeyboardInterrupt):
        serving.run(listening)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    # Threads whose calls are out would be waited for, and nobody wants their answers any more.
    os._exit(status)
