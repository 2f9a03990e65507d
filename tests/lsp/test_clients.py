"""The process as three editors drive it, with their recorded capabilities.

The client warns, which fails the test, when the server sends what the editor has not declared.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

ROOT = Path(__file__).parents[2]
ORDER = ROOT / "examples" / "order.workfile.yaml"
EDITORS = ["visual-studio-code", "neovim", "emacs"]

pytestmark = pytest.mark.slow


@pytest_lsp.fixture(
    params=EDITORS, config=ClientServerConfig(server_command=[sys.executable, "-m", "workfile_cli", "lsp"])
)
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient) -> Any:
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def registered(_: types.RegistrationParams) -> None:
        """The editor watches what it is asked to."""

    parameters = types.InitializeParams(
        capabilities=client_capabilities(request.param), root_uri=(ROOT / "examples").as_uri()
    )
    await lsp_client.initialize_session(parameters)
    yield
    await lsp_client.shutdown_session()


def opened(client: LanguageClient, text: str) -> types.TextDocumentIdentifier:
    item = types.TextDocumentItem(uri=ORDER.as_uri(), language_id="workfile", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return types.TextDocumentIdentifier(ORDER.as_uri())


def position(text: str, before: str, after: str) -> types.Position:
    head = text[: text.index(before + after) + len(before)]
    return types.Position(head.count("\n"), len(head) - head.rfind("\n") - 1)


@pytest.mark.asyncio
async def test_a_session(client: LanguageClient) -> None:
    text = ORDER.read_text(encoding="utf-8").replace("probe.found", "probe.fund")
    document = opened(client, text)
    pulls = client.capabilities.text_document is not None and client.capabilities.text_document.diagnostic is not None
    if pulls:
        report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        items = list(report.items)  # type: ignore[union-attr]
    else:
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        items = list(client.diagnostics[document.uri])
    assert "unknown-member" in [item.code for item in items]

    fund = position(text, "probe.fu", "nd")
    hover = await client.text_document_hover_async(types.HoverParams(document, fund))
    assert hover is not None
    options = types.CodeActionContext(items)
    line = types.Range(types.Position(fund.line, 0), types.Position(fund.line + 1, 0))
    actions = await client.text_document_code_action_async(types.CodeActionParams(document, line, options))
    assert "Change to `found`" in [action.title for action in actions or ()]

    change = types.TextDocumentContentChangePartial(
        types.Range(fund, types.Position(fund.line, fund.character + 2)), ""
    )
    version = types.VersionedTextDocumentIdentifier(version=2, uri=document.uri)
    client.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))
    where = types.Position(fund.line, fund.character)
    completion = await client.text_document_completion_async(types.CompletionParams(document, where))
    assert completion is not None
    found = completion.items if isinstance(completion, types.CompletionList) else completion
    assert {"found", "charge_id"} <= {item.label for item in found}

    ship = position(text, "fulfil.sh", "ip.tracking")
    target = await client.text_document_definition_async(types.DefinitionParams(document, ship))
    assert target
    context = types.ReferenceContext(include_declaration=True)
    references = await client.text_document_references_async(types.ReferenceParams(context, document, ship))
    assert len(references or ()) == 3
    edit = await client.text_document_rename_async(
        types.RenameParams(new_name="send", text_document=document, position=ship)
    )
    assert edit is not None
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert symbols
    formatted = await client.text_document_formatting_async(
        types.DocumentFormattingParams(document, types.FormattingOptions(2, True))
    )
    assert formatted is not None
