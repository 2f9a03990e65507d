"""The collections that states share their structure with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.core.persistent import Items, PMap, appended, last_entry, same_entries, with_entry


@given(st.lists(st.tuples(st.text(max_size=4), st.integers()), max_size=300))
def test_a_map_is_what_a_dict_would_be_and_old_ones_stay(pairs: list[tuple[str, int]]) -> None:
    expected: dict[str, int] = {}
    found: PMap[int] = PMap()
    kept = []
    for key, value in pairs:
        kept.append((found, dict(expected)))
        expected[key] = value
        found = found.set(key, value)
    kept.append((found, expected))
    for map_, entries in kept:
        assert map_.items() == sorted(entries.items())
        assert len(map_) == len(entries)
        assert all(map_.get(key) == value and key in map_ for key, value in entries.items())
        assert "no such key" not in map_


def test_a_map_of_many_entries() -> None:
    found: PMap[int] = PMap()
    for number in range(500):
        found = found.set(f"k{number}", number)
    assert [found.get(f"k{number}") for number in range(500)] == list(range(500))
    assert found == PMap(found._buckets, 500)
    assert found != found.set("k1", -1)


@given(st.integers(0, 700), st.data())
def test_places_are_what_a_list_would_be(count: int, data: st.DataObject) -> None:
    expected: list[object] = [None] * count
    found = Items.empty(count)
    changes = data.draw(st.lists(st.tuples(st.integers(0, max(count - 1, 0)), st.integers(1, 9)), max_size=30))
    for index, value in changes if count else ():
        before = found
        expected[index] = value
        found = found.set(index, value)
        assert before.get(index) is None or before.get(index) in range(1, 10)
    assert [found.get(index) for index in range(count)] == expected
    assert list(found.present()) == [(index, value) for index, value in enumerate(expected) if value is not None]
    assert found.get(count) is None
    assert found.get(-1) is None
    assert sum(len(chunk.items) for chunk in found.chunks) == count


@given(st.lists(st.tuples(st.integers(0, 150).map(str), st.integers())))
def test_entries_are_what_a_dict_would_be_and_old_ones_stay(pairs: list[tuple[str, int]]) -> None:
    expected: dict[str, int] = {}
    found: Mapping[str, int] = {}
    kept = []
    for key, value in [(f"k{number}", number) for number in range(130)] + pairs:
        kept.append((found, dict(expected)))
        expected[key] = value
        found = with_entry(found, key, value)
    kept.append((found, expected))
    for entries, plain in kept[::20]:
        assert list(entries.items()) == list(plain.items())
        assert len(entries) == len(plain)
        assert all(key in entries and entries[key] == value for key, value in plain.items())
        assert entries.get("none such") is None
        assert same_entries(entries, plain) or type(entries) is not dict
    again: Mapping[str, int] = {}
    for key, value in expected.items():
        again = with_entry(again, key, value)
    assert same_entries(found, again)
    assert not same_entries(found, with_entry(again, "k1", -1_000))
    assert not same_entries(found, with_entry(again, "one more", 1))
    assert last_entry(found) == list(expected.items())[-1]


@given(st.integers(0, 200))
def test_a_row_is_what_a_tuple_would_be(count: int) -> None:
    row: Sequence[int] = ()
    for number in range(count):
        row = appended(row, number)
        assert row[-1] == number
    assert tuple(row) == tuple(range(count))
    assert len(row) == count
    assert tuple(reversed(row)) == tuple(reversed(range(count)))
    assert row[:3] == tuple(range(min(count, 3)))
    assert row == row
    assert appended(row, 1) != appended(row, 2)
