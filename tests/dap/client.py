"""A client of the debug adapter, of our own: framing, requests and events over a process' streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from lsp_server.dap.server import serve
from lsp_server.transport import over_socket

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 20.0


class Failed(Exception):
    """A request was answered with an error."""

    def __init__(self, response: dict[str, Any]) -> None:
        super().__init__(response["message"])
        self.response = response


class Client:
    """One session with an adapter. ``messages`` are all that came, in order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: Any = None) -> None:
        self.reader = reader
        self.writer = writer
        self.process = process
        self.seq = 0
        self.messages: list[dict[str, Any]] = []
        self.commands: dict[int, str] = {}
        self._read_events = 0
        self._arrived = asyncio.Condition()
        self.ended = False
        self._task = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, *arguments: str, cwd: Path | None = None) -> Client:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "workfile_cli",
            "dap",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd or ROOT,
            limit=1 << 26,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return cls(process.stdout, process.stdin, process)

    @classmethod
    async def inside(cls) -> Client:
        """With an adapter in a thread of this process, over a pair of sockets."""
        ours, theirs = socket.socketpair()

        threading.Thread(target=over_socket, args=(theirs, serve), daemon=True).start()
        return cls(*await asyncio.open_connection(sock=ours, limit=1 << 26))

    async def _read(self) -> None:
        try:
            while True:
                header = await self.reader.readuntil(b"\r\n\r\n")
                name, _, length = header.partition(b":")
                assert name == b"Content-Length", header
                message = json.loads(await self.reader.readexactly(int(length)))
                async with self._arrived:
                    self.messages.append(message)
                    self._arrived.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            async with self._arrived:
                self.ended = True
                self._arrived.notify_all()

    def send_bytes(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, message: Any) -> None:
        data = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))

    def ask(self, command: str, arguments: Any = None) -> int:
        """Send a request; its number."""
        self.seq += 1
        self.commands[self.seq] = command
        more = {} if arguments is None else {"arguments": arguments}
        self.send({"seq": self.seq, "type": "request", "command": command, **more})
        return self.seq

    async def wait(self, fits: Any, start: int = 0) -> dict[str, Any]:
        """The first message from a position on that fits."""

        def found() -> dict[str, Any] | None:
            return next((each for each in self.messages[start:] if fits(each)), None)

        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: found() is not None or self.ended), TIMEOUT_S)
        message = found()
        if message is None:
            raise EOFError("the adapter ended; " + (await self.errors()))
        return message

    async def answer(self, seq: int) -> dict[str, Any]:
        """The response to a request."""
        return await self.wait(lambda each: each["type"] == "response" and each["request_seq"] == seq)

    async def request(self, command: str, /, **arguments: Any) -> Any:
        """The body of the response. Raises ``Failed``."""
        response = await self.answer(self.ask(command, arguments or None))
        if not response["success"]:
            raise Failed(response)
        return response.get("body")

    async def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of a name; those before it are passed over."""
        start = self._read_events
        message = await self.wait(lambda each: each["type"] == "event" and each["event"] == name, start)
        self._read_events = self.messages.index(message, start) + 1
        return message.get("body", {})

    async def initialize(self, **more: Any) -> Any:
        given = {"adapterID": "workfile", "supportsVariableType": True, "supportsVariablePaging": True, **more}
        body = await self.request("initialize", **given)
        await self.event("initialized")
        return body

    async def begin(
        self, *, filters: list[str] | None = None, lines: dict[str, list[Any]] | None = None, **launch: Any
    ) -> None:
        """Initialize, set filters and breakpoints (by file: lines or whole entries), launch (or attach), configure."""
        if not self.messages:
            await self.initialize()
        if filters is not None:
            await self.request("setExceptionBreakpoints", filters=filters)
        for path, wanted in (lines or {}).items():
            entries = [{"line": each} if isinstance(each, int) else each for each in wanted]
            await self.request("setBreakpoints", source={"path": path}, breakpoints=entries)
        await self.request("attach" if "history" in launch else "launch", **launch)
        await self.request("configurationDone")

    async def stopped(self, *reasons: str) -> dict[str, Any]:
        """The next stop, which is for one of the reasons."""
        body = await self.event("stopped")
        assert not reasons or body["reason"] in reasons, body
        return body

    async def go(self, command: str, *reasons: str, **arguments: Any) -> dict[str, Any]:
        """A request that moves the run, and the stop that follows."""
        self._read_events = len(self.messages)
        if command in ("continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue"):
            arguments.setdefault("threadId", 1)
        await self.request(command, **arguments)
        return await self.stopped(*reasons)

    async def frames(self, thread: int = 1) -> list[dict[str, Any]]:
        return (await self.request("stackTrace", threadId=thread))["stackFrames"]

    async def where(self, thread: int = 1) -> str:
        """The step at hand."""
        return (await self.frames(thread))[0]["name"]

    async def line(self, thread: int = 1) -> int:
        return (await self.frames(thread))[0]["line"]

    async def scope(self, name: str, frame: int | None = None) -> dict[str, str]:
        """The variables of a scope, as texts."""
        frame = frame or (await self.frames())[0]["id"]
        scopes = (await self.request("scopes", frameId=frame))["scopes"]
        number = next(each["variablesReference"] for each in scopes if each["name"] == name)
        found = (await self.request("variables", variablesReference=number))["variables"]
        return {each["name"]: each["value"] for each in found}

    async def evaluate(self, expression: str, **more: Any) -> str:
        return (await self.request("evaluate", expression=expression, **more))["result"]

    async def under_way(self) -> None:
        """Wait for the run's first record: the request that starts it is answered before."""
        while await self.evaluate("state", context="repl") == "nothing has happened yet":
            await asyncio.sleep(0.01)

    async def timeline(self) -> Any:
        return await self.request("workfile/timeline")

    async def errors(self) -> str:
        if self.process is None:
            return ""
        return (await self.process.stderr.read()).decode()

    async def close(self) -> int:
        """End the adapter; its exit code."""
        if self.process is None:
            self.writer.close()
            with contextlib.suppress(OSError):
                await self.writer.wait_closed()
            await asyncio.wait_for(self._task, TIMEOUT_S)
            return 0
        if not self.ended:
            self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), TIMEOUT_S)
        await self._task
        self.process._transport.close()
        return code

    def events(self) -> list[str]:
        return [each["event"] for each in self.messages if each["type"] == "event"]
