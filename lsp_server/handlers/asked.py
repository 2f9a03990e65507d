"""What the handlers share: a request about a place in a file, as this client counts and names."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.convert import Converter, plain
from lsp_server.server import WorkfileServer
from lsp_server.snapshot import Snapshot, Span, TextEdit
from lsp_server.uris import path_of


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


def knows_versions(client: types.ClientCapabilities) -> bool:
    """Whether edits may name the versions of the files that they are for."""
    workspace = client.workspace
    edit = None if workspace is None else workspace.workspace_edit
    return edit is not None and bool(edit.document_changes)
