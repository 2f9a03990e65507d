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
from sim_runtime.qualify.client import BadAddress, Client, TransportLoss, is_loopback, read_address
from sim_runtime.qualify.harness import CannotQualify, Request, Result, qualify, write_bundle
from sim_runtime.qualify.processes import CannotStart, HostProcess
from sim_runtime.qualify.receiver import EffectReceiver
from sim_runtime.qualify.timing import Limits
from sim_runtime.qualify.verify import Expected, verify_text
from sim_runtime.qualify.watch import Log, watch
from tests.qualify.helpers import BEARER, HERE, QUICK, TOY, command, free_port, judged, row_of, text, wait_up

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


# Parts.


def test_the_defaults_are_those_of_the_protocol() -> None:
    limits = Limits()
    assert (limits.ceiling, limits.back, limits.back_step, limits.watch_step) == (240, 30, 0.25, 0.5)
    assert (limits.undeclared_bound, limits.delivered_terminal, limits.poisoned_terminal) == (60, 60, 30)
    assert (limits.first_arrival, limits.quiet, limits.request) == (20, 4, 20)


@pytest.mark.requirement("Q-LAD-04")
def test_the_status_is_read_before_the_log() -> None:
    """Between two readings the run resumes and completes; log first, it would look completed without resumption."""
    happened = [False]

    def status() -> str:
        return "completed" if happened[0] else "running"

    def log() -> Log:
        seen = Log(({"type": "run.started"},) * (2 if happened[0] else 1))
        happened[0] = True
        return seen

    seen = watch(status, log, lambda found: found.count("run.started") > 1, 1.0, 0.01)
    assert (seen.completed_unresumed, seen.resumed_after is not None) == (False, True)


def test_a_completed_run_without_a_resumption_stays_noted() -> None:
    logs = [Log(({"type": "run.started"},)), None, Log(({"type": "run.started"},) * 2)]
    seen = watch(lambda: "completed", lambda: logs.pop(0), lambda found: found.count("run.started") > 1, 1.0, 0.001)
    assert (seen.completed_unresumed, seen.resumed_after is not None) == (True, True)


def test_a_watch_reads_once_even_without_a_budget() -> None:
    seen = watch(lambda: None, lambda: Log(({"type": "run.started"},)), lambda found: True, 0.0, 1.0)
    assert seen.resumed_after is not None


def test_a_receiver_counts_its_own_and_the_foreign_ones() -> None:
    with EffectReceiver() as first, EffectReceiver() as second:
        assert first.nonce != second.nonce
        assert len(first.nonce) == 18
        client = Client(read_address(first.url.partition("/effect")[0]), None)
        for path in (f"/effect/{first.nonce}", f"/front/effect/{first.nonce}?x=1", f"/effect/{second.nonce}"):
            assert client.get(path).status == 204
        assert client.post(f"/effect/{first.nonce}", {"a": 1}).status == 204
        assert (first.arrivals, first.foreign, second.arrivals) == (3, 1, 0)


def test_a_request_is_cut_after_its_time_even_while_bytes_drip() -> None:
    import socket
    import threading

    server = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            try:
                for _ in range(200):
                    connection.sendall(b" ")
                    time.sleep(0.05)
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    started = time.monotonic()
    with pytest.raises(TransportLoss):
        Client(read_address(f"http://127.0.0.1:{server.getsockname()[1]}"), None, 0.4).get("/")
    assert time.monotonic() - started < 3
    thread.join()
    server.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "ftp://x",
        "http://",
        "http://x:port",
        "http://a:b@x",
        "http://x?y",
        "http://x#y",
        "http://[",
        "http://x/a b",
        "http://x:99999",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(BadAddress):
        read_address(url)


def test_addresses() -> None:
    assert read_address("http://localhost:80/a/").url == "http://localhost:80/a"
    assert read_address("https://[::1]").url == "https://[::1]:443"
    assert [
        is_loopback(each) for each in ("localhost", "127.8.0.1", "::1", "10.0.0.1", "example.org", "127.0.0.1.nip.io")
    ] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give the URL"),
        (("ftp://x",), "not an http or https URL"),
        (("http://127.0.0.1:9", "--key-env", "NO_SUCH_NAME"), "is not set"),
        (("http://10.0.0.1:80",), "--remote"),
        (("http://127.0.0.1:9", "-o", "x.json"), "both"),
        (("http://127.0.0.1:9", "--ceiling", "10"), "240"),
        (("http://127.0.0.1:9", "--relaxation", "x"), "OBLIGATION:LIFETIME:REASON"),
        (("http://127.0.0.1:9", "--build", "x"), "KIND:ID"),
        (("http://127.0.0.1:9", "--receiver", "x"), "ADDRESS:PORT"),
        (("http://127.0.0.1:9", "--rung", "x"), "durable-single-instance"),
        (
            ("http://127.0.0.1:9", "--signing-key", str(HERE / "example-bundle.json"), "-o", "x.json"),
            "no Ed25519 private key",
        ),
        (("http://127.0.0.1:9",), "does not answer"),
    ],
)
def test_calls_that_cannot_be_carried_out(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from workfile_cli.main import main

    assert main(["qualify", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert told in captured.err


def test_a_bundle_that_cannot_be_written_is_told_before_the_exercises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from workfile_cli.main import main

    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    target = str(tmp_path / "none" / "bundle.json")
    assert main(["qualify", "http://127.0.0.1:9", "--signing-key", str(key), "-o", target]) == 2
    assert "cannot write" in capsys.readouterr().err
