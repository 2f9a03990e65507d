"""A host that does it right, judged from outside: rows, evidence, bundle, and nothing left behind."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.qualify import extension
from sim_runtime.qualify.client import read_address
from sim_runtime.qualify.harness import CannotQualify, Request, Result, qualify, write_bundle
from sim_runtime.qualify.processes import CannotStart, HostProcess
from sim_runtime.qualify.verify import Expected, verify_text
from tests.qualify.helpers import BEARER, HERE, QUICK, TOY, command, free_port, judged, row_of, text, wait_up
from tests.reported import check_report

pytestmark = pytest.mark.slow

PUBLISHED = json.dumps(TOY.published("host-1"))
SINGLE = "durable-single-instance"
MULTI = "durable-multi-instance"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A supervisor, an API process and two workers, judged for the second rung."""
    folder = tmp_path_factory.mktemp("good")
    flags = ("--publish", PUBLISHED, "--declare-relaxation")
    result = judged(folder, "", *flags, role="supervise", rung="multi-region-qualified")
    assert not result.passed
    return replace(result, asked=MULTI)


@pytest.mark.requirement("Q-ACC-02", "Q-DUP-01", "Q-DUP-02", "Q-LAD-02", "Q-LAD-03", "Q-LAD-05")
def test_every_row_passes_with_a_death_for_each_kill(good: Result) -> None:
    assert [(row.id.rpartition(".")[2], row.result, row.assertions) for row in good.all_rows] == [
        ("kill-after-accept", "executed-pass", 1),
        ("kill-during-execution", "executed-pass", 2),
        ("duplicate-delivery", "executed-pass", 2),
        ("bound-is-derived", "executed-pass", 1),
        ("poison-exhaustion", "executed-pass", 3),
        ("peer-resume", "executed-pass", 5),
    ]
    assert good.deaths == 3
    assert (good.earned, good.passed) == (MULTI, True)


@pytest.mark.requirement("Q-EVD-01", "Q-LIV-02")
def test_the_rows_carry_their_evidence(good: Result) -> None:
    bundle = write_bundle(good, TOY, None)
    assert bundle is not None
    for name in ("kill-after-accept", "kill-during-execution"):
        recovery = row_of(bundle, name)["evidence"]["recovery"]
        assert (recovery["class"], recovery["boundMs"]) == ("leased", 6000)
        assert 0 < recovery["observedMs"] <= 6000
    declared = row_of(bundle, "bound-is-derived")["evidence"]["recoveryBounds"]
    assert declared == [
        {
            "class": "leased",
            "bound": 6000,
            "terms": [{"name": "lease.ttl", "ms": 5800}, {"name": "sweep.period", "ms": 200}],
        }
    ]


@pytest.mark.requirement("Q-LAD-07")
def test_the_resumer_is_a_peer_that_lived_all_the_while(good: Result) -> None:
    assert good.peer is not None
    evidence = good.peer.evidence
    assert evidence is not None
    assert evidence["acceptor"] != evidence["resumer"]
    assert {evidence["acceptor"], evidence["resumer"]} == set(evidence["instances"])
    assert evidence["reachability"]["failures"] == 0
    assert evidence["reachability"]["probes"] >= 2


def test_the_bundle_is_verified_and_names_itself_honestly(good: Result) -> None:
    bundle = write_bundle(good, TOY, None)
    assert bundle is not None
    assert bundle["suite"]["name"] == "workfile-tools"
    assert bundle["signature"]["keyId"] == bundle["host"]["signingKeyId"] == "host-1"
    assert bundle["durability"] == {"rung": SINGLE}
    assert bundle[extension.MEMBER]["rung"] == MULTI
    assert bundle["results"]["totals"]["executedPass"] == 5
    assert bundle["assertionCount"] == 9
    assert "detail" not in bundle
    assert bundle["host"]["relaxations"][0]["reason"] == "exercises on loopback"
    verdict = verify_text(text(bundle), Expected(discovery=good.discovery.document))
    assert (verdict.outcome, verdict.rung, verdict.refusals) == ("verified", MULTI, ())


