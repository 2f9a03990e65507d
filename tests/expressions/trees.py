"""Expression trees for the tests: a dense notation, an unparser, and random trees."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from analyzer.expressions.ast import (
    Bad,
    Binary,
    Expr,
    Filter,
    Index,
    ListLiteral,
    Literal,
    MapItem,
    MapLiteral,
    Member,
    Name,
    Unary,
)

# The table of the language page, written down again: the loosest level first.
LEVELS = (("??",), ("or",), ("and",), ("not",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
LEVEL_OF = {op: level for level, ops in enumerate(LEVELS, 1) for op in ops}
NEGATION_LEVEL = 8
POSTFIX_LEVEL = 9
WORDS = {"and", "or", "not", "in", "true", "false", "null"}


def show(expr: Expr) -> str:
    """The tree with every operation in parentheses; ``∅`` is a missing name, ``□`` a missing part."""
    if isinstance(expr, Literal):
        return json.dumps(expr.value, ensure_ascii=False)
    if isinstance(expr, Name):
        return expr.name
    if isinstance(expr, Member):
        return f"{show(expr.target)}{'?.' if expr.optional else '.'}{expr.name or '∅'}"
    if isinstance(expr, Index):
        return f"{show(expr.target)}[{show(expr.index)}]"
    if isinstance(expr, Unary):
        return f"({expr.op} {show(expr.operand)})"
    if isinstance(expr, Binary):
        return f"({show(expr.left)} {expr.op} {show(expr.right)})"
    if isinstance(expr, Filter):
        args = f"({', '.join(map(show, expr.args))})" if expr.args else ""
        return f"({show(expr.target)} | {expr.name or '∅'}{args})"
    if isinstance(expr, ListLiteral):
        return f"[{', '.join(map(show, expr.items))}]"
    if isinstance(expr, MapLiteral):
        return "{" + ", ".join(f"{item.key}: {show(item.value)}" for item in expr.items) + "}"
    assert isinstance(expr, Bad)
    return "□"


def unparse(expr: Expr) -> str:
    """Text that parses to ``expr``, with as few parentheses as the precedence table asks for."""
    return _write(expr, 0)


def _write(expr: Expr, floor: int) -> str:
    text, level = _text_and_level(expr)
    return f"({text})" if level < floor else text


def _text_and_level(expr: Expr) -> tuple[str, int]:
    if isinstance(expr, Literal):
        return json.dumps(expr.value), POSTFIX_LEVEL
    if isinstance(expr, Name):
        return expr.name, POSTFIX_LEVEL
    if isinstance(expr, Member):
        return f"{_write(expr.target, POSTFIX_LEVEL)}{'?.' if expr.optional else '.'}{expr.name}", POSTFIX_LEVEL
    if isinstance(expr, Index):
        return f"{_write(expr.target, POSTFIX_LEVEL)}[{unparse(expr.index)}]", POSTFIX_LEVEL
    if isinstance(expr, ListLiteral):
        return f"[{', '.join(map(unparse, expr.items))}]", POSTFIX_LEVEL
    if isinstance(expr, MapLiteral):
        return "{" + ", ".join(f"{json.dumps(i.key)}: {unparse(i.value)}" for i in expr.items) + "}", POSTFIX_LEVEL
    if isinstance(expr, Unary):
        level = NEGATION_LEVEL if expr.op == "-" else LEVEL_OF["not"]
        return f"{expr.op} {_write(expr.operand, level)}", level
    if isinstance(expr, Filter):
        args = f"({', '.join(map(unparse, expr.args))})" if expr.args else ""
        return f"{_write(expr.target, 0)} | {expr.name}{args}", 0
    assert isinstance(expr, Binary)
    level = LEVEL_OF[expr.op]
    # All operators lean left but the comparisons, which do not chain on either side.
    left_floor = level + 1 if level == LEVEL_OF["=="] else level
    return f"{_write(expr.left, left_floor)} {expr.op} {_write(expr.right, level + 1)}", level


names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name not in WORDS)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
literals = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 10**30),
    st.floats(0, 1e300, exclude_min=True).filter(lambda number: not number.is_integer()),
    texts,
).map(lambda value: Literal(0, 0, value))
leaves: st.SearchStrategy[Expr] = st.one_of(literals, names.map(lambda name: Name(0, 0, name)))


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    operators = st.sampled_from([op for op in LEVEL_OF if op != "not"])
    items = st.lists(inner, max_size=3)
    maps = st.dictionaries(texts, inner, max_size=3)
    return st.one_of(
        st.builds(lambda left, op, right: Binary(left, op, 0, 0, right), inner, operators, inner),
        st.builds(lambda op, operand: Unary(0, 0, op, operand), st.sampled_from(["not", "-"]), inner),
        st.builds(lambda target, name, opt: Member(target, name, 0, 0, opt), inner, names, st.booleans()),
        st.builds(lambda target, index: Index(0, target, index), inner, inner),
        st.builds(lambda target, name, args: Filter(0, target, name, 0, 0, args), inner, names, items),
        items.map(lambda found: ListLiteral(0, 0, found)),
        maps.map(lambda found: MapLiteral(0, 0, [MapItem(0, 0, key, value) for key, value in found.items()])),
    )


trees: st.SearchStrategy[Expr] = st.recursive(leaves, _grow, max_leaves=12)
