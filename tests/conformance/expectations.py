"""What the files of the corpus say should be found in them, and the comparison with what was found.

Two forms, both in comments:

- ``# expect: rule[@COLUMN][, rule…]`` at the end of a line: these findings start on this line.
- ``# expect-at LINE[:COLUMN] rule`` anywhere: for places where no comment can stand. ``LINE`` may be ``*`` where the
  language page does not fix the place. It may stand in a sidecar, ``<file>.expect`` beside the file, instead.

Lines and columns count from 1, columns in Unicode code points; only LF, CRLF and CR end a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SIDECAR_SUFFIX = ".expect"

_LINE_END = re.compile(r"\r\n|\r|\n")
_HERE = re.compile(r"# expect:(.*)$")
_ELSEWHERE = re.compile(r"# expect-at(.*)$")
_HERE_ITEM = re.compile(r"([a-z]+(?:-[a-z]+)*)(?:@([1-9]\d*))?")
_ELSEWHERE_ITEM = re.compile(r"(?:\*|([1-9]\d*)(?::([1-9]\d*))?) +([a-z]+(?:-[a-z]+)*)")


class MalformedExpectation(ValueError):
    """A comment that begins as an expectation and does not read as one."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One finding that must be there; ``line`` or ``column`` None where the place is left open."""

    rule: str
    line: int | None
    column: int | None

    def __str__(self) -> str:
        place = "*" if self.line is None else str(self.line)
        return f"{place}{'' if self.column is None else f':{self.column}'} {self.rule}"

    def allows(self, rule: str, line: int, column: int) -> bool:
        """Whether a finding at this place is the expected one."""
        return self.rule == rule and self.line in (None, line) and self.column in (None, column)


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """One finding, as far as it is compared."""

    line: int
    column: int
    rule: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column} {self.rule}"


@dataclass(frozen=True, slots=True)
class Difference:
    """What separates a file from its expectations; false when nothing does."""

    missing: tuple[Expectation, ...]
    unexpected: tuple[Found, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)

    def __str__(self) -> str:
        lines = [f"missing     {expected}" for expected in self.missing]
        lines.extend(f"unexpected  {found}" for found in self.unexpected)
        return "\n".join(lines)


def parse_expectations(text: str) -> list[Expectation]:
    """The expectations in a text, in the order of its lines.

    Raises:
        MalformedExpectation: with the number of the line, when a comment does not read as what it begins as.
    """
    expectations: list[Expectation] = []
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if match := _ELSEWHERE.search(line):
            expectations.append(_elsewhere(match.group(1).strip(), number))
        elif match := _HERE.search(line):
            expectations.extend(_here(match.group(1), number))
    return expectations


def load_expectations(path: Path) -> list[Expectation]:
    """The expectations of a file: those in its comments, then those of its sidecar.

    Raises:
        MalformedExpectation: naming the file and the line.
    """
    expectations: list[Expectation] = []
    for source in (path, path.with_name(path.name + SIDECAR_SUFFIX)):
        if source.is_file():
            # Bytes, because universal newlines would hide how the file ends its lines.
            try:
                expectations.extend(parse_expectations(source.read_bytes().decode("utf-8-sig")))
            except MalformedExpectation as problem:
                raise MalformedExpectation(f"{source}: {problem}") from None
    return expectations


def compare(expected: Iterable[Expectation], found: Iterable[Found]) -> Difference:
    """Compare as multisets: each finding answers one expectation, each expectation takes one finding.

    The sets of places that two expectations of one rule allow are disjoint or nested, so serving the narrower
    expectations first gives a full pairing whenever there is one.
    """
    unexpected = sorted(found)
    missing: list[Expectation] = []
    for expectation in sorted(expected, key=_breadth):
        for position, finding in enumerate(unexpected):
            if expectation.allows(finding.rule, finding.line, finding.column):
                del unexpected[position]
                break
        else:
            missing.append(expectation)
    return Difference(tuple(missing), tuple(unexpected))


def _breadth(expectation: Expectation) -> tuple[bool, bool, int, int, str]:
    line, column = expectation.line, expectation.column
    return (line is None, column is None, line or 0, column or 0, expectation.rule)


def _here(text: str, number: int) -> list[Expectation]:
    expectations: list[Expectation] = []
    for item in text.split(","):
        match = _HERE_ITEM.fullmatch(item.strip())
        if match is None:
            raise MalformedExpectation(f"line {number}: `{item.strip()}` is not `rule` or `rule@COLUMN`")
        column = match.group(2)
        expectations.append(Expectation(match.group(1), number, None if column is None else int(column)))
    return expectations


def _elsewhere(text: str, number: int) -> Expectation:
    match = _ELSEWHERE_ITEM.fullmatch(text)
    if match is None:
        raise MalformedExpectation(f"line {number}: `{text}` is not `LINE rule`, `LINE:COLUMN rule` or `* rule`")
    line, column, rule = match.groups()
    return Expectation(rule, None if line is None else int(line), None if column is None else int(column))
