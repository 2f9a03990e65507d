"""A client that knows nothing but JSON-RPC: it sends bytes to a real server process and keeps all that comes back."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
COMMAND = (sys.executable, "-m", "workfile_cli", "lsp")


class RawClient:
    """One server process. ``seen`` are the notifications and questions of the server, in order."""

    def __init__(self, *, answers: Callable[[dict[str, Any]], Any] | None = None) -> None:
        self.process = subprocess.Popen(
            COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.seen: list[dict[str, Any]] = []
        self.errors: list[bytes] = []
        self._answers = answers
        self._results: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._number = 0
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        for thread in self._threads:
            thread.join(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def send(self, message: Any) -> None:
        """Send one message, whatever it is."""
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            self._take(json.loads(stream.read(length)))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            with self._changed:
                self.seen.append(message)
                self._changed.notify_all()
            if "id" in message:
                result = None if self._answers is None else self._answers(message)
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif message.get("id") in self._results:
            self._results[message["id"]].put(message)

    def ask(self, method: str, params: Any) -> int:
        """Send a request without waiting; its number."""
        self._number += 1
        self._results[self._number] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int) -> Any:
        """The result of a request, or its error."""
        message = self._results[number].get(timeout=WAIT_S)
        del self._results[number]
        return message["error"] if "error" in message else message["result"]

    def request(self, method: str, params: Any) -> Any:
        """The result of a request, or its error."""
        return self.answer(self.ask(method, params))

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first of the server's messages that fits, of those that came or will come."""
        end = time.monotonic() + WAIT_S
        position = 0
        with self._changed:
            while True:
                while position < len(self.seen):
                    if fits(self.seen[position]):
                        return self.seen[position]
                    position += 1
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    raise TimeoutError("the server did not send it")

    def start(self, folder: Path, capabilities: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """Initialize; what the server says of itself."""
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities or {}}
        found: dict[str, Any] = self.request("initialize", {**params, **options})
        self.notify("initialized", {})
        return found

    def open(self, uri: str, text: str, version: int = 1) -> None:
        """Open a document."""
        item = {"uri": uri, "languageId": "workfile", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        """What was published for a version."""

        def fits(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            return (
                message["method"] == "textDocument/publishDiagnostics"
                and params["uri"] == uri
                and params.get("version") == version
            )

        found: list[dict[str, Any]] = self.wait(fits)["params"]["diagnostics"]
        return found

    def stop(self) -> int:
        """End the server; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(WAIT_S)
