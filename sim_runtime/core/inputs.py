"""What can be put to ``decide``: everything that reaches a run from outside, time included, as plain data.

Nothing changes an input after it was made; the classes are not frozen only because that costs as much as deciding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(slots=True)
class Start:
    """A run is accepted. ``inputs`` and ``trigger`` are plain JSON; ``key_run`` None is the run itself."""

    at: int
    run_id: str
    inputs: dict[str, Any]
    trigger: Any = None
    seed: int = 1
    dry_run: bool = False
    key_run: str | None = None


@dataclass(slots=True)
class Proceed:
    """Do what is runnable."""

    at: int


@dataclass(slots=True)
class Answered:
    """An answer to the dispatch ``seq`` of the call at ``id``; ``scope`` of an undo. ``kind`` is ``success``,
    ``failure`` or ``ambiguous``; ``result`` and ``details`` are plain JSON. ``effect`` is ``happened`` when a recorded
    failure is put again that was a result which did not fit."""

    at: int
    seq: int
    id: str
    kind: str
    scope: str | None = None
    result: Any = None
    code: str = ""
    message: str = ""
    details: Any = None
    retryable: bool | None = None
    retry_after: int | None = None
    effect: str = "none"


@dataclass(slots=True)
class Interrupted:
    """The executor died while the call was out: its answer is lost."""

    at: int
    seq: int
    id: str
    scope: str | None = None


@dataclass(slots=True)
class TimerDue:
    """The timer ``name`` at ``id`` elapsed: ``wait``, ``timeout``, ``delay``, ``state:NAME``, ``retry``, or ``attempt``
    (the call of the dispatch that is out)."""

    at: int
    id: str
    name: str
    deadline: int


@dataclass(slots=True)
class EventArrived:
    """An event. ``partly``: some waits have accepted this very delivery already."""

    at: int
    trigger: str
    delivery: str
    payload: Any
    partly: bool = False


@dataclass(slots=True)
class Decided:
    """An operator's decision on the hold at the path ``on`` (shown or identity); see ``driver.protocol.Decision``."""

    at: int
    on: str
    actor: str
    kind: str
    result: Any = None
    code: str = ""
    message: str = ""
    details: Any = None
    retryable: bool = False


@dataclass(slots=True)
class Cancelled:
    """The run is to be cancelled; ``reason`` is plain JSON."""

    at: int
    reason: Any = None


Input: TypeAlias = Start | Proceed | Answered | Interrupted | TimerDue | EventArrived | Decided | Cancelled
