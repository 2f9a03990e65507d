"""The operators on bare values (language page, section 4).

Each takes the budget and bare operands and raises ``Fault`` without a place, or ``MarkSeen`` for a marked operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from analyzer.expressions.faults import DIVISION, KIND, RANGE, Fault
from analyzer.expressions.filters import contains
from analyzer.expressions.times import Duration, Timestamp, moved
from analyzer.expressions.values import (
    NUMBERS,
    Budget,
    Value,
    a_kind,
    bounded,
    byte_length,
    compare,
    equal,
    finish,
    kind_of,
)
from analyzer.language.durations import MAX_DURATION_US

Operation = Callable[[Budget, Any, Any], Value]


def add(budget: Budget, left: Any, right: Any) -> Any:
    """Numbers added, strings and lists joined, a timestamp or duration moved by a duration (either way round)."""
    kind, other = type(left), type(right)
    if kind in NUMBERS and other in NUMBERS:
        return _number(left, right, "+")
    if kind is str and other is str:
        budget.reserve(byte_length(left) + byte_length(right))
        return left + right
    if kind is list and other is list:
        budget.spend(len(left) + len(right))
        return left + right
    if other is Duration:
        if kind is Duration:
            return _duration(left.us + right.us)
        if kind is Timestamp:
            return moved(left, right.us)
    if kind is Duration and other is Timestamp:
        return moved(right, left.us)
    raise _wrong_kinds("+", left, right, _ADD_HINTS)


def subtract(_budget: Budget, left: Any, right: Any) -> Value:
    """Numbers; timestamp - timestamp (a duration); timestamp or duration - duration."""
    kind, other = type(left), type(right)
    if kind in NUMBERS and other in NUMBERS:
        return _number(left, right, "-")
    if other is Duration:
        if kind is Duration:
            return _duration(left.us - right.us)
        if kind is Timestamp:
            return moved(left, -right.us)
    if kind is Timestamp and other is Timestamp:
        return _duration(left.us - right.us)
    raise _wrong_kinds("-", left, right)


def multiply(_budget: Budget, left: Any, right: Any) -> Value:
    """Numbers; a duration by a number (either way round), to the nearest microsecond."""
    kind, other = type(left), type(right)
    if kind in NUMBERS and other in NUMBERS:
        return _number(left, right, "*")
    if kind is Duration and other in NUMBERS:
        return _scaled(left, *right.as_integer_ratio())
    if kind in NUMBERS and other is Duration:
        return _scaled(right, *left.as_integer_ratio())
    raise _wrong_kinds("*", left, right)


def divide(_budget: Budget, left: Any, right: Any) -> Value:
    """Numbers, exactly: an integer result stays one. A duration by a number, to the nearest microsecond."""
    kind, other = type(left), type(right)
    if other in NUMBERS and (kind in NUMBERS or kind is Duration):
        if right == 0:
            raise Fault(DIVISION, "division by zero; test for 0 before")
        if kind is Duration:
            numerator, denominator = right.as_integer_ratio()
            return _scaled(left, denominator, numerator)
        return _number(left, right, "/")
    raise _wrong_kinds("/", left, right)


def modulo(_budget: Budget, left: Any, right: Any) -> Value:
    """Integers; the result has the sign of the divisor (``-7 % 3`` is 2), so that it stays in ``0 … n-1``."""
    if type(left) is int and type(right) is int:
        if right == 0:
            raise Fault(DIVISION, "division by zero; test for 0 before")
        return left % right
    raise _wrong_kinds("%", left, right)


def negate(value: Any) -> int | float:
    """Unary ``-`` of a number."""
    if type(value) in NUMBERS:
        return -value  # type: ignore[no-any-return]
    raise Fault(KIND, f"`-` takes a number, not {a_kind(value)}")


def is_in(budget: Budget, left: Any, right: Any) -> Value:
    """An element of a list, a key of a map, a part of a string."""
    return contains(budget, right, left)


def _number(left: Any, right: Any, op: str) -> int | float:
    result: int | float
    try:
        if op == "+":
            result = left + right
        elif op == "-":
            result = left - right
        elif op == "*":
            result = left * right
        elif type(left) is int and type(right) is int and left % right == 0:
            result = left // right
        else:
            result = left / right
    except OverflowError:
        raise Fault(RANGE, "the result is too large for a number") from None
    return bounded(result) if isinstance(result, int) else finish(result)


def _scaled(value: Duration, numerator: int, denominator: int) -> Duration:
    """``value`` times a fraction, to the nearest microsecond, halves to the even one."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    us, rest = divmod(value.us * numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and us % 2):
        us += 1
    return _duration(us)


def _duration(us: int) -> Duration:
    if abs(us) > MAX_DURATION_US:
        raise Fault(RANGE, "the result is longer than 10,000 years, the longest duration there is")
    return Duration(us)


_ADD_HINTS: Final[dict[str, str]] = {
    "string": "; turn the other one into text with `| string`",
    "null": "; put a value in the place of null with `??`",
}


def _wrong_kinds(op: str, left: Value, right: Value, hints: dict[str, str] | None = None) -> Fault:
    kinds = (kind_of(left), kind_of(right))
    hint = ""
    if hints is not None:
        hint = hints["null"] if "null" in kinds else hints["string"] if "string" in kinds else ""
    return Fault(KIND, f"`{op}` cannot take {a_kind(left)} and {a_kind(right)}{hint}")


OPERATIONS: Final[dict[str, Operation]] = {
    "==": lambda budget, left, right: equal(left, right, budget),
    "!=": lambda budget, left, right: not equal(left, right, budget),
    "<": lambda _, left, right: compare(left, right) < 0,
    "<=": lambda _, left, right: compare(left, right) <= 0,
    ">": lambda _, left, right: compare(left, right) > 0,
    ">=": lambda _, left, right: compare(left, right) >= 0,
    "in": is_in,
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
}
