"""Crash points: which of them act at a transaction (interfaces page, ``crashes``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim_runtime.driver.protocol import CrashPoint
from sim_runtime.history.records import Record


class CrashPoints:
    """The crash points of a run that have not acted yet, with how many records each has counted."""

    __slots__ = ("_seen", "left")

    def __init__(self, points: Iterable[CrashPoint] = ()) -> None:
        self.left = list(points)
        self._seen: dict[int, int] = {}

    def fork(self) -> CrashPoints:
        """A copy that goes its own way."""
        copy = CrashPoints(self.left)
        copy._seen = dict(self._seen)
        return copy

    def acting(self, when: str, records: Sequence[Record]) -> list[CrashPoint]:
        """Count the records; the points that act at this boundary, in list order. Each acts once."""
        if not self.left:
            return []
        acting = [point for point in self.left if point.when == when and self._hits(point, records)]
        self.left = [point for point in self.left if not any(point is each for each in acting)]
        return acting

    def _hits(self, point: CrashPoint, records: Sequence[Record]) -> bool:
        if point.seq is not None:
            return any(record.seq == point.seq for record in records)
        fits = sum(
            (point.kind is None or record.kind == point.kind) and (point.path is None or record.path == point.path)
            for record in records
        )
        before = self._seen.get(id(point), 0)
        self._seen[id(point)] = before + fits
        return before < point.nth <= before + fits
