"""Stores of runs as the commands use them: opened, closed, and every fault in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from analyzer.shown import shown_path
from sim_runtime.driver.store import SqliteStore, StoreError
from sim_runtime.history.header import Header, header_of
from sim_runtime.history.refusal import Refused

if TYPE_CHECKING:
    from sim_runtime.history.records import Record


@contextmanager
def open_store(path: str | None) -> Iterator[SqliteStore | None]:
    """The store of a path, closed after the block; None without one. Raises ``StoreError``."""
    if path is None:
        yield None
        return
    store = SqliteStore(path)
    try:
        yield store
    finally:
        store.close()


def stored_run(path: str, run_id: str | None) -> tuple[Header, list[Record]]:
    """The header and the records of a run in a store; without an id, of the only one. Raises ``StoreError``."""
    store = SqliteStore(path, read_only=True)
    try:
        runs = store.runs()
        if run_id is None:
            if len(runs) != 1:
                raise StoreError(_choose(path, runs))
            run_id = runs[0]
        elif run_id not in runs:
            raise StoreError(f"the store `{shown_path(path)}` holds no run `{run_id}`{_listed(runs)}")
        header = store.header(run_id)
        if header is None:
            shown = shown_path(path)
            raise StoreError(f"the store `{shown}` has no header for the run `{run_id}`: it was not started by `run`")
        return _checked(path, header), store.records(run_id)
    finally:
        store.close()


def _checked(path: str, json: dict[str, object]) -> Header:
    from sim_runtime.history.canonical import digest_of

    try:
        return header_of({**json, "digest": digest_of(json)})
    except Refused as error:
        raise StoreError(f"the store `{shown_path(path)}` holds a header that cannot be used: {error}") from None


def _choose(path: str, runs: list[str]) -> str:
    if not runs:
        return f"the store `{shown_path(path)}` holds no run"
    return f"the store `{shown_path(path)}` holds {len(runs)} runs: choose one with `--run`{_listed(runs)}"


def _listed(runs: list[str]) -> str:
    if not runs:
        return ""
    more = ", …" if len(runs) > 10 else ""
    return f"; it holds {', '.join(f'`{run}`' for run in runs[:10])}{more}"
