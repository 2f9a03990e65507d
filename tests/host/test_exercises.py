"""The host of ours, judged by the harness of ours: real kills, real restarts, a bundle that holds."""

from __future__ import annotations

import copy
import json
import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.host.timing import ACCEPTED, CLAIMED, CLASSES, LEASE_MS, RUN_LIMIT_MS, SWEEP_MS
from sim_runtime.qualify import extension
from sim_runtime.qualify.client import Client, read_address
from sim_runtime.qualify.harness import Request, Result, qualify, write_bundle
from sim_runtime.qualify.receiver import EffectReceiver
from sim_runtime.qualify.timing import Limits
from sim_runtime.qualify.verify import Expected, verify_text
from tests.host.helpers import KEY, WORKFILE, Host, hosting, until
from tests.qualify.helpers import TOY, free_port, row_of, text

pytestmark = pytest.mark.slow

MULTI = "durable-multi-instance"
#: Quiet windows are shorter than the protocol's; what is waited for may take as long as there.
LIMITS = Limits(watch_step=0.05, back_step=0.05, quiet=1.0, start=60, death=10)


@dataclass
class Judged:
    result: Result
    bundle: dict[str, Any]
    store: Path


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """A host with two workers, driven for the second rung."""
    store = tmp_path_factory.mktemp("judged") / "store.sqlite"
    port = free_port()
    words = [*WORKFILE, "host", "--listen", f"127.0.0.1:{port}", "--store", str(store), "--workers", "2"]
    start = shlex.join([*words, "--durability-exercises", "--allow-private-effects"])
    request = Request(
        read_address(f"http://127.0.0.1:{port}"),
        KEY,
        rung=MULTI,
        start=start,
        limits=LIMITS,
        published=TOY.published("host-1"),
    )
    result = qualify(request, lambda row, seconds: None)
    bundle = write_bundle(result, TOY, None)
    assert bundle is not None
    return Judged(result, bundle, store)


@pytest.mark.requirement("Q-ACC-02", "Q-DUP-01", "Q-DUP-02", "Q-LAD-01", "Q-LAD-02", "Q-LAD-03", "Q-LAD-07")
def test_every_row_is_executed_and_passed(judged: Judged) -> None:
    rows = [(row.id.rpartition(".")[2], row.result, row.detail) for row in judged.result.all_rows]
    assert rows == [
        ("kill-after-accept", "executed-pass", None),
        ("kill-during-execution", "executed-pass", None),
        ("duplicate-delivery", "executed-pass", None),
        ("bound-is-derived", "executed-pass", None),
        ("poison-exhaustion", "executed-pass", None),
        ("peer-resume", "executed-pass", None),
    ]
    assert judged.result.deaths == 3
    assert judged.result.earned == MULTI


@pytest.mark.requirement("Q-EVD-01", "Q-LIV-02", "Q-LIV-03", "Q-LAD-04")
def test_the_bundle_carries_bounds_and_intervals(judged: Judged) -> None:
    declared = row_of(judged.bundle, "bound-is-derived")["evidence"]["recoveryBounds"]
    assert declared == [each.as_json() for each in CLASSES]
    for each in declared:
        assert each["bound"] == sum(term["ms"] for term in each["terms"])
    for name, recovery in (("kill-after-accept", ACCEPTED), ("kill-during-execution", CLAIMED)):
        told = row_of(judged.bundle, name)["evidence"]["recovery"]
        assert (told["class"], told["boundMs"]) == (recovery.name, recovery.bound_ms)
        assert 0 < told["observedMs"] <= told["boundMs"]


