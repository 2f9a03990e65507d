"""``--format json``: the interface for other programs (docs: the JSON of ``workfile check``), version 1."""

from __future__ import annotations

import json

from analyzer.findings import SEVERITIES, Finding, Range
from analyzer.report.common import Report

VERSION = 1


def render(report: Report) -> str:
    """One JSON object, a finding a line; text outside ASCII is escaped so that any output encoding can carry it."""
    findings = ",".join("\n  " + json.dumps(finding_json(finding)) for finding in report.findings)
    summary = json.dumps({severity: report.count(severity) for severity in SEVERITIES})
    head = f'{{"version": {VERSION},\n "files": {len(report.files)},\n'
    return f'{head} "findings": [{findings}],\n "summary": {summary}}}\n'


def range_json(place: Range) -> dict[str, dict[str, int]]:
    """Lines and columns from 1, columns in code points, ``end`` past the last character."""
    return {
        "start": {"line": place.start_line, "column": place.start_column},
        "end": {"line": place.end_line, "column": place.end_column},
    }


def finding_json(finding: Finding) -> dict[str, object]:
    """One element of ``findings``."""
    return {
        "path": finding.path,
        "rule": finding.rule,
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "range": range_json(finding.range),
        "related": [
            {"path": related.path, "range": range_json(related.range), "message": related.message}
            for related in finding.related
        ],
        "fixes": [
            {
                "title": fix.title,
                "applicability": fix.applicability,
                "edits": [
                    {"path": edit.path, "range": range_json(edit.range), "text": edit.text} for edit in fix.edits
                ],
            }
            for fix in finding.fixes
        ],
    }
