"""Definition, references, rename, and calls between Workfiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from lsp_server.convert import Converter
from lsp_server.features import (
    call_hierarchy,
)
from lsp_server.features.definition import definition
from lsp_server.features.references import highlights, references
from lsp_server.features.rename import CannotRename, rename
from lsp_server.features.rename import prepare as prepare_rename
from lsp_server.handlers.asked import Asked, knows_versions
from lsp_server.protocol import INVALID_PARAMS, Refused
from lsp_server.server import WorkfileServer


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
    return asked.converter.edits(edits, knows_versions(server.client))


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


REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_DEFINITION: _definition,
    types.TEXT_DOCUMENT_REFERENCES: _references,
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlight,
    types.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _prepare_calls,
    types.CALL_HIERARCHY_INCOMING_CALLS: _incoming,
    types.CALL_HIERARCHY_OUTGOING_CALLS: _outgoing,
}
