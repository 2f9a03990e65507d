"""Evaluating expressions and templates (language page, section 4; marks: section 7).

An expression is a pure function of its scope. It has a value or ends in a ``Fault``, never in another exception, as
long as the scope holds values of ``analyzer.expressions.values``. Nesting is bounded by the parser, work and produced
text by ``Limits`` for each template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from analyzer.expressions.ast import (
    Bad,
    Binary,
    Expr,
    Filter,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Member,
    Name,
    Template,
    Unary,
)
from analyzer.expressions.faults import KIND, LIMIT, MISSING_MEMBER, NULL_MEMBER, RANGE, Fault
from analyzer.expressions.filters import FILTERS, apply_filter
from analyzer.expressions.operations import OPERATIONS, negate
from analyzer.expressions.parser import Overflow
from analyzer.expressions.values import (
    MAX_OPERATIONS,
    MAX_TEXT_BYTES,
    Bare,
    Budget,
    Marked,
    MarkSeen,
    Value,
    a_kind,
    mark,
    strip_marks,
    to_text,
)
from analyzer.expressions.walk import same_chain

#: The roots by name: a map, or a function that raises ``KeyError`` for a name that nothing binds.
Scope: TypeAlias = Mapping[str, Value] | Callable[[str], Value]


class Limits:
    """The bounds of one evaluation: operations, and bytes of produced text."""

    __slots__ = ("operations", "text_bytes")

    def __init__(self, operations: int = MAX_OPERATIONS, text_bytes: int = MAX_TEXT_BYTES) -> None:
        self.operations = operations
        self.text_bytes = text_bytes


LIMITS: Final = Limits()


def evaluate(expr: Expr, scope: Scope, limits: Limits = LIMITS) -> Value:
    """The value of an expression. Raises ``Fault`` with the place of the part that has none."""
    return _Evaluation(scope, limits).value(expr)


def evaluate_template(template: Template, scope: Scope, limits: Limits = LIMITS) -> Value:
    """The value of a string: of its whole-value interpolation, or the text of its parts. Raises ``Fault``."""
    parts = template.parts
    evaluation = _Evaluation(scope, limits)
    if template.whole:
        part = parts[0]
        assert not isinstance(part, str)
        return evaluation.value(part.expr)
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return evaluation.text(template)


class _Evaluation:
    """One evaluation: where names are looked up, and what is left of the bounds."""

    __slots__ = ("budget", "lookup")

    def __init__(self, scope: Scope, limits: Limits) -> None:
        self.lookup: Callable[[str], Value] = scope if callable(scope) else scope.__getitem__
        self.budget = Budget(limits.operations, limits.text_bytes)

    def value(self, expr: Expr) -> Value:
        """The value of ``expr``, counted as one operation."""
        budget = self.budget
        budget.operations -= 1
        if budget.operations < 0:
            return self._out_of_operations(expr)
        return _HANDLERS[type(expr)](self, expr)

    def _out_of_operations(self, expr: Expr) -> Value:
        try:
            self.budget.spend(0)
        except Fault as fault:
            raise _placed(fault, expr) from None
        raise AssertionError("the budget was spent")

    def text(self, template: Template) -> Value:
        """The parts joined as text; null is a fault."""
        budget = self.budget
        marked = False
        pieces: list[str] = []
        for part in template.parts:
            if isinstance(part, str):
                piece = part
                budget.base = budget.produced
                budget.produce(piece)
            else:
                before = budget.produced
                value = self.value(part.expr)
                if isinstance(value, Marked):
                    marked = True
                    value = value.value
                budget.base = before
                try:
                    piece = to_text(value)
                    budget.produce(piece)
                except Fault as fault:
                    raise _placed(fault, part.expr, marked) from None
            pieces.append(piece)
        text = "".join(pieces)
        return Marked(text) if marked else text

    # -- roots, members, literals

    def literal(self, expr: Literal) -> Value:
        return expr.value

    def name(self, expr: Name) -> Value:
        try:
            return self.lookup(expr.name)
        except KeyError:
            raise Fault(MISSING_MEMBER, f"nothing is bound as `{expr.name}`", expr.start, expr.end) from None
        except Fault as fault:
            raise _placed(fault, expr) from None

    def list_literal(self, expr: ListLiteral) -> Value:
        return [self.value(item) for item in expr.items]

    def map_literal(self, expr: MapLiteral) -> Value:
        return {item.key: self.value(item.value) for item in expr.items}

    def chain(self, expr: Member | Index) -> Value:
        """``a.b?.c[d]``: null under ``?.`` ends the whole rest of the chain."""
        links: list[Member | Index] = [expr]
        base = expr.target
        while same_chain(base):
            assert isinstance(base, (Member, Index))
            links.append(base)
            base = base.target
        self.budget.operations -= len(links) - 1
        value = self.value(base)
        marked = False
        for link in reversed(links):
            if isinstance(value, Marked):
                marked = True
                value = value.value
            if value is None and isinstance(link, Member) and link.optional:
                break
            try:
                if isinstance(link, Member):
                    value = _member(value, link.name)
                else:
                    index = self.value(link.index)
                    if isinstance(index, Marked):
                        marked = True
                        index = index.value
                    value = self._item(value, index)
            except Fault as fault:
                raise _placed(fault, link, marked) from None
        return mark(value) if marked else value

    @staticmethod
    def _item(value: Any, index: Any) -> Value:
        if value is None:
            raise Fault(NULL_MEMBER, "something is read from null; test for null before, or use `?.` or `??`")
        if isinstance(value, list):
            if type(index) is not int:
                raise Fault(KIND, f"an index of a list is an integer, not {a_kind(index)}")
            if not 0 <= index < len(value):
                size = f"the list has {len(value)} element{'' if len(value) == 1 else 's'}"
                raise Fault(RANGE, f"{size}, and the index {_short(index)} is outside; the first index is 0")
            return value[index]  # type: ignore[no-any-return]
        if isinstance(value, dict):
            if not isinstance(index, str):
                raise Fault(KIND, f"the key of a map is a string, not {a_kind(index)}")
            return _member(value, index)
        raise Fault(KIND, f"only lists and maps have parts, not {a_kind(value)}")

    # -- operators

    def unary(self, expr: Unary) -> Value:
        value = self.value(expr.operand)
        marked = isinstance(value, Marked)
        bare = value.value if isinstance(value, Marked) else value
        try:
            result: Bare
            if expr.op == "-":
                result = negate(bare)
            elif isinstance(bare, bool):
                result = not bare
            else:
                raise Fault(KIND, f"`not` takes a boolean, not {a_kind(bare)}")
        except Fault as fault:
            raise _placed(fault, expr, marked) from None
        return Marked(result) if marked else result

    def binary(self, expr: Binary) -> Value:
        op = expr.op
        operation = OPERATIONS.get(op)
        if operation is None:
            return self._coalesce(expr.left, expr.right) if op == "??" else self._logic(expr)
        budget = self.budget
        before = budget.produced
        left = self.value(expr.left)
        right = self.value(expr.right)
        budget.base = before
        try:
            return operation(budget, left, right)
        except MarkSeen:
            return self._bare(expr, lambda a, b: operation(budget, a, b), left, right)
        except Fault as fault:
            raise _placed(fault, expr) from None

    def _bare(self, expr: Expr, operation: Callable[..., Value], *operands: Value) -> Value:
        """The operation again, without the marks that it met: its result is marked."""
        try:
            return mark(operation(*(strip_marks(operand) for operand in operands)))
        except Fault as fault:
            raise _placed(fault, expr, True) from None

    def _coalesce(self, left: Expr, right: Expr) -> Value:
        value = self.value(left)
        if value is None:
            return self.value(right)
        if isinstance(value, Marked) and value.value is None:
            # Which side counts depends on the placeholder, so the result does too.
            return mark(self.value(right))
        return value

    def _logic(self, expr: Binary) -> Value:
        """``and`` and ``or``: the right side is not evaluated when the left one decides."""
        left = self.value(expr.left)
        marked = isinstance(left, Marked)
        first = _boolean(left, expr.op, expr.left)
        if first is (expr.op == "or"):
            result = first
        else:
            right = self.value(expr.right)
            marked = marked or isinstance(right, Marked)
            result = _boolean(right, expr.op, expr.right)
        return Marked(result) if marked else result

    def filter(self, expr: Filter) -> Value:
        entry = FILTERS.get(expr.name)
        if entry is None:
            message = f"there is no filter `{expr.name}`; see the list of filters"
            raise Fault(KIND, message, expr.name_start, expr.name_end)
        if entry.lazy and len(expr.args) == 1:
            return self._coalesce(expr.target, expr.args[0])
        budget = self.budget
        before = budget.produced
        target = self.value(expr.target)
        args = [self.value(arg) for arg in expr.args]
        budget.base = before
        try:
            return apply_filter(entry, budget, target, args)
        except MarkSeen:
            return self._bare(expr, lambda *bare: apply_filter(entry, budget, bare[0], list(bare[1:])), target, *args)
        except Fault as fault:
            raise _placed(fault, expr) from None

    def bad(self, expr: Bad) -> Value:
        if isinstance(expr, Overflow):
            raise Fault(LIMIT, "the expression is nested too deeply; split it with `wf.let`", expr.start, expr.end)
        raise Fault(KIND, "the expression does not parse; repair it first", expr.start, expr.end)


def _placed(fault: Fault, expr: Expr, marked: bool = False) -> Fault:
    """``fault`` with the place of ``expr``, unless it has one already."""
    if fault.start < 0:
        fault.start, fault.end = expr.start, expr.end
    fault.marked = fault.marked or marked
    return fault


def _member(value: Value, name: str) -> Value:
    if isinstance(value, dict):
        try:
            return value[name]  # type: ignore[no-any-return]
        except KeyError:
            raise Fault(MISSING_MEMBER, f"there is no member `{_short(name)}` here") from None
    if value is None:
        message = f"`{_short(name)}` is read from null; test for null before, or use `?.` or `??`"
        raise Fault(NULL_MEMBER, message)
    raise Fault(KIND, f"`{_short(name)}` is read of {a_kind(value)}, which has no members")


def _boolean(value: Value, op: str, expr: Expr) -> bool:
    bare = value.value if isinstance(value, Marked) else value
    if isinstance(bare, bool):
        return bare
    raise _placed(Fault(KIND, f"`{op}` takes booleans, not {a_kind(bare)}"), expr, isinstance(value, Marked))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "…"


_HANDLERS: Final[dict[type, Callable[[_Evaluation, Any], Value]]] = {
    Literal: _Evaluation.literal,
    ListLiteral: _Evaluation.list_literal,
    MapLiteral: _Evaluation.map_literal,
    Name: _Evaluation.name,
    Member: _Evaluation.chain,
    Index: _Evaluation.chain,
    Unary: _Evaluation.unary,
    Binary: _Evaluation.binary,
    Filter: _Evaluation.filter,
    Bad: _Evaluation.bad,
    Overflow: _Evaluation.bad,
}
