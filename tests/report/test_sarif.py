"""SARIF 2.1.0, against the official schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import SEVERITIES, Edit, Finding, Fix, Range, Related
from analyzer.report import sarif
from analyzer.report.common import Report, Suppressed

SCHEMA = json.loads((Path(__file__).parent.parent / "data" / "sarif-2.1.0.schema.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


@dataclass(frozen=True)
class Rule:
    name: str
    code: str = "document.structure"
    severity: str = "warning"
    summary: str = "Short."
    documentation: str = "# Long\n\nText.\n"
    fixable: bool = True


def log(report: Report, **rules: Rule) -> dict:
    known = {name.replace("_", "-"): rule for name, rule in rules.items()}
    text = sarif.render(report, rules=known, version="1.2.3")
    assert text.isascii()
    document = json.loads(text)
    VALIDATOR.validate(document)
    return document


def test_the_schema_does_refuse():
    document = log(Report(()))
    document["runs"][0]["columnKind"] = "bytes"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)


def test_a_run_without_findings_is_valid():
    run = log(Report(()))["runs"][0]
    assert run["results"] == []
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["name"] == "workfile"
    assert run["tool"]["driver"]["version"] == "1.2.3"


def test_everything_that_a_finding_has(rich_finding):
    run = log(Report((rich_finding,)), bad_value=Rule("bad-value"))["runs"][0]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "bad-value"
    assert rule["help"]["markdown"] == "# Long\n\nText.\n"
    assert rule["defaultConfiguration"] == {"level": "warning"}
    assert rule["properties"] == {"tags": ["document.structure"]}
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("bad-value", 0, "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a.workfile.yaml"}
    assert place["region"] == {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 4}
    assert result["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": "steps[0].abc"}]
    related = result["relatedLocations"][0]
    assert related["physicalLocation"]["artifactLocation"] == {"uri": "b%20c/%C3%A4.yaml"}
    assert related["message"] == {"text": "declared here"}
    fixes = result["fixes"]
    assert [fix["description"]["text"] for fix in fixes] == ["write `abd`", "remove it (unsafe)"]
    assert [change["artifactLocation"]["uri"] for change in fixes[0]["artifactChanges"]] == [
        "a.workfile.yaml",
        "b%20c/%C3%A4.yaml",
    ]
    assert fixes[0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": "abd"}


def test_levels(finding):
    findings = tuple(finding(severity=severity, rule=severity) for severity in SEVERITIES)
    run = log(Report(findings))["runs"][0]
    assert [result["level"] for result in run["results"]] == ["error", "note", "warning"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["error", "information", "warning"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_fingerprints_stay_when_lines_move(finding):
    def prints(*findings: Finding) -> list[str]:
        results = log(Report(findings))["runs"][0]["results"]
        return [result["partialFingerprints"]["workfileRoute/v1"] for result in results]

    first, second = prints(finding(route="a"), finding(route="a", place=(2, 1, 2, 2)))
    assert first != second
    assert prints(finding(route="a", place=(9, 3, 9, 4))) == [first]
    assert prints(finding(route="b")) != [first]
    assert prints(finding(route="a", path="other")) != [first]


def test_suppressed_findings_are_results_too(finding):
    hidden = (Suppressed(finding(), "inSource", "known"), Suppressed(finding(place=(3, 1, 3, 1)), "external"))
    results = log(Report((finding(place=(2, 1, 2, 1)),), suppressed=hidden))["runs"][0]["results"]
    assert [result.get("suppressions") for result in results] == [
        [{"kind": "inSource", "justification": "known"}],
        None,
        [{"kind": "external"}],
    ]


def test_uris_are_relative_and_escaped(finding):
    names = ["a b", "../x", "%41", "a:b", "#1?", "é", "\udce9"]
    results = log(Report(tuple(finding(path=name) for name in sorted(names))))["runs"][0]["results"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert uris == {"a%20b", "../x", "%2541", "a%3Ab", "%231%3F", "%C3%A9", "%E9"}


TEXT = st.text(max_size=10)
PATH = st.text(min_size=1, max_size=10)
PLACE = st.builds(lambda line, column: Range(line, column, line, column + 2), st.integers(1, 99), st.integers(1, 99))
EDIT = st.builds(Edit, PATH, PLACE, TEXT)
FIX = st.builds(Fix, TEXT, st.sampled_from(["safe", "unsafe"]), st.lists(EDIT, min_size=1, max_size=3).map(tuple))
FINDING = st.builds(
    Finding,
    PATH,
    st.sampled_from(["bad-value", "other"]),
    st.just("document.x"),
    st.sampled_from(SEVERITIES),
    TEXT,
    PLACE,
    st.lists(st.builds(Related, PATH, PLACE, TEXT), max_size=2, unique=True).map(tuple),
    st.lists(FIX, max_size=2, unique=True).map(tuple),
    TEXT,
)


@given(st.lists(FINDING, max_size=3))
def test_any_findings_are_valid(findings):
    log(Report(tuple(findings)), bad_value=Rule("bad-value"))
