"""Requests to features and back: each handler converts, asks one feature, and converts the answer."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from analyzer.fixes import wanted_fix
from analyzer.memory import paused_collection
from analyzer.workspace.files import file_kind, found_kind
from lsp_server.convert import Converter, plain, position
from lsp_server.features import (
    call_hierarchy,
    code_actions,
    completion,
    folding,
    formatting,
    inlay_hints,
    links,
    selection,
    semantic_tokens,
    signature,
    symbols,
)
from lsp_server.features.completion_items import Item
from lsp_server.features.definition import definition, target_of
from lsp_server.features.hover import hover
from lsp_server.features.references import highlights, references
from lsp_server.features.rename import CannotRename, rename
from lsp_server.features.rename import prepare as prepare_rename
from lsp_server.protocol import INVALID_PARAMS, Refused
from lsp_server.server import WorkfileServer
from lsp_server.settings import Settings
from lsp_server.snapshot import Snapshot, Span, TextEdit
from lsp_server.uris import path_of

_SYMBOL_KINDS: Final = {
    "workflow": types.SymbolKind.Module,
    "section": types.SymbolKind.Namespace,
    "field": types.SymbolKind.Field,
    "input": types.SymbolKind.Variable,
    "state": types.SymbolKind.Class,
    "step": types.SymbolKind.Function,
    "action": types.SymbolKind.Interface,
    "group": types.SymbolKind.Struct,
    "wait": types.SymbolKind.Event,
    "call": types.SymbolKind.Method,
    "let": types.SymbolKind.Constant,
    "list": types.SymbolKind.Array,
}
_ITEM_KINDS: Final = {kind.name.lower(): kind for kind in types.CompletionItemKind} | {
    "enumMember": types.CompletionItemKind.EnumMember
}
MAX_PARSED: Final = 40_000
"""Longer texts are not parsed for a completion: an interpolation over several lines is then not known as one."""
MAX_RESULTS: Final = 64
"""Semantic tokens of so many files are kept for deltas."""


class Asked:
    """One request about a place in a file: the snapshot, and how this client counts and names."""

    def __init__(self, server: WorkfileServer, uri: str) -> None:
        self.server = server
        self.uri = uri
        self.path = path_of(uri)
        server.files.spellings.learn(uri)
        self.converter = Converter(server.files, {self.path: uri})

    @property
    def snapshot(self) -> Snapshot | None:
        """The file as it is now; None when it cannot be read, or is none of ours."""
        document = self.server.files.open.get(self.path)
        if document is not None and not document.ours:
            return None
        return self.server.files.snapshot(self.path)

    def offset(self, place: types.Position) -> int:
        """The offset of a position."""
        places = self.converter.positions(self.path)
        return 0 if places is None else places.offset(plain(place))

    def span(self, of: types.Range) -> Span:
        """The span of a range."""
        start, end = self.offset(of.start), self.offset(of.end)
        return min(start, end), max(start, end)

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return self.converter.range(self.path, span)

    def edits(self, edits: list[TextEdit]) -> list[types.TextEdit]:
        """Edits of this file."""
        return [types.TextEdit(self.range(edit.span), edit.text) for edit in edits]


def register(server: WorkfileServer) -> None:
    """Wire every method to its handler."""
    protocol = server.protocol
    builtin: dict[str, Callable[..., Any]] = {
        types.INITIALIZE: server.initialize,
        types.INITIALIZED: lambda _: server.initialized(),
        types.SHUTDOWN: lambda _: protocol.shut_down(),
        types.TEXT_DOCUMENT_DID_OPEN: lambda params: server.opened(params.text_document),
        types.TEXT_DOCUMENT_DID_CHANGE: server.edited,
        types.TEXT_DOCUMENT_DID_CLOSE: lambda params: server.closed(params.text_document.uri),
        types.TEXT_DOCUMENT_DID_SAVE: lambda _: server.saved(),
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda params: server.files_changed(list(params.changes)),
        types.WORKSPACE_DID_CHANGE_CONFIGURATION: lambda params: _configure(server, params),
        types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lambda params: _folders(server, params),
        types.SET_TRACE: lambda _: None,
    }
    protocol.fm.builtin_features.clear()
    protocol.fm.builtin_features.update(builtin)
    for method, handler in _REQUESTS.items():
        protocol.fm.builtin_features[method] = _bound(handler, server)


def _bound(handler: Callable[[WorkfileServer, Any], Any], server: WorkfileServer) -> Callable[[Any], Any]:
    if asyncio.iscoroutinefunction(handler):

        async def run(params: Any) -> Any:
            return await handler(server, params)

        return run
    return lambda params: handler(server, params)


def _configure(server: WorkfileServer, params: types.DidChangeConfigurationParams) -> None:
    server.settings = Settings.of(params.settings)
    workspace = server.client.workspace
    if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
        server.protocol.ask(types.WORKSPACE_INLAY_HINT_REFRESH)


def _folders(server: WorkfileServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    for folder in params.event.added:
        server.add_folder(folder.uri)
    gone = {path_of(folder.uri) for folder in params.event.removed}
    server.files.folders = [path for path in server.files.folders if path not in gone]


# ---- diagnostics ---------------------------------------------------------------------------------


def _diagnostic(server: WorkfileServer, params: types.DocumentDiagnosticParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    server.files.look_at_disk()
    result, items = _report(server, asked.path, asked.converter)
    server.say_problems()
    server.idle_later()
    if params.previous_result_id == result:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result)
    return types.RelatedFullDocumentDiagnosticReport(items=items(), result_id=result)


def _report(
    server: WorkfileServer, path: str, converter: Converter
) -> tuple[str, Callable[[], list[types.Diagnostic]]]:
    """The identity of a file's findings, and the findings when they are needed."""
    checked = server.files.check(path)
    version = hashlib.blake2b(repr(checked.findings).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return version, lambda: [converter.diagnostic(finding, server.abilities) for finding in checked.findings]


async def _workspace_diagnostic(server: WorkfileServer, params: types.WorkspaceDiagnosticParams) -> Any:
    known = {path_of(each.uri): each.value for each in params.previous_result_ids}
    converter = Converter(server.files, {path_of(each.uri): each.uri for each in params.previous_result_ids})
    items: list[Any] = []
    for path in server.files.files():
        result, findings = _report(server, path, converter)
        document = server.files.open.get(path)
        version = None if document is None else document.version
        uri = converter.uri(path)
        if known.pop(path, None) == result:
            items.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result, version))
        else:
            items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, findings(), version, result))
        await asyncio.sleep(0)  # requests come before the rest of the workspace
    items += [types.WorkspaceFullDocumentDiagnosticReport(converter.uri(path), [], None, "gone") for path in known]
    server.idle_later()
    return types.WorkspaceDiagnosticReport(items)


