"""From an offset to the tree: the chain of nodes around it, and the text of keys."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence


@dataclass(frozen=True, slots=True)
class Crumb:
    """One level of the way down: a node, the entry or number that leads on, and whether it ends on the key."""

    node: Node
    entry: Entry | None = None
    index: int = -1
    on_key: bool = False


def trail(root: Node | None, offset: int) -> list[Crumb]:
    """The nodes around an offset, outermost first; the last one leads on to nothing.

    A place counts as inside a node from its start to its end, both included, so that a cursor behind a word is on it.
    """
    crumbs: list[Crumb] = []
    node = root
    while node is not None:
        if isinstance(node, Mapping):
            entry = _entry_at(node, offset)
            if entry is None:
                crumbs.append(Crumb(node))
                return crumbs
            on_key = entry.key.start <= offset <= entry.key.end
            crumbs.append(Crumb(node, entry, -1, on_key))
            node = entry.key if on_key else entry.value if _holds(entry.value, offset) else None
        elif isinstance(node, Sequence):
            index = _item_at(node, offset)
            crumbs.append(Crumb(node, None, index))
            node = node.items[index] if index >= 0 else None
        else:
            crumbs.append(Crumb(node))
            return crumbs
    return crumbs


def _holds(node: Node, offset: int) -> bool:
    return node.start <= offset <= node.end


def _entry_at(mapping: Mapping, offset: int) -> Entry | None:
    """The last entry that begins at or before the offset, if it reaches it."""
    entries = mapping.entries
    position = bisect_right(entries, offset, key=lambda entry: entry.key.start) - 1
    for entry in entries[position::-1] if position >= 0 else ():
        if entry.key.start <= offset <= max(entry.key.end, entry.value.end):
            return entry
        if entry.value.end < offset:
            return None
    return None


def _item_at(sequence: Sequence, offset: int) -> int:
    position = bisect_right(sequence.items, offset, key=lambda item: item.start) - 1
    if position >= 0 and _holds(sequence.items[position], offset):
        return position
    if position > 0 and sequence.items[position].start == offset and _holds(sequence.items[position - 1], offset):
        return position - 1
    return -1


def scalar_at(root: Node | None, offset: int) -> Scalar | None:
    """The scalar, key or value, at an offset."""
    crumbs = trail(root, offset)
    node = crumbs[-1].node if crumbs else None
    return node if isinstance(node, Scalar) else None


def key_text(entry: Entry | None) -> str:
    """The text of an entry's key; "" when it is no scalar."""
    return entry.key.text if entry is not None and isinstance(entry.key, Scalar) else ""


def span(node: Node) -> tuple[int, int]:
    """A node's span."""
    return node.start, node.end


def content_span(scalar: Scalar) -> tuple[int, int]:
    """A scalar's span without its quotes."""
    if scalar.style in ("single", "double") and scalar.end - scalar.start >= 2:
        return scalar.start + 1, scalar.end - 1
    return scalar.start, scalar.end
