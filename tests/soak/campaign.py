"""A kill campaign: runs of every kind while API, workers and supervisor are killed at random.

``python -m tests.soak.campaign --seconds 600 --seed 7`` is the long form; ``test_campaign.py`` runs a short one. What
must hold afterwards is in ``judge``; what was seen is printed. The same seed gives the same runs and the same order of
kills, not the same moments: these are the machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_runtime.driver.store import records_of
from sim_runtime.host.events import TERMINAL
from sim_runtime.host.timing import CLAIMED, HOST, LEASE_MS
from tests.host.helpers import Host, Outside, hosting, shop, until

SAGA = """
workfile: "1.0"
name: saga
inputs: { order: string }
steps:
  - both:
      wf.group:
        - reserve:
            shop.charge: { order: "{{ inputs.order }}-r" }
            undo: { shop.charge: { order: "{{ inputs.order }}-u" } }
        - pay:
            shop.pay: { order: "{{ inputs.order }}" }
      recovery:
        redo: whole_group
        stop_after: { failures: 2, within: 1h }
        then: hold
result: "{{ both.reserve.id }}"
"""
PAY = """
  pay:
    effect: write
    idempotency: keyed
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
    errors: { refused: { retryable: false } }
triggers:
"""
KINDS = ("conformance-noop", "charge", "ship", "look", "nap", "await", "saga", "conformance-failure")
WORKERS = 3
#: The kill that ends the whole host.
HOSTS = "supervisor"


@dataclass
class Kill:
    """A process that was ended, when, and the runs that it held."""

    what: str
    at: float
    runs: frozenset[str]


@dataclass
class Campaign:
    """The state of one campaign."""

    host: Host
    outside: Outside
    choice: random.Random
    accepted: dict[str, tuple[str, str]] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)
    #: Held by whoever asks for processes, so that a whole restart is not seen half-way.
    lock: threading.Lock = field(default_factory=threading.Lock)
    kinds: Sequence[str] = KINDS

    # ---- the outside ----------------------------------------------------------------------------

    def answer(self, action: str, choice: random.Random) -> Any:
        def reply(body: Any) -> tuple[int, Any]:
            time.sleep(choice.random() ** 2 * 2)
            if action in ("charge", "stock") and choice.random() < 0.1:
                return 503, {"error": {"code": "busy"}}
            if action == "pay" and choice.random() < 0.3:
                return 409, {"error": {"code": "refused"}}
            return 200, {"id": f"{action}-{(body or {}).get('order', '')}"}

        return reply

    # ---- clients --------------------------------------------------------------------------------

    def start_run(self, number: int) -> None:
        """Ask until it is accepted; under one key, so that a lost reply makes no second run."""
        kind, order = self.kinds[number % len(self.kinds)], f"o-{number}"
        body = {"workflowId": kind, "inputs": self.inputs_of(kind, order, number)}

        def ask() -> bool:
            try:
                answer = self.host.ask("POST", "/runs", body, headers={"Idempotency-Key": order}, seconds=10)
            except OSError:
                return False
            assert answer.status in (201, 503), answer
            if answer.status == 201:
                self.accepted[answer.body["runId"]] = (kind, order)
            return answer.status == 201

        until(ask, 120, 0.1)

    def inputs_of(self, kind: str, order: str, number: int) -> dict[str, Any]:
        if kind == "nap":
            return {"span": f"{100 + number % 5 * 300}ms"}
        return {"order": order} if kind in ("charge", "ship", "await", "saga") else {}

    def deliver(self) -> None:
        """Every run that waits for its event gets it, again and again until it is taken."""
        while not self.over.wait(0.3):
            for run, (kind, order) in list(self.accepted.items()):
                if kind == "await" and run not in self.told:
                    body = {"trigger": "shop.paid", "id": order, "payload": {"order": order, "amount": 1}}
                    try:
                        answer = self.host.tell(run, "events", body)
                    except OSError:
                        break
                    taken = answer.status == 200 and (answer.body["accepted"] or answer.body["reason"] == "duplicate")
                    if taken or (answer.status == 200 and answer.body["reason"] == "the run is over"):
                        self.told[run] = True

    # ---- killing --------------------------------------------------------------------------------

    def kill_one(self) -> None:
        """One process, or all of them."""
        what = self.choice.choices(("worker", "api", "stop", HOSTS, "end"), (50, 20, 15, 15, 8))[0]
        if what == "end":
            with self.lock:
                assert self.host.end() == 0
                self.host.start()
            return
        if what == HOSTS:
            with self.lock:
                runs = {row[0] for row in self.host.rows("select id from host_runs where claimed_by is not null")}
                self.host.kill()
                self.kills.append(Kill(what, time.time(), frozenset(runs)))
                self.host.start()
            return
        living = sorted(self.host.pids("api" if what == "api" else "worker").items())
        if not living:
            return
        token, pid = self.choice.choice(living)
        runs = {row[0] for row in self.host.rows("select id from host_runs where claimed_by = ?", token)}
        try:
            if what == "stop":
                os.kill(pid, signal.SIGSTOP)
                time.sleep(LEASE_MS / 1000 * (0.5 + self.choice.random()))
                os.kill(pid, signal.SIGCONT)
                return
            os.kill(pid, signal.SIGKILL)
            self.kills.append(Kill(what, time.time(), frozenset(runs)))
        except ProcessLookupError:
            return

    # ---- judging --------------------------------------------------------------------------------

    def settle(self) -> None:
        """No more kills: everything ends, or is held."""

        def done() -> bool:
            rows = self.host.rows("select status, claimed_by from host_runs")
            return all(self.is_settled(status) and owner is None for status, owner in rows)

        until(done, 180, 0.2)

    def is_settled(self, status: str) -> bool:
        return status in TERMINAL | {"waiting-approval"}

    def judge(self) -> dict[str, Any]:
        """What must hold. Raises ``AssertionError``."""
        rows = self.host.rows("select id, status, number, sum, error from host_runs")
        assert {row[0] for row in rows} == set(self.accepted), "a run without an acceptance, or the other way round"
        for run, status, number, total, _ in rows:
            self._judge_history(run, number, total)
            self._judge_events(run, status)
        self._judge_effects()
        given_up = [row[0] for row in rows if row[4] and json.loads(row[4])["code"] == "attempts_exhausted"]
        return {
            "runs": len(rows),
            "status": dict(Counter(row[1] for row in rows)),
            "given up": len(given_up),
            "kills": dict(Counter(each.what for each in self.kills)),
            "calls": len(self.outside.calls),
            **self._recoveries(),
        }

    def _judge_history(self, run: str, number: int, total: str) -> None:
        stored = self.host.rows("select number, records, sum from transactions where run = ? order by number", run)
        assert len(stored) == number
        assert (stored[-1][2] if stored else "") == total
        records = records_of(str(self.host.store), run, stored)
        assert [each.seq for each in records] == list(range(1, len(records) + 1))
        assert sum(each.kind == "run.finished" and not each.id for each in records) <= 1

    def _judge_events(self, run: str, status: str) -> None:
        log = self.host.rows("select sequence, type from host_events where run = ? order by sequence", run)
        assert [each[0] for each in log] == list(range(len(log)))
        types = [each[1] for each in log]
        ends = [each for each in types if each in ("run.completed", "run.failed", "run.cancelled")]
        assert len(ends) == (status in TERMINAL), (run, types)
        assert not ends or types[-1] == ends[0], (run, types)
        assert types.count("run.started") <= 1

    def _judge_effects(self) -> None:
        keys: dict[tuple[str, str], set[str | None]] = {}
        ships: Counter[str] = Counter()
        for path, key, body in self.outside.calls:
            action = path.rpartition("/")[2]
            order = (body or {}).get("order", "")
            if action == "ship":
                ships[order] += 1
            elif action == "charge" and not order.endswith(("-r", "-u")):
                keys.setdefault((action, order), set()).add(key)
        assert all(count == 1 for count in ships.values()), ships.most_common(3)
        assert all(len(found) == 1 for found in keys.values()), "one charge went out under two keys"

    def _recoveries(self) -> dict[str, Any]:
        """From each kill to the first sign that another process goes on with the work."""
        observed: list[tuple[float, str]] = []
        late = []
        for run in self.accepted:
            log = [
                at / 1e6
                for (at,) in self.host.rows(
                    "select at from host_events where run = ? and type = 'workflow.restored' order by sequence", run
                )
            ]
            for restored in log:
                hits = [each for each in self.kills if run in each.runs and each.at <= restored]
                if not hits:
                    continue
                # Later deaths of the whole host begin the interval anew.
                last = max(
                    (each for each in self.kills if each.at <= restored and (run in each.runs or each.what == HOSTS)),
                    key=lambda each: each.at,
                )
                bound = HOST.bound_ms if last.what == HOSTS else CLAIMED.bound_ms
                took = (restored - last.at) * 1000
                observed.append((took, last.what))
                if took > bound:
                    late.append((run, last.what, round(took)))
        assert not late, f"recoveries outside their bound: {late}"
        times = sorted(took for took, _ in observed)
        return {
            "recoveries": len(times),
            "recovery p50 ms": round(times[len(times) // 2]) if times else None,
            "recovery longest ms": round(times[-1]) if times else None,
        }


def campaign(folder: Path, runs: int, seconds: float, seed: int) -> dict[str, Any]:
    """Do it. Raises ``AssertionError`` for what must hold and does not."""
    with Outside() as outside:
        flows = shop(folder, outside.url)
        connector = flows / "connectors" / "shop.connector.yaml"
        connector.write_text(connector.read_text().replace("triggers:\n", PAY.lstrip("\n"), 1))
        (flows / "saga.workfile.yaml").write_text(SAGA.lstrip())
        with hosting(folder, "--workflows", str(flows), "--allow-private-effects", workers=WORKERS) as host:
            under_way = Campaign(host, outside, random.Random(seed))
            for action in ("charge", "ship", "stock", "pay"):
                outside.answers[action] = under_way.answer(action, random.Random(seed))
            return drive(under_way, runs, seconds)


def drive(under_way: Campaign, runs: int, seconds: float) -> dict[str, Any]:
    began = time.monotonic()
    problems: list[BaseException] = []

    def create() -> None:
        try:
            for number in range(runs):
                under_way.start_run(number)
                left = seconds - (time.monotonic() - began)
                time.sleep(max(0.0, left / (runs - number) * 0.9))
        except BaseException as problem:  # noqa: BLE001 - told by the main thread
            problems.append(problem)

    threads = [threading.Thread(target=create), threading.Thread(target=under_way.deliver, daemon=True)]
    for thread in threads:
        thread.start()
    while time.monotonic() - began < seconds:
        time.sleep(0.3 + under_way.choice.random() * 1.5)
        under_way.kill_one()
    threads[0].join()
    if problems:
        raise problems[0]
    under_way.host.up(WORKERS)
    under_way.settle()
    under_way.over.set()
    threads[1].join(60)
    return under_way.judge()


def long_form(about: str | None, play: Callable[[Path, int, float, int], dict[str, Any]], runs: int) -> None:
    """The command line of a campaign: how long, how many runs, which seed; what was found is printed."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = play(Path(folder), options.runs, options.seconds, options.seed)
    for name, value in found.items():
        sys.stdout.write(f"{name}: {value}\n")


if __name__ == "__main__":
    long_form(__doc__, campaign, 2_000)
