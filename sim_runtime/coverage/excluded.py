"""What a comment takes out of the count: ``# workfile: no cover``.

At the end of a line it excludes what begins there, with everything that cannot happen without it; alone on a line, what
begins on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from analyzer.workspace.project import Document
from sim_runtime.coverage.places import Place

_MARK: Final = re.compile(r"#\s*workfile:\s*no cover\b")


def counted(places: list[Place], document: Document | None) -> list[Place]:
    """The places that no comment excludes."""
    lines = frozenset(_lines(document)) if document is not None else frozenset()
    if document is None or not lines:
        return places
    line_of = document.source.line_of
    return [place for place in places if not any(line_of(each.start) in lines for each in _with_parents(place))]


def _with_parents(place: Place) -> Iterator[Place]:
    each: Place | None = place
    while each is not None:
        yield each
        each = each.parent


def _lines(document: Document) -> Iterator[int]:
    """The lines, from 0, on which nothing is counted."""
    marked = [comment for comment in document.tree.comments if _MARK.search(comment.text)]
    if not marked:
        return
    texts = document.source.text.splitlines()
    for comment in marked:
        line = document.source.line_of(comment.start)
        if comment.own_line:
            line += 1
            while line < len(texts) and (not texts[line].strip() or texts[line].lstrip().startswith("#")):
                line += 1
        yield line
