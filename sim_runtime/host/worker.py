"""A worker: claims runs that are ready, lets them go on, commits what they did, and sends their calls.

One thread owns the runs and the store. Calls are made by others, which only hand their answers back. A heartbeat of its
own thread renews the lease, as long as the loop turns.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from analyzer.shown import shown_path
from sim_runtime.driver.protocol import Answer
from sim_runtime.driver.store import StoreDamaged, StoreError, StoreUnavailable, records_of
from sim_runtime.history.records import Record
from sim_runtime.host import claims
from sim_runtime.host.catalogue import Definitions, read_urls
from sim_runtime.host.claims import Claim
from sim_runtime.host.committing import Committer, Sending, Settled, sending_of
from sim_runtime.host.heartbeat import Heartbeat
from sim_runtime.host.ledger import KNOWN, SEND, Permit
from sim_runtime.host.liverun import LiveRun, Message
from sim_runtime.host.outgoing import Outside
from sim_runtime.host.store import HostStore, now_us
from sim_runtime.host.timing import HEARTBEAT_MS, POLL_MS, SWEEP_MS

MAX_ACTIVE: Final = 256
CLAIM_BATCH: Final = 32
KEPT_RUNS: Final = 512
CALL_THREADS: Final = 64
#: So much of what waits for a run is read at once; the rest follows.
MAX_MESSAGES: Final = 256
#: Without work for so long, a worker looks at the store less often.
_CALM_SECONDS: Final = 1.0
_CALM_FACTOR: Final = 4
_RETRY_SECONDS: Final = 0.5
#: What clients read of a run that is put aside: what exactly is wrong, and in which file, is the operator's to know.
_ASIDE: Final = {
    "store_damaged": "the history of the run is torn or damaged in the host's store; the host's log says more",
    "internal_error": "this is a fault of the host; its log says more",
}
#: How long an orderly end waits for answers that are on their way.
STOP_SECONDS: Final = 3.0

Log = Callable[[str], None]


class Arrived(NamedTuple):
    """An answer. ``epoch`` is that of the claim under which the call left; None for the second delivery of a run."""

    sending: Sending
    epoch: int | None
    answer: Answer | None


class Worker:
    """The loop of one worker process."""

    def __init__(self, path: str, token: str, *, allow_private: bool, log: Log) -> None:
        self.token = token
        self._log = log
        self._safe = HostStore(path)
        self._quick = HostStore(path, safe=False)
        self._definitions = Definitions(self._safe)
        self._committer = Committer(self._safe, token)
        self._outside = Outside(read_urls(self._safe), allow_private=allow_private)
        self._pool = ThreadPoolExecutor(CALL_THREADS, thread_name_prefix="call")
        # No `SimpleQueue`: its `get` with a timeout waits for ever when a signal comes as the time is over.
        self._arrived: queue.Queue[Arrived] = queue.Queue()
        self._runs: dict[str, LiveRun] = {}
        self._kept: OrderedDict[str, LiveRun] = OrderedDict()
        #: Claimed and not read yet: a store that cannot be read at present must not make them nobody's.
        self._claimed: deque[Claim] = deque()
        #: Active runs that have something to do, and when the others do by themselves.
        self._ready: dict[str, None] = {}
        self._wakes: dict[str, int] = {}
        self._settled: list[Settled] = []
        self._waiting: list[Sending] = []
        self._under_way: set[str] = set()
        self._seen_version = -1
        self._next_sweep = 0.0
        self._last_work = 0.0
        self._troubled = False
        self._lapsed = False
        self._stopping = threading.Event()
        self.heartbeat = Heartbeat(path, token, log, lambda: self._safe.commits)

    def stop(self) -> None:
        """End in order: nothing new is claimed."""
        self._stopping.set()

    def run(self) -> None:
        """Until it is stopped. Raises ``StoreError`` for a store that is damaged."""
        claims.register(self._quick, self.token, claims.WORKER, os.getpid())
        self.heartbeat.start()
        try:
            while not self._stopping.is_set():
                self._loop(claiming=True)
            deadline = time.monotonic() + STOP_SECONDS
            while (self._runs or self._settled) and time.monotonic() < deadline:
                self._loop(claiming=False)
            self._leave()
        finally:
            self.heartbeat.stop()

    def _loop(self, *, claiming: bool) -> None:
        self.heartbeat.turned()
        try:
            moved = self._turn(claiming) or self._definitions.prepare_one()
        except StoreUnavailable as error:
            if not self._troubled:
                self._log(f"{error}; nothing is lost, it is tried again")
            self._troubled = True
            time.sleep(_RETRY_SECONDS)
            return
        if self._troubled:
            self._troubled = False
            self._lapsed = True
            self._log("the store can be used again")
        now = time.monotonic()
        if moved:
            self._last_work = now
            return
        calm = _CALM_FACTOR if now - self._last_work > _CALM_SECONDS else 1
        try:
            self._take_answer(self._arrived.get(timeout=POLL_MS * calm / 1000))
        except queue.Empty:
            return

    def _turn(self, claiming: bool) -> bool:
        """One turn; true when something happened."""
        while not self._arrived.empty():
            self._take_answer(self._arrived.get())
        if claiming:
            self._sweep_if_due()
            self._claim()
        version = self._safe.version
        changed = version != self._seen_version
        if changed:
            self._seen_version = version
            self._read_inbox()
            self._take_second_deliveries()
        now = now_us()
        for run in [each for each, due in self._wakes.items() if due <= now]:
            del self._wakes[run]
            self._ready[run] = None
        moved = {each: self._runs[each] for each in self._ready if each in self._runs}
        self._ready = {name: None for name, run in moved.items() if self._go_on(run, now)}
        # What a commit that failed left behind is tried again with the rest.
        runs = {name: run for name, run in self._runs.items() if name in moved or run.is_dirty or run.calls}
        if not runs and not self._settled and not (self._waiting and changed):
            return False
        try:
            self._commit(runs.values())
        except StoreUnavailable:
            self._ready.update(dict.fromkeys(moved))
            raise
        return bool(runs)

    def _go_on(self, run: LiveRun, now: int) -> bool:
        """A turn of one run; a run that cannot be decided on is put aside and does not stop the others."""
        try:
            return run.turn(now)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this run's alone
            self._put_aside(run.claim, "internal_error", f"{type(error).__name__}: {error}")
            return False

    # ---- claiming -------------------------------------------------------------------------------

    def _sweep_if_due(self) -> None:
        if self._troubled:
            # Only whether it can be written again: others may live and not have been able to say so.
            self._quick.change("insert or replace into host_meta values ('written', ?)", str(now_us()))
            return
        now = time.monotonic()
        if not self.heartbeat.stands():
            self._lapsed = True
            return
        if self._lapsed:
            # What kept this one from saying that it lives may have kept the others: they get the time to do so.
            self._lapsed = False
            self._next_sweep = now + 2 * HEARTBEAT_MS / 1000
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_MS / 1000
        swept = claims.sweep(self._quick, self.token)
        self._lapsed = swept.lapsed
        if swept.taken or swept.given_up:
            self._log(f"took over {swept.taken} claims or holds of instances that are gone; gave up {swept.given_up}")

    def _claim(self) -> None:
        room = min(CLAIM_BATCH, MAX_ACTIVE - len(self._runs))
        if room > 0 and not self._claimed:
            self._claimed.extend(claims.claim(self._quick, self.token, room))
        while self._claimed:
            claim = self._claimed[0]
            # Its own earlier claim was taken away and came back: what is in memory counts no more.
            self._runs.pop(claim.run, None)
            run = self._take_up(claim)
            if run is not None:
                self._offer(run)
                self._runs[claim.run] = run
                self._ready[claim.run] = None
            self._claimed.popleft()

    def _take_up(self, claim: Claim) -> LiveRun | None:
        kept = self._kept.pop(claim.run, None)
        if kept is not None and kept.claim.number == claim.number and kept.claim.sum == claim.sum:
            kept.again(claim, now_us())
            return kept
        try:
            compiled = self._definitions.of(claim.definition)
            return LiveRun(claim, compiled, self._records(claim), self.token, now_us())
        except StoreUnavailable:
            raise
        except StoreError as error:
            self._put_aside(claim, "store_damaged", str(error))
        return None

    def _records(self, claim: Claim) -> list[Record]:
        if not claim.number:
            return []
        rows = self._safe.all("select number, records, sum from transactions where run = ? order by number", claim.run)
        records = records_of(self._safe.path, claim.run, rows)
        if len(rows) != claim.number or rows[-1][2] != claim.sum:
            shown = shown_path(self._safe.path)
            raise StoreDamaged(f"the store `{shown}` lacks the last transactions of the run `{claim.run}`")
        return records

    def _put_aside(self, claim: Claim, code: str, message: str) -> None:
        """A run that cannot go on here stays as it is, for an operator to see; a new start of the host tries again."""
        self._log(f"the run `{claim.run}` is put aside ({code}): {message}")
        self._safe.change(
            "update host_runs set status = 'paused', error = ?, claimed_by = null, ready_at = null"
            " where id = ? and epoch = ? and claimed_by = ?",
            json.dumps({"code": code, "message": _ASIDE[code]}),
            claim.run,
            claim.epoch,
            self.token,
        )
        self._forget(claim.run)

    # ---- from outside ---------------------------------------------------------------------------

    def _offer(self, run: LiveRun) -> None:
        rows = self._safe.all(
            "select id, kind, body from host_inbox where run = ? and outcome is null order by id limit ?",
            *(run.claim.run, MAX_MESSAGES),
        )
        for number, kind, body in rows:
            run.offer(Message(number, kind, json.loads(body)))

    def _read_inbox(self) -> None:
        if not self._runs:
            return
        for (name,) in self._safe.all("select distinct run from host_inbox where outcome is null"):
            run = self._runs.get(name)
            if run is not None:
                self._offer(run)
                self._ready[name] = None

    def _take_second_deliveries(self) -> None:
        """The exercise duplicate-delivery: the run once more, past every claim, down to the ledger of effects."""
        if self._safe.one("select 1 from host_deliveries where taken_by is null") is None:
            return
        rows = self._safe.all(
            "update host_deliveries set taken_by = ? where id = (select id from host_deliveries where taken_by is null"
            " limit 1) returning run",
            self.token,
        )
        for (name,) in rows:
            row = self._safe.one("select workflow, definition, given, accepted_at from host_runs where id = ?", name)
            if row is not None:
                claim = Claim(name, row[0], row[1], json.loads(row[2]), row[3], None, -1, 0, "", 0, None, 0)
                self._deliver_again(claim)

    def _deliver_again(self, claim: Claim) -> None:
        run = LiveRun(claim, self._definitions.of(claim.definition), (), self.token, now_us())
        run.turn(now_us())
        _, permits = self._committer.commit((), (), [sending_of(run, each) for each in run.calls], self._under_way)
        for sending, permit in permits:
            if permit.what == SEND:
                self._send(sending, None)

    # ---- committing and sending -----------------------------------------------------------------

    def _commit(self, runs: Iterable[LiveRun]) -> None:
        written, asked = self._committer.commit(runs, self._settled, self._waiting, self._under_way)
        self._under_way.difference_update(each.invocation for each in self._settled)
        self._settled, self._waiting = [], []
        for name, result in written.items():
            run = self._runs[name]
            if result is None:
                self._log(f"the run `{name}` was taken over by another instance; what this one did was not written")
                self._forget(name)
                continue
            run.committed(result.number, result.sum, result.sequence)
            if run.must_die:
                os.kill(os.getpid(), signal.SIGKILL)
            for sending, permit in result.permits:
                self._follow(sending, permit)
            if result.released:
                self._release(name)
            elif not run.state.over and (due := run.next_due()) is not None:
                self._wakes[name] = due
        for sending, permit in asked:
            self._follow(sending, permit)

    def _forget(self, name: str) -> None:
        for table in (self._runs, self._ready, self._wakes):
            table.pop(name, None)

    def _release(self, name: str) -> None:
        run = self._runs[name]
        self._forget(name)
        if not run.state.over:
            self._kept[name] = run
            while len(self._kept) > KEPT_RUNS:
                self._kept.popitem(last=False)

    def _follow(self, sending: Sending, permit: Permit) -> None:
        run = self._runs.get(sending.run)
        if run is None or sending.outgoing.record.seq not in run.flying:
            return
        if permit.what == SEND:
            self._send(sending, run.claim.epoch)
        elif permit.what == KNOWN:
            assert permit.answer is not None
            self._answer(run, sending, permit.answer)
        else:
            self._waiting.append(sending)

    def _send(self, sending: Sending, epoch: int | None) -> None:
        self._under_way.add(sending.invocation)
        builtin = sending.run in self._runs and self._runs[sending.run].compiled.builtin
        self._pool.submit(self._call, sending, epoch, builtin or epoch is None)

    def _call(self, sending: Sending, epoch: int | None, builtin: bool) -> None:
        """In a thread of the pool."""
        call = sending.outgoing.call
        answer: Answer | None = None
        if self.heartbeat.may_send(sending.run, epoch):
            try:
                answer = self._outside.perform(call, call.key, builtin=builtin)
            except Exception as error:  # noqa: BLE001 - a call that ends without an answer would wait for ever
                self._log(f"the call of `{call.action}` at `{call.path}` broke: {type(error).__name__}: {error}")
                answer = Answer("ambiguous", code="internal_error", message=_ASIDE["internal_error"])
        self._arrived.put(Arrived(sending, epoch, answer))

    def _take_answer(self, arrived: Arrived) -> None:
        sending, answer = arrived.sending, arrived.answer
        if answer is None or sending.effect is None:
            self._under_way.discard(sending.invocation)
        if answer is None:
            return
        if sending.effect is not None:
            # It stays under way until the ledger knows: a second delivery that asks before would send it again.
            self._settled.append(Settled(sending.effect, sending.invocation, answer))
        run = self._runs.get(sending.run)
        if run is not None and arrived.epoch == run.claim.epoch:
            self._answer(run, sending, answer)

    def _answer(self, run: LiveRun, sending: Sending, answer: Answer) -> None:
        run.answer(sending.outgoing.record, answer)
        self._ready[run.claim.run] = None

    def _leave(self) -> None:
        """Let go of everything; what still was out counts as interrupted, and spends no attempt."""
        with self._safe.transaction():
            self._safe.change(
                "update host_runs set claimed_by = null, lost_by = claimed_by, ready_at = ? where claimed_by = ?",
                now_us(),
                self.token,
            )
            self._safe.change("update host_instances set ended = 1 where token = ?", self.token)
