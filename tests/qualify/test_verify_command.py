"""``workfile qualify verify``: exit codes, the report, and where the discovery document comes from."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.qualify.helpers import EXAMPLE_TEXT, OTHER, TOY, document, example, text
from tests.reported import check_report
from workfile_cli.main import main

Verify = Callable[..., tuple[int, str, str]]


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    def call(data: bytes | None, *options: str) -> tuple[int, str, str]:
        path = tmp_path / "bundle.json"
        if data is not None:
            path.write_bytes(data)
        code = main(["qualify", "verify", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def known(tmp_path: Path) -> str:
    path = tmp_path / "discovery.json"
    path.write_text(json.dumps(document()))
    return str(path)


def test_verified(verify: Verify, known: str) -> None:
    code, out, err = verify(EXAMPLE_TEXT, "--discovery", known, "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"version": 1, "outcome": "verified", "rung": "durable-single-instance", "refusals": []}


def test_rejected(verify: Verify, known: str) -> None:
    changed = {**example(), "assertionCount": 10}
    code, out, err = verify(text(changed), "--discovery", known, "--format", "json")
    assert (code, err) == (1, "")
    report = json.loads(out)
    check_report("verify-report", report)
    assert (report["outcome"], report["rung"]) == ("rejected", None)
    assert [each["name"] for each in report["refusals"]] == ["assertion-count"]
    code, out, _ = verify(text(changed))
    assert (code, "assertion-count: `assertionCount` is 10, but the rows sum to 9" in out) == (1, True)


def test_coherent(verify: Verify) -> None:
    code, out, _ = verify(EXAMPLE_TEXT, "--format", "json")
    assert (code, json.loads(out)["outcome"], json.loads(out)["refusals"]) == (2, "coherent", [])
    code, out, _ = verify(EXAMPLE_TEXT)
    assert (code, "coherent but unverified" in out, "no discovery document" in out) == (2, True, True)


@pytest.mark.parametrize("data", [None, b"", b"{", b"[1]", b"\xff\xfe"])
def test_not_a_bundle(verify: Verify, data: bytes | None) -> None:
    code, out, _ = verify(data, "--format", "json")
    report = json.loads(out)
    assert (code, report["outcome"], report["rung"]) == (3, "not-a-bundle", None)
    assert report["refusals"][0]["name"] in ("not-json", "not-an-object")


def test_a_folder_and_a_huge_file_are_no_bundles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qualify", "verify", str(tmp_path)]) == 3
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    assert main(["qualify", "verify", str(huge)]) == 3
    assert "larger than" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ("--bogus",),
        ("--format", "xml"),
        ("--discovery",),
        ("--discovery", "/no/such/file"),
        ("--discovery", "http://x y/"),
        ("--discovery", __file__),
        ("--build", "abc123"),
        ("--major", "3"),
        ("--verifier-key", "/no/such/file"),
        ("one", "too-many"),
    ],
)
def test_a_bad_call_has_an_exit_code_of_its_own(verify: Verify, options: tuple[str, ...]) -> None:
    code, out, err = verify(EXAMPLE_TEXT, *options)
    assert (code, out, err.count("\n")) == (64, "", 1)
    assert err.startswith("workfile qualify verify: error: ")


def test_no_bundle_named_is_a_bad_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qualify", "verify"]) == 64
    assert "BUNDLE" in capsys.readouterr().err


def test_the_build_that_is_asked_for(verify: Verify, known: str) -> None:
    assert verify(EXAMPLE_TEXT, "--discovery", known, "--build", "commit:abc123", "--major", "2")[0] == 0
    code, out, _ = verify(EXAMPLE_TEXT, "--discovery", known, "--build", "commit:other")
    assert (code, "build-mismatch" in out) == (1, True)


def test_the_key_of_an_independent_verifier(verify: Verify, known: str, tmp_path: Path) -> None:
    from sim_runtime.qualify.bundle import attested_bytes
    from tests.qualify.helpers import reseal

    bundle = example()
    entry = {"id": "openwop-discovery-core", "evidenceTier": "independent", "witnessCount": 1, "certified": True}
    bundle["claimedProfiles"].append(entry)
    reseal(bundle)
    bundle["verifierSignature"] = {"alg": "ed25519", "keyId": "auditor", "sig": OTHER.sign(attested_bytes(bundle))}
    key = tmp_path / "auditor.pub"
    key.write_bytes(OTHER.public)
    assert verify(text(bundle), "--discovery", known, "--verifier-key", str(key))[0] == 0
    key.write_bytes(TOY.public)
    assert verify(text(bundle), "--discovery", known, "--verifier-key", str(key))[0] == 1


@pytest.fixture
def served() -> Iterator[Callable[[int, bytes], str]]:
    """A web server that gives one answer."""
    answer: list[tuple[int, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer[-1] if self.path == "/.well-known/openwop" else (404, b"")
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()

    def answering(status: int, body: bytes) -> str:
        answer.append((status, body))
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield answering
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_discovery_may_be_read_from_the_host(verify: Verify, served: Callable[[int, bytes], str]) -> None:
    base = served(200, json.dumps(document()).encode())
    for url in (base, f"{base}/", f"{base}/.well-known/openwop"):
        assert verify(EXAMPLE_TEXT, "--discovery", url)[0] == 0


def test_a_host_that_does_not_answer_leaves_the_bundle_unverified(
    verify: Verify, served: Callable[[int, bytes], str]
) -> None:
    for url in (served(503, b""), "http://127.0.0.1:9/"):
        code, _, err = verify(EXAMPLE_TEXT, "--discovery", url)
        assert (code, "was not read" in err) == (2, True)
    assert verify(EXAMPLE_TEXT, "--discovery", served(200, b"<html>"))[0] == 64
