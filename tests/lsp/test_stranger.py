"""Every feature as a stranger's client meets it: raw JSON-RPC, three encodings, odd text, text that is being broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import MANIFEST
from tests.lsp.raw import RawClient

TEXT = """\
workfile: "1.0"
name: main
description: "😀 é"
inputs: { customer: string, amount: integer }
connectors: { pay: connectors/pay.connector.yaml }
steps:
  - take: { pay.charge: { customer: "😀{{ inputs.customer }}", amount: "{{ inputs.amount }}" } }  # 😀
  - "give": { pay.refund: { charge_id: "😀😀 {{ take.charge_id }}" } }
  - late: { wf.let: { a: "😀 {{ take.fee + 1 }}" } }
result: "😀 {{ take.charge_id | upper }}"
"""
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
FORMS = ("hover", "completion", "semanticTokens", "inlayHint", "foldingRange", "selectionRange", "callHierarchy")
CAPABILITIES: dict[str, Any] = {
    "textDocument": {
        **{name: {} for name in (*FORMS, "codeLens", "linkedEditingRange", "onTypeFormatting", "rename")},
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True, "dataSupport": True},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "semanticTokens": {"requests": {"full": True}, "tokenTypes": [], "tokenModifiers": [], "formats": []},
    }
}


class Stranger:
    """A client with one document open, which counts in the encoding that was agreed on."""

    def __init__(self, client: RawClient, folder: Path, encoding: str, eol: str) -> None:
        self.client = client
        self.codec, self.width = CODECS[encoding]
        self.lines = TEXT.split("\n")
        self.document = {"uri": (folder / "main.workfile.yaml").as_uri()}
        general = {"positionEncodings": [encoding, "utf-16"]}
        found = client.start(folder, {**CAPABILITIES, "general": general})
        assert found["capabilities"]["positionEncoding"] == encoding
        client.open(self.document["uri"], TEXT.replace("\n", eol))

    def place(self, line: int, words: str, past: int = 0) -> dict[str, int]:
        column = self.lines[line].index(words) + past
        return {"line": line, "character": len(self.lines[line][:column].encode(self.codec)) // self.width}

    def at(self, line: int, words: str, past: int = 0, **more: Any) -> dict[str, Any]:
        return {"textDocument": self.document, "position": self.place(line, words, past), **more}

    def text(self, range_: dict[str, dict[str, int]]) -> str:
        start, end = range_["start"], range_["end"]
        assert start["line"] == end["line"]
        return self.part(start["line"], start["character"], end["character"])

    def part(self, line: int, start: int, end: int) -> str:
        return self.lines[line].encode(self.codec)[start * self.width : end * self.width].decode(self.codec)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        return self.client.request(f"textDocument/{method}", params)

    def edit(self, version: int, start: dict[str, int], end: dict[str, int], text: str) -> list[dict[str, Any]]:
        change = {"range": {"start": start, "end": end}, "text": text}
        document = {**self.document, "version": version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        return self.client.diagnostics(self.document["uri"], version)


@pytest.fixture(params=[("utf-8", "\n"), ("utf-16", "\r\n"), ("utf-32", "\r"), ("utf-16", "\n")], ids=repr)
def stranger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stranger]:
    folder = tmp_path / "wörk 😀"
    (folder / "connectors").mkdir(parents=True)
    (folder / "connectors" / "pay.connector.yaml").write_text(MANIFEST, encoding="utf-8")
    with RawClient() as client:
        yield Stranger(client, folder, *request.param)


def test_everything_is_where_it_says(stranger: Stranger) -> None:
    diagnostics = stranger.client.diagnostics(stranger.document["uri"], 1)
    assert [(each["code"], stranger.text(each["range"])) for each in diagnostics] == [("nullable-value", "take.fee")]
    _reading(stranger)
    _names(stranger)
    _structure(stranger)
    _broken(stranger, diagnostics)
    assert stranger.ask("hover", {"textDocument": stranger.document})["code"] == -32602
    assert stranger.client.stop() == 0


def _reading(it: Stranger) -> None:
    assert it.text(it.ask("hover", it.at(7, "charge_id }}", 2))["range"]) == "charge_id"
    assert it.text(it.ask("hover", it.at(6, "take"))["range"]) == "take"
    assert "pay.charge" in it.ask("signatureHelp", it.at(6, 'amount: "'))["signatures"][0]["label"]
    items = it.ask("completion", it.at(7, "charge_id }}", 3))["items"]
    edit = next(item["textEdit"] for item in items if item["label"] == "charge_id")
    assert it.text(edit["range"]) == "charge_id"


def _names(it: Stranger) -> None:
    (target,) = it.ask("definition", it.at(7, "take."))
    assert it.text(target["range"]) == "take"
    found = it.ask("references", it.at(7, "take.", context={"includeDeclaration": True}))
    assert [it.text(each["range"]) for each in found] == ["take"] * 4
    (edits,) = it.ask("rename", it.at(6, "take", newName="grab"))["changes"].values()
    assert [(it.text(edit["range"]), edit["newText"]) for edit in edits] == [("take", "grab")] * 4
    assert it.ask("rename", it.at(6, "take", newName="late"))["code"] in (-32602, -32803)
    assert it.ask("rename", it.at(6, "take", newName="Not Good"))["code"] == -32602
    found = it.ask("documentHighlight", it.at(6, "inputs.amount", 8))
    assert [it.text(each["range"]) for each in found] == ["amount", "amount"]


def _structure(it: Stranger) -> None:
    only = {"textDocument": it.document}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
    assert {"take", "charge_id", "upper"} <= set(_tokens(it, it.ask("semanticTokens/full", only)["data"]))
    for hint in it.ask("inlayHint", {**only, "range": whole}):
        place = hint["position"]
        assert it.part(place["line"], 0, place["character"]).strip(' -"') in ("take", "give", "late")
    assert [each["name"] for each in it.client.request("workspace/symbol", {"query": "take"})] == ["take"]
    (link,) = it.ask("documentLink", only)
    assert it.text(link["range"]) == "connectors/pay.connector.yaml"
    (selection,) = it.ask("selectionRange", {**only, "positions": [it.place(7, "charge_id }}")]})
    assert it.text(selection["range"]) == "charge_id"
    actions = it.ask("codeAction", {**only, "range": whole, "context": {"diagnostics": []}})
    assert [action["title"] for action in actions] == ["Ignore `nullable-value` on this line"]
    assert [lens["command"]["title"] for lens in it.ask("codeLens", only)] == ["Simulate", "Explore"]
    assert [each["name"] for each in it.ask("documentSymbol", only)]


def _tokens(it: Stranger, data: list[int]) -> Iterator[str]:
    line = character = 0
    for row, column, length, _, _ in zip(*[iter(data)] * 5, strict=True):
        line, character = line + row, column + (0 if row else character)
        yield it.part(line, character, character + length)


def _broken(it: Stranger, diagnostics: list[dict[str, Any]]) -> None:
    """A closing quote goes, and comes back."""
    start = it.place(7, '" } }')
    found = it.edit(2, start, {**start, "character": start["character"] + 1}, "")
    it.lines[7] = it.lines[7].replace('" } }', " } }")
    assert "yaml-syntax" in [each["code"] for each in found]
    assert all(each["range"]["end"]["line"] < len(it.lines) for each in found)
    labels = [item["label"] for item in it.ask("completion", it.at(7, "charge_id }}", 3))["items"]]
    assert "charge_id" in labels
    assert it.text(it.ask("hover", it.at(6, "take"))["range"]) == "take"
    found = it.edit(3, start, start, '"')
    it.lines = TEXT.split("\n")
    assert found == diagnostics


@pytest.mark.parametrize("value", [{}, [], [1], None, True, 1.5, {"id": 1}], ids=repr)
def test_no_notification_ends_the_server(tmp_path: Path, value: Any) -> None:
    methods = (
        ("$/cancelRequest", "id"),
        ("window/workDoneProgress/cancel", "token"),
        ("$/setTrace", "value"),
        ("textDocument/didOpen", "textDocument"),
        ("textDocument/didChange", "contentChanges"),
        ("textDocument/didClose", "textDocument"),
        ("workspace/didChangeWatchedFiles", "changes"),
        ("workspace/didChangeConfiguration", "settings"),
        ("workspace/didChangeWorkspaceFolders", "event"),
        ("initialized", "x"),
    )
    with RawClient() as client:
        client.start(tmp_path)
        for method, name in methods:
            client.notify(method, {name: value})
            client.notify(method, value)
        for odd in (
            value,
            {"id": value, "method": "textDocument/hover"},
            {"id": value, "result": 1},
            {"method": value},
        ):
            client.send(odd)
        assert client.request("workspace/symbol", {"query": "x"}) == []
        assert client.stop() == 0
