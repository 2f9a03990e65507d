"""Values: kinds, equality, order, text, JSON and marks (language page, sections 3, 4 and 7)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.faults import CONVERSION, FAULT_CODES, KIND, LIMIT, RANGE, Fault
from analyzer.expressions.times import Duration, Timestamp
from analyzer.expressions.values import (
    MAX_VALUE_DEPTH,
    Budget,
    Guide,
    Marked,
    MarkSeen,
    Value,
    a_kind,
    bounded,
    canonical_json,
    compare,
    equal,
    finish,
    from_json,
    frozen_key,
    is_marked,
    kind_of,
    mark,
    number_text,
    order_kind,
    strip_marks,
    to_json,
    to_text,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
json_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
values = json_data.map(from_json) | st.builds(Timestamp, st.integers(0, 3)) | st.builds(Duration, st.integers(0, 3))

ONE_OF_EACH: list[tuple[Value, str]] = [
    (None, "null"),
    (True, "boolean"),
    (1, "integer"),
    (1.5, "number"),
    ("1", "string"),
    (Timestamp(1), "timestamp"),
    (Duration(1), "duration"),
    ([1], "list"),
    ({"a": 1}, "map"),
]


def test_the_codes_of_faults_are_those_of_the_language_page() -> None:
    kinds = ("null_member", "missing_member", "kind", "division", "range", "conversion", "limit")
    assert [f"fault.{kind}" for kind in kinds] == list(FAULT_CODES)


@pytest.mark.parametrize(("value", "kind"), ONE_OF_EACH)
def test_kinds(value: Value, kind: str) -> None:
    assert kind_of(value) == kind
    assert a_kind(value) in ("null", f"a {kind}", f"an {kind}")


def test_what_is_no_value_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        kind_of(object())  # type: ignore[arg-type]


def test_no_two_kinds_are_equal() -> None:
    for position, (left, _) in enumerate(ONE_OF_EACH):
        for other, (right, _) in enumerate(ONE_OF_EACH):
            assert equal(left, right) is (position == other)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        ("1", 1, False),
        (2**53 + 1, float(2**53), False),
        ([1, [2]], [1.0, [2.0]], True),
        ([1, 2], [1], False),
        ([1], [True], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": 1}, {"b": 1}, False),
        ({}, [], False),
        (Timestamp(5, 60), Timestamp(5), True),
        ("é", "e\u0301", False),
    ],
)
def test_equality_is_by_value_and_kind(left: Value, right: Value, expected: bool) -> None:
    assert equal(left, right) is expected
    assert equal(right, left) is expected


@given(values, values)
def test_frozen_keys_are_equal_exactly_when_values_are(left: Value, right: Value) -> None:
    assert (frozen_key(left, Budget()) == frozen_key(right, Budget())) is equal(left, right)
    assert equal(left, left)


def test_a_list_is_not_the_tuple_that_stands_for_something_else() -> None:
    assert frozen_key(["boolean", True], Budget()) != frozen_key(True, Budget())
    assert frozen_key({}, Budget()) != frozen_key([], Budget())


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 2.5, -1),
        (2, 2.0, 0),
        ("b", "a", 1),
        ("Z", "a", -1),
        ("\U0001f600", "\uffff", 1),
        (Timestamp(1), Timestamp(2, 60), -1),
        (Duration(-1), Duration(0), -1),
        (10**300, 1e299, 1),
    ],
)
def test_order(left: Value, right: Value, expected: int) -> None:
    assert compare(left, right) == expected
    assert compare(right, left) == -expected


def test_only_like_kinds_have_an_order() -> None:
    ordered = {"integer", "number", "string", "timestamp", "duration"}
    for left, kind in ONE_OF_EACH:
        for right, other in ONE_OF_EACH:
            if kind in ordered and order_kind(left) == order_kind(right):
                assert compare(left, right) in (-1, 0, 1)
            else:
                with pytest.raises(Fault) as caught:
                    compare(left, right)
                assert caught.value.code == KIND
                assert other.split()[0] in caught.value.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("é", "é"),
        (True, "true"),
        (False, "false"),
        (12, "12"),
        (-0.5, "-0.5"),
        (10**25, "1" + "0" * 25),
        (Timestamp(0), "1970-01-01T00:00:00Z"),
        (Duration(1_500_000), "1s500ms"),
    ],
)
def test_text(value: Value, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize("value", [None, [], {}, [1], {"a": 1}])
def test_what_has_no_text(value: Value) -> None:
    with pytest.raises(Fault) as caught:
        to_text(value)
    assert caught.value.code == KIND


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e20, "1" + "0" * 20),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (123456.789, "123456.789"),
        (-1.25e-9, "-1.25e-9"),
        (2.0**60, "1152921504606847000"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (333333333.33333329, "333333333.3333333"),
    ],
)
def test_numbers_are_written_as_rfc_8785_writes_them(number: float, text: str) -> None:
    assert number_text(number) == text
    assert rfc8785.dumps(number).decode() == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_written_as_rfc_8785_writes_it(number: float) -> None:
    value = finish(number)
    assert number_text(value) == rfc8785.dumps(number).decode()
    assert float(number_text(value)) == number


@given(json_data)
def test_json_is_canonical(data: Any) -> None:
    assert canonical_json(from_json(data), Budget()) == rfc8785.dumps(data).decode()


def test_json_of_times_and_large_numbers() -> None:
    value: Value = {"t": Timestamp(0), "d": [Duration(0)], "n": 10**30, '"': "\u2028/\x01"}
    text = canonical_json(value, Budget())
    assert text == '{"\\"":"\u2028/\\u0001","d":["0s"],"n":' + "1" + "0" * 30 + ',"t":"1970-01-01T00:00:00Z"}'


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_never_arise(number: float) -> None:
    with pytest.raises(Fault) as caught:
        finish(number)
    assert caught.value.code == RANGE


def test_whole_floats_become_integers() -> None:
    assert [(finish(x), type(finish(x))) for x in (2.0, -0.0, 2.5)] == [(2, int), (0, int), (2.5, float)]
    assert type(finish(float(2**53))) is float


def test_whole_numbers_have_a_bound() -> None:
    assert bounded(10**4_000 - 1) == 10**4_000 - 1
    assert bounded(-(10**4_000) + 1) < 0
    for number in (10**4_000, -(10**4_000)):
        with pytest.raises(Fault) as caught:
            bounded(number)
        assert caught.value.code == LIMIT
    assert len(str(10**4_000 - 1)) == 4_000


# -- JSON


class Reads:
    """A guide for the tests: how strings are read, and what is inside."""

    def __init__(self, reads: str = "", members: dict[str, Reads] | None = None, element: Reads | None = None) -> None:
        self._reads, self._members, self._element = reads, members or {}, element

    def reads(self) -> str:
        return self._reads

    def member(self, name: str, owner: Mapping[str, Any]) -> Guide | None:
        return self._members.get(name)

    def element(self) -> Guide | None:
        return self._element


@given(json_data)
def test_json_survives(data: Any) -> None:
    again = to_json(from_json(data))
    assert again == data
    assert json.loads(json.dumps(again)) == data


def test_types_say_which_strings_are_times() -> None:
    guide = Reads(members={"at": Reads("timestamp"), "for": Reads(element=Reads("duration"))})
    data = {"at": "2026-01-01T00:00:00+01:00", "for": ["1h", "-30s", None, "PT5S"], "note": "1h"}
    value = from_json(data, guide)
    assert value == {
        "at": Timestamp(1_767_222_000_000_000),
        "for": [Duration(3_600_000_000), Duration(-30_000_000), None, Duration(5_000_000)],
        "note": "1h",
    }
    assert to_json(value) == {**data, "for": ["1h", "-30s", None, "5s"]}


@pytest.mark.parametrize(
    ("data", "reads", "code"),
    [
        ("soon", "timestamp", CONVERSION),
        ("30 s", "duration", CONVERSION),
        ("-", "duration", CONVERSION),
        ("--5s", "duration", CONVERSION),
        ("\ud800", "", CONVERSION),
        (["a\udfff"], "", CONVERSION),
        ({"\ud800": 1}, "", CONVERSION),
        ({1: 2}, "", CONVERSION),
        ((1, 2), "", CONVERSION),
        (math.nan, "", RANGE),
        (math.inf, "", RANGE),
        (10**4_000, "", LIMIT),
    ],
)
def test_what_is_no_value_of_its_type_is_a_fault(data: Any, reads: str, code: str) -> None:
    with pytest.raises(Fault) as caught:
        from_json(data, Reads(reads))
    assert caught.value.code == code


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def bomb() -> Any:
    value: Any = [1]
    for _ in range(60):
        value = [value, value]
    return value


DEEP_WORK: dict[str, Callable[[Any], object]] = {
    "from_json": from_json,
    "to_json": to_json,
    "strip_marks": strip_marks,
    "equal": lambda value: equal(value, deep(MAX_VALUE_DEPTH + 1)),
    "frozen_key": lambda value: frozen_key(value, Budget()),
    "json": lambda value: canonical_json(value, Budget()),
}


@pytest.mark.parametrize("name", DEEP_WORK)
def test_depth_is_bounded(name: str) -> None:
    with pytest.raises(Fault) as caught:
        DEEP_WORK[name](deep(MAX_VALUE_DEPTH + 1))
    assert caught.value.code == LIMIT
    if name != "equal":
        DEEP_WORK[name](deep(MAX_VALUE_DEPTH))
    else:
        assert equal(deep(MAX_VALUE_DEPTH), deep(MAX_VALUE_DEPTH))


@pytest.mark.parametrize("name", ["from_json", "to_json", "frozen_key", "json", "equal_bombs"])
def test_shared_parts_do_not_multiply(name: str) -> None:
    work: Callable[[Any], object] = {**DEEP_WORK, "equal_bombs": lambda value: equal(value, bomb())}[name]
    with pytest.raises(Fault) as caught:
        work(bomb())
    assert caught.value.code == LIMIT


# -- marks


def test_marks_are_found_and_stripped_anywhere() -> None:
    plain = {"a": [1, {"b": 2}]}
    value = {"x": plain, "y": [Marked({"z": Marked(1)})]}
    assert is_marked(Marked(None))
    assert is_marked(value)
    assert not is_marked(plain)
    stripped = strip_marks(value)
    assert stripped == {"x": plain, "y": [{"z": 1}]}
    assert stripped["x"] is plain
    assert not is_marked(bomb())


def test_operations_see_marks_only_as_a_signal() -> None:
    assert repr(mark(1)) == "Marked(1)"
    marked = Marked(1)
    assert mark(marked) is marked
    for work in (kind_of, a_kind, to_text, order_kind, lambda v: equal(v, 1), lambda v: equal([1], [v])):
        with pytest.raises(MarkSeen):
            work(marked)


def test_a_placeholder_stands_in_json_as_suppressed() -> None:
    value: Value = {"charge": Marked({"id": "", "at": Marked(Timestamp(0))}), "n": 1}
    data = to_json(value)
    assert data == {"charge": {"$suppressed": {"id": "", "at": {"$suppressed": "1970-01-01T00:00:00Z"}}}, "n": 1}
    again = from_json(data, None, marks=True)
    assert isinstance(again, dict)
    assert isinstance(again["charge"], Marked)
    assert to_json(again) == data
    assert from_json(data) == data
