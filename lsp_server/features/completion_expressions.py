"""Completion inside ``{{ }}``: names, members with their types, filters that fit, constants to compare with."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.expressions.ast import Binary, Expr, Filter, Index, ListLiteral, Literal, Member, Name
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.parser import parse_template
from analyzer.expressions.scope import Env
from analyzer.expressions.signatures import apply_signature
from analyzer.expressions.types import ANY, Type, describe
from analyzer.expressions.typing import ExpressionTyper
from analyzer.expressions.walk import walk
from analyzer.language.vocabulary import RESERVED_WORDS
from analyzer.model.nodes import Step
from analyzer.syntax.nodes import Scalar
from lsp_server.cursor import MARK
from lsp_server.features.completion_items import Item
from lsp_server.scopes import env_inside

_OPERATORS = ("and", "or", "not", "in", "true", "false", "null")


def expression_items(scalar: Scalar, env: Env, typer: ExpressionTyper, hidden: set[int]) -> list[Item]:
    """What may stand at the mark in a scalar; ``hidden`` are steps that are not bound there, by identity."""
    for part in parse_template(scalar.text).interpolations:
        found = _marked(part.expr)
        if found is not None:
            inner = env_inside(part.expr, found, env, typer)
            return list(_items(part.expr, found, inner, typer, hidden))
    return []


def _marked(root: Expr) -> Expr | None:
    for expr in walk(root):
        if isinstance(expr, Name | Member | Filter) and MARK in expr.name:
            return expr
        if isinstance(expr, Literal) and isinstance(expr.value, str) and MARK in expr.value:
            return expr
    return None


def _items(root: Expr, found: Expr, env: Env, typer: ExpressionTyper, hidden: set[int]) -> Iterator[Item]:
    if isinstance(found, Member):
        yield from _members(typer.quiet_type(found.target, env))
    elif isinstance(found, Filter):
        yield from _filters(typer.quiet_type(found.target, env))
    elif isinstance(found, Literal):
        yield from _constants(root, found, env, typer, quoted=True)
    else:
        yield from _constants(root, found, env, typer, quoted=False)
        yield from _names(env, hidden)


def _names(env: Env, hidden: set[int]) -> Iterator[Item]:
    for name, binding in env.visible().items():
        if MARK in name or id(binding.source) in hidden:
            continue
        doc = ""
        if isinstance(binding.source, Step):
            doing = binding.source.call.reference if binding.source.call is not None else binding.source.kind
            doc = f"Bound by the step `{binding.source.path}` (`{doing}`)."
        kind = "variable" if binding.source is not None else "constant"
        rank = 5 if name in RESERVED_WORDS else 3
        yield Item(name, kind, describe(binding.type), doc, name, rank)
    yield from (Item(word, "keyword", rank=80) for word in _OPERATORS)


def _members(target: Type) -> Iterator[Item]:
    for option in target.options or (target,):
        for position, (name, field) in enumerate(option.fields.items()):
            if MARK in name:
                continue
            detail = describe(field.type) + (", optional" if field.optional else "")
            why = "\n\n".join(f"May be null: {reason.text}." for reason in field.type.why)
            yield Item(name, "field", detail, why, name, position / 100)


def _filters(target: Type) -> Iterator[Item]:
    """Filters that take the value; where its type is not known, all of them."""
    value = target.not_null() if target.kind != "null" else ANY
    for name, known in FILTERS.items():
        outcome = apply_signature(known, value, [ANY] * known.required)
        if outcome.fault is not None:
            continue
        insert = name if not known.required else f"{name}($1)"
        doc = f"{known.doc}\n\nExample: `{known.example}`"
        rank = 0 if name == "default" and target.may_be_null else 2
        yield Item(name, "function", f"| {known.signature}", doc, insert, rank, bool(known.required))


def _constants(root: Expr, found: Expr, env: Env, typer: ExpressionTyper, *, quoted: bool) -> Iterator[Item]:
    """The constants that the other side of a comparison can be."""
    for expr in walk(root):
        if not isinstance(expr, Binary) or expr.op not in ("==", "!=", "in"):
            continue
        other: Expr | None = None
        if expr.right is found or (isinstance(expr.right, ListLiteral) and found in expr.right.items):
            other = expr.left
        elif expr.left is found:
            other = expr.right
        if other is None or isinstance(other, Index):
            continue
        for value in typer.quiet_type(other, env).values or ():
            if isinstance(value, str):
                yield Item(value, "enumMember", insert=value if quoted else f"'{value}'", rank=0)
