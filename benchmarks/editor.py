"""How long an editor waits: a real server process on stdio, a Workfile of many steps, and edits one after the other.

    python -m benchmarks.editor [--steps 1000] [--edits 300]

prints milliseconds (median and 95th percentile) from an edit to its diagnostics, for completion and hover, from
the start of the process to the first diagnostics, and the server's memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.generate import write_project

ROOT = Path(__file__).resolve().parent.parent
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "dataSupport": True},
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
    },
}


class Client:
    """A client of one server process that waits for each answer."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "workfile_cli", "lsp"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline().strip()) or not length:
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message: dict[str, Any] = json.loads(stream.read(length))
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
                return message.get("result")

    def diagnostics(self, version: int) -> list[Any]:
        """The diagnostics of a version."""
        while True:
            message = self._read()
            params = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and params.get("version") == version:
                found: list[Any] = params["diagnostics"]
                return found

    def memory_mb(self) -> float:
        """What the server holds in memory, in MB; 0 where the system does not tell."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write_project(Path(folder), 1, options.steps)[0]
        _measure(path, options.edits)


def _measure(path: Path, edits: int) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if "payments.charge_once: { amount" in line]
    document = {"uri": path.as_uri()}
    began = time.perf_counter()
    client = Client()
    client.request("initialize", {"processId": None, "rootUri": path.parent.as_uri(), "capabilities": CAPABILITIES})
    client.notify("initialized", {})
    client.notify(
        "textDocument/didOpen", {"textDocument": {**document, "languageId": "workfile", "version": 0, "text": text}}
    )
    client.diagnostics(0)
    print(f"start to first diagnostics  {(time.perf_counter() - began) * 1000:8.1f} ms")
    times: dict[str, list[float]] = {"edit to diagnostics": [], "completion": [], "hover": []}
    for edit in range(edits):
        line = places[edit * 7 % len(places)]
        column = lines[line].index("amount: ") + len("amount: ")
        start = {"line": line, "character": column}
        here = {"textDocument": document, "position": {"line": line, "character": column + 5}}
        change = {"range": {"start": start, "end": start}, "text": '"{{ 1 }}", customer: x }  # '}
        undo = {
            "range": {"start": start, "end": {"line": line, "character": column + len(str(change["text"]))}},
            "text": "",
        }
        for number, content in ((2 * edit + 1, change), (2 * edit + 2, undo)):
            began = time.perf_counter()
            client.notify(
                "textDocument/didChange",
                {"textDocument": {**document, "version": number}, "contentChanges": [content]},
            )
            if content is change:
                asked = time.perf_counter()
                client.request("textDocument/completion", here)
                times["completion"].append(time.perf_counter() - asked)
                continue
            client.diagnostics(number)
            times["edit to diagnostics"].append(time.perf_counter() - began)
            asked = time.perf_counter()
            client.request(
                "textDocument/hover", {"textDocument": document, "position": {"line": line, "character": 10}}
            )
            times["hover"].append(time.perf_counter() - asked)
    for name, found in times.items():
        milliseconds = sorted(each * 1000 for each in found)
        p95 = milliseconds[min(len(milliseconds) - 1, int(len(milliseconds) * 0.95))]
        print(f"{name:26}  {statistics.median(milliseconds):8.1f} ms   p95 {p95:8.1f} ms   ({len(found)} times)")
    print(f"memory                      {client.memory_mb():8.1f} MB")
    client.request("shutdown", None)
    client.notify("exit", None)
    client.process.wait(10)


if __name__ == "__main__":
    main()
