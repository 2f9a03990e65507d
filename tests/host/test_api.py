"""The protocol's routes: forms, versions, keys, limits; and what the host refuses."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.host.helpers import KEY, Host, hosting, until

pytestmark = pytest.mark.slow

PUBLISHED = {
    "keyId": "host-1",
    "alg": "ed25519",
    "publicKey": "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ",
    "use": "certification-bundle",
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("api")
    with hosting(folder, "--rate", "off", WORKFILE_HOST_SIGNING_KEYS=json.dumps(PUBLISHED)) as found:
        yield found


@pytest.fixture(scope="module")
def done(host: Host) -> str:
    run = host.create()
    assert host.ended(run) == "completed"
    return run


def test_the_discovery_says_what_this_host_is(host: Host) -> None:
    answer = host.ask("GET", "/.well-known/openwop", key=None)
    assert answer.status == 200
    assert answer.headers["openwop-version"] == "2.0"
    document = answer.body
    assert set(document) == {
        *("protocolVersions", "preferredVersion", "implementation", "engineVersion", "eventLogSchemaVersion"),
        *("fixtures", "signingKeys"),
    }
    assert (document["protocolVersions"], document["preferredVersion"]) == (["2.0"], "2.0")
    assert document["fixtures"] == ["conformance-noop", "conformance-failure"]
    assert document["signingKeys"] == [PUBLISHED]
    assert re.fullmatch("[0-9a-f]{64}", document["implementation"]["build"]["id"])
    again = host.ask("GET", "/.well-known/openwop", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.data) == (304, b"")


@pytest.mark.parametrize(
    ("asked", "status"), [("2", 200), ("2.0", 200), ("1", 406), ("1.0", 406), ("3.1", 406), ("x", 406)]
)
def test_versions_are_negotiated_by_their_major(host: Host, asked: str, status: int) -> None:
    for path in ("/.well-known/openwop", "/runs/none"):
        answer = host.ask("GET", path, headers={"OpenWOP-Version": asked})
        assert answer.status == (status if status == 406 or path != "/runs/none" else 404)
        if status == 406:
            assert answer.body["error"] == "protocol_version_unsupported"
            assert answer.body["details"] == {"protocolVersions": ["2.0"]}


@pytest.mark.parametrize("key", [None, "wrong", "", KEY + "x", "ключ"])
def test_nothing_is_shown_without_the_key(host: Host, done: str, key: str | None) -> None:
    sent = {} if key is None else {"Authorization": f"Bearer {key}".encode().decode("latin-1")}
    for method, path in (("POST", "/runs"), ("GET", f"/runs/{quote(done, safe='')}"), ("GET", "/nowhere")):
        answer = host.ask(method, path, key=None, headers=sent)
        assert (answer.status, answer.body["error"]) == (401, "unauthenticated")
        assert set(answer.body) == {"error", "message"}


def test_a_created_run_is_told_and_seen(host: Host) -> None:
    answer = host.ask("POST", "/runs", {"workflowId": "conformance-noop"})
    assert answer.status == 201
    run = answer.body["runId"]
    assert re.fullmatch(r"default/[A-Za-z0-9._~-]{16,128}", run)
    assert "~" not in run
    assert answer.body["status"] == "pending"
    assert answer.body["statusUrl"] == f"/runs/{quote(run, safe='')}"
    assert answer.body["eventsUrl"] == f"/runs/{quote(run, safe='')}/events"
    host.ended(run)
    told = host.ask("GET", answer.body["statusUrl"]).body
    assert told["workflowId"] == "conformance-noop"
    assert told["owner"] == {"tenant": "default", "subject": "host-key"}
    assert told["eventLogSchemaVersion"] == 3
    assert host.ask("GET", f"/runs/{run.replace('/', '~2F')}").body["runId"] == run
    assert host.ask("GET", f"/runs/{run}").status == 404


def test_the_log_of_the_noop_fixture(host: Host, done: str) -> None:
    reply = host.of(done, "/events/poll").body
    assert set(reply) == {"runId", "events", "lastSequence", "status", "isTerminal"}
    events = reply["events"]
    assert [each["type"] for each in events] == ["run.started", "node.started", "node.completed", "run.completed"]
    assert [each["sequence"] for each in events] == [0, 1, 2, 3]
    assert (reply["lastSequence"], reply["status"], reply["isTerminal"]) == (3, "completed", True)
    assert events[1]["payload"]["typeId"] == "core.noop"
    assert len({each["eventId"] for each in events}) == 4
    for each in events:
        assert {"eventId", "runId", "type", "payload", "timestamp", "sequence", "schemaVersion"} <= set(each)
    later = host.of(done, "/events/poll?afterSequence=2").body
    assert [each["sequence"] for each in later["events"]] == [3]
    assert host.of(done, "/events/poll?afterSequence=3").body["events"] == []


@pytest.mark.requirement("Q-DUP-02")
def test_the_failure_fixture_ends_after_its_attempts(host: Host) -> None:
    run = host.create("conformance-failure")
    assert host.ended(run) == "failed"
    assert host.types(run) == [
        *("run.started", "node.started", "node.retried", "node.retried", "node.failed", "run.failed")
    ]
    error = host.of(run).body["error"]
    assert (error["code"], bool(error["message"])) == ("always", True)
    assert host.rows("select ready_at, claimed_by from host_runs where id = ?", run) == [(None, None)]


@pytest.mark.parametrize("timeout", ["0", "-3", "100", "1"])
def test_a_poll_timeout_out_of_range_is_clamped(host: Host, done: str, timeout: str) -> None:
    assert host.of(done, f"/events/poll?timeout={timeout}").status == 200


@pytest.mark.parametrize("query", ["timeout=x", "timeout=", "afterSequence=1.5", "timeout=" + "9" * 40])
def test_a_poll_query_that_is_no_number_is_refused(host: Host, done: str, query: str) -> None:
    answer = host.of(done, f"/events/poll?{query}")
    assert (answer.status, answer.body["error"]) == (400, "validation_error")


def test_server_sent_events_end_with_the_run(host: Host, done: str) -> None:
    answer = host.of(done, "/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [each for each in answer.data.decode().split("\n\n") if each]
    assert [each.splitlines()[1] for each in blocks] == [
        *("event: run.started", "event: node.started", "event: node.completed", "event: run.completed")
    ]
    assert json.loads(blocks[-1].splitlines()[2].removeprefix("data: "))["sequence"] == 3
    path = f"/runs/{quote(done, safe='')}/events"
    rest = host.ask("GET", path, headers={"Last-Event-ID": "2"})
    assert rest.data.decode().count("event: ") == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ([], 400),
        (b"{", 400),
        (b"", 400),
        (b'{"workflowId":"conformance-noop","workflowId":"x"}', 400),
        (b'{"workflowId":"\xff"}', 400),
        (b'{"workflowId":"\\ud800"}', 400),
        (b"[" * 100_000, 400),
        ({"workflowId": 7}, 400),
        ({"workflowId": ""}, 400),
        ({"workflowId": "conformance-noop", "more": 1}, 400),
        ({"workflowId": "conformance-noop", "inputs": []}, 400),
        ({"workflowId": "conformance-noop", "seed": True}, 400),
        ({"workflowId": "conformance-noop", "dryRun": "yes"}, 400),
        ({"workflowId": "none"}, 404),
        ({"workflowId": "conformance-noop", "inputs": {"x": "y" * 1_100_000}}, 413),
    ],
)
def test_a_body_of_the_wrong_form_is_refused(host: Host, body: Any, status: int) -> None:
    answer = host.ask("POST", "/runs", body)
    assert answer.status == status
    assert {"error", "message"} <= set(answer.body) <= {"error", "message", "details"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/runs", 405),
        ("DELETE", "/runs", 405),
        ("GET", "/runs/x/y", 404),
        ("GET", "/runs/default%2Fnone", 404),
        ("GET", "/runs/default%2Fnone/effects", 404),
        ("GET", "/runs/default%2Fnone/events/poll", 404),
        ("GET", "/runs/default%2Fnone/events", 404),
        ("POST", "/runs/default%2Fnone/cancel", 404),
        ("GET", "/runs/%00%ff", 404),
        ("GET", "/runs//", 405),
        ("POST", "/.well-known/openwop", 405),
    ],
)
def test_routes_that_are_not_there(host: Host, method: str, path: str, status: int) -> None:
    assert host.ask(method, path, {} if method == "POST" else None).status == status


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("events", {}),
        ("events", {"trigger": "a.b", "more": 1}),
        ("decisions", {"on": "x", "actor": "a"}),
        ("decisions", {"on": "x", "actor": "", "decide": "reissue"}),
        ("decisions", {"on": "x", "actor": "a", "decide": "perhaps"}),
        ("decisions", {"on": "x", "actor": "a", "decide": {"fail": {}}}),
        ("decisions", {"on": "x", "actor": "a", "decide": {"fail": {"code": "c", "retryable": 1}}}),
        ("cancel", {"because": 1}),
    ],
)
def test_what_reaches_a_run_has_a_form(host: Host, done: str, what: str, body: Any) -> None:
    answer = host.tell(done, what, body)
    assert (answer.status, answer.body["error"]) == (400, "validation_error")


def test_the_same_request_again_is_the_same_run(host: Host) -> None:
    sent = {"Idempotency-Key": "request-1"}
    body = {"workflowId": "conformance-noop"}
    first, second = (host.ask("POST", "/runs", body, headers=sent) for _ in range(2))
    assert (first.status, second.status) == (201, 201)
    assert first.body["runId"] == second.body["runId"]
    other = host.ask("POST", "/runs", {"workflowId": "conformance-failure"}, headers=sent)
    assert (other.status, other.body["error"]) == (409, "conflict")


@pytest.mark.requirement("Q-SEAM-01")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
@pytest.mark.parametrize("path", ["kill", "bound", "incarnations", "", "kill/"])
def test_the_seam_does_not_exist_without_its_flag(host: Host, method: str, path: str) -> None:
    before = host.pids("api") | host.pids("worker")
    body = {"mode": "after-accept", "workflowId": "conformance-noop"} if method == "POST" else None
    for key in (KEY, None):
        for headers in ({}, {"X-Durability-Exercises": "1", "OpenWOP-Version": "9"}):
            assert host.ask(method, f"/host/durability/{path}", body, key=key, headers=headers).status == 404
    assert host.pids("api") | host.pids("worker") == before


def test_a_request_that_is_cut_off_harms_nobody(host: Host) -> None:
    with socket.create_connection(("127.0.0.1", host.port)) as sock:
        head = f"POST /runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: 50\r\n\r\n"
        sock.sendall(head.encode() + b"{")
    with socket.create_connection(("127.0.0.1", host.port)) as sock:
        sock.sendall(b"\x00\xff nonsense\r\n\r\n")
    assert host.ask("GET", "/.well-known/openwop").status == 200


def test_many_clients_watch_one_run(host: Host, done: str) -> None:
    connections = [http.client.HTTPConnection("127.0.0.1", host.port, timeout=20) for _ in range(40)]
    for each in connections:
        each.request("GET", f"/runs/{quote(done, safe='')}/events/poll", headers={"Authorization": f"Bearer {KEY}"})
    for each in connections:
        assert each.getresponse().status == 200
        each.close()


def test_requests_beyond_the_rate_are_refused(tmp_path: Path) -> None:
    with hosting(tmp_path, "--rate", "2", workers=1) as host:
        told = [host.ask("GET", "/runs/x").status for _ in range(12)]
        assert set(told) == {404, 429}
        assert told[0] == 404
        limited = until(lambda: (found := host.ask("GET", "/runs/x")).status == 429 and found)
        assert (limited.body["error"], limited.headers["retry-after"]) == ("rate_limited", "1")
        assert host.ask("GET", "/.well-known/openwop").status == 200
