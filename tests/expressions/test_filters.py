"""The filter table (language page, section 4)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import CONVERSION, KIND, LIMIT, MISSING_MEMBER, RANGE, Fault
from analyzer.expressions.filters import FILTERS, REQUIRED, apply_filter, fits, in_words
from analyzer.expressions.parser import parse_expression
from analyzer.expressions.times import Duration, Timestamp
from analyzer.expressions.values import Budget, Value, equal, to_json

SCOPE: dict[str, Value] = {
    "run": {"started_at": Timestamp(1_767_225_600_000_000)},
    "t": Timestamp(0),
    "u": Timestamp(1_000_000),
    "d": Duration(60_000_000),
    "n": None,
}


def result(text: str, **scope: Value) -> Value:
    expr, problems = parse_expression(text)
    assert not problems
    return evaluate(expr, {**SCOPE, **scope})


def fault(text: str, **scope: Value) -> Fault:
    with pytest.raises(Fault) as caught:
        result(text, **scope)
    assert text[caught.value.start : caught.value.end]
    return caught.value


def test_the_table_is_that_of_the_language_page() -> None:
    signatures = {entry.signature: (" or ".join(entry.takes), entry.returns) for entry in FILTERS.values()}
    assert signatures == {
        "default(x)": ("T?", "T?"),
        "upper": ("string", "string"),
        "lower": ("string", "string"),
        "trim": ("string", "string"),
        "replace(a, b)": ("string", "string"),
        "split(sep)": ("string", "list[string]"),
        'join(sep = "")': ("list[string]", "string"),
        "length": ("string or list or map", "integer"),
        "contains(x)": ("list or string or map", "boolean"),
        "first": ("list[T]", "T?"),
        "last": ("list[T]", "T?"),
        "min": ("list[T]", "T?"),
        "max": ("list[T]", "T?"),
        "sort": ("list[T]", "list[T]"),
        "unique": ("list[T]", "list[T]"),
        "sum": ("list[number]", "number"),
        "keys": ("map", "list[string]"),
        "values": ("map[T]", "list[T]"),
        "round(n = 0)": ("number", "number"),
        "json": ("any", "string"),
        "string": ("string or number or boolean or timestamp or duration", "string"),
        "number": ("string or number", "number"),
        "duration": ("string", "duration"),
        "timestamp": ("string", "timestamp"),
        'format_time(pattern, zone = "UTC")': ("timestamp", "string"),
    }
    for name, entry in FILTERS.items():
        assert entry.name == name
        assert entry.doc.endswith(".")
        assert f"| {name}" in entry.example
    assert repr(REQUIRED) == "REQUIRED"


@pytest.mark.parametrize("name", FILTERS)
def test_every_example_works_and_gives_what_the_table_says(name: str) -> None:
    entry = FILTERS[name]
    value = result(entry.example)
    assert fits(value, (entry.returns,)) or entry.returns == "T?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n | default(1)", 1),
        ("0 | default(1)", 0),
        ("'' | default('x')", ""),
        ("false | default(true)", False),
        ("n | default(n)", None),
        ("1 | default(nothing.at.all)", 1),
        ("'straße' | upper", "STRASSE"),
        ("'ÉA' | lower", "éa"),
        ("' \t\na b\\n' | trim", "a b"),
        ("'aaa' | replace('a', 'bb')", "bbbbbb"),
        ("'abc' | replace('x', 'y')", "abc"),
        ("'a,,b' | split(',')", ["a", "", "b"]),
        ("'' | split(',')", [""]),
        ("'a--b' | split('--')", ["a", "b"]),
        ("[] | join", ""),
        ("['a', 'b'] | join", "ab"),
        ("['a', 'b'] | join('-')", "a-b"),
        ("'a😀é' | length", 3),
        ("[] | length", 0),
        ("{a: 1} | length", 1),
        ("[1, 2] | contains(1.0)", True),
        ("[1, 2] | contains('1')", False),
        ("[n] | contains(null)", True),
        ("[[1]] | contains([1])", True),
        ("'abc' | contains('bc')", True),
        ("'abc' | contains('')", True),
        ("{a: null} | contains('a')", True),
        ("{a: 1} | contains('b')", False),
        ("[] | first", None),
        ("[] | last", None),
        ("[null, 1] | first", None),
        ("[1, 2] | last", 2),
        ("[] | min", None),
        ("[] | max", None),
        ("[2, 1.5] | min", 1.5),
        ("['a', 'b'] | max", "b"),
        ("[u, t] | min", Timestamp(0)),
        ("[d, d * 2] | max", Duration(120_000_000)),
        ("[3, 1, 2.5] | sort", [1, 2.5, 3]),
        ("['b', 'A', 'a'] | sort", ["A", "a", "b"]),
        ("[u, t] | sort", [Timestamp(0), Timestamp(1_000_000)]),
        ("[] | sort", []),
        ("[1, 1.0, '1', true, 1] | unique", [1, "1", True]),
        ("[{a: 1}, {a: 1}, [1], [1]] | unique", [{"a": 1}, [1]]),
        ("[n, n] | unique", [None]),
        ("[] | sum", 0),
        ("[1, 2.5, -3] | sum", 0.5),
        ("[0.5, 0.5] | sum", 1),
        ("{b: 1, a: 2} | keys", ["a", "b"]),
        ("{b: 1, a: 2} | values", [2, 1]),
        ("{} | values", []),
        ("2.5 | round", 3),
        ("-2.5 | round", -3),
        ("1.005 | round(2)", 1.01),
        ("2.675 | round(2)", 2.68),
        ("1.4 | round(0)", 1),
        ("0.4 | round", 0),
        ("1250 | round(-2)", 1300),
        ("1249.9 | round(-2)", 1200),
        ("0.9 | round(-1)", 0),
        ("7 | round(5)", 7),
        ("7 | round(-5000)", 0),
        ("1.5 | round(500)", 1.5),
        ("0.1 | round(17)", 0.1),
        ("1e300 | round(2)", 1e300),
        ("'a' | json", '"a"'),
        ("n | json", "null"),
        ("[t, d, 1.50] | json", '["1970-01-01T00:00:00Z","1m",1.5]'),
        ("1.50 | string", "1.5"),
        ("true | string", "true"),
        ("t | string", "1970-01-01T00:00:00Z"),
        ("d | string", "1m"),
        ("'x' | string", "x"),
        ("'-12' | number", -12),
        ("'-0' | number", 0),
        ("'1.0' | number", 1),
        ("'1e3' | number", 1000),
        ("'12345678901234567890' | number", 12345678901234567890),
        ("1.5 | number", 1.5),
        ("'90m' | duration", Duration(5_400_000_000)),
        ("'1970-01-01T01:00:00+01:00' | timestamp", Timestamp(0)),
        ("t | format_time('%H')", "00"),
        ("t | format_time('%H', 'Asia/Tokyo')", "09"),
    ],
)
def test_results(text: str, expected: Any) -> None:
    value = result(text)
    assert equal(value, expected)
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("n | upper", KIND),
        ("1 | upper", KIND),
        ("[1] | join", KIND),
        ("['a', null] | join", KIND),
        ("['a'] | join(1)", KIND),
        ("'a' | join", KIND),
        ("'a' | replace('', 'b')", RANGE),
        ("'a' | split('')", RANGE),
        ("1 | length", KIND),
        ("n | length", KIND),
        ("1 | contains(1)", KIND),
        ("'a' | contains(1)", KIND),
        ("{a: 1} | contains(1)", KIND),
        ("'abc' | first", KIND),
        ("n | first", KIND),
        ("[1, 'a'] | sort", KIND),
        ("[1, null] | min", KIND),
        ("[true] | max", KIND),
        ("[[1]] | sort", KIND),
        ("[t, d] | sort", KIND),
        ("['1'] | sum", KIND),
        ("[d] | sum", KIND),
        ("[1e308, 1e308] | sum", RANGE),
        ("[] | keys", KIND),
        ("'1' | round", KIND),
        ("1 | round(0.5)", KIND),
        ("1 | round('1')", KIND),
        ("n | string", KIND),
        ("[] | string", KIND),
        ("{} | string", KIND),
        ("true | number", KIND),
        ("'' | number", CONVERSION),
        ("' 1' | number", CONVERSION),
        ("'01' | number", CONVERSION),
        ("'+1' | number", CONVERSION),
        ("'1.' | number", CONVERSION),
        ("'.5' | number", CONVERSION),
        ("'NaN' | number", CONVERSION),
        ("'١' | number", CONVERSION),
        ("'1e999' | number", RANGE),
        ("'1 h' | duration", CONVERSION),
        ("d | duration", KIND),
        ("'2026-01-01' | timestamp", CONVERSION),
        ("t | timestamp", KIND),
        ("t | format_time('%Q')", CONVERSION),
        ("t | format_time('%Y', 'Mars')", CONVERSION),
        ("'x' | format_time('%Y')", KIND),
        ("1 | nothing", KIND),
        ("1 | upper(1)", KIND),
        ("'a' | replace('a')", KIND),
        ("n | default", KIND),
        ("n | default(1, 2)", KIND),
        ("n | default(run.nothing)", MISSING_MEMBER),
    ],
)
def test_faults(text: str, code: str) -> None:
    assert fault(text).code == code


def test_messages_name_what_is_taken_and_what_was_found() -> None:
    assert fault("[1, 'a'] | join").message == (
        "`join` takes a list of strings, not a list with a string and an integer in it"
    )
    assert fault("'a' | replace('a')").message == "`replace` takes 2 arguments, not 1; write `replace(a, b)`"
    assert fault("t | format_time").message.startswith("`format_time` takes 1 to 2 arguments, not 0")
    assert fault("1 | length").message == "`length` takes a string, a list or a map, not an integer"
    assert "`n` of `round` is an integer" in fault("1 | round('x')").message
    assert in_words(("any",)) == "any value"


@pytest.mark.parametrize(
    "text",
    [
        "big | unique",
        "big | sort",
        "big | min",
        "big | sum",
        "big | contains(-1)",
        "-1 in big",
        "big == (big + [1])",
        "big + big",
        "big | json",
        "wide | keys",
        "wide | values",
        "long | split('a')",
    ],
)
def test_work_on_long_data_is_bounded(text: str) -> None:
    big: list[Value] = list(range(100_001))
    wide: dict[str, Value] = dict.fromkeys(map(str, big))
    assert fault(text, big=big, wide=wide, long="a" * 100_001).code == LIMIT


@pytest.mark.parametrize(
    "text", ["long | replace('a', 'bbb')", "parts | join('xx')", "long | upper", "[long] | json", "long + long"]
)
def test_produced_text_is_bounded_before_it_is_made(text: str) -> None:
    parts: list[Value] = ["a" * 1_000] * 1_500
    assert fault(text, long="a" * 1_048_570 + "é" * 4, parts=parts).code == LIMIT


def test_a_number_of_text_has_a_bound() -> None:
    assert fault("x | number", x="9" * 4_001).code == LIMIT
    assert fault("x | round(-4000)", x=10**4_000 - 1).code == LIMIT
    assert result("x | number", x="9" * 4_000) == 10**4_000 - 1


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("ab", max_size=2)
some_values = st.recursive(
    scalars | st.builds(Timestamp, st.integers(0, 9)) | st.builds(Duration, st.integers(0, 9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(FILTERS)), some_values, st.lists(some_values, max_size=3))
def test_a_filter_gives_what_it_says_or_a_fault(name: str, target: Value, args: list[Value]) -> None:
    entry = FILTERS[name]
    before = to_json([target, args])
    try:
        value = apply_filter(entry, Budget(), target, args)
    except Fault:
        value = None
        gives_null = True
    else:
        gives_null = entry.returns.startswith("T")
    assert gives_null or fits(value, (entry.returns,))
    assert to_json([target, args]) == before


@given(st.floats(-1e6, 1e6).filter(lambda x: not x.is_integer()), st.integers(-3, 8))
def test_rounding_is_near_and_symmetric(number: float, places: int) -> None:
    up = result("x | round(n)", x=number, n=places)
    down = result("x | round(n)", x=-number, n=places)
    assert isinstance(up, (int, float))
    assert isinstance(down, (int, float))
    assert up == -down
    # On the digits that both are written with: a subtraction of floats would have an error of its own.
    assert abs(Decimal(repr(up)) - Decimal(repr(number))) <= Decimal(5).scaleb(-places - 1)


@given(st.lists(st.integers(-9, 9) | st.floats(-9, 9).filter(lambda x: not x.is_integer())))
def test_lists_agree_with_python(items: list[Value]) -> None:
    assert result("x | sort", x=items) == sorted(items, key=lambda item: item)  # type: ignore[arg-type,return-value]
    assert result("x | first", x=items) == (items[0] if items else None)
    assert result("x | max", x=items) == max(items, default=None)  # type: ignore[type-var]
    assert result("x | unique | length", x=items) == len(set(items))
