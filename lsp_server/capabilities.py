"""What the server says it can do: all of it, as far as the client knows it."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types

from analyzer.syntax.source import Encoding
from lsp_server.commands import COMMANDS
from lsp_server.features.code_actions import FIX_ALL, QUICK_FIX
from lsp_server.features.on_type import TRIGGER as ON_TYPE
from lsp_server.features.semantic_tokens import MODIFIERS, TOKEN_TYPES

ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-8", "utf-16", "utf-32")
TRIGGERS: Final = (".", "|", "{", ":", " ", '"', "'", "[", ",", "-")
SIGNATURE_TRIGGERS: Final = ("{", ",", "(")
WATCHED: Final = (
    "**/{Workfile,*.workfile.yaml,*.workfile.yml}",
    "**/*.{connector,overlay,scenario}.yaml",
    "**/{workfile.toml,pyproject.toml}",
)


def choose_encoding(client: types.ClientCapabilities) -> Encoding:
    """The first of the client's encodings that we know; UTF-16 when it names none."""
    offered = client.general.position_encodings if client.general is not None else None
    for name in offered or ():
        for known in ENCODINGS:
            if str(getattr(name, "value", name)) == known:
                return known
    return "utf-16"


def watchers() -> list[dict[str, Any]]:
    """The files whose changes matter."""
    return [{"globPattern": pattern} for pattern in WATCHED]


def capabilities_of(client: types.ClientCapabilities, encoding: Encoding, pull: bool) -> types.ServerCapabilities:
    """What is offered to a client."""
    document = client.text_document or types.TextDocumentClientCapabilities()
    workspace = client.workspace or types.WorkspaceClientCapabilities()
    prepare = document.rename is not None and bool(document.rename.prepare_support)
    actions = document.code_action
    literals = actions is not None and actions.code_action_literal_support is not None
    return types.ServerCapabilities(
        position_encoding=types.PositionEncodingKind(encoding),
        text_document_sync=types.TextDocumentSyncOptions(
            open_close=True, change=types.TextDocumentSyncKind.Incremental, save=types.SaveOptions(False)
        ),
        diagnostic_provider=types.DiagnosticOptions(True, True, "workfile") if pull else None,
        completion_provider=types.CompletionOptions(trigger_characters=list(TRIGGERS), resolve_provider=False),
        hover_provider=True,
        signature_help_provider=types.SignatureHelpOptions(list(SIGNATURE_TRIGGERS)),
        definition_provider=True,
        references_provider=True,
        document_highlight_provider=True,
        document_symbol_provider=True,
        workspace_symbol_provider=True,
        rename_provider=types.RenameOptions(prepare_provider=True) if prepare else True,
        document_link_provider=types.DocumentLinkOptions(),
        folding_range_provider=True if document.folding_range is not None else None,
        selection_range_provider=True if document.selection_range is not None else None,
        semantic_tokens_provider=_semantic_tokens() if document.semantic_tokens is not None else None,
        inlay_hint_provider=True if document.inlay_hint is not None else None,
        code_action_provider=types.CodeActionOptions([types.CodeActionKind(QUICK_FIX), FIX_ALL], resolve_provider=False)
        if literals
        else True,
        code_lens_provider=types.CodeLensOptions(False) if document.code_lens is not None else None,
        document_formatting_provider=True,
        document_range_formatting_provider=True,
        call_hierarchy_provider=True if document.call_hierarchy is not None else None,
        document_on_type_formatting_provider=types.DocumentOnTypeFormattingOptions(ON_TYPE)
        if document.on_type_formatting is not None
        else None,
        linked_editing_range_provider=True if document.linked_editing_range is not None else None,
        execute_command_provider=types.ExecuteCommandOptions(list(COMMANDS)),
        workspace=types.WorkspaceOptions(workspace_folders=types.WorkspaceFoldersServerCapabilities(True, True))
        if workspace.workspace_folders
        else None,
    )


def _semantic_tokens() -> types.SemanticTokensOptions:
    legend = types.SemanticTokensLegend(list(TOKEN_TYPES), list(MODIFIERS))
    return types.SemanticTokensOptions(legend, range=True, full=types.SemanticTokensFullDelta(delta=True))
