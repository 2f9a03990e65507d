"""Requests to features and back: each handler converts, asks one feature, and converts the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from lsp_server.commands import execute
from lsp_server.handlers import actions, diagnostics, names, reading, structure
from lsp_server.server import WorkfileServer
from lsp_server.settings import Settings
from lsp_server.uris import path_of


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
        types.WINDOW_WORK_DONE_PROGRESS_CANCEL: lambda params: _end_work(server, params.token),
        types.SET_TRACE: lambda _: None,
    }
    protocol.fm.builtin_features.clear()
    protocol.fm.builtin_features.update(builtin)
    for method, handler in _requests().items():
        protocol.fm.builtin_features[method] = _bound(handler, server)


def _bound(handler: Callable[[WorkfileServer, Any], Any], server: WorkfileServer) -> Callable[[Any], Any]:
    if asyncio.iscoroutinefunction(handler):

        async def run(params: Any) -> Any:
            server.take_changed_files()
            return await handler(server, params)

        return run

    def answer(params: Any) -> Any:
        server.take_changed_files()
        return handler(server, params)

    return answer


def _configure(server: WorkfileServer, params: types.DidChangeConfigurationParams) -> None:
    server.settings = Settings.of(params.settings, server.settings)
    workspace = server.client.workspace
    if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
        server.protocol.ask(types.WORKSPACE_INLAY_HINT_REFRESH)


def _end_work(server: WorkfileServer, token: str | int) -> None:
    work = server.works.get(token)
    if work is not None:
        work.cancelled.set()


def _folders(server: WorkfileServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    for folder in params.event.added:
        server.add_folder(folder.uri)
    gone = {path_of(folder.uri) for folder in params.event.removed}
    server.files.folders = [path for path in server.files.folders if path not in gone]


def _requests() -> dict[str, Callable[[WorkfileServer, Any], Any]]:
    """Every request, by method."""
    found: dict[str, Callable[[WorkfileServer, Any], Any]] = {types.WORKSPACE_EXECUTE_COMMAND: execute}
    for module in (diagnostics, actions, reading, names, structure):
        found |= module.REQUESTS
    return found
