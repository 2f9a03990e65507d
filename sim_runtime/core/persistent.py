"""Immutable collections with structure sharing: a change copies a small part, never the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

V = TypeVar("V")

_SMALL: Final = 48
_BUCKETS: Final = 256


class PMap(Generic[V]):
    """A map of texts. Up to ``_SMALL`` entries it is one dict, past that buckets by a checksum of the key (never by
    ``hash``, which differs between processes)."""

    __slots__ = ("_buckets", "_size")

    def __init__(self, buckets: tuple[dict[str, V], ...] = ({},), size: int = 0) -> None:
        self._buckets = buckets
        self._size = size

    def __len__(self) -> int:
        return self._size

    def get(self, key: str) -> V | None:
        """The value of ``key``, or None."""
        return self._buckets[self._place(key)].get(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._buckets[self._place(key)]

    def set(self, key: str, value: V) -> PMap[V]:
        """A map with ``key`` set."""
        place = self._place(key)
        bucket = self._buckets[place]
        size = self._size + (key not in bucket)
        changed = PMap((*self._buckets[:place], {**bucket, key: value}, *self._buckets[place + 1 :]), size)
        return changed._spread() if size > _SMALL and len(self._buckets) == 1 else changed

    def _place(self, key: str) -> int:
        count = len(self._buckets)
        return 0 if count == 1 else crc32(key.encode("utf-8", "surrogatepass")) % count

    def _spread(self) -> PMap[V]:
        buckets: list[dict[str, V]] = [{} for _ in range(_BUCKETS)]
        for key, value in self._buckets[0].items():
            buckets[crc32(key.encode("utf-8", "surrogatepass")) % _BUCKETS][key] = value
        return PMap(tuple(buckets), self._size)

    def items(self) -> list[tuple[str, V]]:
        """All entries, sorted by key."""
        return sorted((pair for bucket in self._buckets for pair in bucket.items()), key=lambda pair: pair[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PMap) and self._size == other._size and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PMap({dict(self.items())!r})"


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
        chunks = (
            Chunk(tuple(None if each is None else change(each) for each in chunk.items)) for chunk in self.chunks
        )
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
