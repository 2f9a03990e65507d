"""Runs that call the outside, wait for it, and are told what to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.host.helpers import ROOT, WORKFILE, Host, Outside, hosting, shop, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with Outside() as found:
        yield found


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("actions")
    flows = shop(folder, outside.url)
    with hosting(folder, "--workflows", str(flows), "--allow-private-effects") as found:
        yield found


def test_a_keyed_action_is_called_once_with_its_key(host: Host, outside: Outside) -> None:
    run = host.create("charge", inputs={"order": "o-1"})
    assert host.ended(run) == "completed"
    calls = [each for each in outside.named("charge") if each[2] == {"order": "o-1"}]
    assert len(calls) == 1
    assert calls[0][0] == "/actions/charge"
    assert calls[0][1]
    assert host.of(run).body["workfile"]["result"] == {"id": "x-1"}
    completed = host.events(run)[-1]
    assert (completed["type"], completed["payload"]) == ("run.completed", {"outputs": {"id": "x-1"}})
    effects = host.of(run, "/effects").body["effects"]
    assert [(each["nodeId"], each["state"], each["keying"]) for each in effects] == [
        ("pay", "completed", "activity-recipe")
    ]


def test_an_error_with_a_code_is_definite_and_retried_as_the_manifest_says(host: Host, outside: Outside) -> None:
    told = iter([(503, {"error": {"code": "busy"}}), (200, {"id": "late"})])
    outside.answers["charge"] = lambda _: next(told)
    run = host.create("charge", inputs={"order": "o-2"})
    assert host.ended(run) == "completed"
    calls = [each for each in outside.named("charge") if each[2] == {"order": "o-2"}]
    assert len(calls) == 2
    assert calls[0][1] == calls[1][1]
    assert "node.retried" in host.types(run)
    outside.answers["charge"] = lambda _: (402, {"error": {"code": "declined", "message": "no money"}})
    run = host.create("charge", inputs={"order": "o-3"})
    assert host.ended(run) == "failed"
    assert host.of(run).body["error"] == {"code": "declined", "message": "no money"}
    assert [each["state"] for each in host.of(run, "/effects").body["effects"]] == ["released"]
    outside.answers.pop("charge")


@pytest.mark.parametrize(
    ("status", "body"), [(500, {"message": "oops"}), (302, {}), (404, b"<html>"), (500, {"error": "text"})]
)
def test_anything_else_is_ambiguous(host: Host, outside: Outside, status: int, body: Any) -> None:
    outside.answers["ship"] = lambda _: (status, body)
    run = host.create("ship", inputs={"order": f"s-{status}"})
    until(lambda: host.status(run) == "waiting-approval")
    told = host.of(run).body["workfile"]
    assert told["status"] == "held"
    assert told["holds"] == [{"path": "go", "reason": "ambiguous", "allowed": ["succeed", "fail"]}]
    assert [each["state"] for each in host.of(run, "/effects").body["effects"]] == ["escaped"]
    refused = host.tell(run, "decisions", {"on": "go", "actor": "dana", "decide": "reissue"})
    assert (refused.status, refused.body["error"]) == (409, "conflict")
    decided = host.tell(run, "decisions", {"on": "go", "actor": "dana", "decide": {"succeed": None}})
    assert (decided.status, decided.body["accepted"]) == (200, True)
    assert host.ended(run) == "completed"
    outside.answers.pop("ship")


def test_an_event_goes_to_the_wait_that_it_fits(host: Host) -> None:
    run = host.create("await", inputs={"order": "e-1"})
    until(lambda: host.status(run) == "waiting-external")
    wrong = host.tell(run, "events", {"trigger": "shop.paid", "id": "d-1", "payload": {"order": "other", "amount": 1}})
    assert (wrong.body["accepted"], wrong.body["reason"]) == (False, "unmatched")
    bad = host.tell(run, "events", {"trigger": "shop.paid", "id": "d-2", "payload": {"order": "e-1"}})
    assert (bad.body["accepted"], bad.body["reason"]) == (False, "invalid")
    right = {"trigger": "shop.paid", "id": "d-1", "payload": {"order": "e-1", "amount": 5}}
    assert host.tell(run, "events", right).body["accepted"] is True
    assert host.ended(run) == "completed"
    assert host.of(run).body["workfile"]["result"] == "received"
    after = host.tell(run, "events", right)
    assert (after.status, after.body["accepted"]) == (200, False)


def test_a_timer_wakes_a_run_that_nobody_holds(host: Host) -> None:
    run = host.create("nap", inputs={"span": "3s"})
    until(lambda: host.status(run) == "waiting-external")
    assert host.owner(run) is None
    assert host.ended(run) == "completed"


def test_a_run_can_be_cancelled(host: Host) -> None:
    run = host.create("nap", inputs={"span": "1h"})
    until(lambda: host.status(run) == "waiting-external")
    assert host.tell(run, "cancel", {"reason": "enough"}).body["accepted"] is True
    assert host.ended(run) == "cancelled"
    assert host.events(run)[-1]["payload"] == {"reason": "enough"}
    assert host.tell(run, "cancel", {}).status == 409


def test_a_dry_run_sends_nothing(host: Host, outside: Outside) -> None:
    run = host.create("charge", inputs={"order": "dry"}, dryRun=True)
    assert host.ended(run) == "completed"
    assert not [each for each in outside.named("charge") if each[2] == {"order": "dry"}]
    assert "$suppressed" in json.dumps(host.of(run).body["workfile"]["result"])
    assert host.of(run, "/effects").body["effects"] == []


def test_events_are_streamed_as_they_come(host: Host) -> None:
    run = host.create("await", inputs={"order": "s-1"})
    until(lambda: host.status(run) == "waiting-external")
    found: list[bytes] = []
    watcher = threading.Thread(target=lambda: found.append(host.of(run, "/events").data))
    watcher.start()
    late = host.of(run, f"/events/poll?timeout=1&afterSequence={host.events(run)[-1]['sequence']}")
    assert (late.status, late.body["events"], late.body["isTerminal"]) == (200, [], False)
    assert watcher.is_alive()
    host.tell(run, "events", {"trigger": "shop.paid", "payload": {"order": "s-1", "amount": 2}})
    watcher.join(60)
    assert found[0].decode().rstrip().splitlines()[-2] == "event: run.completed"


def test_inputs_that_do_not_fit_are_a_failed_run(host: Host) -> None:
    run = host.create("charge", inputs={"order": 7})
    assert host.ended(run) == "failed"
    assert host.of(run).body["error"]["code"] == "input.invalid"


def test_the_history_can_be_exported_from_the_store(host: Host, tmp_path: Path) -> None:
    run = host.create("charge", inputs={"order": "h-1"})
    host.ended(run)
    out = tmp_path / "out.history.jsonl"
    words = [*WORKFILE, "history", "export", str(host.store), "--run", run, "-o", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert (lines[0]["run"], lines[0]["workflow"]) == (run, "charge")
    assert [each["kind"] for each in lines[1:]][-1] == "run.finished"


# ---- deaths -------------------------------------------------------------------------------------


@pytest.mark.requirement("Q-LAD-03", "Q-DUP-01")
def test_a_death_during_a_keyed_call_repeats_it_under_the_same_key(host: Host, outside: Outside) -> None:
    gate = threading.Event()

    def slow(_: Any) -> tuple[int, Any]:
        gate.wait(20)
        return 200, {"id": "k"}

    outside.answers["charge"] = slow
    run = host.create("charge", inputs={"order": "k-1"})
    until(lambda: any(each[2] == {"order": "k-1"} for each in outside.named("charge")))
    owner = until(lambda: host.owner(run))
    os.kill(owner, signal.SIGKILL)
    until(lambda: "workflow.restored" in host.types(run))
    gate.set()
    outside.answers.pop("charge")
    assert host.ended(run) == "completed"
    calls = [each for each in outside.named("charge") if each[2] == {"order": "k-1"}]
    assert len({each[1] for each in calls}) == 1
    assert len(calls) == 2
    host.up(2)


@pytest.mark.requirement("Q-LAD-03")
def test_a_death_during_an_unkeyed_call_is_never_repeated(host: Host, outside: Outside) -> None:
    gate = threading.Event()

    def slow(_: Any) -> tuple[int, Any]:
        gate.wait(20)
        return 200, None

    outside.answers["ship"] = slow
    run = host.create("ship", inputs={"order": "u-1"})
    until(lambda: any(each[2] == {"order": "u-1"} for each in outside.named("ship")))
    os.kill(until(lambda: host.owner(run)), signal.SIGKILL)
    until(lambda: host.status(run) == "waiting-approval")
    gate.set()
    outside.answers.pop("ship")
    time.sleep(0.5)
    assert len([each for each in outside.named("ship") if each[2] == {"order": "u-1"}]) == 1
    assert host.of(run).body["workfile"]["holds"][0]["reason"] == "ambiguous"
    host.up(2)


@pytest.mark.requirement("Q-LIV-01")
def test_work_that_runs_longer_than_a_lease_is_not_taken_for_dead(host: Host, outside: Outside) -> None:
    """The heartbeat renews the lease while a call is out: one call, one owner, no death counted."""
    from sim_runtime.host.timing import CALL_LIMIT_MS, LEASE_MS, SWEEP_MS

    assert CALL_LIMIT_MS > 10 * LEASE_MS
    outside.answers["charge"] = lambda _: (time.sleep((LEASE_MS + 3 * SWEEP_MS) / 1000), (200, {"id": "slow"}))[1]
    run = host.create("charge", inputs={"order": "long"})
    assert host.ended(run) == "completed"
    outside.answers.pop("charge")
    assert len([each for each in outside.named("charge") if each[2] == {"order": "long"}]) == 1
    assert "workflow.restored" not in host.types(run)
    assert host.rows("select epoch, deaths from host_runs where id = ?", run) == [(1, 0)]


def test_a_stopped_owner_that_comes_back_is_fenced(host: Host, outside: Outside) -> None:
    gate = threading.Event()

    def slow(_: Any) -> tuple[int, Any]:
        gate.wait(30)
        return 200, {"id": "f"}

    outside.answers["charge"] = slow
    run = host.create("charge", inputs={"order": "f-1"})
    until(lambda: any(each[2] == {"order": "f-1"} for each in outside.named("charge")))
    first = until(lambda: host.owner(run))
    os.kill(first, signal.SIGSTOP)
    until(lambda: (now := host.owner(run)) is not None and now != first)
    gate.set()
    os.kill(first, signal.SIGCONT)
    outside.answers.pop("charge")
    assert host.ended(run) == "completed"
    # It finds that it is the owner no more; unless it was stopped while it wrote, for then the supervisor ended it.
    until(lambda: "was taken over by another instance" in host.log or first not in host.pids("worker").values())
    assert "damaged" not in host.log
    types = host.types(run)
    assert types.count("run.completed") == 1
    assert types[-1] == "run.completed"
    calls = [each for each in outside.named("charge") if each[2] == {"order": "f-1"}]
    assert len({each[1] for each in calls}) == 1
    number, records = host.rows("select max(number), count(*) from transactions where run = ?", run)[0]
    assert number == records
    host.up(2)


@pytest.mark.requirement("Q-ACC-02")
def test_waits_and_timers_outlive_the_whole_host(tmp_path: Path, outside: Outside) -> None:
    flows = shop(tmp_path, outside.url)
    with hosting(tmp_path, "--workflows", str(flows), "--allow-private-effects") as host:
        waiting = host.create("await", inputs={"order": "w-1"})
        napping = host.create("nap", inputs={"span": "8s"})
        until(lambda: host.status(waiting) == host.status(napping) == "waiting-external")
        host.kill()
        (flows / "await.workfile.yaml").write_text("name: changed\n")
        host.start().up(2)
        assert host.ended(napping) == "completed"
        body = {"trigger": "shop.paid", "id": "1", "payload": {"order": "w-1", "amount": 1}}
        assert host.tell(waiting, "events", body).body["accepted"] is True
        assert host.ended(waiting) == "completed"
        assert host.types(waiting).count("run.started") == 1
        gone = host.ask("POST", "/runs", {"workflowId": "await", "inputs": {"order": "x"}})
        assert gone.status == 404
