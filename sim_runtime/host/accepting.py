"""What the API writes: accepted work, and what reaches a run from outside.

Many requests at once share one transaction, and each is answered when that one is on the disk: acceptance costs less
than a wait for the disk each, and nothing is acknowledged that could be lost.
"""

from __future__ import annotations

import asyncio
import json
import queue
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, TypeVar

from sim_runtime.driver.store import StoreUnavailable
from sim_runtime.history.canonical import digest_of
from sim_runtime.history.records import FORMAT, STANDARD_VERSION
from sim_runtime.host.ledger import TENANT
from sim_runtime.host.store import HostStore, now_us

T = TypeVar("T")

MAX_GROUP: Final = 256
MAX_WAITING: Final = 4_096
ENDING: Final = "the host is ending; nothing was accepted"


class Refusal(Exception):
    """A request that is not carried out: HTTP status, code, and what is wrong."""

    def __init__(self, status: int, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


class Intent(NamedTuple):
    """Work to accept. ``held_by`` holds its dispatch until that instance is gone; ``wanted`` is the one to do it."""

    workflow: str
    given: dict[str, Any]
    request_key: str | None = None
    exercise: str | None = None
    held_by: str | None = None
    wanted: str | None = None
    deliveries: int = 1


class _Operation(NamedTuple):
    make: Callable[[HostStore], Any]
    future: Future[Any]


class Writer:
    """Carries operations out, many in one transaction, in a thread of its own."""

    def __init__(self, path: str) -> None:
        self._store = HostStore(path)
        self._waiting: queue.Queue[_Operation | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._work, daemon=True, name="writer")
        self._thread.start()

    def submit(self, make: Callable[[HostStore], T]) -> Future[T]:
        """An operation; its future is done when it is durable. Raises ``Refusal`` when too many wait."""
        future: Future[T] = Future()
        try:
            self._waiting.put_nowait(_Operation(make, future))
        except queue.Full:
            raise Refusal(429, "rate_limited", "too many requests wait to be written: come back later") from None
        return future

    async def written(self, make: Callable[[HostStore], T]) -> T:
        """Carry an operation out, and wait until it is durable. Raises ``Refusal``, also when the process ends first,
        and says then whether it may have been carried out."""
        future = self.submit(make)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            told = ENDING if future.cancel() else "the host is ending, and it is not known whether this was accepted"
            raise Refusal(503, "store_unavailable", told) from None

    @property
    def commits(self) -> int:
        """How often it waited for the disk."""
        return self._store.commits

    def stop(self) -> None:
        """End when what waits is written."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            first = self._waiting.get()
            if first is None:
                return
            group, ending = [first], False
            while len(group) < MAX_GROUP and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    ending = True
                    break
                group.append(more)
            self._write(group)
            if ending:
                return

    def _write(self, group: list[_Operation]) -> None:
        results: list[tuple[Future[Any], Any, Exception | None]] = []
        try:
            with self._store.transaction():
                results.extend(self._one(each) for each in group if each.future.set_running_or_notify_cancel())
        except Exception as error:  # noqa: BLE001 - the requests tell it, and the next ones are written all the same
            results = [(each.future, None, error) for each in group if not each.future.cancelled()]
        for future, value, problem in results:
            if problem is None:
                future.set_result(value)
            else:
                future.set_exception(problem)

    def _one(self, operation: _Operation) -> tuple[Future[Any], Any, Exception | None]:
        """One operation; what it refuses undoes its own part only."""
        self._store.change("savepoint one")
        try:
            value = operation.make(self._store)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to the request, which tells it
            self._store.change("rollback to one")
            self._store.change("release one")
            return operation.future, None, error
        self._store.change("release one")
        return operation.future, value, None


def accept(store: HostStore, intent: Intent) -> str:
    """Accept work: the run, the intent to do it, and the header of its history. Raises ``Refusal``."""
    row = store.one(
        "select c.digest, d.pins from host_catalogue c join host_definitions d on d.digest = c.digest"
        " where c.workflow = ?",
        intent.workflow,
    )
    if row is None:
        raise Refusal(404, "not_found", f"there is no workflow `{intent.workflow[:80]}`")
    digest, pins = row
    asked = digest_of([intent.workflow, intent.given]) if intent.request_key is not None else None
    if intent.request_key is not None:
        known = store.one("select id, request_digest from host_runs where request_key = ?", intent.request_key)
        if known is not None:
            if known[1] != asked:
                raise Refusal(409, "conflict", "this `Idempotency-Key` was used for another request")
            return str(known[0])
    run = f"{TENANT}/{secrets.token_urlsafe(18)}"
    _insert(store, run, intent, digest, asked)
    header = (
        f'{{"format":{json.dumps(FORMAT)},"standard_version":{json.dumps(STANDARD_VERSION)},"run":{json.dumps(run)},'
        f'"workflow":{json.dumps(intent.workflow)},"pins":{pins},"lineage":null}}'
    )
    store.change("insert into runs select ?, coalesce(max(position), 0) + 1, ? from runs", run, header)
    for _ in range(intent.deliveries - 1):
        store.change("insert into host_deliveries (run) values (?)", run)
    return run


def _insert(store: HostStore, run: str, intent: Intent, digest: str, asked: str | None) -> None:
    now = now_us()
    given = {**intent.given, "seed": intent.given.get("seed", secrets.randbelow(2**31))}
    store.change(
        "insert into host_runs (id, workflow, definition, given, accepted_at, request_key, request_digest, exercise,"
        " ready_at, held_by, wanted) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(run, intent.workflow, digest, json.dumps(given, ensure_ascii=False), now, intent.request_key, asked),
        *(intent.exercise, None if intent.held_by is not None else now, intent.held_by, intent.wanted),
    )


def let_go(store: HostStore, run: str, holder: str) -> None:
    """End a hold, so that the run is dispatched."""
    store.change(
        "update host_runs set held_by = null, ready_at = ? where id = ? and held_by = ?", now_us(), run, holder
    )
