"""Code actions: the repairs of findings, all safe ones at once, and suppressing a rule on a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.findings import Edit, Finding, Fix
from analyzer.fixes import fix_texts
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.source import Source
from lsp_server.nodes import scalar_at
from lsp_server.snapshot import Snapshot, Span, TextEdit
from lsp_server.textdiff import line_edits
from lsp_server.workspace import NOT_CHECKED

QUICK_FIX: Final = "quickfix"
FIX_ALL: Final = "source.fixAll.workfile"
MAX_ACTIONS: Final = 100

_NAMES = re.compile(r"workfile:\s*ignore\s*\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to offer. ``fix`` has edits as the finding has them, ``edits`` are spans of the snapshot."""

    title: str
    kind: str
    finding: Finding | None = None
    fix: Fix | None = None
    edits: tuple[TextEdit, ...] = ()
    preferred: bool = False


def wants(kind: str, only: Sequence[str] | None) -> bool:
    """Whether an action of a kind is asked for; a kind stands for those below it."""
    return only is None or any(not each or kind == each or kind.startswith(each + ".") for each in only)


def actions(snapshot: Snapshot, findings: Iterable[Finding], wanted: Span, only: Sequence[str] | None) -> list[Action]:
    """The actions for a range, most useful first: safe fixes, other fixes, suppressions."""
    if not wants(QUICK_FIX, only):
        return []
    here = [finding for finding in findings if _touches(snapshot.source, finding, wanted)][:MAX_ACTIONS]
    found: list[Action] = []
    for finding in here:
        safe = next((fix for fix in finding.fixes if fix.applicability == "safe"), None)
        found.extend(Action(fix.title, QUICK_FIX, finding, fix, (), fix is safe) for fix in finding.fixes)
    found.sort(key=lambda action: not action.preferred)
    seen: set[tuple[str, int]] = set()
    for finding in here:
        key = (finding.rule, finding.range.start_line)
        if key in seen or finding.rule in ("unused-suppression", NOT_CHECKED):
            continue
        seen.add(key)
        edit = suppression(snapshot, finding)
        if edit is not None:
            found.append(Action(f"Ignore `{finding.rule}` on this line", QUICK_FIX, finding, None, (edit,)))
    return found[:MAX_ACTIONS]


def _touches(source: Source, finding: Finding, wanted: Span) -> bool:
    place = finding.range
    start = source.offset_at(place.start_line - 1, place.start_column - 1)
    end = source.offset_at(place.end_line - 1, place.end_column - 1)
    return start <= wanted[1] and wanted[0] <= end


def suppression(snapshot: Snapshot, finding: Finding) -> TextEdit | None:
    """The edit that suppresses the finding's rule on its line; None where no comment can stand."""
    source = snapshot.source
    line = finding.range.start_line - 1
    start, end = source.line_start(line), source.line_end(line)
    if finding.rule == "multiple-documents":
        # What stands from there on is not read, a comment neither: it goes above.
        return TextEdit(snapshot.path, (start, start), f"# workfile: ignore[{finding.rule}]{source.eol}")
    comment = next((each for each in snapshot.tree.comments if start <= each.start <= end), None)
    if comment is not None:
        found = _NAMES.search(source.text, comment.start, comment.end)
        if found is None:
            return TextEdit(snapshot.path, (end, end), f"  # workfile: ignore[{finding.rule}]")
        separator = ", " if found[1].strip() else ""
        return TextEdit(snapshot.path, (found.end(1), found.end(1)), f"{separator}{finding.rule}")
    inside = scalar_at(snapshot.tree.root, end)
    if not _runs_on(inside, end):
        return TextEdit(snapshot.path, (end, end), f"  # workfile: ignore[{finding.rule}]")
    above = scalar_at(snapshot.tree.root, start)
    if line and _runs_on(above, start):
        return None  # in the middle of a text of several lines: a comment would become part of it
    indent = re.match(r"[ ]*", source.text[start:end])
    assert indent is not None
    return TextEdit(snapshot.path, (start, start), f"{indent[0]}# workfile: ignore[{finding.rule}]{source.eol}")


def _runs_on(scalar: Scalar | None, offset: int) -> bool:
    return scalar is not None and (scalar.start < offset < scalar.end or scalar.style in ("literal", "folded"))


def fix_all(
    snapshot: Snapshot, findings: Sequence[Finding], recheck: Callable[[str], Sequence[Finding]]
) -> list[TextEdit]:
    """The edits of all safe fixes of the file, until nothing more is fixed; fixes of other files are left out."""
    own = [_without_others(finding, snapshot.path) for finding in findings]
    text = snapshot.text

    def again(texts: object) -> Sequence[Finding]:
        assert isinstance(texts, dict)
        return [_without_others(finding, snapshot.path) for finding in recheck(texts[snapshot.path])]

    fixed = fix_texts({snapshot.path: text}, own, again).texts.get(snapshot.path, text)
    return [TextEdit(snapshot.path, place, new) for place, new in line_edits(text, fixed)]


def _without_others(finding: Finding, path: str) -> Finding:
    fixes = tuple(fix for fix in finding.fixes if _all_in(fix.edits, path))
    if len(fixes) == len(finding.fixes):
        return finding
    return Finding(
        finding.path,
        finding.rule,
        finding.code,
        finding.severity,
        finding.message,
        finding.range,
        finding.related,
        fixes,
        finding.route,
        finding.tags,
    )


def _all_in(edits: Iterable[Edit], path: str) -> bool:
    return all(edit.path == path for edit in edits)
