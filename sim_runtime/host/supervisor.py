"""The supervisor: one API process and N workers, started, watched, started again, and ended with it.

It holds the listening socket, so that clients can connect while the API is being started again. It notes every death
with its signal, leaves a dead worker's work to the peers for a moment before it starts another one, and watches that
the sweep runs: a host whose sweep stands still recovers nothing, whatever its bounds say.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from analyzer.shown import shown_path
from sim_runtime.driver.store import StoreError, StoreUnavailable
from sim_runtime.host.build import PACKAGE_ROOT, build_digest
from sim_runtime.host.catalogue import Catalogue, keep_catalogue
from sim_runtime.host.claims import API, WORKER, claimed_by, follow_clock
from sim_runtime.host.store import HostStore, create_store, now_us
from sim_runtime.host.timing import HANDOVER_MS, LOCK_STALL_MS, RESTART_MS, SWEEP_STALL_MS

_STEP_SECONDS: Final = 0.02
#: How long children may take to end in order.
_STOP_SECONDS: Final = 6.0
#: A child that dies sooner than this after its start, or before it was ready, is started again more and more slowly.
_SHORT_LIFE_SECONDS: Final = 2.0
_SLOWEST_SECONDS: Final = 5.0
#: So many such deaths one after the other at the very beginning mean that the host cannot run at all.
_HOPELESS: Final = 5
_BACKLOG: Final = 1_024
#: How long the supervisor waits for others to let go of the store: it has children to look after.
_PATIENCE_SECONDS: Final = 2.0


class CannotHost(Exception):
    """The host cannot start; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Options:
    """What ``workfile host`` was asked for. The key itself stays in the environment."""

    listen: tuple[str, int]
    store: str
    workers: int
    catalogue: Catalogue
    exercises: bool = False
    allow_private: bool = False
    rate: float | None = 1_000.0
    signing_keys: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Child:
    """A place for a process, and the process that is in it."""

    role: str
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    #: Not before this instant another one is started; ``dead`` is the token whose work is left to peers until then.
    not_before: float = 0.0
    dead: str | None = None
    short_lives: int = 0


