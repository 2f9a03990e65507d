"""Where histories are kept. A store outlives the executor: after a crash the state is folded from what it gives back.

Each transaction is written at once or not at all. What is read back is checked: a store that lost or changed a
transaction in its middle is refused, with the run and place.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, Protocol

from analyzer.shown import shown_path
from sim_runtime.history.encoding import BadRecord, record_json, record_of
from sim_runtime.history.records import Record


class StoreError(Exception):
    """A store cannot be used; the message says why and what to do."""


class StoreUnavailable(StoreError):
    """The store cannot be used at present (a full disk, a lock that does not come free); nothing was changed."""


class StoreReadOnly(StoreUnavailable):
    """The store cannot be written, by this connection or at all."""


class StoreDamaged(StoreError):
    """The store holds something that cannot be right."""


#: What stands in the way, by how the name of SQLite's error begins, and what to do; the next try may succeed.
_PASSING: Final = (
    ("SQLITE_FULL", "cannot grow ({error}): make room on its disk"),
    ("SQLITE_READONLY", "is read-only: give the right to write it and its folder"),
    ("SQLITE_CANTOPEN", "cannot be opened: see that its folder is there, and that files may be made in it"),
    ("SQLITE_IOERR", "cannot be read or written ({error}): see that its disk has room and is well"),
    ("SQLITE_BUSY", "is in use by another program ({error}): wait for that, or end it"),
    ("SQLITE_LOCKED", "is in use by another program ({error}): wait for that, or end it"),
    ("SQLITE_PROTOCOL", "is in use by another program ({error}): wait for that, or end it"),
)


def problem(path: str, error: sqlite3.Error) -> StoreError:
    """What an error of SQLite means, in words that say what to do."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for beginning, words in _PASSING:
        if name.startswith(beginning):
            kind = StoreReadOnly if beginning == "SQLITE_READONLY" else StoreUnavailable
            return kind(f"the store `{shown_path(path)}` {words.format(error=error)}")
    if name == "SQLITE_NOTADB":
        words = f"is damaged, or no store at all ({error}): restore it from a copy, or choose another file"
        return StoreDamaged(f"`{shown_path(path)}` {words}")
    return StoreDamaged(f"the store `{shown_path(path)}` is damaged ({error}): restore it from a copy")


class Store(Protocol):
    """What the driver needs of a store."""

    def begin(self, run_id: str) -> None:
        """A new run. Raises ``StoreError`` when the store holds one of that id already."""

    def append(self, run_id: str, records: Sequence[Record]) -> None:
        """One transaction, durable when this returns."""

    def records(self, run_id: str) -> list[Record]:
        """Everything that was written of a run, read again."""


