"""The language server: its life, its documents, and when diagnostics are made. Features are wired in ``handlers``."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from typing import BinaryIO, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from analyzer.__about__ import __version__
from analyzer.memory import paused_collection
from lsp_server.capabilities import capabilities_of, choose_encoding, watchers
from lsp_server.convert import Abilities, Converter, changes_of
from lsp_server.progress import Progress
from lsp_server.protocol import WorkfileProtocol, strict_converter
from lsp_server.results import Results
from lsp_server.settings import Settings
from lsp_server.transport import ByteWriter, over_stdio, over_tcp, serve
from lsp_server.uris import path_of
from lsp_server.workspace import Workspace

log = logging.getLogger("workfile.lsp")

NAME: Final = "workfile"
DEBOUNCE_S: Final = 0.015
"""From the last edit to the start of the analysis."""
SETTLE_S: Final = 0.05
"""From the last change of files on disk, so that a storm of them is one."""
COLLECT_S: Final = 0.02
READY_S: Final = 0.1
IDLE_S: Final = 1.0


class WorkfileServer(LanguageServer):
    """One server for one client."""

    protocol: WorkfileProtocol

    def __init__(self) -> None:
        super().__init__(NAME, __version__, protocol_cls=WorkfileProtocol, converter_factory=strict_converter)
        self.files = Workspace()
        self.settings = Settings()
        self.client = types.ClientCapabilities()
        self.pull = False
        self.abilities = Abilities(self.client, False)
        #: The last semantic tokens of a file: their number for the client, and their data.
        self.token_results: dict[str, tuple[str, list[int]]] = {}
        self.token_count = 0
        #: How scenarios came out, the long work under way by its token, and how many commands run.
        self.results = Results()
        self.works: dict[str | int, Progress] = {}
        self.running = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._due: dict[str, None] = {}
        self._changed_files: dict[str, None] = {}
        self._said: set[str] = set()
        self._last = ""

    # ---- life ------------------------------------------------------------------------------------

    def initialize(self, params: types.InitializeParams) -> types.InitializeResult:
        """Take what the client can do, and say what we can."""
        self.client = params.capabilities
        document = self.client.text_document
        self.pull = document is not None and document.diagnostic is not None
        self.abilities = Abilities(self.client, self.pull)
        encoding = choose_encoding(self.client)
        self.files.encoding = encoding
        self.settings = Settings.of(params.initialization_options)
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        for uri in folders:
            self.add_folder(uri)
        return types.InitializeResult(
            capabilities=capabilities_of(self.client, encoding, self.pull),
            server_info=types.ServerInfo(NAME, __version__),
        )

    def add_folder(self, uri: str) -> None:
        """A folder of the workspace."""
        self.files.spellings.learn(uri)
        path = path_of(uri)
        if path not in self.files.folders:
            self.files.folders.append(path)

    def initialized(self) -> None:
        """The client is ready: ask it to watch files, if it can."""
        workspace = self.client.workspace
        watched = None if workspace is None else workspace.did_change_watched_files
        if watched is not None and watched.dynamic_registration:
            self.files.watching = True
            registration = types.Registration(
                "workfile-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, {"watchers": watchers()}
            )
            self.protocol.ask(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams([registration]))
        # What is loaded by now stays for good: the collector need not look through it again.
        gc.collect()
        gc.freeze()

    # ---- documents -------------------------------------------------------------------------------

    def opened(self, document: types.TextDocumentItem) -> None:
        """The client has opened a document."""
        self.files.open_document(document.uri, document.version, document.text, document.language_id)
        self._changed(path_of(document.uri), 0.0)

    def edited(self, params: types.DidChangeTextDocumentParams) -> None:
        """The client has edited a document."""
        path = path_of(params.text_document.uri)
        changed = self.files.edit(path, changes_of(params.content_changes), params.text_document.version)
        if changed is not None:
            self._changed(path, DEBOUNCE_S)

    def closed(self, uri: str) -> None:
        """The client has closed a document: its findings are taken off the screen."""
        path = path_of(uri)
        document = self.files.open.get(path)
        if document is None:
            return
        self.files.close_document(path)
        self._due.pop(path, None)
        if not self.pull:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, []))
        self._others_changed(path)

    def saved(self) -> None:
        """A file was written: clients that do not watch files tell us no other way that something changed."""
        self.files.look_at_disk()
        self.refresh()

    def files_changed(self, events: list[types.FileEvent]) -> None:
        """Files changed on disk; they are looked at once no more of them come."""
        for event in events:
            self._changed_files[path_of(event.uri)] = None
        self.after("files", SETTLE_S, self.take_changed_files)

    def take_changed_files(self) -> None:
        """Look at the files that have changed on disk; a request is answered from what was told before it."""
        changed, self._changed_files = self._changed_files, {}
        if changed and self.files.files_changed(changed):
            self.refresh()

    # ---- diagnostics -----------------------------------------------------------------------------

    def _changed(self, path: str, wait: float) -> None:
        self._due[path] = None
        self._last = path
        self._others_changed(path)
        if not self.pull:
            self.after("diagnostics", wait, self._publish_due)

    def _others_changed(self, path: str) -> None:
        """Open files that read this one have to be looked at again."""
        others = [other for other in self.files.open if other != path and self.files.known_check(other) is None]
        self._due.update(dict.fromkeys(others))
        if others and self.pull:
            self.after("refresh", SETTLE_S, self._ask_to_pull)
        elif others:
            self.after("diagnostics", DEBOUNCE_S, self._publish_due)

    def refresh(self) -> None:
        """Everything may have changed."""
        if self.pull:
            self._ask_to_pull()
            return
        self._due.update(dict.fromkeys(self.files.open))
        self.after("diagnostics", DEBOUNCE_S, self._publish_due)

    def _ask_to_pull(self) -> None:
        workspace = self.client.workspace
        if workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.protocol.ask(types.WORKSPACE_DIAGNOSTIC_REFRESH)

    def _publish_due(self) -> None:
        """Publish one file, then let what has come in meanwhile be handled; a newer edit makes this wait again."""
        inbox = self.protocol.inbox
        if inbox is not None and inbox.edits_waiting():
            self.after("diagnostics", DEBOUNCE_S, self._publish_due)
            return
        path = next(iter(self._due), None)
        if path is None:
            return
        del self._due[path]
        self.publish(path)
        if self._due:
            self.after("diagnostics", 0.0, self._publish_due)

    def publish(self, path: str) -> None:
        """Publish the findings of an open file."""
        document = self.files.open.get(path)
        if document is None:
            return
        checked = self.files.check(path)
        converter = Converter(self.files)
        items = [converter.diagnostic(finding, self.abilities) for finding in checked.findings]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, items, document.version))
        self.say_problems()
        self.idle_later()

    def say_problems(self) -> None:
        """Tell once each what is wrong with a configuration: nothing is checked under it."""
        for problem in self.files.configuration_problems():
            if problem not in self._said:
                self._said.add(problem)
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, problem))

    # ---- background ------------------------------------------------------------------------------

    def after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Do something later; of the same name only the last."""
        known = self._timers.pop(name, None)
        if known is not None:
            known.cancel()
        self._timers[name] = self.protocol.later(seconds, call)

    def idle_later(self) -> None:
        """Free memory, and make ready what is likely asked next, when the client pauses."""
        self.after("collect", COLLECT_S, self._collect)
        self.after("collect all", IDLE_S, lambda: self.files.collect(idle=True))
        self.after("ready", READY_S, self._make_ready)

    def _collect(self) -> None:
        """Free what the versions before have left, between messages and before much has gathered."""
        inbox = self.protocol.inbox
        if inbox is not None and len(inbox) and not self.files.much_to_collect:
            self.after("collect", COLLECT_S, self._collect)
        else:
            self.files.collect()

    def _make_ready(self) -> None:
        """The scopes of expressions of the file that was edited last: hover and definition need them."""
        inbox = self.protocol.inbox
        snapshot = self.files.snapshot(self._last) if self._last in self.files.open else None
        if snapshot is not None and (inbox is None or not len(inbox)):
            with paused_collection():
                scopes = snapshot.scopes
                if scopes is not None:
                    scopes.prepare()


def run(stream: BinaryIO, out: BinaryIO) -> int:
    """Serve one client until it ends; the exit code of the process."""
    from lsp_server.handlers import register

    server = WorkfileServer()
    register(server)
    writer = ByteWriter(out)
    server.protocol.set_writer(writer)
    gc.disable()  # collected between messages, see ``Workspace.collect``
    try:
        asyncio.run(serve(stream, writer, server.protocol, server.protocol.attach))
    except KeyboardInterrupt:
        return 130
    return server.protocol.exit_code


def run_stdio() -> int:
    """Serve the client on standard input and output."""
    return over_stdio(run)


def run_tcp(port: int) -> int:
    """Serve one client that connects to a port of this machine. Raises ``OSError`` when the port cannot be had."""
    return over_tcp(port, "lsp", run)
