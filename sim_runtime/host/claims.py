"""Who works at what: instances with a lease, claims with a fencing epoch, and the sweep that takes over.

An instance says again and again that it lives; a claim is as good as its owner's lease. The sweep takes claims from
owners that are gone, counts the death, and makes the run ready for another one. A claim gives the run a new epoch,
which every later write checks in its own transaction: an owner that comes back finds that it is one no more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sim_runtime.host.events import Event, given_up
from sim_runtime.host.store import HostStore, now_us
from sim_runtime.host.timing import CLOCK_SLACK_MS, HEARTBEAT_MS, LEASE_MS, MAX_ATTEMPTS, RUN_LIMIT_MS

API: Final = "api"
WORKER: Final = "worker"
CANCEL_REASON: Final = {"code": "duration_limit", "message": "the run was under way longer than this host allows"}

_COLUMNS: Final = (
    "id, workflow, definition, given, accepted_at, exercise, epoch, number, sum, sequence, lost_by, deaths"
)


class Claim(NamedTuple):
    """A run that this instance works at."""

    run: str
    workflow: str
    definition: str
    given: dict[str, Any]
    accepted_at: int
    exercise: str | None
    epoch: int
    number: int
    sum: str
    sequence: int
    #: The token of the owner that died over it.
    lost_by: str | None
    deaths: int


def register(store: HostStore, token: str, role: str, pid: int) -> None:
    """An instance begins. Raises ``StoreError``."""
    now = time.monotonic()
    store.change(
        "insert into host_instances values (?, ?, ?, ?, ?, 0, 0)", token, role, pid, now, now + LEASE_MS / 1000
    )


def renew(store: HostStore, token: str, commits: int = 0) -> bool:
    """An instance says that it lives; false when it was declared dead. Raises ``StoreError``."""
    lease = time.monotonic() + LEASE_MS / 1000
    statement = "update host_instances set lease = ?, commits = ? where token = ? and ended = 0"
    return bool(store.change(statement, lease, commits, token))


def is_live(store: HostStore, token: str) -> bool:
    """Whether an instance's lease stands. Raises ``StoreError``."""
    row = store.one("select 1 from host_instances where token = ? and ended = 0 and lease > ?", token, time.monotonic())
    return row is not None


def live_tokens(store: HostStore, role: str) -> list[str]:
    """The instances of a role whose lease stands, oldest first. Raises ``StoreError``."""
    rows = store.all(
        "select token from host_instances where role = ? and ended = 0 and lease > ? order by started, token",
        role,
        time.monotonic(),
    )
    return [row[0] for row in rows]


def claim(store: HostStore, token: str, limit: int) -> list[Claim]:
    """Up to ``limit`` runs that are ready, claimed. Raises ``StoreError``."""
    now = now_us()
    where = "ready_at <= ? and claimed_by is null and held_by is null and (wanted is null or wanted = ?)"
    if store.one(f"select 1 from host_runs where {where} limit 1", now, token) is None:
        return []
    with store.transaction():
        rows = store.all(f"select {_COLUMNS} from host_runs where {where} order by ready_at limit ?", now, token, limit)
        store.many(
            "update host_runs set claimed_by = ?, epoch = epoch + 1, ready_at = null, wanted = null where id = ?",
            [(token, row[0]) for row in rows],
        )
    return [_claim(row) for row in rows]


def _claim(row: tuple[Any, ...]) -> Claim:
    run, workflow, definition, given, accepted_at, exercise, epoch, number, total, sequence, lost_by, deaths = row
    return Claim(
        run,
        workflow,
        definition,
        json.loads(given),
        accepted_at,
        exercise,
        epoch + 1,
        number,
        total,
        sequence,
        lost_by,
        deaths,
    )


def claimed_by(store: HostStore, token: str) -> list[str]:
    """The runs that an instance holds. Raises ``StoreError``."""
    return [row[0] for row in store.all("select id from host_runs where claimed_by = ?", token)]


class Swept(NamedTuple):
    """What a sweep did. ``lapsed``: nothing, because what kept it waiting may have kept others from saying that they
    live."""

    taken: int
    given_up: int
    cancelled: int
    lapsed: bool = False


