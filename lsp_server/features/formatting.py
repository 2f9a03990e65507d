"""Formatting: the canonical layout, as edits of the lines that change."""

from __future__ import annotations

from analyzer.formatting import format_text
from lsp_server.snapshot import Snapshot, Span, TextEdit
from lsp_server.textdiff import line_edits


def format_document(snapshot: Snapshot) -> list[TextEdit]:
    """The edits that lay the file out; none when it has syntax problems or is laid out already."""
    return [TextEdit(snapshot.path, span, text) for span, text in line_edits(snapshot.text, format_text(snapshot.text))]


def format_range(snapshot: Snapshot, wanted: Span) -> list[TextEdit]:
    """Those of the edits that touch the lines of a range."""
    source = snapshot.source
    first = source.line_start(source.line_of(wanted[0]))
    last_line = source.line_of(max(wanted[1] - 1, wanted[0]))
    last = source.line_end(last_line)
    return [edit for edit in format_document(snapshot) if edit.span[0] <= last and edit.span[1] >= first]
