"""The static tables of operators and filters accept exactly what can succeed at run time, and give its type."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import KIND, Fault
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.parser import parse_expression
from analyzer.expressions.times import to_duration, to_timestamp
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    TIMESTAMP,
    Field,
    Type,
    join,
    list_of,
    map_of,
    record,
)
from tests.typing.typed import Typed, typed

_TIME = to_timestamp("2026-01-31T09:30:00Z")
_LATER = to_timestamp("2026-02-01T09:30:00Z")
_HOUR = to_duration("1h")

#: Kind -> its static type, and values of it: for every operation that takes the kind, one that it does not fault on.
SCALARS: dict[str, tuple[Type, list[Any]]] = {
    "string": (STRING, ["12", "1h", "2026-01-31T09:30:00Z", "%Y", "UTC"]),
    "integer": (INTEGER, [3, 1]),
    "number": (NUMBER, [2.5, 0.5]),
    "boolean": (BOOLEAN, [True, False]),
    "timestamp": (TIMESTAMP, [_TIME, _LATER]),
    "duration": (DURATION, [_HOUR]),
    "null": (NULL, [None]),
}
KINDS: dict[str, tuple[Type, list[Any]]] = {
    **SCALARS,
    "list": (list_of(INTEGER), [[3, 1]]),
    "map": (map_of(INTEGER), [{"12": 1}]),
    "record": (record({"a": Field(STRING), "b": Field(INTEGER)}), [{"a": "x", "b": 1}]),
}
TARGETS: dict[str, tuple[Type, list[Any]]] = {
    **KINDS,
    **{f"list of {kind}": (list_of(type_), [[*values]]) for kind, (type_, values) in SCALARS.items()},
    "list of lists": (list_of(list_of(INTEGER)), [[[1]]]),
    "list of maps": (list_of(map_of(INTEGER)), [[{"a": 1}]]),
    "list of strings and integers": (list_of(join(STRING, INTEGER)), [["a", 1]]),
    "list of nullable strings": (list_of(STRING.with_null()), [["a", None]]),
    "list of nullable integers": (list_of(INTEGER.with_null()), [[1, None]]),
    "map of nullable strings": (map_of(STRING.with_null()), [{"a": None}]),
}
OPERATORS = ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "and", "or")
ERRORS = {"type-mismatch", "nullable-value"}


def outcomes(text: str, **values: list[Any]) -> tuple[list[Any], bool]:
    """The values that ``text`` has for some of the values, and whether one gives a fault that is not about kinds."""
    expr, problems = parse_expression(text)
    assert not problems
    found, faults = [], False
    for each in itertools.product(*values.values()):
        try:
            found.append(evaluate(expr, dict(zip(values, each, strict=True))))
        except Fault as fault:
            faults = faults or fault.code != KIND
    return found, faults


def fits(type_: Type, value: Any) -> bool:
    """Whether a value at run time is of a static type."""
    if value is None:
        return type_.may_be_null or type_.kind == "any"
    if type_.kind == "any":
        return True
    if type_.kind == "union":
        return any(fits(option, value) for option in type_.options)
    if type_.values is not None and value not in type_.values:
        return False
    if isinstance(value, list):
        return type_.kind == "list" and all(fits(type_.item or ANY, each) for each in value)
    if isinstance(value, dict):
        return type_.kind == "object"
    kinds = [kind for kind, (_, values) in SCALARS.items() if any(type(value) is type(each) for each in values)]
    return type_.kind in kinds or (type_.kind == "number" and kinds == ["integer"])


def check(static: Typed, text: str, **values: list[Any]) -> None:
    """Accepted exactly when some values succeed; then the type is right, and a fault was foreseen."""
    found, faults = outcomes(text, **values)
    accepted = not ERRORS & {*static.rules}
    assert accepted == bool(found), f"{text}: {static.rules} {[each.message for each in static.problems]}, but {found}"
    if accepted:
        assert all(fits(static.type, value) for value in found), f"{text}: {static.type}, but {found}"
        assert static.may_fault or not faults, f"{text} may fault"
    else:
        assert static.may_fault


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("left", KINDS)
def test_an_operator_accepts_exactly_the_kinds_that_it_works_on(op: str, left: str) -> None:
    for right, (right_type, right_values) in KINDS.items():
        left_type, left_values = KINDS[left]
        # `and` and `or` may decide without a look at the right side: only what they always look at is compared.
        values = [op == "and"] if op in ("and", "or") and left == "boolean" else left_values
        text = f"a {op} b"
        if right != "null" or op not in ("and", "or"):
            check(typed(text, a=left_type, b=right_type), text, a=values, b=right_values)


@pytest.mark.parametrize("op", ["-", "not "])
@pytest.mark.parametrize("kind", KINDS)
def test_a_unary_operator_accepts_exactly_the_kinds_that_it_works_on(op: str, kind: str) -> None:
    type_, values = KINDS[kind]
    check(typed(f"{op}a", a=type_), f"{op}a", a=values)


@pytest.mark.parametrize("kind", KINDS)
def test_an_operand_that_is_not_known_is_refused_only_where_nothing_can_be_right(kind: str) -> None:
    type_, values = KINDS[kind]
    every = [value for _, some in KINDS.values() for value in some]
    for op in OPERATORS[:-2]:
        found, _ = outcomes(f"a {op} b", a=values, b=every)
        assert (not ERRORS & {*typed(f"a {op} b", a=type_, b=ANY).rules}) == bool(found), f"{kind} {op} any"
        found, _ = outcomes(f"b {op} a", a=values, b=every)
        assert (not ERRORS & {*typed(f"b {op} a", a=type_, b=ANY).rules}) == bool(found), f"any {op} {kind}"


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "default"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_filter_accepts_exactly_the_kinds_that_it_works_on(name: str, target: str) -> None:
    known = FILTERS[name]
    target_type, target_values = TARGETS[target]
    for count in range(known.required, len(known.params) + 1):
        arguments = "abc"[:count]
        text = f"x | {name}" + (f"({', '.join(arguments)})" if count else "")
        for kinds in itertools.product(KINDS, repeat=count):
            types = {letter: KINDS[kind][0] for letter, kind in zip(arguments, kinds, strict=True)}
            values = {letter: KINDS[kind][1] for letter, kind in zip(arguments, kinds, strict=True)}
            if name == "format_time" and kinds[0] == "string":
                values["a"] = ["%Y"]
            check(typed(text, x=target_type, **types), text, x=target_values, **values)


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_takes_no_other_number_of_arguments(name: str) -> None:
    known = FILTERS[name]
    too_many = ", ".join(["1"] * (len(known.params) + 1))
    assert typed(f"x | {name}({too_many})", x=STRING).rules == ["type-mismatch"]
    if known.required:
        assert typed(f"x | {name}", x=STRING).rules == ["type-mismatch"]


@pytest.mark.parametrize(
    "text",
    [
        '"1h30m" | duration',
        '"PT24H" | duration',
        '"2026-01-31T09:30:00+01:00" | timestamp',
        '"12" | number',
        "a | number",
        'run | format_time("%Y-%m-%d")',
        'run | format_time("%H:%M", "Europe/Berlin")',
        's | split(",")',
        's | replace("a", "b")',
        "a / 2",
        "a % 3",
    ],
)
def test_a_constant_that_is_right_cannot_fault(text: str) -> None:
    found = typed(text, a=INTEGER, s=STRING, run=TIMESTAMP)
    assert (found.rules, found.may_fault) == ([], False)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"soon" | duration', '"soon"'),
        ('"2026-01-31" | timestamp', '"2026-01-31"'),
        ('"twelve" | number', '"twelve"'),
        ('run | format_time("%Q")', '"%Q"'),
        ('run | format_time("%Y", "Europe/Berlim")', '"Europe/Berlim"'),
        ('s | split("")', '""'),
        ('s | replace("", "b")', '""'),
        ('"abc" | contains(5)', "5"),
    ],
)
def test_a_constant_that_is_wrong_is_reported_where_it_stands(text: str, place: str) -> None:
    found = typed(text, s=STRING, run=TIMESTAMP)
    assert found.rules == ["type-mismatch"]
    problem = found.problems[0]
    assert ("{{ " + text + " }}")[problem.start : problem.end] == place
    assert problem.message[0].isupper() or problem.message[0] == "`"
    assert problem.message[-1] in ".?"


@pytest.mark.parametrize(
    "text", ["s | duration", "s | timestamp", "s | number", "run | format_time(s)", "s | split(s)"]
)
def test_what_is_no_constant_may_fault(text: str) -> None:
    found = typed(text, s=STRING, run=TIMESTAMP)
    assert (found.rules, found.may_fault) == ([], True)


def test_constants_that_are_right_and_wrong_may_fault_without_an_error() -> None:
    found = typed("e | duration", e=Type("string", values=("1h", "soon")))
    assert (found.rules, found.may_fault) == ([], True)


def test_the_number_of_a_constant_is_that_constant() -> None:
    assert typed('"12" | number').type.values == (12,)
