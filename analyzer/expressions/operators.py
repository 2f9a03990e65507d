"""The types of operators: which kinds they take and give (language page, section 4, *Operators*)."""

from __future__ import annotations

from typing import Final, NamedTuple

from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    STRING,
    TIMESTAMP,
    Type,
    describe,
    join,
    list_of,
)

NUMERIC: Final = frozenset({"integer", "number"})


class Outcome(NamedTuple):
    """The type of an operation, and what is wrong with it; ``left`` tells which operand the message is about."""

    type: Type
    message: str | None = None
    left: bool = False
    may_fault: bool = False


#: (operator, left kind, right kind) -> result, numbers as ``number``.
_TABLE: Final[dict[tuple[str, str, str], Type]] = {
    ("+", "string", "string"): STRING,
    ("+", "timestamp", "duration"): TIMESTAMP,
    ("+", "duration", "duration"): DURATION,
    ("-", "timestamp", "timestamp"): DURATION,
    ("-", "timestamp", "duration"): TIMESTAMP,
    ("-", "duration", "duration"): DURATION,
    ("+", "duration", "timestamp"): TIMESTAMP,
    ("*", "duration", "number"): DURATION,
    ("*", "number", "duration"): DURATION,
    ("/", "duration", "number"): DURATION,
}

_TAKES: Final = {
    "+": "two numbers, two strings, two lists, or a timestamp or duration and a duration",
    "-": "two numbers, two timestamps, or a timestamp or duration and a duration",
    "*": "two numbers, or a duration and a number",
    "/": "two numbers, or a duration and a number",
    "%": "two integers",
    "<": "two numbers, two strings, two timestamps or two durations",
    "in": "a list, a map or a string on its right",
}

_COMPARISONS: Final = frozenset({"<", "<=", ">", ">="})


def operator_type(op: str, left: Type, right: Type) -> Outcome:
    """The outcome of ``left op right`` for operands that are not null."""
    if left.kind == "never" or right.kind == "never":
        return Outcome(BOOLEAN if op in _COMPARISONS or op == "in" else left)
    result: Outcome | None = None
    for a in left.options or (left,):
        for b in right.options or (right,):
            outcome = _plain(op, a, b)
            if outcome.message is not None:
                return outcome
            result = outcome if result is None else _both(result, outcome)
    assert result is not None
    return result


def _both(a: Outcome, b: Outcome) -> Outcome:
    return Outcome(join(a.type, b.type), may_fault=a.may_fault or b.may_fault)


def _plain(op: str, left: Type, right: Type) -> Outcome:
    if op == "in":
        return _in(left, right)
    if left.kind == "any" or right.kind == "any":
        return _with_any(op, left, right)
    if op in _COMPARISONS:
        return _comparison(op, left, right)
    if left.kind in NUMERIC and right.kind in NUMERIC:
        return _numbers(op, left, right)
    if op == "+" and left.kind == right.kind == "list":
        return Outcome(join(left, right))
    a = "number" if left.kind in NUMERIC else left.kind
    b = "number" if right.kind in NUMERIC else right.kind
    found = _TABLE.get((op, a, b))
    if found is not None:
        # Past the end of the calendar, or of what a duration can be, is a fault.
        return Outcome(found, may_fault="timestamp" in (a, b) or "duration" in (a, b))
    left_is_fine = any((op, a, other) in _TABLE for other in _KINDS) or a == "number" or (op == "+" and a == "list")
    return _refused(op, left, right, left_is_fine)


_KINDS: Final = ("string", "number", "timestamp", "duration")
#: One type of each kind that an operator takes.
_SAMPLES: Final = (STRING, INTEGER, NUMBER, TIMESTAMP, DURATION, list_of(ANY))


def _with_any(op: str, left: Type, right: Type) -> Outcome:
    """One operand is not known: refuse only what cannot be right whatever it is."""
    result = BOOLEAN if op in _COMPARISONS else ANY
    for known, other, is_left in ((left, right, True), (right, left, False)):
        if known.kind == "any" or other.kind != "any":
            continue
        pairs = ((known, each) if is_left else (each, known) for each in _SAMPLES)
        if all(_plain(op, *pair).message is not None for pair in pairs):
            takes = _TAKES["<" if op in _COMPARISONS else op]
            return Outcome(result, f"`{op}` takes {takes}, and this is `{describe(known)}`.", is_left)
    return Outcome(result, may_fault=True)


def _numbers(op: str, left: Type, right: Type) -> Outcome:
    integers = left.kind == right.kind == "integer"
    if op == "%":
        if not integers:
            wrong = left if left.kind != "integer" else right
            return Outcome(INTEGER, f"`%` takes two integers, and this is `{describe(wrong)}`.", wrong is left)
        return Outcome(INTEGER, may_fault=True)
    if op == "/":
        return Outcome(NUMBER, may_fault=True)
    return Outcome(INTEGER if integers else NUMBER)


def _comparison(op: str, left: Type, right: Type) -> Outcome:
    ordered = ("string", "timestamp", "duration")
    if (left.kind in NUMERIC and right.kind in NUMERIC) or (left.kind == right.kind and left.kind in ordered):
        return Outcome(BOOLEAN)
    return _refused(op, left, right, left.kind in ordered or left.kind in NUMERIC)


def _in(left: Type, right: Type) -> Outcome:
    if right.kind == "any":
        return Outcome(BOOLEAN, may_fault=True)
    if right.kind == "list":
        return Outcome(BOOLEAN)
    if right.kind in ("object", "string"):
        what = "a map's keys are strings" if right.kind == "object" else "only a string is part of a string"
        if left.kind == "any":
            return Outcome(BOOLEAN, may_fault=True)
        if left.kind != "string":
            return Outcome(BOOLEAN, f"`{describe(left)}` cannot be in `{describe(right)}`: {what}.", True)
        return Outcome(BOOLEAN)
    return Outcome(BOOLEAN, f"`in` takes {_TAKES['in']}, and this is `{describe(right)}`.")


def _refused(op: str, left: Type, right: Type, left_is_fine: bool) -> Outcome:
    takes = _TAKES["<" if op in _COMPARISONS else op]
    message = f"`{op}` takes {takes}, not `{describe(left)}` and `{describe(right)}`."
    return Outcome(BOOLEAN if op in _COMPARISONS else ANY, message, not left_is_fine)
