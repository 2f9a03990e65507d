"""Plain data to the protocol's types and back; the only place besides the wiring that knows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from lsprotocol import types

from analyzer.findings import Edit, Finding, Fix
from analyzer.findings import Range as PlainRange
from lsp_server.documents import Change, Position, Positions
from lsp_server.rule_pages import rule_page
from lsp_server.snapshot import Span, Target, TextEdit
from lsp_server.workspace import Workspace

SOURCE: Final = "workfile"
_SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
}
#: Both are shown faded; the protocol has one tag for code that does nothing.
_TAGS: Final = {"unused": types.DiagnosticTag.Unnecessary, "unreachable": types.DiagnosticTag.Unnecessary}


class Converter:
    """Converts for one request: files are named as the client spells them."""

    def __init__(self, workspace: Workspace, asked: dict[str, str] | None = None) -> None:
        self.workspace = workspace
        self.asked = asked or {}
        self._positions: dict[str, Positions | None] = {}

    def uri(self, path: str) -> str:
        """The URI of a file: as this request has spelled it, else as the client did before."""
        return self.asked.get(path) or self.workspace.uri_of(path)

    def positions(self, path: str) -> Positions | None:
        """The places of a file as it is now; None when it cannot be read."""
        if path not in self._positions:
            source = self.workspace.source(path)
            self._positions[path] = None if source is None else Positions(source, self.workspace.encoding)
        return self._positions[path]

    def range(self, path: str, span: Span) -> types.Range:
        """The range of a span."""
        places = self.positions(path)
        if places is None:
            return types.Range(types.Position(0, 0), types.Position(0, 0))
        return types.Range(position(places.of(span[0])), position(places.of(span[1])))

    def plain_range(self, path: str, place: PlainRange) -> types.Range:
        """The range of lines and columns from 1."""
        places = self.positions(path)
        if places is None:
            return types.Range(types.Position(0, 0), types.Position(0, 0))
        start = places.of_place(place.start_line, place.start_column)
        return types.Range(position(start), position(places.of_place(place.end_line, place.end_column)))

    def location(self, target: Target) -> types.Location:
        """A place in a file."""
        return types.Location(self.uri(target.path), self.range(target.path, target.span))

    def link(self, target: Target, origin: types.Range | None) -> types.LocationLink:
        """A place in a file, with the text that leads there."""
        span = self.range(target.path, target.span)
        whole = self.range(target.path, target.whole) if target.whole is not None else span
        return types.LocationLink(self.uri(target.path), whole, span, origin)

    def edits(self, edits: Iterable[TextEdit], versions: bool) -> types.WorkspaceEdit:
        """Edits of several files; with ``versions`` they are refused when a file has changed meanwhile."""
        by_path: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.path, []).append(types.TextEdit(self.range(edit.path, edit.span), edit.text))
        return self.workspace_edit(by_path, versions)

    def workspace_edit(self, by_path: dict[str, list[types.TextEdit]], versions: bool) -> types.WorkspaceEdit:
        """The protocol's form of edits by file."""
        if not versions:
            return types.WorkspaceEdit(changes={self.uri(path): edits for path, edits in by_path.items()})
        changes: list[Any] = []
        for path, edits in by_path.items():
            document = self.workspace.open.get(path)
            version = None if document is None else document.version
            name = types.OptionalVersionedTextDocumentIdentifier(self.uri(path), version)
            changes.append(types.TextDocumentEdit(name, edits))
        return types.WorkspaceEdit(document_changes=changes)

    def fix(self, fix: Fix, versions: bool) -> types.WorkspaceEdit:
        """A finding's repair."""
        by_path: dict[str, list[types.TextEdit]] = {}
        for edit in fix.edits:
            by_path.setdefault(edit.path, []).append(self.plain_edit(edit))
        return self.workspace_edit(by_path, versions)

    def plain_edit(self, edit: Edit) -> types.TextEdit:
        """One edit of a repair; its line breaks become those of the file."""
        places = self.positions(edit.path)
        text = edit.text
        if places is not None and places.source.eol != "\n":
            text = text.replace("\r\n", "\n").replace("\n", places.source.eol)
        return types.TextEdit(self.plain_range(edit.path, edit.range), text)

    def diagnostic(self, finding: Finding, abilities: Abilities) -> types.Diagnostic:
        """A finding for the client, with what it can show."""
        related = None
        if abilities.related and finding.related:
            related = [
                types.DiagnosticRelatedInformation(
                    types.Location(
                        self.uri(each.path or finding.path), self.plain_range(each.path or finding.path, each.range)
                    ),
                    each.message,
                )
                for each in finding.related
            ]
        tags = [_TAGS[tag] for tag in finding.tags if tag in _TAGS] if abilities.tags else []
        data = {"rule": finding.rule, "family": finding.code, "fixes": [fix.title for fix in finding.fixes]}
        page = rule_page(finding.rule) if abilities.code_description else None
        return types.Diagnostic(
            range=self.plain_range(finding.path, finding.range),
            message=finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.rule,
            code_description=None if page is None else types.CodeDescription(self.workspace.spellings.uri_of(page)),
            source=SOURCE,
            tags=list(dict.fromkeys(tags)) or None,
            related_information=related,
            data=data if abilities.data else None,
        )


class Abilities:
    """What the client can show of a diagnostic."""

    __slots__ = ("code_description", "data", "related", "tags")

    def __init__(self, capabilities: types.ClientCapabilities, pull: bool) -> None:
        document = capabilities.text_document
        options: Any = None if document is None else document.diagnostic if pull else document.publish_diagnostics
        pushed = None if document is None else document.publish_diagnostics
        self.related = bool(_ability(options, pushed, "related_information"))
        self.code_description = bool(_ability(options, pushed, "code_description_support"))
        self.data = bool(_ability(options, pushed, "data_support"))
        tags = _ability(options, pushed, "tag_support")
        self.tags = tags is not None and types.DiagnosticTag.Unnecessary in tags.value_set


def _ability(options: Any, pushed: Any, name: str) -> Any:
    """An ability; clients that pull tell most of them beside ``publishDiagnostics`` only."""
    own = getattr(options, name, None)
    return own if own is not None else getattr(pushed, name, None)


def position(place: Position) -> types.Position:
    """The protocol's position."""
    return types.Position(*place)


def plain(place: types.Position) -> Position:
    """A position as plain data."""
    return place.line, place.character


def changes_of(changes: Sequence[types.TextDocumentContentChangeEvent]) -> list[Change]:
    """The edits of a notification."""
    return [
        Change(each.text, plain(each.range.start), plain(each.range.end))
        if isinstance(each, types.TextDocumentContentChangePartial)
        else Change(each.text)
        for each in changes
    ]
