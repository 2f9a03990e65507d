"""Formatting while typing: a new line begins in the column where it most likely goes on."""

from __future__ import annotations

import re
from typing import Final

from lsp_server.nodes import scalar_at, trail
from lsp_server.shapes import Shapes
from lsp_server.snapshot import Snapshot, TextEdit

TRIGGER: Final = "\n"
_STEP: Final = 2
_LEAD = re.compile(r"[ ]*(?:-[ ]+)*")
_COMMENT = re.compile(r"[ ]+#[^\"']*\Z")
_HEADER = re.compile(r"[|>][-+0-9]*\Z")


def new_line(snapshot: Snapshot, offset: int) -> list[TextEdit]:
    """The edit that indents the line at an offset, which was begun just now: below a key that opens a block two deeper,
    below a step or value of one line at its dash, else beside the entry above. Nothing when there is text on it, and
    inside texts, flow maps and flow lists."""
    source = snapshot.source
    line = source.line_of(offset)
    here = source.line_text(line)
    above = source.line_text(line - 1) if line else ""
    if here.strip(" ") or not above.strip(" ") or "\t" in above:
        return []
    end = source.line_end(line - 1)
    inside = scalar_at(snapshot.tree.root, end)
    text = _COMMENT.sub("", above).rstrip(" ")
    if inside is not None and inside.style in ("literal", "folded") and not _HEADER.search(text):
        return []
    if inside is not None and inside.start < source.line_start(line - 1):
        return []  # a text of several lines
    lead = _LEAD.match(text)
    assert lead is not None
    if not text[lead.end() :] or text.lstrip(" ").startswith("#") or text[-1] in "{[,":
        return []
    opens = text.endswith(":") or _HEADER.search(text) is not None
    column = lead.end() + (_STEP if opens else 0)
    if not opens and "-" in lead[0] and not _goes_on(snapshot, source.line_start(line - 1) + lead.end()):
        column = lead[0].rfind("-")
    start = source.line_start(line)
    if len(here) == column:
        return []
    return [TextEdit(snapshot.path, (start, start + len(here)), " " * column)]


def _goes_on(snapshot: Snapshot, offset: int) -> bool:
    """Whether an entry can stand beside the item at an offset: a step is complete, and what is no block map."""
    crumbs = trail(snapshot.tree.root, offset)
    shapes = Shapes(snapshot.kind, snapshot.workflow).along(crumbs)
    return any(crumb.on_key and shape.kind != "step" for crumb, shape in zip(crumbs, shapes, strict=True))
