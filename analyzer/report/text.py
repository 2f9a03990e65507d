"""The report for people: one paragraph a finding with its source line, related places and fixes, and a summary."""

from __future__ import annotations

from analyzer.findings import SEVERITIES, Finding, Severity
from analyzer.report.common import Report, plural, printable, split_lines
from analyzer.report.excerpt import MAX_WIDTH, render_excerpt

MAX_RELATED = 8
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_SEVERITY_STYLE: dict[Severity, str] = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "information": "\x1b[1;36m",
}


class _Paint:
    """Wraps text in terminal styles, or leaves it as it is."""

    __slots__ = ("_on",)

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._on else text


_PLAIN = _Paint(False)


def render(report: Report, *, colour: bool = False, width: int = MAX_WIDTH) -> str:
    """The whole report; ``width`` is the terminal's, in columns."""
    paint = _Paint(colour)
    lines_of: dict[str, list[str]] = {}
    parts: list[str] = []
    for finding in report.findings:
        if finding.path not in lines_of:
            text = report.sources.get(finding.path)
            lines_of[finding.path] = [] if text is None else split_lines(text)
        parts.append(render_finding(finding, lines_of[finding.path], paint, width))
    parts.append(render_summary(report, paint))
    return "\n".join(parts) + "\n"


def render_headline(finding: Finding, paint: _Paint = _PLAIN) -> str:
    """``path:line:column: severity rule: message``."""
    place = finding.range
    where = paint(_BOLD, f"{printable(finding.path)}:{place.start_line}:{place.start_column}:")
    severity = paint(_SEVERITY_STYLE[finding.severity], finding.severity)
    return f"{where} {severity} {paint(_BOLD, finding.rule)}: {printable(finding.message)}"


def render_finding(finding: Finding, lines: list[str], paint: _Paint, width: int) -> str:
    """``path:line:column: severity rule: message``, the excerpt, related places, fixes, and an empty line."""
    place = finding.range
    out = [render_headline(finding, paint)]
    gutter = len(str(place.start_line))
    excerpt = render_excerpt(lines, place, max(20, width - gutter - 4))
    if excerpt is not None:
        source, carets = excerpt
        out.append(f"{paint(_DIM, f' {place.start_line} |')} {source}".rstrip())
        margin = paint(_DIM, f" {'':{gutter}} |")
        out.append(f"{margin} {paint(_SEVERITY_STYLE[finding.severity], carets)}")
    for related in finding.related[:MAX_RELATED]:
        spot = f"{printable(related.path)}:{related.range.start_line}:{related.range.start_column}"
        out.append(f" {'':{gutter}} {paint(_DIM, '>')} {spot}: {printable(related.message)}")
    if len(finding.related) > MAX_RELATED:
        more = plural(len(finding.related) - MAX_RELATED, "more place")
        out.append(f" {'':{gutter}} {paint(_DIM, '>')} and {more}")
    for fix in finding.fixes:
        label = "fix" if fix.applicability == "safe" else "unsafe fix"
        out.append(f" {'':{gutter}} {paint(_DIM, '=')} {label}: {printable(fix.title)}")
    out.append("")
    return "\n".join(out)


def render_summary(report: Report, paint: _Paint) -> str:
    """``2 errors, 1 warning in 3 files; 1 can be fixed with `--fix```."""
    files = plural(len(report.files), "file")
    if not report.findings:
        return f"{files} checked, no findings{_hidden(report)}"
    nouns = {"error": "error", "warning": "warning", "information": "information finding"}
    counts: list[str] = []
    for severity in SEVERITIES:
        count = report.count(severity)
        if count:
            counts.append(paint(_SEVERITY_STYLE[severity], plural(count, nouns[severity])))
    safe = sum(1 for finding in report.findings if any(fix.applicability == "safe" for fix in finding.fixes))
    unsafe = sum(1 for finding in report.findings if finding.fixes) - safe
    hints = [f"{safe} can be fixed with `--fix`"] if safe else []
    if unsafe:
        verb = "" if safe else "can be fixed "
        hints.append(f"{unsafe} {verb}with `--fix --unsafe-fixes`")
    tail = f"; {', '.join(hints)}" if hints else ""
    return f"{', '.join(counts)} in {files}{_hidden(report)}{tail}"


def _hidden(report: Report) -> str:
    commented = sum(1 for item in report.suppressed if item.kind == "inSource")
    known = len(report.suppressed) - commented
    notes = [f"{commented} suppressed"] if commented else []
    if known:
        notes.append(f"{known} in the baseline")
    return f" ({', '.join(notes)})" if notes else ""
