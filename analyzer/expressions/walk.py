"""Going through expression trees."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.expressions.ast import Binary, Expr, Filter, Index, ListLiteral, MapLiteral, Member, Unary


def children(expr: Expr) -> list[Expr]:
    """The direct parts of ``expr`` in text order."""
    if isinstance(expr, Member):
        return [expr.target]
    if isinstance(expr, Binary):
        return [expr.left, expr.right]
    if isinstance(expr, Filter):
        return [expr.target, *expr.args]
    if isinstance(expr, Unary):
        return [expr.operand]
    if isinstance(expr, Index):
        return [expr.target, expr.index]
    if isinstance(expr, ListLiteral):
        return expr.items
    if isinstance(expr, MapLiteral):
        return [item.value for item in expr.items]
    return []


def walk(expr: Expr) -> Iterator[Expr]:
    """``expr`` and everything below it, in text order of the beginnings; it does not recurse."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def depth(expr: Expr) -> int:
    """The height of the tree: 1 for a literal or a name."""
    deepest = 0
    stack = [(expr, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(current))
    return deepest


def shift(expr: Expr, offset: int) -> None:
    """Move every span of a tree that nobody else holds yet by ``offset`` characters."""
    for node in walk(expr):
        node.start += offset
        node.end += offset
        if isinstance(node, (Member, Filter)):
            node.name_start += offset
            node.name_end += offset
        elif isinstance(node, Binary):
            node.op_start += offset
            node.op_end += offset
        elif isinstance(node, MapLiteral):
            for item in node.items:
                item.start += offset
                item.end += offset


def same_chain(target: Expr) -> bool:
    """Whether ``target``, the target of a member or index, belongs to the chain that this one goes on.

    ``?.`` on null ends the *rest of its chain* (language page, section 4). Parentheses end a chain: ``(a?.b).c`` reads
    ``c`` of null. The span of an expression in parentheses includes them, so it begins before its own target does.
    """
    return isinstance(target, (Member, Index)) and target.start == target.target.start
