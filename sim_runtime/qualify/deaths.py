"""Did a process really die? A kill row without a death proves nothing, whatever the host says of itself.

Seen from outside: the connection to the process that answered breaks, or nobody listens for a while. Seen where we
started the host: its processes, and the exit status of the one that we started. Told by the host: its supervisor's list
of deaths, where it has that route.
"""

from __future__ import annotations

import signal
import socket
import threading
from dataclasses import dataclass, field
from typing import Final

from sim_runtime.qualify.client import Client, HeldConnection, TransportLoss
from sim_runtime.qualify.processes import HostProcess, can_watch
from sim_runtime.qualify.timing import Limits, until

#: Ours, optional: ``{"instances": [{"token"}], "deaths": [{"token", "signal"}]}``.
INCARNATIONS: Final = "/host/durability/incarnations"
_STEP: Final = 0.02


@dataclass(frozen=True, slots=True)
class Reported:
    """What the host's supervisor tells: the tokens of live instances, and of each death its signal, if it was one."""

    tokens: tuple[str, ...]
    deaths: tuple[int | None, ...]


def read_incarnations(client: Client) -> Reported | None:
    """The host's account of its instances; nothing where it has none."""
    try:
        reply = client.get(INCARNATIONS)
    except TransportLoss:
        return None
    instances, deaths = reply.members.get("instances"), reply.members.get("deaths", [])
    if reply.status != 200 or not isinstance(instances, list) or not isinstance(deaths, list):
        return None
    tokens = [each.get("token") for each in instances if isinstance(each, dict)]
    signals = [each.get("signal") if isinstance(each, dict) else None for each in deaths]
    return Reported(
        tuple(each for each in tokens if isinstance(each, str)),
        tuple(each if isinstance(each, int) else None for each in signals),
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether there was a death. ``seen`` says how it showed, or why it does not count."""

    died: bool
    seen: str
    #: Nobody could have seen one: that is no fault of the host.
    unobservable: bool = False


@dataclass(slots=True)
class DeathWatch:
    """Watches from before the kill on."""

    client: Client
    process: HostProcess | None
    limits: Limits
    _before: frozenset[tuple[int, str]] = frozenset()
    _exits: int = 0
    _reported: Reported | None = None
    _held: HeldConnection | None = None
    _refused: threading.Event = field(default_factory=threading.Event)
    _cut: threading.Event = field(default_factory=threading.Event)
    _enough: threading.Event = field(default_factory=threading.Event)
    _looker: threading.Thread | None = None

    def begin(self) -> None:
        """Remember what there is before the kill."""
        if self.process is not None:
            self._before = self.process.alive()
            self._exits = len(self.process.exits)
        self._reported = read_incarnations(self.client)

    def answered(self, held: HeldConnection) -> None:
        """The kill was announced: from now on a process may be gone."""
        self._held = held
        self._looker = threading.Thread(target=self._look, args=(held,), daemon=True)
        self._looker.start()

    def lost(self, loss: TransportLoss) -> None:
        """A request after the kill got no answer."""
        if loss.refused:
            self._refused.set()

    def _look(self, held: HeldConnection) -> None:
        address = (self.client.address.host, self.client.address.port)

        def gone() -> bool:
            if held.is_cut():
                self._cut.set()
            elif not held.tells and not _listens(address):
                self._refused.set()
            return self._cut.is_set() or self._refused.is_set() or self._enough.is_set()

        until(self.limits.death, _STEP, gone)

    def end(self) -> Judgement:
        """What can be said now. Waits for the outside signs as long as ``limits.death`` says, if nothing else shows."""
        early = self._judge()
        if early.died:
            return early
        if self._looker is not None:
            self._looker.join()
        return self._judge()

    def close(self) -> None:
        """Give up what is still open."""
        self._enough.set()
        if self._looker is not None:
            self._looker.join()
        if self._held is not None:
            self._held.close()

    def _judge(self) -> Judgement:
        interrupted = self._cut.is_set() or self._refused.is_set()
        told = self._judge_reported()
        if told is not None:
            return told
        if self.process is not None and can_watch():
            return self._judge_processes(self.process, interrupted)
        if interrupted:
            return Judgement(True, "the connection to the process broke" if self._cut.is_set() else "nobody listened")
        return Judgement(False, "no death could be seen from outside", unobservable=True)

    def _judge_reported(self) -> Judgement | None:
        after = read_incarnations(self.client)
        if self._reported is None or after is None:
            return None
        new = after.deaths[len(self._reported.deaths) :]
        if signal.SIGKILL in new:
            return Judgement(True, "the host's supervisor counted a death by SIGKILL")
        if new:
            return Judgement(
                False, "the host's supervisor counted an end without SIGKILL: an orderly exit is not a crash"
            )
        return None

    def _judge_processes(self, process: HostProcess, interrupted: bool) -> Judgement:
        exits = process.exits[self._exits :]
        orderly = [each for each in exits if each != -signal.SIGKILL]
        if orderly and len(orderly) == len(exits):
            return Judgement(False, f"the process ended with status {orderly[0]}, not by SIGKILL: that is not a crash")
        gone = self._before - process.alive()
        others = len(gone) - len([each for each in exits if each == -signal.SIGKILL])
        if others > 0:
            return Judgement(True, "a process of the host is gone")
        if exits and interrupted:
            return Judgement(True, "the host's process died by SIGKILL")
        if exits:
            return Judgement(False, "a process was killed, but the one that serves lives on: the wrong one died")
        return Judgement(False, "no process of the host died: the crash was not a real one")


def _listens(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, timeout=1):
            return True
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
