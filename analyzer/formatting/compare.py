"""Whether two trees say the same: the check that formatting makes of its own work."""

from __future__ import annotations

from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence


def same_tree(left: Node | None, right: Node | None) -> bool:
    """Same values, keys and order, kinds, scalar styles, flow or block, anchors and places of aliases.

    None stands for an empty document.
    """
    if left is None or right is None:
        return left is right
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b) or a.anchor != b.anchor or (a.origin is None) != (b.origin is None):
            return False
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            if a.text != b.text or a.style != b.style or type(a.value) is not type(b.value):
                return False
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.flow != b.flow or len(a.entries) != len(b.entries):
                return False
            for one, other in zip(a.entries, b.entries, strict=True):
                pending.append((one.value, other.value))
                pending.append((one.key, other.key))
        elif isinstance(a, Sequence) and isinstance(b, Sequence):
            if a.flow != b.flow or len(a.items) != len(b.items):
                return False
            pending.extend(zip(a.items, b.items, strict=True))
    return True
