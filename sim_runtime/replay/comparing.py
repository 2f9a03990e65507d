"""Whether what was evaluated is what was recorded: values by value and kind, records by what their kind fixes."""

from __future__ import annotations

from typing import Any, Final

from analyzer.expressions.values import Marked
from sim_runtime.history.records import Record

_NUMBERS: Final = (int, float)
#: Fields that hold the id of a child run, which begins with that of the root run.
_RUN_IDS: Final = frozenset({"run", "child"})


def same(left: Any, right: Any) -> bool:
    """By value and kind, marks of dry runs included: ``1`` is ``1.0``, ``true`` and ``"1"`` are not ``1``."""
    if left is right:
        return True
    kind, other = type(left), type(right)
    if kind is str or other is str or kind is bool or other is bool or left is None or right is None:
        return kind is other and left == right
    if kind in _NUMBERS and other in _NUMBERS:
        return bool(left == right)
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple):
        if not isinstance(right, list | tuple) or len(left) != len(right):
            return False
        return all(map(same, left, right))
    if isinstance(left, Marked):
        return isinstance(right, Marked) and same(left.value, right.value)
    return kind is other and bool(left == right)


class Comparison:
    """Compares evaluated with recorded records. Of a successor run (``run_id`` is not ``source_id``), ids of child runs
    are its own."""

    __slots__ = ("run_id", "source_id")

    def __init__(self, source_id: str, run_id: str) -> None:
        self.source_id = source_id
        self.run_id = run_id

    def meets(self, recorded: Record, evaluated: Record) -> bool:
        """Whether the evaluated record is compatible with the recorded one."""
        if recorded.kind != evaluated.kind or recorded.id != evaluated.id:
            return False
        return recorded.generation == evaluated.generation and not self.differing(recorded, evaluated)

    def differing(self, recorded: Record, evaluated: Record) -> list[str]:
        """The fields in which two records of one kind differ."""
        old, new = recorded.data, evaluated.data
        if recorded.kind == "step.started":
            # A guard that holds and none at all start the same step.
            old, new = {"guard": True, **old}, {"guard": True, **new}
        found: list[str] = []
        for name in dict.fromkeys((*old, *new)):
            if name in old and name in new:
                left, right = old[name], new[name]
                if left is right or same(left, right):
                    continue
                if name in _RUN_IDS and self._of_own(left, right):
                    continue
                if name == "run_id" and (left, right) == (self.source_id, self.run_id):
                    continue
            found.append(name)
        return found

    def _of_own(self, recorded: Any, evaluated: Any) -> bool:
        """Whether two ids of child runs are of the same call."""
        if not isinstance(recorded, str) or not recorded.startswith(self.source_id):
            return False
        return bool(evaluated == self.run_id + recorded[len(self.source_id) :])
