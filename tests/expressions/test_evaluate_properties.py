"""What holds for every expression: only faults, exact integers, purity, and an independent reading of precedence."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.ast import Bad, Expr
from analyzer.expressions.evaluate import evaluate, evaluate_template
from analyzer.expressions.faults import FAULT_CODES, Fault
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.parser import parse_expression, parse_template
from analyzer.expressions.times import Duration, Timestamp
from analyzer.expressions.values import Marked, Value, equal, from_json, kind_of, strip_marks, to_json
from tests.expressions.trees import trees, unparse

SCOPE: dict[str, Value] = {
    "i": 3,
    "z": 0,
    "f": 0.5,
    "s": "abc",
    "b": True,
    "n": None,
    "l": [1, "a", None],
    "m": {"a": {"b": 1}, "n": None},
    "t": Timestamp(10**15),
    "d": Duration(60_000_000),
    "k": Marked({"a": 0, "l": []}),
}
ATOMS = [*SCOPE, "1", "-2", "0.5", "'a'", "true", "null", "[1, 2]", "{a: 1}", "m.a", "m?.n.x", "k.a", "k.l", "l[0]"]
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "and", "or", "??"]
FILTER_CALLS = [*FILTERS, "replace('a', 'b')", "split('a')", "join('-')", "contains('a')", "round(1)", "default(1)"]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0:
        return draw(st.sampled_from(ATOMS))
    shape = draw(st.integers(0, 6))
    inner = expressions(depth - 1)
    if shape == 0:
        return draw(st.sampled_from(ATOMS))
    if shape == 1:
        return f"({draw(inner)} | {draw(st.sampled_from(FILTER_CALLS))})"
    if shape == 2:
        return f"({draw(st.sampled_from(['not', '-']))} {draw(inner)})"
    if shape == 3:
        return f"{draw(inner)}[{draw(inner)}]"
    if shape == 4:
        return f"[{draw(inner)}, {draw(inner)}]"
    return f"({draw(inner)} {draw(st.sampled_from(OPERATORS))} {draw(inner)})"


def outcome(text: str, scope: dict[str, Value]) -> tuple[str, Value]:
    expr, problems = parse_expression(text)
    assert not problems, text
    try:
        return "", evaluate(expr, scope)
    except Fault as caught:
        fault = caught
    assert 0 <= fault.start <= fault.end <= len(text)
    return fault.code, None


@given(expressions())
def test_an_expression_has_a_value_or_a_fault_and_changes_nothing(text: str) -> None:
    scope = copy.deepcopy(SCOPE)
    code, value = outcome(text, scope)
    assert code in ("", *FAULT_CODES)
    assert kind_of(strip_marks(value))
    assert to_json(scope) == to_json(SCOPE)
    assert outcome(text, SCOPE)[0] == code


@given(expressions())
def test_marks_change_no_value_and_no_fault(text: str) -> None:
    code, value = outcome(text, SCOPE)
    bare_code, bare = outcome(text, {name: strip_marks(item) for name, item in SCOPE.items()})
    assert code == bare_code
    assert equal(strip_marks(value), bare)


@given(expressions())
def test_a_value_is_the_same_after_a_way_through_json(text: str) -> None:
    """Whole floats become integers at once, so that a recorded value goes on as the computed one would have."""
    _, value = outcome(text, SCOPE)
    plain = strip_marks(value)
    again = from_json(to_json(plain))
    assert to_json(again) == to_json(plain)
    if not _has_times(plain):
        assert equal(again, plain)
        assert outcome("x | json", {"x": again}) == outcome("x | json", {"x": plain})


def _has_times(value: Value) -> bool:
    if isinstance(value, list):
        return any(map(_has_times, value))
    if isinstance(value, dict):
        return any(map(_has_times, value.values()))
    return isinstance(value, (Timestamp, Duration))


@given(trees)
def test_any_tree_has_a_value_or_a_fault(tree: Expr) -> None:
    code, _ = outcome(unparse(tree), SCOPE)
    assert code in ("", *FAULT_CODES)


@given(
    st.lists(st.sampled_from(["{{", "}}", " i ", " s", "+", "'", "|", "upper", ".", "n", "(", ")", "x"]), max_size=14)
)
def test_any_text_has_a_value_or_a_fault(pieces: list[str]) -> None:
    template = parse_template("".join(pieces))
    code, value = "", None
    try:
        value = evaluate_template(template, SCOPE)
    except Fault as fault:
        code = fault.code
    assert code in ("", *FAULT_CODES)
    if not code:
        assert not any(isinstance(part.expr, Bad) for part in template.interpolations)
        assert kind_of(strip_marks(value))


integers = st.integers(-(10**40), 10**40)


@given(integers, integers)
def test_integers_are_exact(a: int, b: int) -> None:
    scope: dict[str, Value] = {"a": a, "b": b}
    assert outcome("a + b", scope)[1] == a + b
    assert outcome("a - b", scope)[1] == a - b
    assert outcome("a * b", scope)[1] == a * b
    assert outcome("a < b", scope)[1] is (a < b)
    if b:
        assert outcome("a * b / b", scope)[1] == a
        assert outcome("a % b", scope)[1] == a % b
        assert outcome("(a - a % b) / b * b + a % b == a", scope)[1] is True


ARITHMETIC = st.tuples(st.sampled_from(["+", "-", "*", "%"]), st.sampled_from(["", "-", "- -"]), st.integers(0, 4))
SIDES = st.lists(ARITHMETIC, max_size=5).map(
    lambda parts: "2" + "".join(f" {op} {sign}{number}" for op, sign, number in parts)
)


@given(SIDES, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), SIDES)
def test_arithmetic_binds_as_in_python(left: str, op: str, right: str) -> None:
    for text in (left, f"{left} {op} {right}"):
        try:
            expected = ("", eval(text))  # digits and operators only
        except ZeroDivisionError:
            expected = ("fault.division", None)
        assert outcome(text, {}) == expected


@given(
    st.lists(st.tuples(st.sampled_from(["or", "and"]), st.sampled_from(["", "not "]), st.integers(0, 3)), max_size=8)
)
def test_word_operators_bind_as_in_python(chain: list[tuple[str, str, int]]) -> None:
    text = "1 == 1" + "".join(f" {op} {prefix}{number} < 2" for op, prefix, number in chain)
    assert outcome(text, {}) == ("", eval(text))
