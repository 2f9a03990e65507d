"""Selection ranges: from the word in an expression out to the whole file."""

from __future__ import annotations

from analyzer.expressions.ast import Expr, Member
from analyzer.expressions.reports import Site
from analyzer.expressions.walk import children
from analyzer.syntax.nodes import Scalar
from lsp_server.nodes import content_span, trail
from lsp_server.scopes import interpolations
from lsp_server.snapshot import Snapshot, Span


def selection(snapshot: Snapshot, offset: int) -> list[Span]:
    """Growing spans around an offset, the smallest first, each inside the next."""
    spans: list[Span] = [(0, len(snapshot.text))]
    for crumb in trail(snapshot.tree.root, offset):
        node = crumb.node
        spans.append((node.start, node.end))
        if crumb.entry is not None:
            spans.append((crumb.entry.key.start, max(crumb.entry.key.end, crumb.entry.value.end)))
        if isinstance(node, Scalar):
            spans.append(content_span(node))
            spans += _in_expression(snapshot, node, offset)
    nested: list[Span] = []
    for start, end in spans:
        around = nested[-1] if nested else (0, len(snapshot.text))
        if start <= offset <= end and around[0] <= start and end <= around[1] and [(start, end)] != nested[-1:]:
            nested.append((start, end))
    nested.reverse()
    return nested


def _in_expression(snapshot: Snapshot, scalar: Scalar, offset: int) -> list[Span]:
    site = Site(snapshot.source, scalar)
    for part in interpolations(scalar):
        whole = site.span(part.start, part.end)
        if not whole[0] <= offset <= whole[1]:
            continue
        spans = [whole]
        current: Expr | None = part.expr
        while current is not None:
            spans.append(site.span(current.start, current.end))
            if isinstance(current, Member):
                name = site.span(current.name_start, current.name_end)
                if name[0] <= offset <= name[1]:
                    spans.append(name)
                    break
            current = next((below for below in children(current) if _touches(site, below, offset)), None)
        return spans
    return []


def _touches(site: Site, expr: Expr, offset: int) -> bool:
    start, end = site.span(expr.start, expr.end)
    return start <= offset <= end
