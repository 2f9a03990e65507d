"""A scenario as data: what the outside world does, what happens to the run, and what it must come to.

Times are microseconds from the run's start. Every part keeps the tree node that it was read from, for messages; a
scenario that is made in Python (``Scenario()``) has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from analyzer.syntax.nodes import Mapping, Node
from sim_runtime.driver.protocol import CrashPoint, Decision, Script, ScriptedDecision, ScriptedEvent

Json: TypeAlias = Any

#: 2026-01-01T00:00:00Z, the default start of the simulated clock.
DEFAULT_START_US: Final = 1_767_225_600_000_000
DEFAULT_SEED: Final = 1


class Unset:
    """Stands for what a scenario does not say, where null would say something."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


@dataclass(slots=True, eq=False)
class ScriptedAnswer:
    """One entry of ``actions``. ``kind`` is ``succeed``, ``fail`` or ``ambiguous``; ``happened`` says what took place
    outside when it is ambiguous; ``where`` are arguments that a call must include to be answered by it."""

    kind: str
    result: Json = None
    code: str = ""
    message: str = ""
    details: Json = None
    retryable: bool | None = None
    retry_after_us: int | None = None
    happened: bool = True
    latency_us: int = 0
    where: dict[str, Json] | None = None
    node: Mapping | None = None


@dataclass(slots=True, eq=False)
class AnswerList:
    """The answers of one action, or of one step."""

    key: str
    answers: list[ScriptedAnswer]
    node: Node | None = None


@dataclass(slots=True, eq=False)
class EventEntry:
    """One entry of ``events``."""

    event: ScriptedEvent
    node: Mapping


@dataclass(slots=True, eq=False)
class CrashEntry:
    """One entry of ``crashes``; ``point_node`` is the map behind ``after`` or ``before``."""

    point: CrashPoint
    node: Mapping
    point_node: Mapping


@dataclass(slots=True, eq=False)
class OperatorEntry:
    """One entry of ``operator``."""

    decision: Decision
    at_us: int | None
    node: Mapping


@dataclass(slots=True)
class Scenario:
    """One scenario. ``workfile`` is an absolute path, "" when none is named; ``expect`` holds the keys that are there
    with plain values, times and counts as they are compared."""

    path: str = ""
    workfile: str = ""
    start_us: int = DEFAULT_START_US
    seed: int = DEFAULT_SEED
    until_us: int | None = None
    inputs: dict[str, Json] = field(default_factory=dict)
    trigger: Json | Unset = UNSET
    dry_run: bool = False
    actions: dict[str, AnswerList] = field(default_factory=dict)
    events: list[EventEntry] = field(default_factory=list)
    crashes: list[CrashEntry] = field(default_factory=list)
    operator: list[OperatorEntry] = field(default_factory=list)
    cancel_at_us: int | None = None
    cancel_reason: Json = None
    expect: dict[str, Json] | None = None
    root: Mapping | None = None

    def script(self) -> Script:
        """What happens to the run, as the driver takes it."""
        return Script(
            events=tuple(entry.event for entry in self.events),
            decisions=tuple(ScriptedDecision(entry.decision, entry.at_us) for entry in self.operator),
            crashes=tuple(entry.point for entry in self.crashes),
            cancel_at_us=self.cancel_at_us,
            cancel_reason=self.cancel_reason,
            until_us=self.until_us,
        )
