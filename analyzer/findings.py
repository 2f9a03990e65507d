"""What every analysis returns: findings with ranges, related places and fixes. Plain data, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "information"]
Applicability: TypeAlias = Literal["safe", "unsafe"]

MAX_FINDINGS: Final = 5_000
"""Findings of one file that are reported; past them one more says so."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information")


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Lines and columns from 1, columns in Unicode code points, end past the last character."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding is about."""

    path: str
    range: Range
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``range`` of ``path`` by ``text``."""

    path: str
    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: ``safe`` keeps the meaning that the author can only have had, ``unsafe`` is a likely guess."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place.

    ``path`` is absolute inside the analysis and made relative by the reports; ``route`` is the symbolic place
    (``steps[2].charge.retry``), which baselines match by; ``tags`` are ``unused`` or ``unreachable`` for editors.
    """

    path: str
    rule: str
    code: str
    severity: Severity
    message: str
    range: Range
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    route: str = ""
    tags: tuple[str, ...] = ()

    def sort_key(self) -> tuple[str, int, int, str, int, int, str, str]:
        """Findings are reported by path, position (where they start), rule; the rest only makes the order total."""
        place = self.range
        start, end = (place.start_line, place.start_column), (place.end_line, place.end_column)
        return (self.path, *start, self.rule, *end, self.message, self.route)
