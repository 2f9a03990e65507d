"""The JSON of ``workfile check``, as the interface says."""

from __future__ import annotations

import json

from analyzer.report import json as report_json
from analyzer.report.common import Report


def test_the_whole_object(rich_finding, finding):
    other = finding(path="b", place=(12, 5, 13, 13), severity="information", message="ä\U0001f600\n")
    text = report_json.render(Report((rich_finding, other), ("a", "b", "c")))
    assert text.isascii()
    place = {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 4}}
    assert json.loads(text) == {
        "version": 1,
        "files": 3,
        "findings": [
            {
                "path": "a.workfile.yaml",
                "rule": "bad-value",
                "code": "document.structure",
                "severity": "error",
                "message": "`abc` is wrong; write `abd`.",
                "range": place,
                "related": [
                    {
                        "path": "b c/ä.yaml",
                        "range": {"start": {"line": 3, "column": 2}, "end": {"line": 3, "column": 5}},
                        "message": "declared here",
                    }
                ],
                "fixes": [
                    {
                        "title": "write `abd`",
                        "applicability": "safe",
                        "edits": [
                            {"path": "a.workfile.yaml", "range": place, "text": "abd"},
                            {"path": "b c/ä.yaml", "range": place, "text": ""},
                        ],
                    },
                    {
                        "title": "remove it",
                        "applicability": "unsafe",
                        "edits": [{"path": "a.workfile.yaml", "range": place, "text": ""}],
                    },
                ],
            },
            {
                "path": "b",
                "rule": "bad-value",
                "code": "document.structure",
                "severity": "information",
                "message": "ä\U0001f600\n",
                "range": {"start": {"line": 12, "column": 5}, "end": {"line": 13, "column": 13}},
                "related": [],
                "fixes": [],
            },
        ],
        "summary": {"error": 1, "warning": 0, "information": 1},
    }


def test_without_findings():
    assert json.loads(report_json.render(Report(()))) == {
        "version": 1,
        "files": 0,
        "findings": [],
        "summary": {"error": 0, "warning": 0, "information": 0},
    }