class MemoryStore:
    """Keeps records in memory, as they are."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[str, list[Record]] = {}

    def begin(self, run_id: str) -> None:
        """A new run."""
        if run_id in self._runs:
            raise StoreError(f"the store already holds the run `{run_id}`; use another store or another run id")
        self._runs[run_id] = []

    def append(self, run_id: str, records: Sequence[Record]) -> None:
        """One transaction."""
        self._runs[run_id].extend(records)

    def records(self, run_id: str) -> list[Record]:
        """A copy of what was written."""
        return list(self._runs[run_id])


SCHEMA: Final = """
create table if not exists runs (id text primary key, position integer not null, header text) strict;
create table if not exists transactions (
    run text not null, number integer not null, records text not null, sum text not null, primary key (run, number)
) strict, without rowid;
"""
MARK: Final = 0x57464C31  # "WFL1"


class SqliteStore:
    """An SQLite file in WAL mode, one SQL transaction for each durable boundary; several runs may be in it.

    ``sum`` of a transaction is the SHA-256 of the sum before it and its text, so that a missing or changed one shows.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        exists = os.path.exists(path)  # noqa: PTH110
        if read_only and not exists:
            raise StoreError(f"there is no store `{shown_path(path)}`")
        self._path = path
        self._sums: dict[str, tuple[int, str]] = {}
        if os.path.isdir(path):  # noqa: PTH112
            raise StoreError(f"`{self._shown}` is a folder: name the file of a store")
        try:
            self._open(exists, read_only)
        except sqlite3.Error as error:
            raise problem(path, error) from None

    def _open(self, exists: bool, read_only: bool) -> None:
        try:
            self._connect("?mode=ro" if read_only else "", exists, read_only)
        except sqlite3.OperationalError:
            if not read_only or _size(f"{self._path}-wal"):
                raise
            # A whole file where none may be made beside it (a medium that is read-only): reading needs none.
            self._connect("?mode=ro&immutable=1", exists, read_only)

    def _connect(self, mode: str, exists: bool, read_only: bool) -> None:
        self._db = sqlite3.connect(f"file:{file_uri(self._path)}{mode}", uri=True, isolation_level=None)
        found = self._db.execute("pragma application_id").fetchone()[0]
        tables = self._db.execute("select count(*) from sqlite_schema").fetchone()[0]
        if found != MARK and (tables or read_only):
            raise StoreError(f"`{self._shown}` is not a store of workflow runs: choose another file")
        if exists and tables:
            state = self._db.execute("pragma quick_check(1)").fetchone()[0]
            if state != "ok":
                raise StoreDamaged(f"the store `{self._shown}` is damaged ({state}): restore it from a copy")
        if not read_only:
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            self._db.execute(f"pragma application_id = {MARK}")
            self._db.executescript(SCHEMA)

    @property
    def _shown(self) -> str:
        return shown_path(self._path)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise problem(self._path, error) from None

    def begin(self, run_id: str) -> None:
        """A new run."""
        if self._run("select 1 from runs where id = ?", (run_id,)):
            raise StoreError(f"the store `{self._shown}` already holds the run `{run_id}`: use another file")
        self._run("insert into runs select ?, coalesce(max(position), 0) + 1, null from runs", (run_id,))
        self._sums[run_id] = (0, "")

    def append(self, run_id: str, records: Sequence[Record]) -> None:
        """One transaction."""
        number, before = self._sums[run_id] if run_id in self._sums else self._last(run_id)
        text = text_of(records)
        total = sum_of(before, text)
        self._run("insert into transactions values (?, ?, ?, ?)", (run_id, number + 1, text, total))
        self._sums[run_id] = (number + 1, total)

    def _last(self, run_id: str) -> tuple[int, str]:
        rows = self._run("select number, sum from transactions where run = ? order by number desc limit 1", (run_id,))
        return (rows[0][0], rows[0][1]) if rows else (0, "")

    def records(self, run_id: str) -> list[Record]:
        """Everything that was written of a run. Raises ``StoreError`` at the first transaction that does not fit."""
        if not self._run("select 1 from runs where id = ?", (run_id,)):
            raise StoreError(f"the store `{self._shown}` holds no run `{run_id}`")
        rows = self._run("select number, records, sum from transactions where run = ? order by number", (run_id,))
        found = records_of(self._path, run_id, rows)
        self._sums[run_id] = (len(rows), rows[-1][2] if rows else "")
        return found

    def cut(self, run_id: str, count: int) -> None:
        """Keep the first ``count`` transactions of a run: for a debugger that goes back, and then another way."""
        self._run("delete from transactions where run = ? and number > ?", (run_id, count))
        self._sums.pop(run_id, None)

    def runs(self) -> list[str]:
        """The runs, in the order in which they began."""
        return [row[0] for row in self._run("select id from runs order by position")]

    def set_header(self, run_id: str, header: dict[str, Any]) -> None:
        """Keep the header of a run's history."""
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
        self._run("update runs set header = ? where id = ?", (text, run_id))

    def header(self, run_id: str) -> dict[str, Any] | None:
        """The header that was kept."""
        rows = self._run("select header from runs where id = ?", (run_id,))
        if not rows or rows[0][0] is None:
            return None
        found: dict[str, Any] = json.loads(rows[0][0])
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def text_of(records: Sequence[Record]) -> str:
    """A transaction as it is stored."""
    return json.dumps(
        [record_json(each) for each in records], ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def records_of(path: str, run_id: str, rows: Sequence[tuple[int, str, str]]) -> list[Record]:
    """The records of stored transactions (number, text, sum), each checked. Raises ``StoreError``."""
    found: list[Record] = []
    before = ""
    for place, (number, text, total) in enumerate(rows, 1):
        if number != place or sum_of(before, text) != total:
            after = found[-1].seq if found else 0
            raise StoreDamaged(
                f"the store `{shown_path(path)}` is torn: of the run `{run_id}` the transaction after record {after} is"
                " missing or was changed"
            )
        before = total
        try:
            found.extend(record_of(each) for each in json.loads(text))
        except (BadRecord, ValueError) as error:
            raise StoreError(f"the store `{shown_path(path)}` holds a record that cannot be read: {error}") from None
    return found


def sum_of(before: str, text: str) -> str:
    """The sum of a transaction after another one."""
    return hashlib.sha256(f"{before}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def file_uri(path: str) -> str:
    """A path as it stands in a ``file:`` URI."""
    from urllib.parse import quote

    return quote(os.path.abspath(path))  # noqa: PTH100
