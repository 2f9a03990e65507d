"""Framing, the inbox, and the real process: its exit codes, its end, and what it does with garbage."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.transport import MAX_MESSAGE_BYTES, ByteWriter, Inbox, Unreadable, read_messages, serve

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "workfile_cli", "lsp"]
INITIALIZE = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}


def framed(*messages: Any, extra: bytes = b"") -> bytes:
    parts = []
    for message in messages:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        parts.append(b"Content-Length: %d\r\n%b\r\n%b" % (len(body), extra, body))
    return b"".join(parts)


def read(data: bytes) -> list[Any]:
    found: list[Any] = []
    read_messages(io.BytesIO(data), found.append)
    return [each.reason if isinstance(each, Unreadable) else each for each in found]


def test_messages_one_after_the_other() -> None:
    data = framed({"id": 1}, {"id": 2}, extra=b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n")
    assert [each["id"] for each in read(data)] == [1, 2]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\r\n\r\n" + framed(b"{}"), [{}]),
        (b"X: y\r\n\r\n" + framed(b"{}"), [{}]),
        (b"content-length:2\r\n\r\n{}", [{}]),
        (b"Content-Length: x\r\n\r\n" + framed(b"{}"), [{}]),
        (b"Content-Length: 99\r\n\r\n{}", []),
        (framed(b"nothing", b"{}"), ["this is not JSON (JSONDecodeError)", {}]),
        (framed(b"\xff", b"{}"), ["this is not JSON (UnicodeDecodeError)", {}]),
        (framed(b"[" * 100_000, b"{}"), ["this is not JSON (RecursionError)", {}]),
        (b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE_BYTES + 1), ["the message is too large"]),
    ],
)
def test_what_is_no_message_costs_only_itself(data: bytes, found: list[Any]) -> None:
    assert read(data) == found


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    read(data)


class Collector:
    """A handler that notes what it is given and what was withdrawn by then."""

    def __init__(self) -> None:
        self.stopped = False
        self.inbox: Inbox | None = None
        self.seen: list[tuple[Any, bool, bool]] = []

    def attach(self, inbox: Inbox) -> None:
        self.inbox = inbox

    def dispatch(self, message: Any) -> None:
        assert self.inbox is not None
        self.seen.append((message.get("id"), self.inbox.withdraw(message.get("id", -1)), self.inbox.edits_waiting()))


def test_a_request_that_was_cancelled_meanwhile_is_known_before_it_starts() -> None:
    async def run() -> Collector:
        handler = Collector()
        loop = asyncio.get_running_loop()
        inbox = Inbox(loop)
        handler.attach(inbox)
        for message in ({"id": 1}, {"id": 2}, {"method": "$/cancelRequest", "params": {"id": 2}}):
            inbox.put(message)
        inbox.put({"method": "textDocument/didChange"})
        while len(inbox):
            handler.dispatch(inbox.take())
        return handler

    seen = asyncio.run(run()).seen
    assert [each[:2] for each in seen] == [(1, False), (2, True), (None, False), (None, False)]
    assert [each[2] for each in seen] == [True, True, True, False]


def test_the_loop_ends_with_its_input() -> None:
    handler = Collector()
    asyncio.run(serve(io.BytesIO(framed({"id": 1}, {"id": 2})), ByteWriter(io.BytesIO()), handler, handler.attach))
    assert [each[0] for each in handler.seen] == [1, 2]


def test_a_client_that_is_gone_is_written_to_no_more() -> None:
    class Gone(io.BytesIO):
        def write(self, _: Any) -> int:
            raise BrokenPipeError

    writer = ByteWriter(Gone())
    writer.write(b"x")
    assert writer.closed
    writer.write(b"x")


# ---- the process ---------------------------------------------------------------------------------


def answers(data: bytes) -> Iterator[Any]:
    stream = io.BytesIO(data)
    while line := stream.readline():
        if line.lower().startswith(b"content-length"):
            length = int(line.partition(b":")[2])
            while stream.readline().strip():
                pass
            yield json.loads(stream.read(length))


def run(data: bytes) -> tuple[int, list[Any]]:
    done = subprocess.run(COMMAND, input=data, capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, list(answers(done.stdout))


@pytest.mark.slow
def test_exit_codes() -> None:
    exit_ = {"method": "exit"}
    shutdown = {"id": 2, "method": "shutdown"}
    code, sent = run(framed(INITIALIZE, shutdown, {"id": 3, "method": "shutdown"}, exit_))
    assert code == 0
    assert [each.get("error", {}).get("code") for each in sent] == [None, None, -32600]
    assert sent[1] == {"jsonrpc": "2.0", "id": 2, "result": None}
    assert run(framed(INITIALIZE, exit_))[0] == 1
    assert run(framed(INITIALIZE))[0] == 1
    assert run(framed(INITIALIZE, shutdown))[0] == 0


@pytest.mark.slow
def test_garbage_between_messages() -> None:
    code, sent = run(
        framed(b"garbage", b"[]", b"7", INITIALIZE, b"{", {"id": 2, "method": "shutdown"}, {"method": "exit"})
    )
    assert code == 0
    assert [each.get("error", {}).get("code") for each in sent] == [-32700, -32600, -32600, None, -32700, None]


@pytest.mark.slow
def test_tcp() -> None:
    process = subprocess.Popen([*COMMAND, "--tcp", "0"], cwd=ROOT, stderr=subprocess.PIPE)
    assert process.stderr is not None
    port = int(process.stderr.readline().rpartition(b":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:
        stream.write(framed(INITIALIZE, {"id": 2, "method": "shutdown"}, {"method": "exit"}))
        stream.flush()
        found = list(answers(stream.read()))
    assert [each["id"] for each in found] == [1, 2]
    assert process.wait(20) == 0
    process.stderr.close()


def test_a_wrong_length_costs_one_message() -> None:
    seen: list[Any] = []
    read_messages(io.BytesIO(b"Content-Length: abc\r\n\r\n{}" + framed({"id": 2}, {"id": 3})), seen.append)
    assert [each["id"] for each in seen] == [2, 3]


def test_an_absurd_length_is_refused_and_ends_the_session() -> None:
    seen: list[Any] = []
    read_messages(io.BytesIO(b"Content-Length: 99999999999\r\n\r\n{}"), seen.append)
    assert [type(each) for each in seen] == [Unreadable]