def sweep(store: HostStore, token: str) -> Swept:
    """Take over from whoever is gone, and leave a mark that the sweep runs. Raises ``StoreError``."""
    began = time.monotonic()
    with store.transaction():
        swept = Swept(0, 0, 0, lapsed=True)
        follow_clock(store)
        if time.monotonic() - began <= 2 * HEARTBEAT_MS / 1000:
            taken = sum(_take_from(store, each, died) for each, died in _gone(store))
            swept = Swept(taken, _give_up(store), _cancel_overdue(store))
        store.change(
            "insert into host_sweeps values (?, ?, 1, ?) on conflict (token) do update set at = excluded.at,"
            " number = number + 1, reclaimed = reclaimed + excluded.reclaimed",
            token,
            time.monotonic(),
            swept.taken,
        )
    return swept


def follow_clock(store: HostStore) -> None:
    """Note the time, in the transaction that is open. Where the clock was set back meanwhile, what had been due by then
    is due now: it would else wait until the clock comes there again. Leases do not read this clock."""
    now = now_us()
    row = store.one("select value from host_meta where name = 'clock'")
    seen = int(row[0]) if row is not None else now
    if now < seen - CLOCK_SLACK_MS * 1000:
        store.change(
            "update host_runs set ready_at = ? where ready_at > ? and ready_at <= ?",
            *(now, now, seen + CLOCK_SLACK_MS * 1000),
        )
    store.change("insert or replace into host_meta values ('clock', ?)", str(now))


def _gone(store: HostStore) -> list[tuple[str, bool]]:
    """Owners of something that live no more, and whether they died: an orderly end spends no attempt."""
    owners = store.all(
        "select claimed_by from host_runs where claimed_by is not null union select held_by from host_runs where"
        " held_by is not null union select wanted from host_runs where wanted is not null"
    )
    found = []
    for (owner,) in owners:
        if is_live(store, owner):
            continue
        orderly = store.one("select 1 from host_deaths where token = ? and signal is null", owner)
        found.append((owner, orderly is None))
    return found


def _take_from(store: HostStore, owner: str, died: bool) -> int:
    now = now_us()
    count = store.change(
        "update host_runs set claimed_by = null, lost_by = claimed_by, deaths = deaths + ?, ready_at = ?"
        " where claimed_by = ?",
        int(died),
        now,
        owner,
    )
    count += store.change("update host_runs set held_by = null, ready_at = ? where held_by = ?", now, owner)
    return count + store.change("update host_runs set wanted = null where wanted = ?", owner)


def _give_up(store: HostStore) -> int:
    """Runs that took one process after the other with them end as failed."""
    rows = store.all(
        "select id, sequence, deaths from host_runs where deaths >= ? and ended_at is null and claimed_by is null",
        MAX_ATTEMPTS,
    )
    now = now_us()
    for run, sequence, deaths in rows:
        first, last, error = given_up(now, deaths)
        append_events(store, run, sequence, (first, last))
        store.change(
            "update host_runs set status = 'failed', error = ?, ended_at = ?, ready_at = null, sequence = ?"
            " where id = ?",
            json.dumps(error),
            now,
            sequence + 2,
            run,
        )
    return len(rows)


def _cancel_overdue(store: HostStore) -> int:
    limit = now_us() - RUN_LIMIT_MS * 1000
    rows = store.all(
        "select id from host_runs where ended_at is null and accepted_at < ? and not exists (select 1 from host_inbox"
        " where run = host_runs.id and kind = 'cancel') limit 100",
        limit,
    )
    for (run,) in rows:
        put_in_inbox(store, run, "cancel", {"reason": CANCEL_REASON})
    return len(rows)


def put_in_inbox(store: HostStore, run: str, kind: str, body: dict[str, Any]) -> int:
    """Something reaches a run from outside: kept, and the run made ready, in the transaction that is open."""
    row = store.one(
        "insert into host_inbox (run, kind, body) values (?, ?, ?) returning id",
        run,
        kind,
        json.dumps(body, ensure_ascii=False),
    )
    assert row is not None
    now = now_us()
    store.change(
        "update host_runs set ready_at = min(coalesce(ready_at, ?), ?) where id = ? and claimed_by is null and"
        " ended_at is null",
        now,
        now,
        run,
    )
    found: int = row[0]
    return found


def append_events(store: HostStore, run: str, sequence: int, events: Sequence[Event]) -> None:
    """Events get their places in the log, in the transaction that is open."""
    store.many(
        "insert into host_events values (?, ?, ?, ?, ?)",
        [(run, sequence + place, each.type, each.at, each.body()) for place, each in enumerate(events)],
    )
