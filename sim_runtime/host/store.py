"""The host's store: one SQLite file that the supervisor, the API and the workers share.

Histories stand in it exactly as ``workfile run --store`` writes them (``driver.store``), so that ``workfile history
export`` reads them; the tables of the host have names that begin with ``host_``. The file is in WAL mode. A *safe*
connection waits for the disk with every commit (``synchronous=full``): whatever is acknowledged or sent out was
committed on one. A *quick* one does not: claims, heartbeats and sweeps, which mean nothing after a loss of power, when
no owner lives.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from analyzer.shown import shown_path
from sim_runtime.driver.store import MARK, SCHEMA, StoreDamaged, StoreError, file_uri, problem

VERSION: Final = 1
BUSY_SECONDS: Final = 15.0

HOST_SCHEMA: Final = """
create index if not exists host_position on runs (position);
create table if not exists host_meta (name text primary key, value text not null) strict, without rowid;
create table if not exists host_definitions (
    digest text primary key, workflow text not null, pins text not null, builtin integer not null
) strict, without rowid;
create table if not exists host_catalogue (workflow text primary key, digest text not null) strict, without rowid;
create table if not exists host_runs (
    id text primary key,
    workflow text not null,
    definition text not null,
    given text not null,
    accepted_at integer not null,
    request_key text unique,
    request_digest text,
    exercise text,
    status text not null default 'pending',
    ready_at integer,
    held_by text,
    wanted text,
    claimed_by text,
    epoch integer not null default 0,
    lost_by text,
    deaths integer not null default 0,
    number integer not null default 0,
    sum text not null default '',
    sequence integer not null default 0,
    error text,
    summary text,
    ended_at integer
) strict;
create index if not exists host_ready on host_runs (ready_at) where ready_at is not null;
create index if not exists host_claimed on host_runs (claimed_by) where claimed_by is not null;
create index if not exists host_held on host_runs (held_by) where held_by is not null;
create index if not exists host_open on host_runs (accepted_at) where ended_at is null;
create table if not exists host_events (
    run text not null, sequence integer not null, type text not null, at integer not null, body text not null,
    primary key (run, sequence)
) strict, without rowid;
create table if not exists host_inbox (
    id integer primary key, run text not null, kind text not null, body text not null, outcome text
) strict;
create index if not exists host_unread on host_inbox (run, id) where outcome is null;
create table if not exists host_effects (
    id text primary key, run text not null, node text not null, attempt integer not null, keying text not null,
    state text not null, at integer not null, invocation text not null, owner text not null, answer text
) strict;
create index if not exists host_effects_run on host_effects (run);
create table if not exists host_aliases (
    run text not null, node text not null, attempt integer not null, effect text not null, at integer not null,
    primary key (run, node, effect)
) strict, without rowid;
create table if not exists host_deliveries (
    id integer primary key, run text not null, taken_by text
) strict;
create table if not exists host_instances (
    token text primary key, role text not null, pid integer not null, started real not null, lease real not null,
    ended integer not null default 0, commits integer not null default 0
) strict, without rowid;
create table if not exists host_deaths (
    id integer primary key, token text not null, role text not null, signal integer, at integer not null
) strict;
create table if not exists host_sweeps (
    token text primary key, at real not null, number integer not null, reclaimed integer not null
) strict, without rowid;
"""


def now_us() -> int:
    """The wall clock, in microseconds since 1970."""
    return time.time_ns() // 1_000


class HostStore:
    """One connection. Use it from one thread."""

    def __init__(
        self, path: str, *, safe: bool = True, read_only: bool = False, patience: float = BUSY_SECONDS
    ) -> None:
        """Connect to a store that ``create_store`` made. Raises ``StoreError``."""
        self.path = path
        #: The transactions that were committed on this connection.
        self.commits = 0
        target = f"file:{file_uri(path)}?mode={'ro' if read_only else 'rw'}"
        try:
            self._db = sqlite3.connect(
                target, uri=True, isolation_level=None, timeout=patience, check_same_thread=False
            )
            self._db.execute(f"pragma synchronous = {'full' if safe else 'normal'}")
            self._db.execute("pragma wal_autocheckpoint = 4000")
        except sqlite3.Error as error:
            raise problem(path, error) from None

    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises ``StoreError``."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise problem(self.path, error) from None

    def one(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row of a query. Raises ``StoreError``."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def change(self, statement: str, *values: Any) -> int:
        """How many rows a statement changed. Raises ``StoreError``."""
        try:
            return self._db.execute(statement, values).rowcount
        except sqlite3.Error as error:
            raise problem(self.path, error) from None

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """A statement for each row. Raises ``StoreError``."""
        try:
            self._db.executemany(statement, rows)
        except sqlite3.Error as error:
            raise problem(self.path, error) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything in the block, or nothing. Raises ``StoreError``."""
        self.change("begin immediate")
        try:
            yield
            self.change("commit")
            self.commits += 1
        except BaseException:
            if self._db.in_transaction:
                self._db.rollback()
            raise

    @property
    def version(self) -> int:
        """A number that differs when another connection has changed the store. Raises ``StoreError``."""
        found: int = self.all("pragma data_version")[0][0]
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def create_store(path: str) -> None:
    """Make the tables where they are not there yet, and check what is there. Raises ``StoreError``."""
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
    if not os.path.isdir(folder):  # noqa: PTH112
        raise StoreError(f"there is no folder `{shown_path(folder)}` for the store: make it first")
    try:
        # Histories hold what runs were given: a new store is its owner's alone.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        db = sqlite3.connect(f"file:{file_uri(path)}", uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except OSError as error:
        raise StoreError(f"the store `{shown_path(path)}` cannot be opened: {error.strerror or error}") from None
    except sqlite3.Error as error:
        raise problem(path, error) from None
    try:
        _prepare(db, path)
    except sqlite3.Error as error:
        raise problem(path, error) from None
    finally:
        db.close()


def _prepare(db: sqlite3.Connection, path: str) -> None:
    tables = db.execute("select count(*) from sqlite_schema").fetchone()[0]
    mark = db.execute("pragma application_id").fetchone()[0]
    if tables and mark != MARK:
        raise StoreError(f"`{shown_path(path)}` is not a store of workflow runs: choose another file")
    if tables:
        state = db.execute("pragma quick_check(1)").fetchone()[0]
        if state != "ok":
            raise StoreDamaged(f"the store `{shown_path(path)}` is damaged ({state}): restore it from a copy")
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("begin immediate")
    db.execute(f"pragma application_id = {MARK}")
    for statement in f"{SCHEMA}{HOST_SCHEMA}".split(";"):
        if statement.strip():
            db.execute(statement)
    row = db.execute("select value from host_meta where name = 'version'").fetchone()
    if row is not None and row[0] != str(VERSION):
        db.rollback()
        version = f"version {row[0]}, and this host knows version {VERSION} only"
        raise StoreError(f"the store `{shown_path(path)}` is of {version}")
    db.execute("insert or ignore into host_meta values ('version', ?)", (str(VERSION),))
    db.execute("commit")
