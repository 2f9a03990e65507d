"""Drafts of edits on maps and lists: they keep the file's own layout and touch nothing else."""

from __future__ import annotations

from analyzer.model.problems import EditDraft
from analyzer.syntax.nodes import Entry, Mapping
from analyzer.syntax.source import Source


def add_entry(source: Source, mapping: Mapping, after: Entry, text: str) -> EditDraft:
    """Put ``key: value`` text behind an entry of a map: on its own line in block style, after a comma in flow style.

    ``text`` may have several lines; they are indented like the map's keys.
    """
    if mapping.flow:
        return EditDraft(after.value.end, after.value.end, ", " + " ".join(text.split()))
    column = source.line_column(after.key.start)[1]
    indent = " " * column
    lines = [indent + line for line in text.split("\n")]
    line = source.line_column(max(after.value.end - 1, after.key.end - 1))[0]
    at = source.line_end(line)
    return EditDraft(at, at, "".join(source.eol + each for each in lines))


def remove_entry(source: Source, mapping: Mapping, entry: Entry) -> EditDraft | None:
    """Take an entry out of a map with its line, or with its comma; None when it is the only one."""
    if len(mapping.entries) < 2:
        return None
    position = mapping.entries.index(entry)
    if mapping.flow:
        if position == 0:
            return EditDraft(entry.key.start, mapping.entries[1].key.start, "")
        return EditDraft(mapping.entries[position - 1].value.end, entry.value.end, "")
    first = source.line_column(entry.key.start)[0]
    if position == 0 and source.text[source.line_start(first) : entry.key.start].strip():
        return None
    last = source.line_column(max(entry.value.end - 1, entry.key.start))[0]
    start = source.line_start(first)
    end = source.line_start(last + 1) if last + 1 < source.line_count else len(source.text)
    return EditDraft(start, end, "")
