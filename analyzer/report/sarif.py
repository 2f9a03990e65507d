"""``--format sarif``: SARIF 2.1.0, with relative URIs and columns in code points."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from urllib.parse import quote

from analyzer.findings import Finding, Fix, Range, Severity
from analyzer.report.common import Report, RuleDocumentation, Suppressed

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "workfileRoute/v1"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "information": "note"}


def render(report: Report, *, rules: Mapping[str, RuleDocumentation], version: str) -> str:
    """One SARIF log with one run; ``rules`` are the known ones, of which those that have results are described."""
    entries = [(finding, None) for finding in report.findings] + [(item.finding, item) for item in report.suppressed]
    entries.sort(key=lambda entry: entry[0].sort_key())
    names = sorted({finding.rule for finding, _ in entries})
    index = {name: position for position, name in enumerate(names)}
    seen: dict[tuple[str, str, str], int] = {}
    results: list[dict[str, object]] = []
    for finding, suppressed in entries:
        key = (finding.path, finding.rule, finding.route)
        occurrence = seen[key] = seen.get(key, -1) + 1
        results.append(_result(finding, index[finding.rule], occurrence, suppressed))
    codes = {finding.rule: finding for finding, _ in entries}
    driver = {
        "name": "workfile",
        "version": version,
        "rules": [_rule(name, rules.get(name), codes[name]) for name in names],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str, rule: RuleDocumentation | None, example: Finding) -> dict[str, object]:
    """The description of a rule; of an unknown one (it comes from a newer cache, say) only what a finding tells."""
    code = example.code if rule is None else rule.code
    severity = example.severity if rule is None else rule.severity
    described: dict[str, object] = {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"tags": [code]},
    }
    if rule is not None:
        described["shortDescription"] = {"text": rule.summary}
        described["fullDescription"] = {"text": rule.summary}
        described["help"] = {"text": rule.documentation, "markdown": rule.documentation}
    return described


def _result(finding: Finding, rule_index: int, occurrence: int, suppressed: Suppressed | None) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.path, finding.range, finding.route)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding, occurrence)},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(related.path, related.range), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, start=1)
        ]
    if finding.fixes:
        result["fixes"] = [_fix(fix) for fix in finding.fixes]
    if suppressed is not None:
        entry: dict[str, object] = {"kind": suppressed.kind}
        if suppressed.reason:
            entry["justification"] = suppressed.reason
        result["suppressions"] = [entry]
    return result


def _fingerprint(finding: Finding, occurrence: int) -> str:
    """Stable over edits elsewhere in the file: by path, rule, symbolic route and how many like it came before."""
    text = "\x00".join((finding.path, finding.rule, finding.route, str(occurrence)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _artifact(path: str) -> dict[str, object]:
    return {"uri": quote(path.encode("utf-8", "surrogateescape"), safe="/")}


def _region(place: Range) -> dict[str, int]:
    return {
        "startLine": place.start_line,
        "startColumn": place.start_column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _location(path: str, place: Range, route: str = "") -> dict[str, object]:
    location: dict[str, object] = {"physicalLocation": {"artifactLocation": _artifact(path), "region": _region(place)}}
    if route:
        location["logicalLocations"] = [{"fullyQualifiedName": route}]
    return location


def _fix(fix: Fix) -> dict[str, object]:
    """A fix; edits of one file stand together, in order. Its applicability is told in the description."""
    changes: dict[str, list[dict[str, object]]] = {}
    for edit in fix.edits:
        replacement = {"deletedRegion": _region(edit.range), "insertedContent": {"text": edit.text}}
        changes.setdefault(edit.path, []).append(replacement)
    title = fix.title if fix.applicability == "safe" else f"{fix.title} (unsafe)"
    return {
        "description": {"text": title},
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }
