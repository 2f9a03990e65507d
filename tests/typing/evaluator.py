"""Evaluates expressions part by part, going on after a fault, and notes where null was met.

Under real guards an expression has the one value that the evaluator of the language gives, and that is compared. Under
free guards a test that is not about null or about a wait's status comes out both ways.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

from analyzer.expressions.ast import (
    Binary,
    Expr,
    Filter,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Member,
    Name,
    Unary,
)
from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from analyzer.expressions.filters import FILTERS, apply_filter
from analyzer.expressions.operations import OPERATIONS, negate
from analyzer.expressions.reports import Site
from analyzer.expressions.values import Budget, Value, equal
from tests.typing.shapes import UNKNOWN

Env = dict[str, Any]
Place = tuple[str, int, int]


class Poison:
    """What stands for the value of an expression that faulted, when the rest is looked at all the same."""

    def __repr__(self) -> str:
        return "POISON"


POISON: Final = Poison()


class Notes:
    """What the executions of one Workfile met.

    ``nulls``: (rule, start, end) where null does not fit. ``guards``: span of a `?.`, `??` or null test -> whether what
    it guards was ever null (None while nothing but unknown values came by). ``missing``: the spans of members that a
    value did not have. ``values``: (scalar, expression) -> values.
    ``loose``: tests in a condition of several go both ways too. What such a condition says of one value *if* another
    one is null is no fact of the language.
    """

    def __init__(self, free: bool, loose: bool = False) -> None:
        self.free = free
        self.loose = loose
        self.nulls: set[Place] = set()
        self.guards: dict[tuple[int, int], bool | None] = {}
        self.missing: set[tuple[int, int]] = set()
        self.values: dict[tuple[int, int, int], dict[str, Value]] = {}

    def guard(self, span: tuple[int, int], value: object) -> None:
        """A guard was evaluated on a value."""
        if value is None:
            self.guards[span] = True
        elif value is POISON or _is_unknown(value):
            self.guards[span] = self.guards.get(span) or None
        else:
            self.guards.setdefault(span, False)


class Parts:
    """One evaluation of the expressions of one scalar."""

    def __init__(self, notes: Notes, site: Site, env: Env) -> None:
        self.notes = notes
        self.site = site
        self.env = env

    def null(self, rule: str, start: int, end: int) -> None:
        """Null stands where it does not fit."""
        self.notes.nulls.add((rule, *self.site.span(start, end)))

    def values(self, expr: Expr) -> list[Any]:
        """What the expression can be here; POISON for a fault."""
        found = [*self._values(expr)]
        if not self.notes.free:
            seen = self.notes.values.setdefault((self.site.scalar.start, expr.start, expr.end), {})
            seen.update((repr(value), value) for value in found if value is not POISON)
        return found

    def _values(self, expr: Expr) -> Iterator[Any]:
        if isinstance(expr, Literal):
            yield expr.value
        elif isinstance(expr, Name):
            yield self.env[expr.name]
        elif isinstance(expr, Member | Index):
            for value, _ in self.chain(expr):
                yield value
        elif isinstance(expr, Unary) and expr.op == "not":
            for value in self.truths(expr.operand):
                yield POISON if value is POISON else not value
        elif isinstance(expr, Binary) and expr.op in ("and", "or"):
            yield from self.logic(expr)
        elif isinstance(expr, Binary) and expr.op == "??":
            yield from self.default(expr.left, expr.right, self.site.span(expr.op_start, expr.op_end))
        elif isinstance(expr, Filter) and expr.name == "default":
            yield from self.default(expr.target, expr.args[0], self.site.span(expr.target.end, expr.end))
        elif isinstance(expr, Binary):
            for left, right in itertools.product(self.values(expr.left), self.values(expr.right)):
                value = self.binary(expr, left, right)
                yield value
                if self.notes.free and isinstance(value, bool) and _is_unknown(left, right):
                    yield not value
        else:
            yield from self.rest(expr)

    def rest(self, expr: Expr) -> Iterator[Any]:
        if isinstance(expr, Filter):
            for target, *args in itertools.product(*map(self.values, (expr.target, *expr.args))):
                yield self.filter(expr, target, args)
        elif isinstance(expr, Unary):
            for value in self.values(expr.operand):
                if value is None:
                    self.null("nullable-value", expr.operand.start, expr.operand.end)
                yield POISON if value is None or value is POISON else negate(value)
        elif isinstance(expr, ListLiteral):
            for items in itertools.product(*map(self.values, expr.items)):
                yield POISON if POISON in items else [*items]
        else:
            assert isinstance(expr, MapLiteral)
            keys = [item.key for item in expr.items]
            for each in itertools.product(*(self.values(item.value) for item in expr.items)):
                yield POISON if POISON in each else dict(zip(keys, each, strict=True))

    def chain(self, expr: Expr) -> Iterator[tuple[Any, bool]]:
        """The values of a chain, and whether `?.` ended it."""
        if not isinstance(expr, Member | Index):
            for value in self.values(expr):
                yield value, False
            return
        goes_on = isinstance(expr.target, Member | Index) and expr.target.start == expr.target.target.start
        links = self.chain(expr.target) if goes_on else ((value, False) for value in self.values(expr.target))
        for target, ended in links:
            if ended:
                yield None, True
            elif isinstance(expr, Member):
                yield self.member(expr, target)
            else:
                for index in self.values(expr.index):
                    yield self.item(expr, target, index), False

    def member(self, expr: Member, target: Any) -> tuple[Any, bool]:
        if expr.optional:
            text = self.site.scalar.text
            at = text.rfind("?.", expr.target.end, expr.name_start)
            self.notes.guard(self.site.span(at, at + 2), target)
            if target is None:
                return None, True
        if target is POISON:
            return POISON, False
        if target is None:
            self.null("nullable-access", expr.target.start, expr.name_end)
            return POISON, False
        if expr.name not in target:
            self.notes.missing.add(self.site.span(expr.name_start, expr.name_end))
            return POISON, False
        return target[expr.name], False

    def item(self, expr: Index, target: Any, index: Any) -> Any:
        if target is None:
            self.null("nullable-access", expr.target.start, expr.target.end)
        if target is None or target is POISON or index is POISON:
            return POISON
        return target[index] if index < len(target) else POISON

    def default(self, left: Expr, right: Expr, span: tuple[int, int]) -> Iterator[Any]:
        for value in self.values(left):
            self.notes.guard(span, value)
            if value is None or (self.notes.free and (value is POISON or _is_unknown(value))):
                yield from self.values(right)
            if value is not None:
                yield value

    def binary(self, expr: Binary, left: Any, right: Any) -> Any:
        if expr.op in ("==", "!="):
            for side, other in ((expr.left, right), (expr.right, left)):
                if isinstance(side, Literal) and side.value is None:
                    self.notes.guard(self.site.span(expr.start, expr.end), other)
            if left is POISON or right is POISON:
                return POISON
            return equal(left, right) == (expr.op == "==")
        for side, value in ((expr.left, left), (expr.right, right)):
            if value is None and not (expr.op == "in" and side is expr.left and not isinstance(right, str | dict)):
                self.null("nullable-value", side.start, side.end)
                return POISON
        if left is POISON or right is POISON:
            return POISON
        return OPERATIONS[expr.op](Budget(), left, right)

    def filter(self, expr: Filter, target: Any, args: list[Any]) -> Any:
        for part, value in zip((expr.target, *expr.args), (target, *args), strict=True):
            in_list = expr.name == "contains" and part is not expr.target and isinstance(target, list)
            if value is None and not in_list:
                self.null("nullable-value", part.start, part.end)
                return POISON
        if POISON in (target, *args):
            return POISON
        return apply_filter(FILTERS[expr.name], Budget(), target, args)

    # -- conditions

    def truths(self, expr: Expr) -> list[Any]:
        """What an operand of a condition can come out as: true, false or POISON."""
        found = self.values(expr)
        for value in found:
            if value is None:
                self.null("nullable-value", expr.start, expr.end)
        found = [POISON if value is None else value for value in found]
        if not self.notes.free:
            return found
        if POISON in found or self.is_free(expr):
            return [True, False, *([POISON] if POISON in found else [])]
        return found

    def is_free(self, expr: Expr) -> bool:
        """Whether a test can go both ways, whatever its value: under free guards, when it is not about null."""
        if self.notes.loose and _LOGICAL.search(self.site.scalar.text) and not _is_logical(expr):
            return True
        return self.notes.free and not _about_null(expr)

    def logic(self, expr: Binary) -> Iterator[Any]:
        for left in self.truths(expr.left):
            if left is POISON:
                yield POISON
            if left is POISON and self.notes.free:
                yield from self.truths(expr.right)
            elif left is not POISON:
                if left is (expr.op == "or"):
                    yield left
                else:
                    yield from self.truths(expr.right)


_LOGICAL: Final = re.compile(r"\b(?:and|or)\b")


def _is_logical(expr: Expr) -> bool:
    return isinstance(expr, Unary | Binary) and expr.op in ("not", "and", "or")


def _is_unknown(*values: Any) -> bool:
    return any(value in (UNKNOWN, UNKNOWN["x"]) for value in values)


def _about_null(expr: Expr) -> bool:
    """A test of null or of a wait's status, or made of such tests alone (their parts are free where they must be)."""
    if _is_logical(expr):
        return True
    if not isinstance(expr, Binary) or expr.op not in ("==", "!=", "in"):
        return False
    sides = (expr.left, expr.right)
    if any(isinstance(side, Literal) and side.value is None for side in sides):
        return True
    constant = any(isinstance(side, Literal | ListLiteral) for side in sides)
    return constant and any(isinstance(side, Member) and side.name == "status" for side in sides)


def evaluate_here(expr: Expr, env: Env) -> Any:
    """The value that the language's evaluator gives; POISON for a fault."""
    try:
        return evaluate(expr, env)
    except Fault:
        return POISON