@pytest.mark.requirement("Q-EVD-02")
def test_the_bundle_is_verified_and_tampering_is_refused(judged: Judged) -> None:
    known = Expected(discovery=judged.result.discovery.document)
    verdict = verify_text(text(judged.bundle), known)
    assert (verdict.outcome, verdict.rung, verdict.refusals) == ("verified", MULTI, ())
    assert verify_text(text(judged.bundle), Expected()).outcome == "coherent"
    faster = copy.deepcopy(judged.bundle)
    row_of(faster, "kill-during-execution")["evidence"]["recovery"]["observedMs"] += 1
    assert [each.name for each in verify_text(text(faster), known).refusals] == ["witness-digest"]
    peer = copy.deepcopy(judged.bundle)
    peer[extension.MEMBER]["peerResume"]["evidence"]["resumer"] = "a-token-of-somebody-else"
    assert "extension-digest" in [each.name for each in verify_text(text(peer), known).refusals]
    higher = copy.deepcopy(judged.bundle)
    higher["durability"]["rung"] = MULTI
    assert "rung-not-derivable" in [each.name for each in verify_text(text(higher), known).refusals]


def test_the_relaxation_is_in_the_bundle(judged: Judged) -> None:
    assert [each["obligation"] for each in judged.bundle["host"]["relaxations"]] == ["effects.egress-guard"]
    assert "--allow-private-effects" in judged.bundle["host"]["relaxations"][0]["reason"]


@pytest.mark.requirement("Q-LAD-05")
def test_each_kill_came_at_its_point(judged: Judged) -> None:
    """After-accept: the acceptor died while it held the dispatch. During execution: the claim was held, and used."""
    host = Host(judged.store, ())
    deaths = host.rows("select token, role, signal, at from host_deaths order by id")
    killed = [each for each in deaths if each[2] == signal.SIGKILL]
    assert [each[1] for each in killed] == ["api", "worker", "worker"]
    by_mode = dict(host.rows("select exercise, id from host_runs where exercise is not null"))
    log = {
        mode: host.rows("select type, at, body from host_events where run = ? order by sequence", run)
        for mode, run in by_mode.items()
    }
    # Between acceptance and the acceptor's death nothing was dispatched.
    first_event = log["after-accept"][1]
    assert first_event[0] == "node.started"
    assert first_event[1] > killed[0][3] - 1_000_000
    assert host.rows("select epoch, deaths from host_runs where id = ?", by_mode["after-accept"]) == [(1, 0)]
    for mode, death in (("during-execution", killed[1]), ("peer-resume", killed[2])):
        types = [each[0] for each in log[mode]]
        assert types[:3] == ["run.started", "node.started", "workflow.restored"]
        started = json.loads(log[mode][1][2])["payload"]["incarnation"]
        restored = json.loads(log[mode][2][2])["payload"]["incarnation"]
        assert started == death[0] != restored
        assert host.rows("select epoch from host_runs where id = ?", by_mode[mode]) == [(2,)]


@pytest.mark.requirement("Q-LIV-01", "Q-LIV-03")
def test_bounds_come_from_what_enforces_them_and_not_from_how_long_work_may_run() -> None:
    for each in CLASSES:
        assert each.bound_ms < RUN_LIMIT_MS
    terms = {term.name: term.ms for term in CLAIMED.terms}
    assert (terms["lease.ttl"], terms["sweep.period"]) == (LEASE_MS, SWEEP_MS)
    assert len({each.name for each in CLASSES}) == len(CLASSES)


# ---- the seam -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with hosting(tmp_path_factory.mktemp("seam"), "--durability-exercises", "--allow-private-effects") as found:
        yield found


KILL = "/host/durability/kill"


@pytest.mark.requirement("Q-SEAM-01")
def test_the_seam_is_there_with_its_flag_and_asks_for_the_key(host: Host) -> None:
    before = host.pids("api") | host.pids("worker")
    assert host.ask("GET", KILL).status == 200
    assert host.ask("GET", KILL, key=None).status == 401
    fired = host.ask("POST", KILL, {"mode": "after-accept", "workflowId": "conformance-noop"}, key="wrong")
    assert fired.status == 401
    assert host.ask("GET", "/host/durability/bound").body["classes"] == [each.as_json() for each in CLASSES]
    assert host.pids("api") | host.pids("worker") == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"mode": "perhaps"}, 400),
        ({"mode": ["after-accept"]}, 400),
        ({"mode": "after-accept"}, 400),
        ({"mode": "after-accept", "workflowId": "none"}, 404),
        ({"mode": "during-execution", "workflowId": 7}, 400),
        ({"mode": "duplicate-delivery"}, 400),
        ({"mode": "duplicate-delivery", "effectUrl": "file:///etc/passwd"}, 400),
        ({"mode": "duplicate-delivery", "effectUrl": "http://user:pass@127.0.0.1/"}, 400),
        ({"mode": "after-accept", "workflowId": "conformance-noop", "more": 1}, 400),
    ],
)
def test_what_the_seam_refuses_kills_nobody(host: Host, body: dict[str, Any], status: int) -> None:
    before = host.pids("api") | host.pids("worker")
    assert host.ask("POST", KILL, body).status == status
    assert host.pids("api") | host.pids("worker") == before


