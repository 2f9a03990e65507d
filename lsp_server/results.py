"""What scenarios have come out as, for as long as the files that they were run with are the same."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

MAX_RESULTS: Final = 4_096


@dataclass(frozen=True, slots=True)
class Result:
    """How a scenario came out: ``passed``, ``failed`` or ``error``, in which version, and where it differs."""

    outcome: str
    differences: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Covered:
    """How much of a Workfile its scenarios reach, in per cent, in which version."""

    percent: float
    version: str


class Results:
    """The last results, by path."""

    def __init__(self) -> None:
        self._scenarios: OrderedDict[str, Result] = OrderedDict()
        self._coverage: OrderedDict[str, Covered] = OrderedDict()

    def scenario(self, path: str) -> Result | None:
        """The result of a scenario."""
        return self._scenarios.get(path)

    def coverage(self, path: str) -> Covered | None:
        """The coverage of a Workfile."""
        return self._coverage.get(path)

    def put(self, path: str, result: Result) -> None:
        """Keep the result of a scenario."""
        _keep(self._scenarios, path, result)

    def put_coverage(self, path: str, covered: Covered) -> None:
        """Keep the coverage of a Workfile."""
        _keep(self._coverage, path, covered)


def _keep(kept: OrderedDict[str, Any], path: str, value: Any) -> None:
    kept.pop(path, None)
    kept[path] = value
    while len(kept) > MAX_RESULTS:
        kept.popitem(last=False)


def difference_text(difference: Any) -> str:
    """One difference of a report in words."""
    if not isinstance(difference, dict):
        return str(difference)
    return f"{difference.get('at')} is {difference.get('actual')!r}, not {difference.get('expected')!r}"
