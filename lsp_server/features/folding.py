"""Folding: maps and lists of several lines, block scalars, and runs of comment lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.syntax.nodes import Mapping, Scalar, Sequence
from lsp_server.snapshot import Snapshot

MAX_RANGES: Final = 5_000


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines from 0, both shown when folded but what is between; ``kind`` is ``comment`` or "" for any other."""

    first: int
    last: int
    kind: str = ""


def folds(snapshot: Snapshot) -> list[Fold]:
    """What can be folded, in order, one range for each first line."""
    source = snapshot.source
    found: dict[int, Fold] = {}
    stack = [] if snapshot.tree.root is None else [snapshot.tree.root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            for entry in reversed(node.entries):
                value = entry.value
                first = source.line_of(entry.key.start)
                last = source.line_of(max(value.end - 1, entry.key.start))
                if last > first and value.origin is None:
                    found.setdefault(first, Fold(first, last))
                if not isinstance(value, Scalar) and value.origin is None:
                    stack.append(value)
        elif isinstance(node, Sequence):
            for item in reversed(node.items):
                first, last = source.line_of(item.start), source.line_of(max(item.end - 1, item.start))
                if last > first:
                    found.setdefault(first, Fold(first, last))
                if not isinstance(item, Scalar) and item.origin is None:
                    stack.append(item)
    for fold in _comments(snapshot):
        found.setdefault(fold.first, fold)
    return sorted(found.values(), key=lambda fold: fold.first)[:MAX_RANGES]


def _comments(snapshot: Snapshot) -> list[Fold]:
    lines = [snapshot.source.line_of(each.start) for each in snapshot.tree.comments if each.own_line]
    result: list[Fold] = []
    start = previous = -2
    for line in [*lines, -9]:
        if line != previous + 1:
            if previous > start >= 0:
                result.append(Fold(start, previous, "comment"))
            start = line
        previous = line
    return result
