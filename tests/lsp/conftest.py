"""Helpers of the language server's tests: workspaces from text, a cursor mark, and the server without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.syntax.source import Encoding
from analyzer.workspace.project import forget_projects
from lsp_server.handlers import register
from lsp_server.server import WorkfileServer
from lsp_server.snapshot import Snapshot
from lsp_server.workspace import Workspace

MARK = "‸"

MANIFEST = """\
connector: pay
description: Payments.
actions:
  charge:
    description: Takes money.
    effect: write
    idempotency: none
    input:
      type: object
      properties:
        amount: { type: integer, description: In cents. }
        customer: { type: string }
        method: { enum: [card, transfer] }
      required: [amount, customer]
      additionalProperties: false
    output:
      type: object
      properties: { charge_id: { type: string }, fee: { type: integer } }
      required: [charge_id]
    errors:
      rate_limited: { retryable: true }
      declined: { retryable: false }
  refund:
    effect: write
    idempotency: keyed
    input:
      type: object
      properties: { charge_id: { type: string } }
      required: [charge_id]
      additionalProperties: false
  find:
    effect: read
    input:
      type: object
      properties: { reference: { type: string } }
      required: [reference]
      additionalProperties: false
    output:
      type: object
      properties: { found: { type: boolean } }
      required: [found]
triggers:
  settled:
    source: external
    configuration: { type: object, properties: { channel: { type: string } }, required: [channel] }
    payload:
      type: object
      properties: { charge_id: { type: string }, paid: { type: boolean } }
      required: [charge_id, paid]
    correlate_on: [charge_id]
  nightly: { source: schedule, payload: { type: object } }
"""


class Marked:
    """A text without its cursor mark, and the offset where that was."""

    def __init__(self, text: str) -> None:
        before, mark, after = text.partition(MARK)
        assert mark, "the text has no cursor mark"
        self.text = before + after
        self.offset = len(before)


class Files:
    """A folder with a connector ``pay``, and a workspace over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = Workspace()
        self.workspace.folders.append(str(folder))
        self.write("connectors/pay.connector.yaml", MANIFEST)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, text: str, name: str = "main.workfile.yaml") -> Snapshot:
        """Open a text in the editor; the snapshot of it."""
        document = self.workspace.open_document(self.uri(name), 1, text, "workfile")
        snapshot = self.workspace.snapshot(document.path)
        assert snapshot is not None
        return snapshot

    def marked(self, text: str, name: str = "main.workfile.yaml") -> tuple[Snapshot, int]:
        """Open a text with a cursor mark: the snapshot and the mark's offset."""
        found = Marked(text)
        return self.open(found.text, name), found.offset


class Server:
    """The server in this process: what it sends is collected, timers run when they are asked to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = WorkfileServer()
        register(self.server)
        self.sent: list[dict[str, Any]] = []
        self.timers: dict[str, Callable[[], None]] = {}
        self.server.protocol._send_data = self._collect  # type: ignore[method-assign]
        self.server.after = self._later  # type: ignore[method-assign]
        self._number = 0

    def _collect(self, data: Any) -> None:
        protocol = self.server.protocol
        self.sent.append(data if isinstance(data, dict) else protocol._serialize_message(data))

    def _later(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self.timers[name] = call

    def settle(self) -> None:
        """Let every timer run out."""
        while self.timers:
            self.timers.pop(next(iter(self.timers)))()

    def request(self, method: str, params: Any) -> Any:
        """The result of a request, or its error."""
        self._number += 1
        self.server.protocol.dispatch({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer = next(each for each in reversed(self.sent) if each.get("id") == self._number)
        return answer.get("error", answer.get("result"))

    def notify(self, method: str, params: Any) -> None:
        self.server.protocol.dispatch({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        """Initialize; the server's capabilities."""
        params = {"processId": None, "rootUri": self.folder.as_uri(), "capabilities": capabilities or {}}
        result: dict[str, Any] = self.request("initialize", params)["capabilities"]
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "workfile", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def published(self) -> list[dict[str, Any]]:
        """The publications so far."""
        return [each["params"] for each in self.sent if each.get("method") == "textDocument/publishDiagnostics"]


@pytest.fixture(autouse=True)
def _no_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WORKFILE_CACHE_DIR", str(tmp_path / ".cache"))
    forget_projects()
    yield
    forget_projects()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "work")


@pytest.fixture
def server(files: Files) -> Server:
    return Server(files.folder)


ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