def test_rows_that_did_not_pass_are_listed_with_their_reasons(tmp_path: Path) -> None:
    rows = ("bound-is-derived", "poison-exhaustion")
    result = judged(tmp_path, "no-bounds", "--publish", PUBLISHED, rows=rows)
    bundle = write_bundle(result, TOY, None)
    assert bundle is not None
    listed = bundle["detail"]["nonPass"]
    assert [each["id"].rpartition(".")[2] for each in listed] == ["bound-is-derived"]
    assert listed[0]["reason"]
    assert "durability" not in bundle
    verdict = verify_text(text(bundle), Expected(discovery=result.discovery.document))
    assert (verdict.outcome, verdict.rung) == ("verified", None)


# The second and the third rung.


@pytest.mark.requirement("Q-LAD-06", "Q-LAD-07")
def test_a_single_instance_is_blocked_on_a_second_one(tmp_path: Path) -> None:
    result = judged(tmp_path, "", "--workers", "1", role="supervise", rung=MULTI, rows=("bound-is-derived",))
    assert result.peer is not None
    assert (result.peer.result, "two live processes" in (result.peer.detail or "")) == ("blocked", True)


def test_a_host_without_tokens_is_blocked_on_them(tmp_path: Path) -> None:
    result = judged(tmp_path, "", role="all", rung=MULTI, rows=("bound-is-derived",))
    assert result.peer is not None
    assert (result.peer.result, "incarnations" in (result.peer.detail or "")) == ("blocked", True)
    assert not result.passed


@pytest.mark.requirement("Q-LAD-07")
def test_work_that_waits_for_the_restart_of_its_own_process_is_no_peer_resume(tmp_path: Path) -> None:
    result = judged(
        tmp_path, "only-the-new", "--bound", "3000", role="supervise", rung=MULTI, rows=("bound-is-derived",)
    )
    assert result.peer is not None
    assert (result.peer.result, "not by a peer" in (result.peer.detail or "")) == ("executed-fail", True)


@pytest.mark.requirement("Q-LAD-01", "Q-LAD-08")
def test_the_third_rung_is_told_to_be_out_of_reach(good: Result) -> None:
    assert not replace(good, asked="multi-region-qualified").passed
    assert any("a second region is not there to be evacuated" in each for each in good.remarks)


