"""A store that holds what a debugged run has written, as far as it has come; it goes back with the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim_runtime.driver.store import SqliteStore
from sim_runtime.history.records import Record


class Mirror:
    """One run in a store. Raises ``StoreError`` where the store cannot be used, or holds the run already."""

    def __init__(self, path: str, run_id: str, header: dict[str, Any]) -> None:
        self._store = SqliteStore(path)
        self.path = path
        self.run_id = run_id
        self._ends: list[Record] = []
        self._store.begin(run_id)
        self._store.set_header(run_id, header)

    def copy(self, records: Sequence[Record]) -> None:
        """Make the store hold these records, a transaction for each durable boundary."""
        kept = 0
        ends = self._ends
        while kept < len(ends) and ends[kept].seq <= len(records) and _same(records[ends[kept].seq - 1], ends[kept]):
            kept += 1
        if kept < len(ends):
            self._store.cut(self.run_id, kept)
            del ends[kept:]
        start = ends[-1].seq if ends else 0
        for position in range(start, len(records)):
            if records[position].boundary:
                self._store.append(self.run_id, records[start : position + 1])
                ends.append(records[position])
                start = position + 1

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()


def _same(one: Record, other: Record) -> bool:
    return one is other or one == other
