"""Symbols, links, folds, selections, semantic tokens and inlay hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from lsp_server.convert import Converter
from lsp_server.features import (
    folding,
    inlay_hints,
    links,
    selection,
    semantic_tokens,
    symbols,
)
from lsp_server.handlers.asked import Asked
from lsp_server.server import WorkfileServer
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
MAX_RESULTS: Final = 64
"""Semantic tokens of so many files are kept for deltas."""


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


REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _document_symbol,
    types.WORKSPACE_SYMBOL: _workspace_symbol,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: _document_link,
    types.TEXT_DOCUMENT_FOLDING_RANGE: _folding_range,
    types.TEXT_DOCUMENT_SELECTION_RANGE: _selection_range,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: _semantic_full,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: _semantic_delta,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: _semantic_range,
    types.TEXT_DOCUMENT_INLAY_HINT: _inlay_hint,
}
