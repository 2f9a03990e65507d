"""Semantic tokens: keys, names and the parts of expressions, inside strings too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from analyzer.expressions.ast import (
    Binary,
    Expr,
    Filter,
    Interpolation,
    Literal,
    MapLiteral,
    Member,
    Name,
    Unary,
)
from analyzer.expressions.reports import Site
from analyzer.expressions.walk import walk
from analyzer.language.vocabulary import ALLOWED_KEYS, CONSTRUCTS, ROOT_KEYS
from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.syntax.nodes import Node, Scalar
from analyzer.syntax.nodes import walk as walk_nodes
from lsp_server.documents import Positions
from lsp_server.nodes import content_span
from lsp_server.scopes import interpolations
from lsp_server.snapshot import Snapshot, Span

TOKEN_TYPES: Final = (
    "keyword",
    "function",
    "variable",
    "parameter",
    "property",
    "operator",
    "number",
    "string",
    "enumMember",
    "namespace",
    "class",
    "event",
    "macro",
)
MODIFIERS: Final = ("declaration", "readonly", "defaultLibrary")
_INDEX: Final = {name: number for number, name in enumerate(TOKEN_TYPES)}
_ROOTS: Final = frozenset({"inputs", "trigger", "run", "error", "item", "index"})
DECLARATION: Final = 1
LIBRARY: Final = 4
MAX_TOKENS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Token:
    """A coloured span; ``modifiers`` is a set of bits in the order of ``MODIFIERS``."""

    start: int
    end: int
    type: str
    modifiers: int = 0


def tokens(snapshot: Snapshot, wanted: Span | None = None) -> list[Token]:
    """The tokens of a Workfile, or of those of its parts that touch a range, in order and without overlaps."""
    workflow = snapshot.workflow
    if workflow is None:
        return []
    found = [token for token in _all(snapshot, workflow, wanted) if token.end > token.start]
    found.sort(key=lambda token: (token.start, token.end))
    result: list[Token] = []
    end = -1
    for token in found:
        if token.start >= end and (wanted is None or (token.end > wanted[0] and token.start < wanted[1])):
            result.append(token)
            end = token.end
    return result[:MAX_TOKENS]


def _all(snapshot: Snapshot, workflow: Workflow, wanted: Span | None) -> Iterator[Token]:
    for entry in workflow.root.entries:
        if isinstance(entry.key, Scalar) and entry.key.text in ROOT_KEYS:
            yield from _node(entry.key, "keyword")
    for name, decl in workflow.inputs.items():
        start, _ = content_span(decl.entry.key) if isinstance(decl.entry.key, Scalar) else (0, 0)
        yield Token(start, start + len(name), "parameter", DECLARATION)
    for state in (workflow.states or {}).values():
        yield from _node(state.entry.key, "class", DECLARATION)
    for step in all_steps(workflow):
        if wanted is None or (step.entry.value.end >= wanted[0] and step.entry.key.start <= wanted[1]):
            yield from _step(step)
    for scalar in _templates(workflow.root, wanted):
        site = Site(snapshot.source, scalar)
        for part in interpolations(scalar):
            yield from _interpolation(site, part)


def _templates(root: Node, wanted: Span | None) -> Iterator[Scalar]:
    for node in walk_nodes(root):
        if not isinstance(node, Scalar) or node.origin is not None or "{{" not in node.text:
            continue
        if wanted is None or (node.end >= wanted[0] and node.start <= wanted[1]):
            yield node


def _node(node: Node, kind: str, modifiers: int = 0) -> Iterator[Token]:
    if isinstance(node, Scalar) and node.origin is None and not node.broken:
        yield Token(*content_span(node), kind, modifiers)


def _step(step: Step) -> Iterator[Token]:
    yield from _node(step.id_node, "variable", DECLARATION)
    if step.subject is not None and isinstance(step.subject.key, Scalar) and step.subject.key.origin is None:
        start, end = content_span(step.subject.key)
        if step.call is not None:
            dot = start + len(step.call.connector)
            yield Token(start, dot, "namespace")
            yield Token(dot + 1, end, "function")
        else:
            yield Token(start, end, "macro" if step.kind not in CONSTRUCTS else "keyword", LIBRARY)
    if step.kind == "wf.wait_for" and step.subject is not None:
        yield from _node(step.subject.value, "event")
    allowed = ALLOWED_KEYS.get(step.kind, {})
    for name, entry in step.keys.items():
        if name in allowed and entry is not step.subject:
            yield from _node(entry.key, "keyword")
            if allowed[name].kind == "enum":
                yield from _node(entry.value, "enumMember")


def _interpolation(site: Site, part: Interpolation) -> Iterator[Token]:
    for expr in walk(part.expr):
        for start, end, kind, modifiers in _parts(expr):
            yield Token(*site.span(start, end), kind, modifiers)


def _parts(expr: Expr) -> Iterator[tuple[int, int, str, int]]:
    if isinstance(expr, Name):
        known = expr.name in _ROOTS
        yield expr.start, expr.end, "parameter" if known else "variable", LIBRARY if known else 0
    elif isinstance(expr, Member):
        yield expr.name_start, expr.name_end, "property", 0
    elif isinstance(expr, Filter):
        yield expr.name_start, expr.name_end, "function", LIBRARY
    elif isinstance(expr, Binary):
        kind = "keyword" if expr.op in ("and", "or", "in") else "operator"
        yield expr.op_start, expr.op_end, kind, 0
    elif isinstance(expr, Unary):
        end = expr.start + len(expr.op)
        yield expr.start, end, "keyword" if expr.op == "not" else "operator", 0
    elif isinstance(expr, Literal):
        value = expr.value
        kind = "string" if isinstance(value, str) else "number" if type(value) in (int, float) else "keyword"
        yield expr.start, expr.end, kind, 0
    elif isinstance(expr, MapLiteral):
        for item in expr.items:
            yield item.start, min(item.start + len(item.key), item.value.start), "property", 0


def encode(found: Iterable[Token], places: Positions) -> list[int]:
    """The protocol's numbers: five for each token, its place relative to the one before; one line at most each."""
    data: list[int] = []
    line, character = 0, 0
    for token in found:
        for start, end in _by_line(token, places):
            first, last = places.of(start), places.of(end)
            data += [first[0] - line, first[1] - (character if first[0] == line else 0)]
            data += [last[1] - first[1], _INDEX[token.type], token.modifiers]
            line, character = first
    return data


def _by_line(token: Token, places: Positions) -> Iterator[Span]:
    source = places.source
    first, last = source.line_of(token.start), source.line_of(max(token.end - 1, token.start))
    for line in range(first, last + 1):
        start, end = max(token.start, source.line_start(line)), min(token.end, source.line_end(line))
        if end > start:
            yield start, end


def delta(before: list[int], after: list[int]) -> tuple[int, int, list[int]]:
    """The one edit that turns the numbers of before into those of now: start, how many go, what comes."""
    head = 0
    limit = min(len(before), len(after))
    while head < limit and before[head] == after[head]:
        head += 1
    head -= head % 5
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    tail -= tail % 5
    return head, len(before) - head - tail, after[head : len(after) - tail]
