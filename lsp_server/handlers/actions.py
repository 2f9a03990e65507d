"""What changes a file, or does something with it: code actions, formatting, code lenses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from analyzer.fixes import wanted_fix
from lsp_server.features import code_actions, code_lenses, formatting, linked_editing, on_type
from lsp_server.handlers.asked import Asked, knows_versions
from lsp_server.server import WorkfileServer


def _code_action(server: WorkfileServer, params: types.CodeActionParams) -> list[Any]:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return []
    only = None if params.context.only is None else [str(getattr(each, "value", each)) for each in params.context.only]
    findings = server.files.check(asked.path).findings
    versions = knows_versions(server.client)
    found: list[Any] = []
    for action in code_actions.actions(snapshot, findings, asked.span(params.range), only):
        edit = (
            asked.converter.fix(action.fix, versions)
            if action.fix is not None
            else asked.converter.edits(action.edits, versions)
        )
        diagnostics = None
        if action.finding is not None:
            diagnostics = [asked.converter.diagnostic(action.finding, server.abilities)]
        kind = types.CodeActionKind(action.kind)
        found.append(types.CodeAction(action.title, kind, diagnostics, action.preferred or None, edit=edit))
    fixable = any(wanted_fix(finding, False) is not None for finding in findings)
    if fixable and code_actions.wants(code_actions.FIX_ALL, only):

        def recheck(text: str) -> Any:
            return server.files.check_texts({asked.path: text})[asked.path]

        edits = code_actions.fix_all(snapshot, findings, recheck)
        if edits:
            edit = asked.converter.edits(edits, versions)
            found.append(types.CodeAction("Apply all safe fixes", code_actions.FIX_ALL, edit=edit))
    return found


def _formatting(server: WorkfileServer, params: types.DocumentFormattingParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    return None if snapshot is None else asked.edits(formatting.format_document(snapshot))


def _range_formatting(server: WorkfileServer, params: types.DocumentRangeFormattingParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    return None if snapshot is None else asked.edits(formatting.format_range(snapshot, asked.span(params.range)))


def _on_type_formatting(server: WorkfileServer, params: types.DocumentOnTypeFormattingParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None or params.ch != on_type.TRIGGER:
        return None
    return asked.edits(on_type.new_line(snapshot, asked.offset(params.position)))


def _linked_editing(server: WorkfileServer, params: types.LinkedEditingRangeParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    spans = [] if snapshot is None else linked_editing.linked(snapshot, asked.offset(params.position))
    ranges = [asked.range(each) for each in spans]
    return types.LinkedEditingRanges(ranges, linked_editing.NAME) if ranges else None


def _code_lens(server: WorkfileServer, params: types.CodeLensParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None or not server.settings.code_lens:
        return None
    own = server.settings.client_commands
    found: list[types.CodeLens] = []
    for lens in code_lenses.lenses(snapshot, server.files, server.results):
        if lens.debugs and not own:
            continue
        name = _CLIENT_COMMANDS.get(lens.action, lens.action) if own else f"server.{lens.action}"
        uris = [asked.converter.uri(path) for path in lens.paths]
        found.append(types.CodeLens(asked.range(lens.span), types.Command(lens.title, f"workfile.{name}", None, uris)))
    return found


_CLIENT_COMMANDS: Final = {"test": "runScenario", "debug": "debugScenario"}


REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.TEXT_DOCUMENT_FORMATTING: _formatting,
    types.TEXT_DOCUMENT_RANGE_FORMATTING: _range_formatting,
    types.TEXT_DOCUMENT_ON_TYPE_FORMATTING: _on_type_formatting,
    types.TEXT_DOCUMENT_LINKED_EDITING_RANGE: _linked_editing,
    types.TEXT_DOCUMENT_CODE_LENS: _code_lens,
}
