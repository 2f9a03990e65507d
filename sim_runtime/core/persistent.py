"""Immutable collections with structure sharing: a change copies a small part, never the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isqrt
from typing import Any, Final, Generic, TypeVar, overload
from zlib import crc32

V = TypeVar("V")

_SMALL: Final = 48
_MOST_BUCKETS: Final = 4_096


class PMap(Generic[V]):
    """A map of texts. Up to ``_SMALL`` entries it is one dict, past that buckets by a checksum of the key (never by
    ``hash``, which differs between processes), ever more of them, so that a change copies little."""

    __slots__ = ("_buckets", "_owner", "_size")

    def __init__(self, buckets: tuple[dict[str, V], ...] = ({},), size: int = 0) -> None:
        self._buckets = buckets
        self._size = size
        self._owner: object = None

    def __len__(self) -> int:
        return self._size

    def get(self, key: str) -> V | None:
        """The value of ``key``, or None."""
        return self._buckets[self._place(key)].get(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._buckets[self._place(key)]

    def set(self, key: str, value: V, owner: object = None) -> PMap[V]:
        """A map with ``key`` set; with an ``owner``, one that is its alone, and is itself changed from then on."""
        if owner is not None:
            return self._owned(key, value, owner)
        place = self._place(key)
        bucket = self._buckets[place]
        size = self._size + (key not in bucket)
        changed = PMap((*self._buckets[:place], {**bucket, key: value}, *self._buckets[place + 1 :]), size)
        few = size > _SMALL * len(self._buckets) and len(self._buckets) < _MOST_BUCKETS
        return changed._spread() if few else changed

    def _owned(self, key: str, value: V, owner: object) -> PMap[V]:
        found = self
        if self._owner is not owner:
            found = PMap(tuple(dict(bucket) for bucket in self._buckets), self._size)
        bucket = found._buckets[found._place(key)]
        found._size += key not in bucket
        bucket[key] = value
        if found._size > _SMALL * len(found._buckets) and len(found._buckets) < _MOST_BUCKETS:
            found = found._spread()
        found._owner = owner
        return found

    def _place(self, key: str) -> int:
        count = len(self._buckets)
        return 0 if count == 1 else crc32(key.encode("utf-8", "surrogatepass")) % count

    def _spread(self) -> PMap[V]:
        spread = PMap[V](tuple({} for _ in range(16 * len(self._buckets))), self._size)
        for bucket in self._buckets:
            for key, value in bucket.items():
                spread._buckets[spread._place(key)][key] = value
        return spread

    def items(self) -> list[tuple[str, V]]:
        """All entries, sorted by key."""
        return sorted((pair for bucket in self._buckets for pair in bucket.items()), key=lambda pair: pair[0])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PMap) or self._size != other._size:
            return False
        return self._buckets == other._buckets or self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PMap({dict(self.items())!r})"


class Many(Mapping[str, V]):
    """An ordered map of texts that grows at its end, as the entries of a state machine do: full pieces, and the last
    one, which is all that an addition copies."""

    __slots__ = ("_full", "_last", "_places")

    def __init__(self, full: tuple[dict[str, V], ...], last: dict[str, V], places: PMap[int]) -> None:
        self._full = full
        self._last = last
        self._places = places

    def __getitem__(self, key: str) -> V:
        if key in self._last:
            return self._last[key]
        place = self._places.get(key)
        if place is None:
            raise KeyError(key)
        return self._full[place][key]

    def __iter__(self) -> Iterator[str]:
        for piece in self._full:
            yield from piece
        yield from self._last

    def __len__(self) -> int:
        return len(self._places) + len(self._last)

    @property
    def pieces(self) -> tuple[dict[str, V], ...]:
        """The pieces, in order; one that did not change is the same object in every map that was made of this one."""
        return (*self._full, self._last)

    def set(self, key: str, value: V) -> Many[V]:
        """A map with ``key`` set; a new one stands at the end."""
        place = None if key in self._last else self._places.get(key)
        if place is not None:
            full = (*self._full[:place], {**self._full[place], key: value}, *self._full[place + 1 :])
            return Many(full, self._last, self._places)
        if len(self._last) < _SMALL or key in self._last:
            return Many(self._full, {**self._last, key: value}, self._places)
        places = self._places
        for each in self._last:
            places = places.set(each, len(self._full))
        return Many((*self._full, self._last), {key: value}, places)


def with_entry(entries: Mapping[str, V], key: str, value: V) -> Mapping[str, V]:
    """A map with ``key`` set: a plain dict as long as it is small."""
    if isinstance(entries, Many):
        return entries.set(key, value)
    if len(entries) < _SMALL or key in entries:
        return {**entries, key: value}
    return Many((), dict(entries), PMap()).set(key, value)


def last_entry(entries: Mapping[str, V]) -> tuple[str, V]:
    """The entry at the end of a map that is not empty."""
    piece: Any = entries.pieces[-1] if isinstance(entries, Many) else entries
    key: str = next(reversed(piece))
    return key, piece[key]


def same_entries(left: Mapping[str, V], right: Mapping[str, V]) -> bool:
    """Whether two maps hold equal values under the same keys in the same order; what they share is not looked into."""
    if left is right:
        return True
    if isinstance(left, Many) and isinstance(right, Many) and len(left.pieces) == len(right.pieces):
        pieces = zip(left.pieces, right.pieces, strict=True)
        return all(one is two or same_entries(one, two) for one, two in pieces)
    # A list compares what is the same object without looking into it.
    return list(left) == list(right) and list(left.values()) == list(right.values())


class Row(Sequence[V]):
    """A list that grows at its end; an addition copies its last piece only."""

    __slots__ = ("_full", "_last")

    def __init__(self, full: tuple[tuple[V, ...], ...], last: tuple[V, ...]) -> None:
        self._full = full
        self._last = last

    def add(self, value: V) -> Row[V]:
        """The list with one more value."""
        if len(self._last) < _SMALL:
            return Row(self._full, (*self._last, value))
        return Row((*self._full, self._last), (value,))

    @overload
    def __getitem__(self, place: int) -> V: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[V, ...]: ...
    def __getitem__(self, place: int | slice) -> V | tuple[V, ...]:
        return self._last[-1] if place == -1 else tuple(self)[place]

    def __len__(self) -> int:
        return sum(map(len, self._full)) + len(self._last)

    def __iter__(self) -> Iterator[V]:
        for piece in self._full:
            yield from piece
        yield from self._last

    def __reversed__(self) -> Iterator[V]:
        yield from reversed(self._last)
        for piece in reversed(self._full):
            yield from reversed(piece)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self._last == other._last and self._full == other._full

    def __hash__(self) -> int:
        return hash((self._full, self._last))


def appended(values: Sequence[V], value: V) -> Sequence[V]:
    """A list with one more value: a plain tuple as long as it is small."""
    if isinstance(values, Row):
        return values.add(value)
    row = tuple(values)
    return (*row, value) if len(row) < _SMALL else Row((row,), (value,))


class Chunk:
    """A run of places of ``Items``. ``rest`` is a cache of the interpreter: what is known to stand still in it."""

    __slots__ = ("items", "rest", "rest_draining")

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items
        self.rest = -1
        self.rest_draining = -1


class Items:
    """The iterations of one loop by index; places without one hold None. A change copies about twice the root of their
    number."""

    __slots__ = ("chunks", "count", "width")

    def __init__(self, count: int, width: int, chunks: tuple[Chunk, ...]) -> None:
        self.count = count
        self.width = width
        self.chunks = chunks

    @classmethod
    def empty(cls, count: int) -> Items:
        """``count`` places without iterations."""
        width = max(16, isqrt(count))
        full, rest = divmod(count, width)
        sizes = [width] * full + ([rest] if rest else [])
        return cls(count, width, tuple(Chunk((None,) * size) for size in sizes))

    def get(self, index: int) -> Any:
        """What stands at ``index``."""
        return self.chunks[index // self.width].items[index % self.width] if 0 <= index < self.count else None

    def set(self, index: int, value: Any) -> Items:
        """Places with ``index`` set."""
        place, offset = divmod(index, self.width)
        items = self.chunks[place].items
        chunk = Chunk((*items[:offset], value, *items[offset + 1 :]))
        return Items(self.count, self.width, (*self.chunks[:place], chunk, *self.chunks[place + 1 :]))

    def each(self, change: Callable[[Any], Any]) -> Items:
        """Places with everything that stands there changed."""
        chunks = (Chunk(tuple(None if each is None else change(each) for each in chunk.items)) for chunk in self.chunks)
        return Items(self.count, self.width, tuple(chunks))

    def present(self) -> Iterator[tuple[int, Any]]:
        """What stands there, by index."""
        index = 0
        for chunk in self.chunks:
            for value in chunk.items:
                if value is not None:
                    yield index, value
                index += 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Items)
            and self.count == other.count
            and all(mine.items == theirs.items for mine, theirs in zip(self.chunks, other.chunks, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]
