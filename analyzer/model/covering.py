"""Whether the conditions of a state's routes leave no case out (language page, section 6)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from analyzer.expressions.ast import Binary, Expr, Filter, Literal, MapLiteral, Member, Name, Unary
from analyzer.expressions.narrowing import Narrowing
from analyzer.expressions.scope import Env
from analyzer.expressions.walk import children

Shape: TypeAlias = tuple[Any, ...]

#: Conditions made of more tests than this are not tried in every way.
MAX_TESTS: Final = 8
_ORDER: Final = ("<", "<=", ">", ">=")


def leave_nothing(conditions: list[Expr], env: Env, narrowing: Narrowing) -> bool:
    """Whether one of the conditions always holds, as long as none faults. Of what is not seen nothing is said."""
    alone = {_test(each) for each in conditions if not _is_joined(each)}
    if any((shape, not truth) in alone for shape, truth in alone):
        return True
    tests: set[Shape] = set()
    pending = [*conditions]
    while pending and len(tests) <= MAX_TESTS:
        current = pending.pop()
        if _is_joined(current):
            pending += children(current)
        else:
            tests.add(_test(current)[0])
    return 0 < len(tests) <= MAX_TESTS and not _may_all_fail(conditions, {}, env, narrowing)


def _may_all_fail(conditions: list[Expr], given: dict[Shape, bool], env: Env, narrowing: Narrowing) -> bool:
    """Whether all can be false, the tests that were made having come out as ``given``; tries the next in both ways."""
    for condition in conditions:
        held = _value(condition, given)
        if held is True:
            return False
        if held is not False:
            shape, same_way = _test(held)
            for truth in (True, False):
                facts = narrowing.assume(held, truth == same_way, env)
                if facts is not None and _may_all_fail(
                    conditions, {**given, shape: truth}, env.with_facts(facts), narrowing
                ):
                    return True
            return False
    return True


def _value(expr: Expr, given: dict[Shape, bool]) -> bool | Expr:
    """What a condition comes to, or the first test that has to be made to tell."""
    if isinstance(expr, Unary) and expr.op == "not":
        inner = _value(expr.operand, given)
        return not inner if isinstance(inner, bool) else inner
    if isinstance(expr, Binary) and expr.op in ("and", "or"):
        left = _value(expr.left, given)
        if not isinstance(left, bool) or left == (expr.op == "or"):
            return left
        return _value(expr.right, given)
    shape, same_way = _test(expr)
    return expr if shape not in given else given[shape] == same_way


def _is_joined(expr: Expr) -> bool:
    """Whether a condition is made of others."""
    return (isinstance(expr, Unary) and expr.op == "not" and _is_joined(expr.operand)) or (
        isinstance(expr, Binary) and expr.op in ("and", "or")
    )


def _test(expr: Expr) -> tuple[Shape, bool]:
    """A single test without its ``not``, and whether it has to come out true: ``a != b`` is ``a == b`` that is not."""
    truth = True
    while isinstance(expr, Unary) and expr.op == "not":
        expr, truth = expr.operand, not truth
    if isinstance(expr, Binary) and expr.op in ("==", "!="):
        sides = sorted((_shape(expr.left), _shape(expr.right)), key=repr)
        return ("==", *sides), truth == (expr.op == "==")
    if isinstance(expr, Binary) and expr.op in _ORDER:
        left, right = _shape(expr.left), _shape(expr.right)
        if expr.op in ("<", ">="):
            return ("<", left, right), truth == (expr.op == "<")
        return ("<", right, left), truth == (expr.op == ">")
    return _shape(expr), truth


def _shape(expr: Expr) -> Shape:
    """An expression without its places: equal ones always come to the same value."""
    below = tuple(_shape(each) for each in children(expr))
    own: Any = None
    if isinstance(expr, Literal):
        own = (type(expr.value).__name__, expr.value)
    elif isinstance(expr, Name | Member | Filter):
        own = expr.name
    elif isinstance(expr, Unary | Binary):
        own = expr.op
    elif isinstance(expr, MapLiteral):
        own = tuple(item.key for item in expr.items)
    return (type(expr).__name__, own, *below)