# ---- actions and formatting ----------------------------------------------------------------------


def _code_action(server: WorkfileServer, params: types.CodeActionParams) -> list[Any]:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return []
    only = None if params.context.only is None else [str(getattr(each, "value", each)) for each in params.context.only]
    findings = server.files.check(asked.path).findings
    versions = _knows_versions(server.client)
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


def _knows_versions(client: types.ClientCapabilities) -> bool:
    workspace = client.workspace
    edit = None if workspace is None else workspace.workspace_edit
    return edit is not None and bool(edit.document_changes)


def _formatting(server: WorkfileServer, params: types.DocumentFormattingParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    return None if snapshot is None else asked.edits(formatting.format_document(snapshot))


def _range_formatting(server: WorkfileServer, params: types.DocumentRangeFormattingParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    return None if snapshot is None else asked.edits(formatting.format_range(snapshot, asked.span(params.range)))


# ---- reading -------------------------------------------------------------------------------------


def _hover(server: WorkfileServer, params: types.HoverParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = None if snapshot is None else hover(snapshot, asked.offset(params.position))
    if found is None:
        return None
    document = server.client.text_document
    formats = document.hover.content_format if document is not None and document.hover is not None else None
    return types.Hover(_markup(found.markdown, formats), asked.range(found.span))


def _markup(text: str, formats: Any) -> types.MarkupContent:
    markdown = not formats or types.MarkupKind.Markdown in formats
    if markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.MarkupContent(types.MarkupKind.PlainText, text.replace("**", "").replace("`", ""))


def _completion(server: WorkfileServer, params: types.CompletionParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    document = server.files.open.get(asked.path)
    if document is None or not document.ours:
        return None
    project = server.files.project(asked.path)
    places = asked.converter.positions(asked.path)
    snapshot = server.files.snapshot(asked.path)
    if places is None or snapshot is None:
        return None
    run = target_of(snapshot, server.files)
    options = server.client.text_document.completion if server.client.text_document is not None else None
    item_options = None if options is None else options.completion_item
    request = completion.Request(
        path=asked.path,
        kind=file_kind(asked.path),
        project=project,
        text=places.source.text,
        offset=places.offset(plain(params.position)),
        tree=snapshot.document.tree if len(places.source.text) < MAX_PARSED else None,
        last=server.files.last_workflow(asked.path) if snapshot.kind == "workflow" else None,
        target=None if run is None else run.workflow,
        snippets=item_options is not None and bool(item_options.snippet_support),
        siblings=_siblings(asked.path, project.root),
    )
    with paused_collection():
        span, items = completion.complete(request)
    formats = None if item_options is None else item_options.documentation_format
    where = types.Range(position(places.of(span[0])), position(places.of(span[1])))
    return types.CompletionList(
        False, [_item(item, where, number, request.snippets, formats) for number, item in enumerate(items)]
    )


def _item(item: Item, where: types.Range, number: int, snippets: bool, formats: Any) -> types.CompletionItem:
    snippet = item.snippet and snippets
    return types.CompletionItem(
        label=item.label,
        kind=_ITEM_KINDS.get(item.kind, types.CompletionItemKind.Text),
        detail=item.detail or None,
        documentation=_markup(item.doc, formats) if item.doc else None,
        sort_text=f"{number:04}",
        insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
        text_edit=types.TextEdit(where, item.text if snippet else item.plain),
    )


def _siblings(path: str, root: str) -> tuple[str, ...]:
    """Files of ours in the folders around, for paths to complete."""
    folder = os.path.dirname(path)  # noqa: PTH120
    found: list[str] = []
    for place in dict.fromkeys((folder, os.path.join(folder, "connectors"), os.path.dirname(folder), root)):  # noqa: PTH118, PTH120
        try:
            names = sorted(os.listdir(place))[:500]  # noqa: PTH208
        except OSError:
            continue
        found += [os.path.join(place, name) for name in names if found_kind(name) != "other"]  # noqa: PTH118
    return tuple(dict.fromkeys(found))


def _signature_help(server: WorkfileServer, params: types.SignatureHelpParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = None if snapshot is None else signature.signature(snapshot, asked.offset(params.position))
    if found is None:
        return None
    parameters = [types.ParameterInformation(each.label, each.doc or None) for each in found.parameters]
    information = types.SignatureInformation(found.label, found.doc or None, parameters, found.active)
    return types.SignatureHelp([information], 0, found.active)


# ---- names ---------------------------------------------------------------------------------------


def _definition(server: WorkfileServer, params: types.DefinitionParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = [] if snapshot is None else definition(snapshot, asked.offset(params.position), server.files)
    if not found:
        return None
    document = server.client.text_document
    if document is not None and document.definition is not None and document.definition.link_support:
        return [asked.converter.link(target, None) for target in found]
    return [asked.converter.location(target) for target in found]


def _references(server: WorkfileServer, params: types.ReferenceParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return None
    offset = asked.offset(params.position)
    found = references(snapshot, offset, server.files, params.context.include_declaration)
    return [asked.converter.location(target) for target in found]


def _highlight(server: WorkfileServer, params: types.DocumentHighlightParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = [] if snapshot is None else highlights(snapshot, asked.offset(params.position), server.files)
    kinds = (types.DocumentHighlightKind.Read, types.DocumentHighlightKind.Write)
    return [types.DocumentHighlight(asked.range(each.span), kinds[each.definition]) for each in found] or None


def _prepare_rename(server: WorkfileServer, params: types.PrepareRenameParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return None
    try:
        span, name = prepare_rename(snapshot, asked.offset(params.position), server.files)
    except CannotRename as error:
        raise Refused(str(error)) from None
    return types.PrepareRenamePlaceholder(asked.range(span), name)


def _rename(server: WorkfileServer, params: types.RenameParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        raise Refused("This file cannot be read.")
    try:
        edits = rename(snapshot, asked.offset(params.position), params.new_name, server.files)
    except CannotRename as error:
        if error.bad_name:
            raise Refused(str(error), INVALID_PARAMS) from None
        raise Refused(str(error)) from None
    return asked.converter.edits(edits, _knows_versions(server.client))


# ---- structure -----------------------------------------------------------------------------------


def _document_symbol(server: WorkfileServer, params: types.DocumentSymbolParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = [] if snapshot is None else symbols.document_symbols(snapshot)
    document = server.client.text_document
    options = None if document is None else document.document_symbol
    if options is not None and options.hierarchical_document_symbol_support:
        return [_symbol(each, asked) for each in found]
    return [flat for each in found for flat in _flat(each, asked, None)]


def _symbol(symbol: symbols.Symbol, asked: Asked) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        symbol.name,
        _SYMBOL_KINDS[symbol.kind],
        asked.range(symbol.span),
        asked.range(symbol.name_span),
        symbol.detail or None,
        children=[_symbol(child, asked) for child in symbol.children],
    )


def _flat(symbol: symbols.Symbol, asked: Asked, container: str | None) -> list[types.SymbolInformation]:
    location = types.Location(asked.uri, asked.range(symbol.span))
    own = types.SymbolInformation(location, symbol.name, _SYMBOL_KINDS[symbol.kind], container_name=container)
    return [own, *(flat for child in symbol.children for flat in _flat(child, asked, symbol.name))]


def _workspace_symbol(server: WorkfileServer, params: types.WorkspaceSymbolParams) -> Any:
    converter = Converter(server.files)
    return [
        types.SymbolInformation(
            types.Location(converter.uri(each.path), converter.range(each.path, each.span)),
            each.name,
            _SYMBOL_KINDS[each.kind],
            container_name=each.container or None,
        )
        for each in symbols.workspace_symbols(params.query, server.files)
    ]


def _document_link(server: WorkfileServer, params: types.DocumentLinkParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = [] if snapshot is None else links.links(snapshot)
    return [types.DocumentLink(asked.range(span), asked.converter.uri(target.path)) for span, target in found]


def _folding_range(server: WorkfileServer, params: types.FoldingRangeParams) -> Any:
    snapshot = Asked(server, params.text_document.uri).snapshot
    found = [] if snapshot is None else folding.folds(snapshot)
    return [
        types.FoldingRange(each.first, each.last, kind=types.FoldingRangeKind.Comment if each.kind else None)
        for each in found
    ]


def _selection_range(server: WorkfileServer, params: types.SelectionRangeParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return None
    result: list[types.SelectionRange] = []
    for place in params.positions:
        current: types.SelectionRange | None = None
        for span in reversed(selection.selection(snapshot, asked.offset(place))):
            current = types.SelectionRange(asked.range(span), current)
        result.append(current or types.SelectionRange(types.Range(place, place)))
    return result


def _semantic_full(server: WorkfileServer, params: types.SemanticTokensParams) -> Any:
    result, data = _tokens(server, params.text_document.uri)
    return None if data is None else types.SemanticTokens(data, result)


def _semantic_delta(server: WorkfileServer, params: types.SemanticTokensDeltaParams) -> Any:
    path = path_of(params.text_document.uri)
    before = server.token_results.get(path)
    result, data = _tokens(server, params.text_document.uri)
    if data is None:
        return None
    if before is None or before[0] != params.previous_result_id:
        return types.SemanticTokens(data, result)
    start, gone, new = semantic_tokens.delta(before[1], data)
    edits = [types.SemanticTokensEdit(start, gone, new)] if gone or new else []
    return types.SemanticTokensDelta(edits, result)


def _tokens(server: WorkfileServer, uri: str) -> tuple[str, list[int] | None]:
    asked = Asked(server, uri)
    snapshot = asked.snapshot
    places = asked.converter.positions(asked.path)
    if snapshot is None or places is None:
        return "", None
    data = semantic_tokens.encode(semantic_tokens.tokens(snapshot), places)
    server.token_count += 1
    result = str(server.token_count)
    server.token_results[asked.path] = (result, data)
    while len(server.token_results) > MAX_RESULTS:
        del server.token_results[next(iter(server.token_results))]
    return result, data


def _semantic_range(server: WorkfileServer, params: types.SemanticTokensRangeParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    places = asked.converter.positions(asked.path)
    if snapshot is None or places is None:
        return None
    found = semantic_tokens.tokens(snapshot, asked.span(params.range))
    return types.SemanticTokens(semantic_tokens.encode(found, places))


def _inlay_hint(server: WorkfileServer, params: types.InlayHintParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    if snapshot is None:
        return None
    found = inlay_hints.hints(snapshot, asked.span(params.range), server.settings.inlay_hints)
    kind = types.InlayHintKind.Type
    places = [asked.range((each.offset, each.offset)).start for each in found]
    return [
        types.InlayHint(place, each.label, kind, None, each.tooltip) for place, each in zip(places, found, strict=True)
    ]


# ---- call hierarchy ------------------------------------------------------------------------------


def _prepare_calls(server: WorkfileServer, params: types.CallHierarchyPrepareParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = [] if snapshot is None else call_hierarchy.prepare(snapshot, asked.offset(params.position), server.files)
    return [_call_item(each, asked.converter) for each in found] or None


def _call_item(item: call_hierarchy.Item, converter: Converter) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        item.name,
        types.SymbolKind.Module,
        converter.uri(item.path),
        converter.range(item.path, item.whole),
        converter.range(item.path, item.span),
    )


def _incoming(server: WorkfileServer, params: types.CallHierarchyIncomingCallsParams) -> Any:
    asked = Asked(server, params.item.uri)
    return [
        types.CallHierarchyIncomingCall(
            _call_item(each.item, asked.converter),
            [asked.converter.range(each.item.path, place) for place in each.places],
        )
        for each in call_hierarchy.incoming(asked.path, server.files)
    ]


def _outgoing(server: WorkfileServer, params: types.CallHierarchyOutgoingCallsParams) -> Any:
    asked = Asked(server, params.item.uri)
    return [
        types.CallHierarchyOutgoingCall(
            _call_item(each.item, asked.converter), [asked.range(place) for place in each.places]
        )
        for each in call_hierarchy.outgoing(asked.path, server.files)
    ]


_REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.WORKSPACE_DIAGNOSTIC: _workspace_diagnostic,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.TEXT_DOCUMENT_FORMATTING: _formatting,
    types.TEXT_DOCUMENT_RANGE_FORMATTING: _range_formatting,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_COMPLETION: _completion,
    types.TEXT_DOCUMENT_SIGNATURE_HELP: _signature_help,
    types.TEXT_DOCUMENT_DEFINITION: _definition,
    types.TEXT_DOCUMENT_REFERENCES: _references,
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlight,
    types.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _document_symbol,
    types.WORKSPACE_SYMBOL: _workspace_symbol,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: _document_link,
    types.TEXT_DOCUMENT_FOLDING_RANGE: _folding_range,
    types.TEXT_DOCUMENT_SELECTION_RANGE: _selection_range,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: _semantic_full,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: _semantic_delta,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: _semantic_range,
    types.TEXT_DOCUMENT_INLAY_HINT: _inlay_hint,
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _prepare_calls,
    types.CALL_HIERARCHY_INCOMING_CALLS: _incoming,
    types.CALL_HIERARCHY_OUTGOING_CALLS: _outgoing,
}
