"""The parts of the harness that need no host, and the calls of the command that cannot be carried out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sim_runtime.qualify.client import BadAddress, Client, TransportLoss, is_loopback, read_address
from sim_runtime.qualify.receiver import EffectReceiver
from sim_runtime.qualify.timing import Limits
from sim_runtime.qualify.watch import Log, watch
from tests.qualify.helpers import HERE

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
