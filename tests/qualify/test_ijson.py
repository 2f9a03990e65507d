"""What every reader understands alike, and what is refused because some would not."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.history.canonical import canonical_bytes
from sim_runtime.qualify.bundle import witness_digest
from sim_runtime.qualify.ijson import NotIJson, NotJson, as_count, is_count, read_ijson

SAFE = 2**53 - 1
#: A whole float past the safe range is written as the whole number that a reader refuses.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda each: abs(each) <= SAFE or abs(each) >= 1e21)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nul",
        b"{'a': 1}",
        b"[1,]",
        b'{"a": NaN}',
        b"Infinity",
        b"[-Infinity]",
        b'"\t"',
        b"\xff",
        b"01",
        b"1 2",
    ],
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(NotJson):
        read_ijson(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": 1, "\\u0061": 2}',
        b'[{"b": {"x": 1, "x": 2}}]',
        b'"\\ud800"',
        b'["\\udc00\\ud800"]',
        b'{"\\ud800": 1}',
        b'{"a": ["\\udfff"]}',
        b'{"a": "\\ud800x"}',
        b'"\xed\xa0\x80"',
        b"9007199254740992",
        b"[-9007199254740992]",
        b"1e999",
        b'{"a": -1e400}',
        b"1" + b"0" * 100_000,
    ],
)
def test_what_is_json_and_no_ijson(data: bytes) -> None:
    with pytest.raises(NotIJson):
        read_ijson(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"9007199254740991", SAFE),
        (b"-9007199254740991", -SAFE),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b"1e16", 1e16),
        (b"-0", 0),
        (b' {"a" : [ ] } \n', {"a": []}),
    ],
)
def test_what_is_ijson(data: bytes, value: object) -> None:
    assert read_ijson(data) == value


def test_a_text_that_is_no_json_at_all_is_told_as_that_even_with_a_name_twice() -> None:
    with pytest.raises(NotJson):
        read_ijson(b'{"a": 1, "a": 1')


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_deep_nesting_ends_with_a_message(data: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(NotJson, match="nested"):
        read_ijson(data)
    assert time.monotonic() - started < 5


def test_brackets_in_texts_are_no_nesting() -> None:
    assert read_ijson(json.dumps("[" * 5000 + '\\"{').encode()) == "[" * 5000 + '\\"{'


@given(VALUES)
def test_what_is_written_canonically_reads_as_the_same(value: object) -> None:
    again = read_ijson(canonical_bytes(value))
    assert canonical_bytes(again) == canonical_bytes(value)


def test_names_are_sorted_by_utf16_units() -> None:
    """U+1F600 is written with units from U+D83D on, so it comes before U+FB33; by code points it would be last."""
    assert canonical_bytes({"\ufb33": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


def test_rows_are_sorted_by_utf16_units_too() -> None:
    rows = [{"id": name, "scenario": "s", "result": "blocked"} for name in ("\ufb33", "\U0001f600", "a")]
    assert witness_digest(rows) == witness_digest([rows[2], rows[1], rows[0]])
    expected = canonical_bytes([dict(sorted(rows[index].items())) for index in (2, 1, 0)])
    from hashlib import sha256

    assert witness_digest(rows) == sha256(expected).hexdigest()


@pytest.mark.parametrize(
    ("value", "count"), [(2, 2), (2.0, 2), (0, 0), (True, None), (-1, None), (1.5, None), ("2", None)]
)
def test_numbers_are_judged_by_value(value: object, count: int | None) -> None:
    assert as_count(value) == count
    assert is_count(value) == (count is not None)
