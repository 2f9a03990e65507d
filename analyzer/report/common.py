"""What every report shares: findings with paths as users see them, and text that is safe to show.

Invariant: nothing that comes from a file, a file name or a key reaches a terminal raw. ``printable`` is the one place
that decides what is shown as itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from analyzer.findings import Edit, Finding, Fix, Related, Severity
from analyzer.shown import relative_path

SuppressionKind: TypeAlias = Literal["inSource", "external"]

_LINE_BREAK = re.compile("\r\n|\r|\n")
# Controls, bidirectional overrides (they reorder what follows on screen), separators, BOM and lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_NAMED_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class RuleDocumentation(Protocol):
    """What reports and the command line read of a rule."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def summary(self) -> str: ...
    @property
    def documentation(self) -> str: ...
    @property
    def fixable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that is not reported: by a comment in the file (``inSource``) or by a baseline (``external``)."""

    finding: Finding
    kind: SuppressionKind
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is made from; every path is relative to the working directory, with ``/``, and sorted.

    ``files`` are all that were checked, clean ones too; ``sources`` are the texts for excerpts (may lack some).
    """

    findings: tuple[Finding, ...]
    files: tuple[str, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def count(self, severity: Severity) -> int:
        """How many findings have that severity."""
        return sum(1 for finding in self.findings if finding.severity == severity)


class Locator:
    """Turns absolute paths into the ones that users see, once for each path.

    ``names`` are paths that are shown as something else, as standard input is.
    """

    __slots__ = ("_base", "_known")

    def __init__(self, base: str, names: Mapping[str, str] | None = None) -> None:
        self._base = base
        self._known: dict[str, str] = dict(names or {})

    def path(self, path: str) -> str:
        """``path`` relative to the base, with ``/``; where there is no relative path, the absolute one."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = relative_path(path, self._base)
        return known

    def finding(self, finding: Finding) -> Finding:
        """``finding`` with every path in it as users see it."""
        return replace(
            finding,
            path=self.path(finding.path),
            related=tuple(Related(self.path(item.path), item.range, item.message) for item in finding.related),
            fixes=tuple(self._fix(fix) for fix in finding.fixes),
        )

    def report(
        self, findings: Iterable[Finding], files: Iterable[str], suppressed: Iterable[Suppressed] = ()
    ) -> Report:
        """A report without sources; findings are sorted by path, position, rule."""
        hidden = [Suppressed(self.finding(item.finding), item.kind, item.reason) for item in suppressed]
        return Report(
            findings=tuple(sorted(map(self.finding, findings), key=Finding.sort_key)),
            files=tuple(sorted(map(self.path, files))),
            suppressed=tuple(sorted(hidden, key=lambda item: item.finding.sort_key())),
        )

    def _fix(self, fix: Fix) -> Fix:
        edits = tuple(Edit(self.path(edit.path), edit.range, edit.text) for edit in fix.edits)
        return Fix(fix.title, fix.applicability, edits)


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; only LF, CRLF and CR end a line."""
    return _LINE_BREAK.split(text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    named = _NAMED_ESCAPES.get(character)
    if named is not None:
        return named
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable(text: str) -> str:
    """``text`` on one line, with everything that would steer a terminal or a parser of lines shown as an escape."""
    return _UNSAFE.sub(_escape, text)


def plural(count: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
