"""Diagnostics that the client pulls, of a file and of the workspace."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from lsp_server.convert import Converter
from lsp_server.handlers.asked import Asked
from lsp_server.server import WorkfileServer
from lsp_server.uris import path_of


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
            items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, findings(), version, result_id=result))
        await asyncio.sleep(0)  # requests come before the rest of the workspace
    items += [types.WorkspaceFullDocumentDiagnosticReport(converter.uri(path), [], result_id="gone") for path in known]
    server.idle_later()
    return types.WorkspaceDiagnosticReport(items)


REQUESTS: Final[dict[str, Callable[[WorkfileServer, Any], Any]]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.WORKSPACE_DIAGNOSTIC: _workspace_diagnostic,
}
