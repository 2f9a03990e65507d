"""The collections that states share their structure with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.core.persistent import Items, PMap


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
