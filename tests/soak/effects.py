"""A kill campaign that counts effects: a service that keeps a ledger of its own is called by runs that retry, undo,
call children, wait and ask operators, while processes of the host are killed and the service loses its replies.

``python -m tests.soak.effects --seconds 600 --runs 1000 --seed 3`` is the long form; ``test_campaign.py`` runs a short
one. Afterwards no effect was lost or doubled, in the eyes of the service, and every history is decided anew as it was.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_runtime.history.chain import lines_of
from sim_runtime.history.encoding import record_json
from sim_runtime.replay.many import evaluate_files
from sim_runtime.stores import stored_run
from tests.host.helpers import Outside, hosting
from tests.soak.campaign import WORKERS, Campaign, drive, long_form

CONNECTOR = """
connector: bank
version: 1.0.0
actions:
  charge:
    effect: write
    idempotency: keyed
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
    output: { type: object, properties: { id: { type: string } }, required: [id] }
    errors: { busy: { retryable: true } }
  refund:
    effect: write
    idempotency: keyed
    input: { type: object, properties: { charge: { type: string } }, required: [charge], additionalProperties: false }
    errors: { busy: { retryable: true } }
  ship:
    effect: write
    idempotency: none
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
    errors: { busy: { retryable: true } }
  fetch:
    effect: read
    input: { type: object, properties: { order: { type: string } }, required: [order], additionalProperties: false }
    errors: { refused: { retryable: false }, busy: { retryable: true } }
triggers:
  paid:
    source: external
    payload: { type: object, properties: { order: { type: string } }, required: [order] }
    correlate_on: [order]
"""
WORKFLOWS = {
    "pay": """
steps:
  - pay:
      bank.charge: { order: "{{ inputs.order }}" }
      timeout: 1s
      retry: { attempts: 5, delay: 100ms, backoff: 2 }
result: "{{ pay.id }}"
""",
    "send": """
steps:
  - go:
      bank.ship: { order: "{{ inputs.order }}" }
      retry: { attempts: 5, delay: 100ms }
      on_unknown: halt
""",
    "redo": """
steps:
  - both:
      wf.group:
        - pay:
            bank.charge: { order: "{{ inputs.order }}" }
            retry: { attempts: 5, delay: 100ms }
            undo: { bank.refund: { charge: "{{ pay.id }}" } }
        - look: { bank.fetch: { order: "{{ inputs.order }}" } }
      recovery: { redo: whole_group, stop_after: { failures: 3, within: 1h }, delay: 200ms, then: hold }
""",
    "many": """
steps:
  - each:
      wf.for_each: [a, b, c]
      as: part
      concurrency: 2
      steps:
        - one: { wf.call: pay, inputs: { order: "{{ inputs.order }}-{{ part }}" } }
""",
    "wait": """
steps:
  - paid:
      wf.wait_for: bank.paid
      match: { order: "{{ inputs.order }}" }
      timeout: 10m
      steps:
        - asked: { bank.charge: { order: "{{ inputs.order }}-asked" }, retry: { attempts: 5, delay: 100ms } }
  - rest: { wf.wait: 300ms }
  - pay: { bank.charge: { order: "{{ inputs.order }}-paid" }, retry: { attempts: 5, delay: 100ms } }
