"""A long session: tens of thousands of requests of every kind over text that is edited and broken all the time.

The server answers each, never with a fault of its own, and its memory stays flat. ``WORKFILE_SOAK=50000`` runs all of
it; CI runs a part.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.incremental.edits import edited
from tests.lsp.raw import ROOT, RawClient

REQUESTS = int(os.environ.get("WORKFILE_SOAK", "800"))
GROWTH_MB = 25.0
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source.fixAll"]}}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "semanticTokens": {
            "requests": {"full": {"delta": True}},
            "tokenTypes": [],
            "tokenModifiers": [],
            "formats": [],
        },
        **{name: {} for name in ("codeLens", "inlayHint", "foldingRange", "selectionRange", "callHierarchy")},
        **{name: {} for name in ("rename", "linkedEditingRange", "onTypeFormatting")},
    },
}


#: Answers that are about other files too.
OTHER_FILES = ("workspace/symbol", "textDocument/definition", "textDocument/references", "textDocument/rename")


def asked(chance: random.Random, uri: str, text: str) -> tuple[str, Any]:
    """A request about some place of a text."""
    document = {"uri": uri}
    lines = text.split("\n")
    line = chance.randrange(len(lines))
    place = {"line": line, "character": chance.randrange(len(lines[line]) + 2)}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
    here = {"textDocument": document, "position": place}
    options = {"tabSize": 2, "insertSpaces": True}
    return chance.choice(
        [
            ("textDocument/completion", here),
            ("textDocument/completion", here),
            ("textDocument/hover", here),
            ("textDocument/hover", here),
            ("textDocument/signatureHelp", here),
            ("textDocument/definition", here),
            ("textDocument/references", {**here, "context": {"includeDeclaration": True}}),
            ("textDocument/documentHighlight", here),
            ("textDocument/rename", {**here, "newName": chance.choice(["other", "x1", "Bad Name", ""])}),
            ("textDocument/prepareRename", here),
            ("textDocument/linkedEditingRange", here),
            ("textDocument/onTypeFormatting", {**here, "ch": "\n", "options": options}),
            ("textDocument/documentSymbol", {"textDocument": document}),
            ("textDocument/documentLink", {"textDocument": document}),
            ("textDocument/foldingRange", {"textDocument": document}),
            ("textDocument/selectionRange", {"textDocument": document, "positions": [place]}),
            ("textDocument/semanticTokens/full", {"textDocument": document}),
            ("textDocument/semanticTokens/full/delta", {"textDocument": document, "previousResultId": "1"}),
            ("textDocument/inlayHint", {"textDocument": document, "range": whole}),
            ("textDocument/codeLens", {"textDocument": document}),
            ("textDocument/codeAction", {"textDocument": document, "range": whole, "context": {"diagnostics": []}}),
            ("textDocument/formatting", {"textDocument": document, "options": options}),
            ("textDocument/prepareCallHierarchy", here),
            ("workspace/symbol", {"query": chance.choice(["", "s", "charge"])}),
            ("textDocument/hover", {"textDocument": document}),  # malformed
            ("no/such/method", {}),
        ]
    )


def places(value: Any) -> list[tuple[int, int]]:
    """Every position in an answer."""
    if isinstance(value, list):
        return [place for each in value for place in places(each)]
    if not isinstance(value, dict):
        return []
    if value.keys() == {"line", "character"}:
        return [(value["line"], value["character"])]
    return [place for each in value.values() for place in places(each)]


def memory_mb(client: RawClient) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.slow
def test_a_long_session_ends_with_flat_memory() -> None:
    chance = random.Random(4)
    files = {path.as_uri(): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("examples/*.workfile.yaml"))}
    texts = dict(files)
    versions = dict.fromkeys(files, 1)
    sizes: list[float] = []
    with RawClient() as client:
        client.start(ROOT / "examples", CAPABILITIES)
        for uri, text in files.items():
            client.open(uri, text)
        for number in range(REQUESTS):
            uri = chance.choice(list(texts))
            if number % 3 == 0:
                texts[uri] = files[uri] if chance.random() < 0.3 else edited(chance, texts[uri])[:20_000]
                versions[uri] += 1
                document = {"uri": uri, "version": versions[uri]}
                client.notify(
                    "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": texts[uri]}]}
                )
            method, params = asked(chance, uri, texts[uri])
            answer = client.request(method, params)
            code = answer.get("code") if isinstance(answer, dict) and "message" in answer else None
            assert code in (None, -32601, -32602, -32803), (method, params, answer)
            if method not in OTHER_FILES:
                lines = texts[uri].replace("\r\n", "\n").replace("\r", "\n").split("\n")
                for line, character in places(answer):
                    assert line < len(lines) or (line, character) == (len(lines), 0), (method, line)
                    units = len(lines[line].encode("utf-16-le")) // 2 if line < len(lines) else 0
                    assert character <= units, (method, params, line, character)
            if number % (REQUESTS // 10) == 0:
                del client.seen[:]
                sizes.append(memory_mb(client))
        assert client.stop() == 0
        assert not any(b"failed" in line for line in client.errors), b"".join(client.errors[:40]).decode()
    settled = sizes[len(sizes) // 2 :]
    assert max(settled) - min(settled) < GROWTH_MB, sizes


@pytest.mark.slow
def test_a_storm_of_changed_files_is_one_pass_and_starves_nothing(tmp_path: Path) -> None:
    (tmp_path / "connectors").mkdir()
    for number in range(200):
        text = f'workfile: "1.0"\nname: w{number}\nsteps:\n  - s: {{ wf.wait: 1h }}\n'
        (tmp_path / f"w{number}.workfile.yaml").write_text(text, encoding="utf-8")
    uri = (tmp_path / "w0.workfile.yaml").as_uri()
    with RawClient() as client:
        client.start(tmp_path, {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
        client.open(uri, (tmp_path / "w0.workfile.yaml").read_text(encoding="utf-8"))
        client.diagnostics(uri, 1)
        del client.seen[:]
        changes = [{"uri": (tmp_path / f"w{number % 200}.workfile.yaml").as_uri(), "type": 2} for number in range(5000)]
        for start in range(0, 5000, 50):
            client.notify("workspace/didChangeWatchedFiles", {"changes": changes[start : start + 50]})
        place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 4}}
        found = client.request("textDocument/hover", place)
        assert "`s`" in found["contents"]["value"]
        client.diagnostics(uri, 1)
        assert client.stop() == 0
        published = [each for each in client.seen if each["method"] == "textDocument/publishDiagnostics"]
        assert len(published) == 1, "all of them are one pass"
