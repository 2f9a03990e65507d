"""Collecting what the parser has to say, up to a bound."""

from __future__ import annotations

from analyzer.syntax.limits import PROBLEMS, Limit
from analyzer.syntax.nodes import SyntaxFix, SyntaxProblem

SYNTAX = "yaml-syntax"
LIMIT = "limit-exceeded"
#: Said of text in which nothing else is wrong, and that no event parser takes.
NOT_YAML = "This is not YAML; compare it with the lines above, and quote text that has special characters."


class Problems:
    """The problems of one parse, bounded by ``limits.PROBLEMS``: the first past it says so, the rest are dropped."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[SyntaxProblem] = []

    def add(
        self,
        rule: str,
        start: int,
        end: int,
        message: str,
        related: tuple[tuple[int, int, str], ...] = (),
        fix: SyntaxFix | None = None,
    ) -> None:
        """Add one problem; ``start`` and ``end`` are offsets, ``related`` holds ``(start, end, message)``."""
        if len(self.found) > PROBLEMS.value:
            return
        if len(self.found) == PROBLEMS.value:
            self.found.append(SyntaxProblem(LIMIT, start, end, PROBLEMS.message()))
            return
        self.found.append(SyntaxProblem(rule, start, end, message, related, fix))

    def syntax(self, start: int, end: int, message: str, fix: SyntaxFix | None = None) -> None:
        """Add a ``yaml-syntax`` problem."""
        self.add(SYNTAX, start, end, message, (), fix)

    def limit(self, limit: Limit, start: int, end: int) -> None:
        """Add a ``limit-exceeded`` problem."""
        self.add(LIMIT, start, end, limit.message())

    def in_order(self) -> list[SyntaxProblem]:
        """The problems by place; of those at one place the first found first."""
        return sorted(self.found, key=lambda problem: (problem.start, problem.end))


def quoting(start: int, end: int, text: str, what: str) -> SyntaxFix | None:
    """The fix that quotes the text at a span, None when neither quote can hold it as it is."""
    if "\n" in text or "\r" in text:
        return None
    for quote in "\"'":
        if quote not in text and (quote == "'" or "\\" not in text):
            return SyntaxFix(f"Quote the {what}", start, end, f"{quote}{text}{quote}")
    return None
