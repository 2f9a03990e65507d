"""Messages in and out: framing, an inbox that knows what has been withdrawn, and the loop that empties it.

A thread reads, so that the loop can see what waits behind the message at hand: a request whose cancellation has come in
is not started, and diagnostics of a text are not computed while its next edit is already there. Everything is bounded;
what is no message is answered or passed over, and never ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO, Final, Protocol

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
MAX_WAITING: Final = 4_096
MAX_HEADER_BYTES: Final = 8_192
MAX_CANCELLED: Final = 10_000
ABSURD: Final = 16
"""A message that is said to be so many times longer than the longest is not waited for."""
_CHUNK: Final = 1 << 20
_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,15})\Z", re.IGNORECASE)


class Unreadable:
    """Stands in the inbox for a message that could not be read."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Handler(Protocol):
    """What takes the messages."""

    stopped: bool

    def dispatch(self, message: Any) -> None:
        """Handle one message (parsed JSON, or ``Unreadable``); nothing is raised for what the client sends."""


class Inbox:
    """Messages that have come in and were not handled yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._messages: deque[Any] = deque()
        self._room = threading.Semaphore(MAX_WAITING)
        self._cancelled: dict[str | int, None] = {}
        self.arrived = asyncio.Event()
        self.ended = False

    def put(self, message: Any) -> None:
        """Add a message, from the reading thread; waits while there are too many."""
        self._room.acquire()
        if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
            params = message.get("params")
            if isinstance(params, dict) and isinstance(params.get("id"), str | int):
                self._cancelled[params["id"]] = None
                while len(self._cancelled) > MAX_CANCELLED:
                    del self._cancelled[next(iter(self._cancelled))]
        self._messages.append(message)
        self._wake()

    def end(self) -> None:
        """Nothing more will come."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self.arrived.set)
        except RuntimeError:  # the loop has ended, and nobody waits
            return

    def take(self) -> Any:
        """The oldest message; the inbox must not be empty."""
        message = self._messages.popleft()
        self._room.release()
        return message

    def __len__(self) -> int:
        return len(self._messages)

    def withdraw(self, request: str | int) -> bool:
        """Whether the client has cancelled this request; asked once, when it is about to be handled."""
        try:
            del self._cancelled[request]
        except KeyError:
            return False
        return True

    def edits_waiting(self) -> bool:
        """Whether an edit waits to be applied."""
        return any(
            isinstance(message, dict) and message.get("method") == "textDocument/didChange"
            for message in list(self._messages)
        )


def read_messages(
    stream: BinaryIO, put: Callable[[Any], None], limit: int = MAX_MESSAGE_BYTES, headless: str | None = None
) -> None:
    """Read until the stream ends. Messages are at most ``limit`` bytes; ``headless`` is what to say of headers that do
    not tell a length, which are passed over in silence without it."""
    while True:
        try:
            length = _read_headers(stream)
        except (OSError, ValueError):
            return
        if length is None:
            return
        if length < 0:
            if headless is not None:
                put(Unreadable(headless))
            continue
        if length > limit:
            put(Unreadable("the message is too large"))
            # So much will never come: the length is wrong, and where the next message begins is not known.
            if length > ABSURD * limit or not _skip(stream, length):
                return
            continue
        try:
            body = stream.read(length)
        except (OSError, ValueError):
            return
        if len(body) < length:
            return
        try:
            put(json.loads(body))
        except (ValueError, RecursionError) as error:
            put(Unreadable(f"this is not JSON ({type(error).__name__})"))


def _read_headers(stream: BinaryIO) -> int | None:
    """The length of the next message; -1 when its headers do not tell, None at the end of the stream."""
    length = -1
    while True:
        line = stream.readline(MAX_HEADER_BYTES)
        if not line:
            return None
        text = line.strip()
        if not text:
            return length
        # Behind a body whose length was wrong, the header does not begin its line.
        found = _LENGTH.search(text)
        if found is not None:
            length = int(found[1])


def _skip(stream: BinaryIO, length: int) -> bool:
    while length > 0:
        part = stream.read(min(length, _CHUNK))
        if not part:
            return False
        length -= len(part)
    return True


class ByteWriter:
    """The client's end for what is sent, as pygls wants it. A client that is gone ends the loop, not the process."""

    __slots__ = ("_stream", "closed")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: bytes) -> None:
        """Send a whole message."""
        if self.closed:
            return
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            self.closed = True

    def close(self) -> None:
        """Nothing more is sent."""
        self.closed = True


def over_stdio(serve: Callable[[BinaryIO, BinaryIO], int]) -> int:
    """Serve the client on standard input and output; nothing else may write there."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # A stream of our own: at the end Python waits for its own one, which the reading thread may still hold.
    code = serve(os.fdopen(os.dup(sys.stdin.fileno()), "rb"), out)
    _close(out)
    return code


def over_tcp(port: int, name: str, serve: Callable[[BinaryIO, BinaryIO], int]) -> int:
    """Serve one client that connects to a port of this machine. Raises ``OSError`` when the port cannot be had."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        sys.stderr.write(f"workfile {name}: listening on 127.0.0.1:{listening.getsockname()[1]}\n")
        sys.stderr.flush()
        connection, _ = listening.accept()
    return over_socket(connection, serve)


def over_socket(connection: socket.socket, serve: Callable[[BinaryIO, BinaryIO], int]) -> int:
    """Serve the client at the other end of a connection, which is closed then."""
    with connection, connection.makefile("rb") as stream:
        out = connection.makefile("wb")
        code = serve(stream, out)
        _close(out)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # ends the reading thread, which holds the stream
        return code


def _close(out: BinaryIO) -> None:
    """Let go of the client's end; what could not be sent to a client that is gone is lost."""
    with contextlib.suppress(OSError, ValueError):
        out.close()


async def serve(stream: BinaryIO, writer: ByteWriter, handler: Handler, attach: Callable[[Inbox], None]) -> None:
    """Handle the messages of a stream until it ends, the client is gone, or the handler has stopped."""
    inbox = Inbox(asyncio.get_running_loop())
    attach(inbox)

    def read() -> None:
        read_messages(stream, inbox.put)
        inbox.end()

    threading.Thread(target=read, name="reader", daemon=True).start()
    while not handler.stopped and not writer.closed:
        if not len(inbox):
            if inbox.ended:
                return
            inbox.arrived.clear()
            if not len(inbox) and not inbox.ended:
                await inbox.arrived.wait()
            continue
        handler.dispatch(inbox.take())
        await asyncio.sleep(0)  # timers and answers under way get their turn between messages
