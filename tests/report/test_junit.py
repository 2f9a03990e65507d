"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import Finding, Range
from analyzer.report import junit
from analyzer.report.common import Report


def parse(report: Report, *, strict: bool = False) -> ET.Element:
    return ET.fromstring(junit.render(report, strict=strict).encode())


def test_a_suite_for_each_file(finding):
    findings = (finding(path="b"), finding(path="b", severity="warning"), finding(path="c", severity="information"))
    root = parse(Report(findings, ("a", "b", "c")))
    assert root.attrib == {"name": "workfile check", "tests": "4", "failures": "1", "errors": "0"}
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in root] == [
        ("a", "1", "0"),
        ("b", "2", "1"),
        ("c", "1", "0"),
    ]
    assert [case.get("name") for case in root[0]] == ["no findings"]
    failure = root[1][0].find("failure")
    assert failure is not None
    assert failure.attrib == {"type": "bad-value", "message": "`abc` is wrong; write `abd`."}
    assert failure.text == "b:1:1: error bad-value: `abc` is wrong; write `abd`."
    assert root[1][0].attrib == {"classname": "b", "name": "bad-value at 1:1", "file": "b", "line": "1"}
    assert root[1][1].find("failure") is None
    assert root[1][1].findtext("system-out") == "b:1:1: warning bad-value: `abc` is wrong; write `abd`."


def test_strict_makes_warnings_failures(finding):
    report = Report((finding(severity="warning"), finding(severity="information")), ("a.workfile.yaml",))
    assert parse(report, strict=True).get("failures") == "1"
    assert parse(report).get("failures") == "0"


def test_nothing_checked_is_an_empty_document():
    assert len(parse(Report(()))) == 0


def test_what_xml_cannot_hold_is_escaped(finding):
    message = '\x00\x1b[31m\ufffe\ud800\x9b <&">]]> \U0001f600\té\r\n'
    root = parse(Report((finding(message=message),), ("a.workfile.yaml",)))
    failure = root[0][0].find("failure")
    assert failure is not None
    assert failure.get("message") == '\\u0000\\u001b[31m\\ufffe\\ud800\\u009b <&">]]> \U0001f600\té\r\n'


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_well_formed_and_comes_back_the_same_or_escaped(path, message):
    place = Range(1, 1, 1, 2)
    root = parse(Report((Finding(path, "r", "c", "error", message, place),), (path,)))
    failure = root[0][0].find("failure")
    assert failure is not None
    assert failure.get("message") == junit._NOT_XML.sub(lambda m: f"\\u{ord(m.group()):04x}", message)
