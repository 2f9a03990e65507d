"""One transaction for everything that a worker's runs did in a turn.

Each run is written under its fencing epoch: where that is not the store's any more, nothing of the run is written, and
the worker forgets it. The records, the events, the effects that are claimed or settled, and the replies to what came
from outside stand or fall together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import Any, Final, NamedTuple

from sim_runtime.driver.protocol import Answer
from sim_runtime.driver.store import sum_of, text_of
from sim_runtime.host.claims import append_events
from sim_runtime.host.events import STATUS_OF, error_of, status_of, summary_of
from sim_runtime.host.ledger import SEND, Ledger, Permit, identity_of, new_invocation
from sim_runtime.host.liverun import LiveRun, Outgoing
from sim_runtime.host.store import HostStore, now_us


class Sending(NamedTuple):
    """A call with its identity in the ledger; an effect of None is no effect."""

    run: str
    outgoing: Outgoing
    effect: str | None
    keying: str
    invocation: str


class Settled(NamedTuple):
    """What came of a sending."""

    effect: str
    invocation: str
    answer: Answer


class Written(NamedTuple):
    """What a run's part of the transaction came to."""

    number: int
    sum: str
    sequence: int
    released: bool
    permits: tuple[tuple[Sending, Permit], ...]


_UPDATE: Final = """
update host_runs set number = ?, sum = ?, sequence = ?, status = ?, summary = coalesce(?, summary), error = ?,
  ended_at = coalesce(ended_at, ?),
  deaths = case when ? then 0 else deaths end, lost_by = null, claimed_by = ?,
  ready_at = case when ? then (
    case when exists (select 1 from host_inbox where run = ? and outcome is null and id > ?) then ? else ? end
  ) end
where id = ? and epoch = ? and claimed_by = ?
"""


class Committer:
    """Writes what runs did. Raises ``StoreError``; nothing was written then, and it may be tried again."""

    def __init__(self, store: HostStore, token: str) -> None:
        self._store = store
        self._token = token
        self._ledger = Ledger(store, token)

    def commit(
        self, runs: Iterable[LiveRun], settled: Iterable[Settled], waiting: Iterable[Sending], under_way: Set[str]
    ) -> tuple[dict[str, Written | None], list[tuple[Sending, Permit]]]:
        """What became of each run (None: it is another one's now), and of the calls that waited for others."""
        with self._store.transaction():
            for each in settled:
                self._ledger.settle(*each)
            written = {run.claim.run: self._write(run, under_way) for run in runs}
            asked = [(each, self._ask(each, under_way)) for each in waiting]
        return written, asked

    def _write(self, run: LiveRun, under_way: Set[str]) -> Written | None:
        claim = run.claim
        number, total = claim.number, claim.sum
        text = text_of([record for records in run.transactions for record in records]) if run.transactions else None
        if text is not None:
            number, total = number + 1, sum_of(total, text)
        sequence = claim.sequence + len(run.events)
        released = run.is_idle and not run.must_die
        if not self._update(run, number, total, sequence, released):
            return None
        if text is not None:
            self._store.change("insert into transactions values (?, ?, ?, ?)", claim.run, number, text, total)
        if run.events:
            append_events(self._store, claim.run, claim.sequence, run.events)
        if run.outcomes:
            self._store.many(
                "update host_inbox set outcome = ? where id = ?",
                [
                    (json.dumps({"accepted": accepted, "reason": reason}), number_)
                    for number_, accepted, reason in run.outcomes
                ],
            )
        sendings = [sending_of(run, each) for each in run.calls]
        permits = tuple((each, self._ask(each, under_way)) for each in sendings)
        return Written(number, total, sequence, released, permits)

    def _update(self, run: LiveRun, number: int, total: str, sequence: int, released: bool) -> bool:
        claim, state, now = run.claim, run.state, now_us()
        error = error_of(state) if state.over and STATUS_OF[state.status] == "failed" else None
        # Looking through a large run costs more than deciding: only where somebody may want to know.
        shown = released or state.over or state.status == "held"
        values: tuple[Any, ...] = (
            number,
            total,
            sequence,
            status_of(state),
            json.dumps(summary_of(state), ensure_ascii=False) if shown else None,
            None if error is None else json.dumps(error, ensure_ascii=False),
            now if state.over else None,
            run.made_progress,
            None if released else self._token,
            released and not state.over,
            claim.run,
            run.last_message,
            now,
            run.next_due(),
            claim.run,
            claim.epoch,
            self._token,
        )
        return self._store.change(_UPDATE, *values) == 1

    def _ask(self, sending: Sending, under_way: Set[str]) -> Permit:
        if sending.effect is None:
            return Permit(SEND)
        return self._ledger.ask(
            sending.effect, sending.keying, sending.run, sending.outgoing.call, sending.invocation, under_way
        )


def sending_of(run: LiveRun, outgoing: Outgoing) -> Sending:
    """A call on its way out; reads have no effect."""
    call = outgoing.call
    if call.effect == "read":
        return Sending(run.claim.run, outgoing, None, "", new_invocation())
    effect, keying = identity_of(run.claim.run, run.claim.workflow, call)
    return Sending(run.claim.run, outgoing, effect, keying, new_invocation())
