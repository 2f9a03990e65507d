"""A client of one language server process that waits for each answer, and a peer server to compare with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEER = "yaml-language-server@1.25.0"
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True, "dataSupport": True},
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
        "hover": {"contentFormat": ["markdown"]},
    },
    "workspace": {"configuration": True},
}


class Client:
    """Talks to a server on its standard input and output."""

    def __init__(self, command: list[str], settings: dict[str, Any] | None = None) -> None:
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.settings = settings or {}
        self._number = 0
        #: Publications that came while an answer was waited for.
        self._passed: list[dict[str, Any]] = []

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        """The next message; questions of the server are answered on the way."""
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()).strip() or not length:
            if not line:
                raise EOFError("the server has ended")
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message: dict[str, Any] = json.loads(stream.read(length))
        if "method" in message and "id" in message:
            asked = message.get("params") or {}
            items = asked.get("items", []) if message["method"] == "workspace/configuration" else None
            answer = None if items is None else [self.settings.get(each.get("section"), {}) for each in items]
            self._send({"id": message["id"], "result": answer})
        return message

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The answer to a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message.get("result")
            self._passed.append(message)

    def diagnostics(self, wanted: Callable[[dict[str, Any]], bool]) -> list[Any]:
        """The diagnostics of the first publication that is the one waited for."""
        while True:
            message = self._passed.pop(0) if self._passed else self._read()
            params = message.get("params") or {}
            if message.get("method") == "textDocument/publishDiagnostics" and wanted(params):
                found: list[Any] = params["diagnostics"]
                return found

    def start(self, folder: Path) -> None:
        """Initialize the server for a folder."""
        self.request(
            "initialize",
            {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": CAPABILITIES,
             "workspaceFolders": [{"uri": folder.as_uri(), "name": "bench"}]},
        )  # fmt: skip
        self.notify("initialized", {})

    def stop(self) -> None:
        """End the server."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.wait(10)

    def memory_mb(self) -> float:
        """What the server holds in memory, in MB; 0 where the system does not tell."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def cpu_ms(self) -> float:
        """The CPU time that the server has used, in ms; 0 where the system does not tell."""
        total = 0
        for each in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            total += int(each.read_text(encoding="utf-8").split()[0])
        return total / 1e6


def install_peer(folder: Path) -> list[str] | None:
    """The command of yaml-language-server, installed below a folder; None without npm or the registry."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), PEER]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    server = folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
    return [node, str(server), "--stdio"] if done.returncode == 0 and server.exists() else None
