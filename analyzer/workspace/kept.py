"""What is kept of the files of a project, for as long as there is room."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

MAX_KEPT: Final = 256
MAX_KEPT_BYTES: Final = 4_000_000
"""Bytes of files: what is known of a file takes about forty times as much."""

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by path, at most ``MAX_KEPT`` made of at most ``MAX_KEPT_BYTES``: the one used longest ago goes first.

    The newest always stays, however large it is.
    """

    __slots__ = ("_bytes", "_values")

    def __init__(self) -> None:
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, path: str) -> Value | None:
        """The value, which is then the last to go."""
        known = self._values.get(path)
        if known is None:
            return None
        self._values.move_to_end(path)
        return known[0]

    def put(self, path: str, value: Value, size: int) -> None:
        """Keep a value that was made of ``size`` bytes."""
        self.pop(path)
        self._values[path] = (value, size)
        self._bytes += size
        while len(self._values) > 1 and (len(self._values) > MAX_KEPT or self._bytes > MAX_KEPT_BYTES):
            _, (_, gone) = self._values.popitem(last=False)
            self._bytes -= gone

    def pop(self, path: str) -> None:
        """Forget one value."""
        known = self._values.pop(path, None)
        if known is not None:
            self._bytes -= known[1]

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self._bytes = 0
