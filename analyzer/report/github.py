"""``--format github``: workflow commands that become annotations, and a job summary in Markdown.

The service shows at most ten annotations of a level for each step and drops the others silently, so the most severe
come first, no more are sent, and a last notice says how many were left out.
"""

from __future__ import annotations

from analyzer.findings import SEVERITIES, Finding, Severity
from analyzer.report.common import Report, plural, printable

MAX_PER_LEVEL = 10
MAX_SUMMARY_ROWS = 1000
_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "information": "notice"}


def render(report: Report) -> str:
    """Workflow commands, a line each; empty when there is nothing to say."""
    groups = {severity: [f for f in report.findings if f.severity == severity] for severity in SEVERITIES}
    over = any(len(group) > MAX_PER_LEVEL for group in groups.values())
    lines: list[str] = []
    for severity in SEVERITIES:
        # The notice about what was left out is itself a notice and needs a place among the ten.
        room = MAX_PER_LEVEL - 1 if over and severity == "information" else MAX_PER_LEVEL
        lines.extend(_command(finding) for finding in groups[severity][:room])
    dropped = len(report.findings) - len(lines)
    if dropped:
        message = (
            f"{plural(dropped, 'more finding')} not shown here, of {len(report.findings)}; "
            "run `workfile check` or see the job summary for all of them"
        )
        lines.append(f"::notice title=workfile::{_data(message)}")
    return "".join(line + "\n" for line in lines)


def _command(finding: Finding) -> str:
    place = finding.range
    properties = [("file", finding.path), ("line", str(place.start_line)), ("endLine", str(place.end_line))]
    if place.start_line == place.end_line:  # columns are refused for a place over several lines
        properties.append(("col", str(place.start_column)))
        properties.append(("endColumn", str(place.end_column)))
    properties.append(("title", finding.rule))
    written = ",".join(f"{name}={_property(value)}" for name, value in properties)
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(printable(finding.message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")


def render_summary(report: Report) -> str:
    """The job summary: a table of the findings, the most severe first."""
    counts = ", ".join(plural(report.count(s), "finding") + f" of severity {s}" for s in SEVERITIES if report.count(s))
    head = f"### workfile check\n\n{plural(len(report.files), 'file')} checked, {counts or 'no findings'}.\n"
    if not report.findings:
        return head
    order = {severity: position for position, severity in enumerate(SEVERITIES)}
    ranked = sorted(report.findings, key=lambda finding: order[finding.severity])
    rows = [
        f"| {finding.severity} | {_cell(finding.path)}:{finding.range.start_line}:{finding.range.start_column} "
        f"| {_cell(finding.rule)} | {_cell(finding.message)} |"
        for finding in ranked[:MAX_SUMMARY_ROWS]
    ]
    table = "\n| severity | place | rule | message |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    left = len(ranked) - len(rows)
    return head + table + (f"\n{plural(left, 'more finding')} left out.\n" if left else "")


def _cell(text: str) -> str:
    """Text for a table cell: no markup of its own but code spans, which messages use for names."""
    escaped = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    return escaped.replace("[", "\\[").replace("@", "&#64;")
