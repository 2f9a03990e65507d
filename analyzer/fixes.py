"""Applying the fixes of findings to texts: only ranges that no other fix touches, round after round, until stable.

Every byte outside an edit stays as it was: byte order mark, line ends and all. Line ends inside an edit become those of
the file.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analyzer.findings import Edit, Finding, Fix
from analyzer.syntax.source import Source

MAX_ROUNDS = 10
BOM = "\ufeff"
_BREAK = re.compile("\r\n|\r|\n")

Recheck = Callable[[Mapping[str, str]], Sequence[Finding]]
"""Texts by path to the findings of those files, suppressed and unselected ones left out."""


@dataclass(slots=True)
class Fixed:
    """The new texts of the files that changed, and what happened.

    ``fixed`` counts applied fixes; ``refused`` are files whose fix would have broken their YAML and was taken back;
    ``unstable`` are files that still changed in the last round.
    """

    texts: dict[str, str]
    fixed: int = 0
    refused: list[str] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """An edit as offsets into the text without its byte order mark."""

    start: int
    end: int
    text: str


def wanted_fix(finding: Finding, unsafe: bool) -> Fix | None:
    """The fix to apply: the first safe one, or with ``unsafe`` the first of any kind when there is no safe one."""
    for fix in finding.fixes:
        if fix.applicability == "safe":
            return fix
    return finding.fixes[0] if unsafe and finding.fixes else None


def count_fixable(findings: Iterable[Finding], unsafe: bool) -> int:
    """How many findings have a fix that would be applied."""
    return sum(1 for finding in findings if wanted_fix(finding, unsafe) is not None)


def fix_texts(texts: Mapping[str, str], findings: Sequence[Finding], recheck: Recheck, unsafe: bool = False) -> Fixed:
    """Apply the fixes of ``findings`` to ``texts`` (by absolute path), re-check what changed, and go on until stable.

    A file whose text would no longer be the YAML that it was keeps the text of the round before, and is not tried
    again. At most ``MAX_ROUNDS`` rounds; a text that comes back ends the rounds for its file.
    """
    result = Fixed({})
    current = dict(texts)
    seen: dict[str, set[str]] = {path: {text} for path, text in texts.items()}
    left = [finding for finding in findings if wanted_fix(finding, unsafe) is not None]
    broken = _syntax_errors(findings)
    for _ in range(MAX_ROUNDS):
        changed, applied = apply_once(current, left, unsafe)
        if not changed:
            return result
        found = list(recheck(changed))
        worse = _syntax_errors(found)
        refused = [path for path in sorted(changed) if worse.get(path, 0) > broken.get(path, 0)]
        if refused:
            # Other files' edits of the same fixes must not stand alone: the round is done again without them.
            result.refused.extend(refused)
            left = [finding for finding in left if not _touches(finding, unsafe, refused)]
            continue
        result.fixed += applied
        result.unstable = [path for path in sorted(changed) if changed[path] in seen[path]]
        for path, text in changed.items():
            seen[path].add(text)
        current.update(changed)
        result.texts.update(changed)
        if result.unstable:
            return result
        broken.update({path: worse.get(path, 0) for path in changed})
        others = [finding for finding in left if finding.path not in changed and not _touches(finding, unsafe, changed)]
        left = [f for f in found if wanted_fix(f, unsafe) and not _touches(f, unsafe, result.refused)] + others
    changed, _ = apply_once(current, left, unsafe)
    result.unstable = sorted(changed)
    return result


def _touches(finding: Finding, unsafe: bool, paths: Iterable[str]) -> bool:
    fix = wanted_fix(finding, unsafe)
    return fix is not None and any(edit.path in paths for edit in fix.edits)


def _syntax_errors(findings: Iterable[Finding]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in findings:
        if finding.rule == "yaml-syntax":
            counts[finding.path] = counts.get(finding.path, 0) + 1
    return counts


def apply_once(texts: Mapping[str, str], findings: Iterable[Finding], unsafe: bool) -> tuple[dict[str, str], int]:
    """One round: the fixes in the order of the findings, each whole or not at all, none that overlaps an earlier one.

    Returns the texts that changed and the number of fixes applied. A fix in a file that is not among ``texts`` is left
    out.
    """
    sources = {path: Source(text) for path, text in texts.items()}
    taken: dict[str, list[_Place]] = {}
    applied = 0
    for finding in sorted(findings, key=Finding.sort_key):
        fix = wanted_fix(finding, unsafe)
        places = None if fix is None else _places(fix.edits, sources)
        if places is None or not _fits(places, taken):
            continue
        for path, place in places:
            insort(taken.setdefault(path, []), place, key=_start)
        applied += 1
    changed: dict[str, str] = {}
    for path, edits in taken.items():
        text = _edited(sources[path], edits)
        if text != texts[path]:
            changed[path] = text
    return changed, applied


def _places(edits: Sequence[Edit], sources: Mapping[str, Source]) -> list[tuple[str, _Place]] | None:
    """The edits as offsets; None when one of them is not in its file."""
    places: list[tuple[str, _Place]] = []
    for edit in edits:
        source = sources.get(edit.path)
        if source is None:
            return None
        start = _offset(source, edit.range.start_line, edit.range.start_column)
        end = _offset(source, edit.range.end_line, edit.range.end_column)
        if start is None or end is None or end < start:
            return None
        places.append((edit.path, _Place(start, end, _BREAK.sub(source.eol, edit.text))))
    return places


def _offset(source: Source, line: int, column: int) -> int | None:
    """The offset of a line and column from 1, or None when there is no such place."""
    if not 1 <= line <= source.line_count or column < 1:
        return None
    offset = source.line_start(line - 1) + column - 1
    return offset if offset <= source.line_end(line - 1) else None


def _fits(places: Sequence[tuple[str, _Place]], taken: Mapping[str, Sequence[_Place]]) -> bool:
    """Whether the places are apart from each other and from those taken; two insertions at one place are not.

    ``taken`` is sorted by position and without overlaps, so that only the neighbours need a look.
    """
    own: dict[str, list[_Place]] = {}
    for path, place in places:
        own.setdefault(path, []).append(place)
        others = taken.get(path, ())
        position = bisect_left(others, place.start, key=_start)
        if any(_overlap(place, other) for other in others[max(0, position - 1) : position + 2]):
            return False
    return all(not _overlap(a, b) for edits in own.values() for a, b in pairwise(sorted(edits, key=_start)))


def _start(place: _Place) -> int:
    return place.start


def _overlap(a: _Place, b: _Place) -> bool:
    if a.start == a.end or b.start == b.end:
        return a.start <= b.end and b.start <= a.end
    return a.start < b.end and b.start < a.end


def _edited(source: Source, edits: Iterable[_Place]) -> str:
    text = source.text
    parts: list[str] = [BOM] if source.bom else []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts.append(text[position : edit.start])
        parts.append(edit.text)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)


def unified_diff(path: str, before: str, after: str) -> str:
    """What changes, as ``patch`` reads it; ``path`` is as users see it. Empty when nothing changes."""
    out: list[str] = []
    for line in difflib.unified_diff(_keep_ends(before), _keep_ends(after), fromfile=f"a/{path}", tofile=f"b/{path}"):
        out.append(line)
        if not line.endswith(("\n", "\r")):
            out.append("\n\\ No newline at end of file\n")
    return "".join(out)


def _keep_ends(text: str) -> list[str]:
    """The lines with their ends; only LF, CRLF and CR end one."""
    lines: list[str] = []
    position = 0
    for match in _BREAK.finditer(text):
        lines.append(text[position : match.end()])
        position = match.end()
    if position < len(text):
        lines.append(text[position:])
    return lines