# A host that is not ours to start.


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A host under its own supervisor, which the harness only reaches over HTTP."""
    port = free_port()
    words = shlex.split(command(tmp_path, port, "supervise", "--publish", PUBLISHED))
    process = subprocess.Popen(words)
    wait_up(port)
    yield port, process
    process.terminate()
    process.wait(10)


def test_a_host_that_stands_already(standing: tuple[int, subprocess.Popen[bytes]]) -> None:
    address = read_address(f"http://127.0.0.1:{standing[0]}")
    result = qualify(Request(address, BEARER, limits=QUICK), lambda row, seconds: None)
    assert (result.earned, result.deaths) == (SINGLE, 2)


def test_deaths_show_from_outside_alone(tmp_path: Path) -> None:
    """No list of deaths and no process of ours: the connection that breaks is the sign."""
    port = free_port()
    with (tmp_path / "log").open("wb") as log, HostProcess(command(tmp_path, port, "all"), log, 3):
        address = wait_up(port)
        rows = ("openwop.requirement.0158.kill-after-accept", "openwop.requirement.0158.kill-during-execution")
        result = qualify(Request(address, BEARER, limits=QUICK, rows=rows), lambda row, seconds: None)
    assert ([row.result for row in result.rows], result.deaths) == (["executed-pass"] * 2, 2)


@pytest.mark.requirement("Q-LAD-02", "Q-LAD-06")
def test_a_death_that_nobody_could_see_is_blocked(tmp_path: Path) -> None:
    port = free_port()
    with (
        (tmp_path / "log").open("wb") as log,
        HostProcess(command(tmp_path, port, "all", "--fault", "in-process"), log, 3),
    ):
        address = wait_up(port)
        rows = ("openwop.requirement.0158.kill-after-accept",)
        result = qualify(Request(address, BEARER, limits=QUICK, rows=rows), lambda row, seconds: None)
    assert (result.rows[0].result, "--start" in (result.rows[0].detail or "")) == ("blocked", True)


# Starting and ending.


def test_nothing_of_the_host_is_left(tmp_path: Path) -> None:
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        with HostProcess(command(tmp_path, port, "supervise", "--workers", "3"), log, 3) as process:
            deadline = time.monotonic() + 10
            while len(process.alive()) < 5 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(process.alive()) == 5
        assert process.alive() == frozenset()


@pytest.mark.parametrize(
    ("start", "error", "told"),
    [
        ("/no/such/program --x", CannotStart, "cannot be started"),
        ("'", CannotStart, "cannot be split"),
        (" ", CannotStart, "empty"),
        (f"{sys.executable} -c \"import sys; sys.exit('no licence')\"", CannotQualify, "no licence"),
    ],
)
def test_a_command_that_starts_no_host(start: str, error: type[Exception], told: str) -> None:
    address = read_address(f"http://127.0.0.1:{free_port()}")
    request = Request(address, BEARER, start=start, limits=replace(QUICK, start=1.0))
    with pytest.raises(error, match=told):
        qualify(request, lambda row, seconds: None)


def test_a_host_is_not_started_over_one_that_stands(standing: tuple[int, subprocess.Popen[bytes]]) -> None:
    address = read_address(f"http://127.0.0.1:{standing[0]}")
    with pytest.raises(CannotQualify, match="already"):
        qualify(Request(address, BEARER, start="true", limits=QUICK), lambda row, seconds: None)


def test_a_host_that_is_not_there() -> None:
    address = read_address(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(CannotQualify, match="does not answer"):
        qualify(Request(address, BEARER, limits=QUICK), lambda row, seconds: None)


# The command.


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workfile_cli", "qualify", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=HERE.parents[1],
        env={**os.environ, **environment},
    )


def test_the_command_from_a_new_key_to_a_verified_bundle(tmp_path: Path) -> None:
    port, key, bundle = free_port(), tmp_path / "key.pem", tmp_path / "bundle.json"
    made = call("keygen", str(key), "--key-id", "host-1")
    assert made.returncode == 0
    start = command(tmp_path, port, "supervise", "--publish", made.stdout.strip())
    asked = call(
        f"http://127.0.0.1:{port}",
        *("--key-env", "HOST_KEY", "--signing-key", str(key), "-o", str(bundle), "--start", start),
        *("--rung", MULTI, "--build", "commit:abc123", "--format", "json"),
        HOST_KEY=BEARER,
    )
    assert asked.returncode == 0, asked.stderr
    report: dict[str, Any] = json.loads(asked.stdout)
    check_report("qualify-report", report)
    assert report["rung"] == {"asked": MULTI, "earned": MULTI}
    assert (report["passed"], report["deaths"], report["bundle"]) == (True, 3, str(bundle))
    assert len(asked.stderr.splitlines()) == 6
    written = json.loads(bundle.read_text())
    assert written["host"]["build"] == {"kind": "commit", "id": "abc123"}
    discovery = tmp_path / "discovery.json"
    discovery.write_text(json.dumps(written["discovery"]["document"]))
    judged_again = call("verify", str(bundle), "--discovery", str(discovery), "--format", "json")
    assert judged_again.returncode == 0
    assert json.loads(judged_again.stdout) == {"version": 1, "outcome": "verified", "rung": MULTI, "refusals": []}
    bundle.write_text(bundle.read_text().replace('"observedMs": ', '"observedMs": 1'))
    again = call("verify", str(bundle), "--discovery", str(discovery))
    assert (again.returncode, "witness-digest" in again.stdout) == (1, True)
