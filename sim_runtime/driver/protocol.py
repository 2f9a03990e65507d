"""What the driver needs of the outside world, and what it is told to do to a run: plain data and one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Json: TypeAlias = Any


@dataclass(slots=True)
class Call:
    """One dispatch, as the outside world sees it. It takes effect, if it does, when it arrives: at once.

    ``path`` is the shown step path (``charge.(undo)`` for an undo), ``id`` the identity. ``reissue`` counts the
    reissues of this attempt. ``key`` is that of a keyed action. ``interrupted`` tells that the answer to the dispatch
    before, of the same attempt, was lost to a crash. ``undoes`` is, for an undo, the call whose effect it ends.
    ``arguments`` are plain JSON. Nothing changes a call after it was made.
    """

    seq: int
    at: int
    action: str
    path: str
    id: str
    generation: int
    attempt: int
    reissue: int
    effect: str
    idempotency: str
    key: str | None
    connection: str | None
    arguments: dict[str, Json]
    timeout_us: int | None = None
    interrupted: bool = False
    undoes: Undone | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """The action call that an undo compensates."""

    action: str
    path: str
    key: str | None
    arguments: dict[str, Json]


@dataclass(slots=True)
class Answer:
    """What comes back: ``kind`` is ``success`` (``result``), ``failure`` (``code`` …), ``ambiguous`` (``code``), or
    ``none`` (nothing ever comes back: a timeout or a crash ends the attempt). ``latency_us`` counts from the dispatch.
    ``retryable`` None takes what the manifest declares for the code."""

    kind: str
    result: Json = None
    code: str = ""
    message: str = ""
    details: Json = None
    retryable: bool | None = None
    retry_after_us: int | None = None
    latency_us: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What the outside world saw of one action, path and key: ``invocations`` dispatches, ``count`` effects."""

    action: str
    key: str | None
    path: str
    count: int
    invocations: int


class World(Protocol):
    """The outside. It is not part of the executor: a crash does not touch it."""

    def dispatch(self, call: Call) -> Answer:
        """A call arrives; whether it takes effect is decided and counted now. Deterministic in the order of calls."""

    def effects(self) -> list[Effect]:
        """The effect ledger, in the order of first calls."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An operator's decision. ``kind`` is ``succeed`` (``result``), ``fail`` (``code`` …), ``reissue`` or
    ``authorize_recovery``; ``on`` is the path of the hold (shown or identity; the root scope is ``""``)."""

    on: str
    actor: str
    kind: str
    result: Json = None
    code: str = ""
    message: str = ""
    details: Json = None
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Where the executor dies: ``when`` is ``before`` or ``after`` the ``nth`` record of that ``kind`` (and ``path``),
    or the record with that ``seq``; it is back ``down_us`` later. An entry acts once."""

    when: str
    kind: str | None = None
    path: str | None = None
    nth: int = 1
    seq: int | None = None
    down_us: int = 0


@dataclass(frozen=True, slots=True)
class ScriptedEvent:
    """An event at ``at_us`` after the start, or ``by_us`` after the subscription of the step ``after`` is active."""

    trigger: str
    payload: Json
    delivery: str | None = None
    at_us: int | None = None
    after: str | None = None
    by_us: int = 0


@dataclass(frozen=True, slots=True)
class ScriptedDecision:
    """A decision ``at_us`` after the start; None: as soon as the hold is there. Each is used once."""

    decision: Decision
    at_us: int | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that happens to a run from outside but the answers to its calls. Times count from the run's start."""

    events: tuple[ScriptedEvent, ...] = ()
    decisions: tuple[ScriptedDecision, ...] = ()
    crashes: tuple[CrashPoint, ...] = ()
    cancel_at_us: int | None = None
    cancel_reason: Json = None
    until_us: int | None = None


@dataclass(slots=True)
class Report:
    """What a driver observed beside the history: calls with how each was answered, crashes, crash points left over."""

    calls: list[dict[str, Json]] = field(default_factory=list)
    crashes: int = 0
    unfired: list[CrashPoint] = field(default_factory=list)
