"""Whether null may come out of a chain where it stands: what `?.` in place of `.` would make of it."""

from __future__ import annotations

from typing import Final

from analyzer.expressions.ast import Binary, Expr, Filter, Index, Member, Template
from analyzer.expressions.parser import parse_template
from analyzer.expressions.types import Type
from analyzer.expressions.walk import children, same_chain

_TAKES_NULL: Final = ("==", "!=")


def default_for(text: str, member: Member, wanted: Type | None) -> tuple[int, str] | None:
    """What has to follow the chain of ``member``, in a string, so that null may come out of it: where that chain ends,
    and nothing (``""``) or `` ?? false``. None when no such words are known.

    ``wanted`` is the type that is wanted of the string, None when that is not known.
    """
    template = parse_template(text)
    top, around = _chain(template, member)
    if top is None:
        return None
    if isinstance(around, Binary):
        takes = around.op in _TAKES_NULL or (around.op == "??" and around.left is top)
        return (top.end, "") if takes else None
    if isinstance(around, Filter):
        return (top.end, "") if around.name == "default" and around.target is top else None
    if around is not None or not template.whole or wanted is None:
        return None
    if wanted.may_be_null or wanted.kind == "any":
        return top.end, ""
    return (top.end, " ?? false") if wanted.kind == "boolean" else None


def _chain(template: Template, member: Member) -> tuple[Expr | None, Expr | None]:
    """The whole chain that a member is part of, and what that is an operand of."""
    stack: list[tuple[Expr, Expr, Expr | None]] = [(part.expr, part.expr, None) for part in template.interpolations]
    while stack:
        current, top, around = stack.pop()
        if isinstance(current, Member) and (current.start, current.end) == (member.start, member.end):
            return top, around
        for child in children(current):
            chained = isinstance(current, Member | Index) and child is current.target and same_chain(child)
            stack.append((child, top, around) if chained else (child, child, current))
    return None, None