@dataclass(slots=True)
class Supervisor:
    """Runs in the main thread of its process, which is the parent of all others."""

    options: Options
    log: Callable[[str], None]
    children: list[Child] = field(default_factory=list)
    _stopping: bool = False
    _lived: bool = False
    _last_check: float = 0.0
    _began: float = 0.0

    def run(self, started: Callable[[str], None]) -> int:
        """Until a signal ends it; ``started`` is told the URL. Raises ``CannotHost``, ``StoreError``."""
        with _only_one(self.options.store):
            create_store(self.options.store)
            store = HostStore(self.options.store, patience=_PATIENCE_SECONDS)
            keep_catalogue(store, self.options.catalogue)
            _clear(store)
            with _listening(self.options.listen) as listening:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, self._stop)
                self.children = [Child(API), *(Child(WORKER) for _ in range(self.options.workers))]
                orders = self._orders(listening)
                self._began = time.monotonic()
                host, port = listening.getsockname()[:2]
                started(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
                try:
                    return self._watch(store, orders, listening)
                finally:
                    self._end_children()
                    store.close()

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True

    def _orders(self, listening: socket.socket) -> dict[str, Any]:
        options = self.options
        return {
            "supervisor": os.getpid(),
            "store": options.store,
            "build": build_digest(),
            "rate": options.rate,
            "exercises": options.exercises,
            "allow_private": options.allow_private,
            "signing_keys": list(options.signing_keys),
            "socket": listening.fileno(),
        }

    def _watch(self, store: HostStore, orders: dict[str, Any], listening: socket.socket) -> int:
        while not self._stopping:
            for child in self.children:
                self._look_after(child, store, orders, listening)
            if any(each.short_lives >= _HOPELESS for each in self.children) and not self._lived:
                self.log("its processes end as soon as they are started; giving up")
                return 1
            self._look_at_the_sweep(store)
            time.sleep(_STEP_SECONDS)
        return 0

    # ---- children -------------------------------------------------------------------------------

    def _look_after(self, child: Child, store: HostStore, orders: dict[str, Any], listening: socket.socket) -> None:
        now = time.monotonic()
        if child.process is not None:
            status = child.process.poll()
            if status is None:
                self._lived = self._lived or (child.role == WORKER and now - child.started > _SHORT_LIFE_SECONDS)
                return
            self._bury(child, status, store)
        if now >= child.not_before or self._was_taken_over(child, store, now):
            self._start(child, orders, listening)

    def _bury(self, child: Child, status: int, store: HostStore) -> None:
        """Note a death; its claims are free from this moment on."""
        process = child.process
        assert process is not None
        if process.stdin is not None:
            process.stdin.close()
        child.process = None
        now = time.monotonic()
        number = -status if status < 0 else None
        child.dead = _note_death(store, process.pid, child.role, number)
        short = child.dead is None or now - child.started < _SHORT_LIFE_SECONDS
        child.short_lives = child.short_lives + 1 if short else 0
        delay = min(RESTART_MS / 1000 * 2 ** min(child.short_lives, 10), _SLOWEST_SECONDS)
        has_peers = child.role == WORKER and any(
            each is not child and each.role == WORKER and each.process is not None for each in self.children
        )
        child.not_before = now + (max(delay, (RESTART_MS + HANDOVER_MS) / 1000) if has_peers else delay)
        how = f"was ended by signal {number}" if number is not None else f"ended with status {status}"
        self.log(f"a process ({child.role}) {how}; it is started again")

    def _was_taken_over(self, child: Child, store: HostStore, now: float) -> bool:
        """Whether peers have taken what a dead worker held, so that nothing needs to be left to them any more."""
        if child.role != WORKER or child.dead is None or child.short_lives > 1:
            return False
        if child.not_before - now > HANDOVER_MS / 1000:
            return False
        try:
            return not claimed_by(store, child.dead)
        except StoreError:
            return False

    def _start(self, child: Child, orders: dict[str, Any], listening: socket.socket) -> None:
        # The very package that this process runs, and nothing of the working directory, whatever lies there.
        path = os.pathsep.join([str(PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path}
        if child.role != API:
            environment.pop("WORKFILE_HOST_KEY", None)
        # Ctrl-C in a terminal reaches the whole group; a child that is not far enough to ignore it must not see it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sim_runtime.host.child", child.role],
                stdin=subprocess.PIPE,
                env=environment,
                pass_fds=[listening.fileno()] if child.role == API else [],
            )
        except OSError as error:
            self.log(f"a process ({child.role}) cannot be started: {error.strerror or error}; it is tried again")
            child.not_before = time.monotonic() + _SLOWEST_SECONDS
            return
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        child.process, child.started, child.dead = process, time.monotonic(), None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({**orders, "started": child.started}).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return  # it died at once, which the next look tells

    def _end_children(self) -> None:
        """In order first: workers let go of what they hold; then by force."""
        living = [each.process for each in self.children if each.process is not None]
        for process in living:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in living:
            try:
                process.wait(max(0.05, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ---- the sweep ------------------------------------------------------------------------------

    def _look_at_the_sweep(self, store: HostStore) -> None:
        """When nobody sweeps any more, end the workers that stand still; their peers, or new ones, go on."""
        now = time.monotonic()
        if now - self._last_check < 1.0:
            return
        self._last_check = now
        try:
            row = store.one("select max(at) from host_sweeps")
            ready = dict(store.all("select pid, started from host_instances where role = ?", WORKER))
        except StoreError:
            return
        last = max(row[0] or 0.0 if row is not None else 0.0, self._began, *ready.values())
        # A worker that is still being started has not begun to sweep, and is none that stands still.
        living = [each for each in self.children if each.process is not None and each.process.pid in ready]
        if now - last < LOCK_STALL_MS / 1000 or not living:
            return
        if not _is_writable(store):
            # A full disk is no fault of a process; one that was stopped while it wrote keeps all others from writing.
            living = [each for each in self.children if each.process is not None and _is_stopped(each.process.pid)]
        elif now - last < SWEEP_STALL_MS / 1000:
            return
        if not living:
            return
        self.log(f"no sweep ran for {now - last:.0f} s; {len(living)} processes that stand still are ended")
        self._began = now
        for each in living:
            assert each.process is not None
            each.process.kill()


def _note_death(store: HostStore, pid: int, role: str, number: int | None) -> str | None:
    try:
        with store.transaction():
            row = store.one("select token from host_instances where pid = ? order by started desc", pid)
            if row is None:
                return None
            token = str(row[0])
            store.change("delete from host_instances where token = ?", token)
            store.change("delete from host_sweeps where token = ?", token)
            store.change(
                "insert into host_deaths (token, role, signal, at) values (?, ?, ?, ?)", token, role, number, now_us()
            )
    except StoreUnavailable:
        return None  # the lease runs out by itself
    return token


def _is_writable(store: HostStore) -> bool:
    try:
        store.change("insert or replace into host_meta values ('written', ?)", str(now_us()))
    except StoreError:
        return False
    return True


def _is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _clear(store: HostStore) -> None:
    """Everything of an earlier start is over: nobody else can have the store. What was put aside is tried again."""
    now = now_us()
    with store.transaction():
        follow_clock(store)
        store.change(
            "update host_runs set claimed_by = null, lost_by = claimed_by, deaths = deaths + 1, ready_at = ?"
            " where claimed_by is not null",
            now,
        )
        store.change("update host_runs set held_by = null, ready_at = ? where held_by is not null", now)
        store.change("update host_runs set wanted = null where wanted is not null")
        store.change(
            "update host_runs set ready_at = ?, error = null where status = 'paused' and ended_at is null and"
            " ready_at is null",
            now,
        )
        for table in ("host_instances", "host_deaths", "host_sweeps"):
            store.change(f"delete from {table}")


@contextmanager
def _only_one(store: str) -> Iterator[None]:
    """The store is one supervisor's; the lock ends with its process, however that ends. Raises ``CannotHost``."""
    path = f"{store}.lock"
    try:
        file = open(path, "ab")  # noqa: PTH123, SIM115
    except OSError as error:
        raise CannotHost(f"cannot lock `{shown_path(path)}`: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotHost(f"another host has the store `{shown_path(store)}`: end that one first") from None
        yield


def _listening(listen: tuple[str, int]) -> socket.socket:
    host, port = listen
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotHost(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    return listening
