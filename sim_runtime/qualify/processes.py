"""The processes of a host that we start ourselves: restarted when they die, watched for deaths, ended with us.

Which processes belong to the host is read from ``/proc`` by their session; where there is none, only the death of the
process that we started ourselves is seen.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self

_PROC: Final = Path("/proc")
RESTART_DELAY: Final = 0.1
#: A command that dies this often is not restarted any more.
MAX_RESTARTS: Final = 30
#: How much of the host's last output is told when it does not start.
TAIL_BYTES: Final = 2000


class CannotStart(Exception):
    """COMMAND cannot be run; the message says why."""


class HostProcess:
    """COMMAND and all processes that it starts."""

    def __init__(
        self, command: str, log: IO[bytes], stop_seconds: float, environment: Mapping[str, str] | None = None
    ) -> None:
        """``environment`` is added to ours, where ours says nothing else. Raises ``CannotStart``."""
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise CannotStart(f"`{command}` cannot be split into words: {error}.") from None
        if not self._arguments:
            raise CannotStart("the command to start the host is empty.")
        self._environment = {**(environment or {}), **os.environ}
        self._log = log
        self._stop_seconds = stop_seconds
        self._lock = threading.Lock()
        self._sessions: list[int] = []
        self._exits: list[int] = []
        self._known: frozenset[tuple[int, str]] = frozenset()
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._start()
        self._keeper.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(self._stop_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keeper.join(self._stop_seconds)
        self._end_the_rest()

    def _end_the_rest(self) -> None:
        """End what COMMAND left behind: those processes only that came from it."""
        for _ in range(3):
            left = self.alive()
            if not left:
                return
            for number, _started in sorted(left):
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.02)

    def _start(self) -> None:
        try:
            process = subprocess.Popen(
                self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotStart(f"`{self._arguments[0]}` cannot be started: {error.strerror or error}.") from None
        with self._lock:
            self._process = process
            self._sessions.append(process.pid)

    def _keep(self) -> None:
        """The restart supervisor of a host that has none."""
        for _ in range(MAX_RESTARTS):
            process = self._process
            assert process is not None
            status = process.wait()
            if self._ending.is_set():
                return
            with self._lock:
                self._exits.append(status)
            if self._ending.wait(RESTART_DELAY):
                return
            try:
                self._start()
            except CannotStart:
                return

    @property
    def exits(self) -> tuple[int, ...]:
        """The exit statuses of COMMAND itself so far, a signal as a negative number."""
        with self._lock:
            return tuple(self._exits)

    @property
    def given_up(self) -> bool:
        """Whether COMMAND ended and is not restarted."""
        return not self._keeper.is_alive()

    def alive(self) -> frozenset[tuple[int, str]]:
        """The processes of the host, each with when it started; a number alone may be used again."""
        with self._lock:
            sessions = set(self._sessions)
            known = self._known
            found = {each for each in _processes() if each.session in sessions or each.key in known}
            # Children that made a session of their own belong to it as well, and stay known when orphaned.
            parents = {each.number for each in found}
            rest = [each for each in _processes() if each not in found]
            while more := [each for each in rest if each.parent in parents]:
                found.update(more)
                parents.update(each.number for each in more)
                rest = [each for each in rest if each not in found]
            self._known = frozenset(each.key for each in found)
            return self._known

    def root(self) -> int | None:
        """The process id of COMMAND itself."""
        with self._lock:
            return self._process.pid if self._process is not None else None


def can_watch() -> bool:
    """Whether the system tells which processes there are."""
    return (_PROC / "self" / "stat").exists()


class _Process(NamedTuple):
    number: int
    started: str
    parent: int
    session: int

    @property
    def key(self) -> tuple[int, str]:
        return self.number, self.started


def _processes() -> list[_Process]:
    """Every process that has not ended."""
    found = []
    for entry in _PROC.iterdir() if can_watch() else ():
        if not entry.name.isdecimal():
            continue
        try:
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it ended meanwhile
        # Behind the name, which may hold anything: state, parent, group, session, … and the start as the twentieth.
        fields = text.rpartition(")")[2].split()
        if len(fields) > 19 and fields[0] not in "ZX":
            found.append(_Process(int(entry.name), fields[19], int(fields[1]), int(fields[3])))
    return found


def tail(log: IO[bytes]) -> str:
    """The end of what the host wrote, in one line."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - TAIL_BYTES))
    return " ".join(log.read().decode("utf-8", errors="replace").split())
