"""``--format junit``: a test suite for each file, for the continuous integration servers that read nothing else."""

from __future__ import annotations

import re

from analyzer.findings import Finding
from analyzer.report.common import Report

# What XML 1.0 cannot hold, not even as a character reference, and the controls that it can but nobody wants to see.
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')


def render(report: Report, *, strict: bool = False) -> str:
    """An XML document; errors are failures (with ``strict`` warnings too), other findings stand in the output."""
    by_file: dict[str, list[Finding]] = {path: [] for path in report.files}
    for finding in report.findings:
        by_file.setdefault(finding.path, []).append(finding)
    suites: list[str] = []
    total = failures = 0
    for path in sorted(by_file):
        findings = by_file[path]
        failed = sum(1 for finding in findings if _fails(finding, strict))
        suites.append(_suite(path, findings, failed, strict))
        total += max(1, len(findings))
        failures += failed
    head = f'<testsuites name="workfile check" tests="{total}" failures="{failures}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _fails(finding: Finding, strict: bool) -> bool:
    return finding.severity == "error" or (strict and finding.severity == "warning")


def _suite(path: str, findings: list[Finding], failed: int, strict: bool) -> str:
    """A clean file is one passed test, so that it is seen to have been checked."""
    name = xml_text(path)
    count = max(1, len(findings))
    lines = [f' <testsuite name="{name}" tests="{count}" failures="{failed}" errors="0" skipped="0">']
    if not findings:
        lines.append(f'  <testcase classname="{name}" name="no findings" file="{name}"/>')
    for finding in findings:
        lines.extend(_case(name, finding, strict))
    lines.append(" </testsuite>")
    return "\n".join(lines)


def _case(name: str, finding: Finding, strict: bool) -> list[str]:
    place = finding.range
    title = xml_text(f"{finding.rule} at {place.start_line}:{place.start_column}")
    message = xml_text(finding.message)
    detail = xml_text(
        f"{finding.path}:{place.start_line}:{place.start_column}: {finding.severity} {finding.rule}: {finding.message}"
    )
    opening = f'  <testcase classname="{name}" name="{title}" file="{name}" line="{place.start_line}">'
    if _fails(finding, strict):
        body = f'   <failure type="{xml_text(finding.rule)}" message="{message}">{detail}</failure>'
    else:
        body = f"   <system-out>{detail}</system-out>"
    return [opening, body, "  </testcase>"]


def xml_text(text: str) -> str:
    """``text`` for an attribute or content; what XML cannot hold is shown as an escape."""
    safe = _NOT_XML.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return _SPECIAL.sub(lambda match: _ENTITIES[match.group()], safe)
