"""Every bound of the parser, in one table: what it bounds, its value, and what happens past it.

A bound that is hit is reported as ``limit-exceeded`` and costs only what the message names (architecture, invariant 6).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound: ``name`` and ``unit`` stand in messages, ``past`` says what is not analysed when it is hit."""

    name: str
    value: int
    unit: str
    past: str

    def message(self) -> str:
        """The text of the ``limit-exceeded`` finding."""
        return f"{self.name} is more than {f'{self.value:,} {self.unit}'.rstrip()}; {self.past}"


FILE_SIZE = Limit(
    "The file's size",
    5_000_000,
    "characters",
    "nothing in it is analysed. Split the file.",
)
#: What walks a tree calls itself a few times for each level of it. Since 3.11 Python keeps its own stack for such
#: calls: memory is their bound, and ``NESTING`` keeps it small. The interpreter's default stops at 1,000 calls.
RECURSION = 6_000

NESTING = Limit(
    "The nesting here",
    650,
    "levels deep",
    "what is deeper is not analysed. Flatten it.",
)
ALIAS_NODES = Limit(
    "This file, with its aliases expanded,",
    100_000,
    "values long",
    "this alias and others like it are not analysed. Use fewer aliases inside anchored values.",
)
NUMBER_DIGITS = Limit(
    "This number",
    300,
    "characters long",
    "its value is not analysed. Quote it if it is a string.",
)
PROBLEMS = Limit(
    "The number of syntax problems in this file",
    100,
    "",
    "the ones after this place are not reported. Repair the first ones.",
)
LIMITS: tuple[Limit, ...] = (FILE_SIZE, NESTING, ALIAS_NODES, NUMBER_DIGITS, PROBLEMS)
