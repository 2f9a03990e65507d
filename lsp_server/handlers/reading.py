"""Hover, completion and signature help."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from analyzer.memory import paused_collection
from analyzer.workspace.files import file_kind, found_kind
from lsp_server.convert import plain, position
from lsp_server.features import (
    completion,
    signature,
)
from lsp_server.features.completion_items import Item
from lsp_server.features.completion_place import Request
from lsp_server.features.definition import target_of
from lsp_server.features.hover import hover
from lsp_server.handlers.asked import Asked
from lsp_server.server import WorkfileServer
from lsp_server.word_pages import word_page

_ITEM_KINDS: Final = {kind.name.lower(): kind for kind in types.CompletionItemKind} | {
    "enumMember": types.CompletionItemKind.EnumMember
}
MAX_PARSED: Final = 40_000
"""Longer texts are not parsed for a completion: an interpolation over several lines is then not known as one."""


_LINK: Final = re.compile(r"\n\n\[[^\]]*\]\([^)]*\)")


def _hover(server: WorkfileServer, params: types.HoverParams) -> Any:
    asked = Asked(server, params.text_document.uri)
    snapshot = asked.snapshot
    found = None if snapshot is None else hover(snapshot, asked.offset(params.position))
    if found is None:
        return None
    document = server.client.text_document
    formats = document.hover.content_format if document is not None and document.hover is not None else None
    text = found.markdown
    linked = None if found.word is None else word_page(found.word)
    if linked is not None:
        text += f"\n\n[More about `{found.word}`]({server.files.spellings.uri_of(linked)})"
    return types.Hover(_markup(text, formats), asked.range(found.span))


def _markup(text: str, formats: Any) -> types.MarkupContent:
    markdown = not formats or types.MarkupKind.Markdown in formats
    if markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.MarkupContent(types.MarkupKind.PlainText, _LINK.sub("", text).replace("**", "").replace("`", ""))


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
    request = Request(
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
        typed=(params.context.trigger_character if params.context is not None else None) or "",
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


REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_COMPLETION: _completion,
    types.TEXT_DOCUMENT_SIGNATURE_HELP: _signature_help,
}
