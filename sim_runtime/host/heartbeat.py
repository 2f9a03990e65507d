"""The sign of life of an instance: a lease in the store, renewed by a thread, but only as long as the loop turns."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from sim_runtime.driver.store import StoreError
from sim_runtime.host import claims
from sim_runtime.host.store import HostStore
from sim_runtime.host.timing import HEARTBEAT_MS, LEASE_MS, STALL_MS


class Heartbeat:
    """Renews the lease of one instance."""

    def __init__(self, path: str, token: str, log: Callable[[str], None], commits: Callable[[], int]) -> None:
        """``commits`` counts the commits that waited for the disk; the figure goes with the sign of life."""
        self._commits = commits
        self._path = path
        self._token = token
        self._log = log
        self._turned = time.monotonic()
        self._renewed = time.monotonic()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")

    def start(self) -> None:
        """Begin; the instance was registered a moment ago."""
        self._renewed = self._turned = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._ending.set()

    def turned(self) -> None:
        """The loop made a turn."""
        self._turned = time.monotonic()

    def stands(self) -> bool:
        """Whether the lease stands, as far as this process knows."""
        return time.monotonic() < self._renewed + LEASE_MS / 1000

    def _beat(self) -> None:
        store: HostStore | None = None
        troubled = False
        while not self._ending.wait(HEARTBEAT_MS / 1000):
            if time.monotonic() - self._turned > STALL_MS / 1000:
                self._log(f"the loop made no turn for {STALL_MS // 1000} s; this instance ends itself")
                os.kill(os.getpid(), signal.SIGKILL)
            began = time.monotonic()
            try:
                store = store or HostStore(self._path, safe=False)
                lives = claims.renew(store, self._token, self._commits())
            except StoreError as error:
                if not troubled:
                    self._log(f"no heartbeat: {error}")
                troubled = True
                if store is not None:
                    store.close()  # one that was opened while the disk was read-only stays so
                    store = None
                continue
            troubled = False
            if not lives:
                self._log("this instance was declared dead; it ends itself")
                os.kill(os.getpid(), signal.SIGKILL)
            self._renewed = began

    def may_send(self, run: str, epoch: int | None) -> bool:
        """Whether a call may still leave: after a pause in which the lease ran out only if nobody took the run."""
        if self.stands():
            return True
        while not self.stands():
            if self._ending.wait(HEARTBEAT_MS / 5000):
                return False
        if epoch is None:
            return False
        try:
            store = HostStore(self._path, read_only=True)
        except StoreError:
            return False
        try:
            return bool(
                store.one(
                    "select 1 from host_runs where id = ? and epoch = ? and claimed_by = ?", run, epoch, self._token
                )
            )
        except StoreError:
            return False
        finally:
            store.close()