def test_two_exercises_with_one_effect_are_one_effect(host: Host) -> None:
    with EffectReceiver() as receiver:
        runs: list[str] = []
        for _ in range(2):
            fired = host.ask("POST", KILL, {"mode": "duplicate-delivery", "effectUrl": receiver.url})
            assert (fired.status, fired.body["deliveries"]) == (202, 2)
            runs.append(fired.body["runId"])
            assert host.ended(runs[-1]) == "completed"
        time.sleep(0.5)
        assert receiver.arrivals == 1
    first, second = (host.of(run, "/effects").body["effects"] for run in runs)
    assert first[0]["effectId"] == second[0]["effectId"]
    assert second[0]["invocationId"] == f"deduplicated-of:{runs[0]}"


@pytest.mark.requirement("Q-DUP-01")
def test_ten_exercises_at_once_have_ten_effects(host: Host) -> None:
    receivers = [EffectReceiver() for _ in range(10)]
    threads = []
    for receiver in receivers:
        receiver.__enter__()
        body = {"mode": "duplicate-delivery", "effectUrl": receiver.url}
        threads.append(threading.Thread(target=host.ask, args=("POST", KILL, body)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    until(lambda: all(each.arrivals for each in receivers))
    time.sleep(1)
    assert [each.arrivals for each in receivers] == [1] * 10
    for receiver in receivers:
        receiver.__exit__(None, None, None)


@pytest.mark.requirement("Q-SEAM-01")
def test_without_the_relaxation_effects_stay_outside(tmp_path: Path) -> None:
    with hosting(tmp_path, "--durability-exercises", workers=1) as strict, EffectReceiver() as receiver:
        assert strict.ask("GET", KILL).body["relaxations"] == []
        for url in (receiver.url, "http://10.0.0.1/x", "http://[::1]/x", "http://169.254.1.1/", "http://0.0.0.0/"):
            fired = strict.ask("POST", KILL, {"mode": "duplicate-delivery", "effectUrl": url})
            assert (fired.status, "--allow-private-effects" in fired.body["message"]) == (400, True)
        peer = strict.ask("POST", KILL, {"mode": "peer-resume", "workflowId": "conformance-noop"})
        assert (peer.status, peer.body["error"]) == (409, "precondition_unmet")
        assert receiver.arrivals == 0


# ---- acceptance ---------------------------------------------------------------------------------


@pytest.mark.requirement("Q-ACC-01", "Q-ACC-02")
def test_what_was_accepted_is_done_after_everything_died(tmp_path: Path) -> None:
    """No worker ever saw it before: the workers stand still, and the whole host is killed after the reply."""
    with hosting(tmp_path) as found:
        for pid in found.pids("worker").values():
            os.kill(pid, signal.SIGSTOP)
        runs = [found.create() for _ in range(20)]
        found.kill()
        assert found.rows("select count(*) from host_runs where ready_at is not null") == [(20,)]
        found.start().up(2)
        assert [found.ended(run) for run in runs] == ["completed"] * 20


def test_the_service_stays_reachable_while_its_api_is_killed(tmp_path: Path) -> None:
    """The supervisor holds the socket: a client that connects meanwhile waits, and is served."""
    with hosting(tmp_path, workers=1) as found:
        client = Client(read_address(f"http://127.0.0.1:{found.port}"), KEY)
        (first,) = found.pids("api").values()
        os.kill(first, signal.SIGKILL)
        assert client.get("/.well-known/openwop").status == 200
        assert list(found.pids("api").values()) != [first]
