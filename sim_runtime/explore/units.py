"""What a unit of the search finds before it is summed up, and how a search ends early."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sim_runtime.explore.branch import Deviation, after
from sim_runtime.explore.ends import Graph
from sim_runtime.explore.monitor import Violation
from sim_runtime.history.records import Record


class Passing(Exception):
    """What passes through the runtime without being a fault of it."""


class Stop(Passing):
    """The exploration ends here: ``why`` is said in the report."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class OutOfTime(Stop):
    """The time is spent."""


class CrashEdge(NamedTuple):
    """A crash that was explored. ``records`` are those of the transaction, ``point`` is ``before`` or ``after`` it;
    ``racing``: a crash may change what comes first, as time passes while the executor is down, or as something had gone
    wrong while several branches or iterations were under way."""

    point: str
    records: tuple[Record, ...]
    key: int
    parent: int
    deviations: Deviation | None
    written: int
    racing: bool


class OtherEdge(NamedTuple):
    """Another deviation that was explored."""

    key: int
    deviations: Deviation


class Found(NamedTuple):
    """A violation, and the deviations that led to it."""

    violation: Violation
    deviations: Deviation | None


def crash_deviation(edge: CrashEdge, kind: str, path: str) -> Deviation:
    """The crash of an edge as a deviation."""
    where = f" at `{path}`" if path else ""
    record = edge.records[-1] if edge.point == "after" else edge.records[0]
    words = f"crash {edge.point} `{kind}`{where}"
    return after(edge.deviations, "crash", words, path, edge.written, (edge.point, record))


@dataclass(slots=True)
class Unit:
    """What one unit came to, before it is summed up."""

    graph: Graph
    states: int = 0
    crashes: list[CrashEdge] = field(default_factory=list)
    others: list[OtherEdge] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    facts: dict[tuple[str, ...], Deviation | None] = field(default_factory=dict)
    lengths: dict[int, tuple[int, Deviation | None]] = field(default_factory=dict)
    skipped: dict[str, None] = field(default_factory=dict)
    most: dict[tuple[str, str], int] = field(default_factory=dict)
    always: set[tuple[str, str]] | None = None
