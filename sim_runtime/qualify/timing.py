"""How long each part of an exercise may take, in one place; seconds of the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

CEILING_SECONDS: Final = 240.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The durations of the rows. The defaults are those of the upstream suite; all are seconds."""

    #: How long a kill row observes at most; an operator may only raise it.
    ceiling: float = CEILING_SECONDS
    #: How long a host that answers no more is waited for.
    back: float = 30.0
    back_step: float = 0.25
    watch_step: float = 0.5
    #: Used for a host that declares no bound, and said in the row.
    undeclared_bound: float = 60.0
    #: How long a killed process may take to show its death.
    death: float = 5.0
    delivered_terminal: float = 60.0
    poisoned_terminal: float = 30.0
    terminal_step: float = 0.25
    first_arrival: float = 20.0
    #: Something must not happen in it; a longer one claims more.
    quiet: float = 4.0
    probe_step: float = 0.1
    request: float = 20.0
    start: float = 30.0
    #: How long COMMAND may take to end by itself.
    stop: float = 10.0


def pause(seconds: float) -> None:
    """Let a time pass in which something must not happen."""
    time.sleep(seconds)


def until(seconds: float, step: float, happened: Callable[[], bool]) -> bool:
    """Ask again and again, at least once, until it happened or the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        if happened():
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(step, left))
