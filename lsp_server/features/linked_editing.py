"""Linked editing: places that change together while one of them is typed.

Only names that nothing outside the file can read are linked: the name of a loop's element, and an anchor with its
aliases. What other files may read is renamed, which looks there too.
"""

from __future__ import annotations

from analyzer.syntax.nodes import Node, walk
from lsp_server.occurrences import at, occurrences
from lsp_server.snapshot import Snapshot, Span

NAME = r"[A-Za-z_][A-Za-z0-9_-]*"


def linked(snapshot: Snapshot, offset: int) -> list[Span]:
    """The spans that change together with the one at an offset; none when it stands alone."""
    found = occurrences(snapshot, None)
    here = at(found, offset)
    if here is not None and here.symbol.kind == "loop":
        spans = sorted({each.span for each in found if each.symbol == here.symbol})
        return spans if len(spans) > 1 else []
    return _anchored(snapshot, offset)


def _anchored(snapshot: Snapshot, offset: int) -> list[Span]:
    root = snapshot.tree.root
    if root is None or not ("&" in snapshot.text and "*" in snapshot.text):
        return []
    groups: dict[str, set[Span]] = {}
    for node in walk(root):
        if node.anchor is not None and node.origin is None:
            place = _anchor_place(snapshot.text, node)
            if place is not None:
                groups.setdefault(node.anchor, set()).add(place)
        elif node.origin is not None and snapshot.text.startswith("*", node.start):
            groups.setdefault(snapshot.text[node.start + 1 : node.end], set()).add((node.start + 1, node.end))
    for spans in groups.values():
        if len(spans) > 1 and any(start <= offset <= end for start, end in spans):
            return sorted(spans)
    return []


def _anchor_place(text: str, node: Node) -> Span | None:
    """Where an anchor's name stands in front of its node."""
    start = text.rfind(f"&{node.anchor}", 0, node.start + 1)
    return None if start < 0 else (start + 1, start + 1 + len(node.anchor or ""))