""",
}
#: The parts of an order that are paid for once each, when a run is completed.
PARTS = {"pay": ("",), "redo": ("",), "many": ("-a", "-b", "-c"), "wait": ("-asked", "-paid"), "send": ()}


@dataclass
class Bank:
    """A service with a ledger. It loses calls and replies, and is busy; never for a key whose effect it has."""

    choice: random.Random
    lock: threading.Lock = field(default_factory=threading.Lock)
    #: By key: the action, its arguments, and the id of the effect.
    keyed: dict[str, tuple[str, Any, str]] = field(default_factory=dict)
    shipped: Counter[str] = field(default_factory=Counter)
    #: Calls without a key that are here at present.
    here: Counter[str] = field(default_factory=Counter)
    clashes: list[str] = field(default_factory=list)

    def answer(self, action: str, key: str | None, body: Any) -> tuple[int, Any]:
        if action == "fetch":
            return (409, {"error": {"code": "refused"}}) if self.choice.random() < 0.3 else (200, {})
        order = body.get("order", "")
        with self.lock:
            self.here[order] += key is None
        try:
            return self._answer(action, key, body, self.choice.random())
        finally:
            with self.lock:
                self.here[order] -= key is None

    def _answer(self, action: str, key: str | None, body: Any, fate: float) -> tuple[int, Any]:
        time.sleep(self.choice.random() ** 3 * 1.5)
        if fate < 0.08:
            return 0, None
        with self.lock:
            known = self.keyed.get(key) if key is not None else None
            if known is None and fate < 0.16:
                return 503, {"error": {"code": "busy"}}
            if key is None:
                self.shipped[body["order"]] += 1
            elif known is None:
                known = self.keyed[key] = (action, body, f"{action}-{len(self.keyed)}")
            elif known[:2] != (action, body):
                self.clashes.append(f"{key}: {known[:2]}, then {(action, body)}")
        if fate < 0.26:
            return 0, None
        return 200, {"id": known[2]} if action == "charge" and known is not None else {}

    def is_away(self, order: str) -> bool:
        """Whether no call of an order is on its way to have an effect."""
        with self.lock:
            return not self.here[order]


@dataclass
class Effects(Campaign):
    """A campaign whose service is a bank."""

    bank: Bank = field(default_factory=lambda: Bank(random.Random(1)))
    kinds: Sequence[str] = tuple(WORKFLOWS)

    def inputs_of(self, _kind: str, order: str, _number: int) -> dict[str, Any]:
        return {"order": order}

    def deliver(self) -> None:
        """Events for those who wait, and decisions for those who are held: again and again, as replies get lost."""
        while not self.over.wait(0.3):
            for run, (kind, order) in list(self.accepted.items()):
                try:
                    self._attend(run, kind, order)
                except OSError:
                    break

    def _attend(self, run: str, kind: str, order: str) -> None:
        if kind == "wait" and run not in self.told:
            answer = self.host.tell(run, "events", {"trigger": "bank.paid", "id": order, "payload": {"order": order}})
            reason = answer.body.get("reason") if answer.status == 200 else None
            if answer.status == 200 and (answer.body["accepted"] or reason in ("duplicate", "the run is over")):
                self.told[run] = True
        rows = self.host.rows("select status from host_runs where id = ?", run)
        if rows != [("waiting-approval",)]:
            return
        for hold in self.host.of(run).body["workfile"].get("holds", ()):
            if kind == "send" and not self.bank.is_away(order):
                continue
            decide: Any = "authorize_recovery" if "authorize_recovery" in hold["allowed"] else "reissue"
            if kind == "send":
                failed = {"fail": {"code": "busy", "retryable": True}}
                decide = {"succeed": None} if self.bank.shipped[order] else failed
            self.host.tell(run, "decisions", {"on": hold["path"], "actor": "ann", "decide": decide})

    # ---- judging --------------------------------------------------------------------------------

    def is_settled(self, status: str) -> bool:
        """Holds are decided on: every run ends."""
        return status in ("completed", "failed", "cancelled")

    def _judge_effects(self) -> None:
        bank = self.bank
        assert not bank.clashes, bank.clashes[:3]
        ids = {made: body["order"] for action, body, made in bank.keyed.values() if action == "charge"}
        refunded = Counter(body["charge"] for action, body, _ in bank.keyed.values() if action == "refund")
        assert set(refunded) <= set(ids), "a refund of what was never charged"
        assert all(count == 1 for count in refunded.values()), "one charge was refunded twice"
        standing = Counter(order for made, order in ids.items() if made not in refunded)
        for run, (kind, order) in self.accepted.items():
            status = self.host.rows("select status from host_runs where id = ?", run)[0][0]
            for part in PARTS[kind]:
                count = standing[order + part]
                assert count == 1 if status == "completed" else count <= 1, (run, kind, status, order + part, count)
            if kind == "send":
                assert bank.shipped[order] == 1 if status == "completed" else bank.shipped[order] <= 1, (run, status)
        self._judge_histories()

    def _judge_histories(self) -> None:
        """Each is decided anew, from what it recorded of the outside, and comes to the same."""
        folder = self.host.store.parent / "histories"
        folder.mkdir()
        paths = []
        for place, run in enumerate(self.accepted):
            header, records = stored_run(str(self.host.store), run)
            path = folder / f"{place}.history.jsonl"
            path.write_text("".join(lines_of(header, [record_json(each) for each in records])), encoding="utf-8")
            paths.append(str(path))
        found = [(each.run, each.outcome, each.divergence) for each in evaluate_files(paths, jobs=1)]
        assert not [each for each in found if each[1] != "compatible"], found


def effects(folder: Path, runs: int, seconds: float, seed: int) -> dict[str, Any]:
    """Do it. Raises ``AssertionError`` for what must hold and does not."""
    flows = folder / "flows"
    (flows / "connectors").mkdir(parents=True)
    (flows / "connectors" / "bank.connector.yaml").write_text(CONNECTOR.lstrip())
    for name, text in WORKFLOWS.items():
        head = f'workfile: "1.0"\nname: {name}\ninputs: {{ order: string }}'
        (flows / f"{name}.workfile.yaml").write_text(f"{head}{text}")
    with Outside() as outside:
        (flows / "workfile.toml").write_text(
            f'connectors = ["connectors"]\n[connections.bank]\nurl = "{outside.url}"\n'
        )
        with hosting(folder, "--workflows", str(flows), "--allow-private-effects", workers=WORKERS) as host:
            under_way = Effects(host, outside, random.Random(seed), bank=Bank(random.Random(seed)))
            outside.service = under_way.bank.answer
            return drive(under_way, runs, seconds)


if __name__ == "__main__":
    long_form(__doc__, effects, 1_000)
