"""Workflow commands and the job summary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import Finding, Range
from analyzer.report import github
from analyzer.report.common import Report


def test_levels_and_places(finding):
    findings = (
        finding(severity="information", rule="info"),
        finding(severity="warning", place=(2, 3, 4, 1)),
        finding(path="b", message="50% of\n`x`"),
    )
    assert github.render(Report(findings)).splitlines() == [
        "::error file=b,line=1,endLine=1,col=1,endColumn=4,title=bad-value::50%25 of\\n`x`",
        "::warning file=a.workfile.yaml,line=2,endLine=4,title=bad-value::`abc` is wrong; write `abd`.",
        "::notice file=a.workfile.yaml,line=1,endLine=1,col=1,endColumn=4,title=info::`abc` is wrong; write `abd`.",
    ]
    assert github.render(Report(())) == ""


def test_properties_are_escaped(finding):
    assert "file=a%3Ab%2Cc%25d," in github.render(Report((finding(path="a:b,c%d"),)))


def test_ten_of_a_level_and_a_word_about_the_others(finding):
    findings = tuple(
        finding(severity=severity, place=(n, 1, n, 2))
        for n in range(1, 13)
        for severity in ("information", "warning", "error")
    )
    lines = github.render(Report(findings)).splitlines()
    commands = [line.split(" ")[0] for line in lines]
    assert commands == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"] * 10
    assert [line for line in lines if "line=10," in line and line.startswith("::notice")] == []
    assert lines[-1] == (
        "::notice title=workfile::7 more findings not shown here, of 36; "
        "run `workfile check` or see the job summary for all of them"
    )
    exactly = tuple(finding(severity="information", place=(n, 1, n, 2)) for n in range(1, 11))
    assert len(github.render(Report(exactly)).splitlines()) == 10


@given(st.text(max_size=20), st.text(max_size=20))
def test_nothing_from_outside_begins_a_command(path, message):
    hostile = Finding(
        f"a\n::error::{path}", "r", "c", "error", f"x\r\n::set-output name=a::{message}", Range(1, 1, 1, 2)
    )
    out = github.render(Report((hostile,)))
    assert len(out.splitlines()) == out.count("\n") == 1
    assert out.startswith("::error file=")
    assert out.count("::") >= 2
    properties = out[len("::error ") :].split("::", 1)[0]
    assert [item.split("=", 1)[0] for item in properties.split(",")] == [
        "file",
        "line",
        "endLine",
        "col",
        "endColumn",
        "title",
    ]


def test_the_job_summary(finding):
    findings = (finding(severity="warning"), finding(path="a|b", message="<img> [x](y) @me\n`a|b`"))
    assert github.render_summary(Report(findings, ("a", "b"))) == (
        "### workfile check\n\n2 files checked, 1 finding of severity error, 1 finding of severity warning.\n\n"
        "| severity | place | rule | message |\n| --- | --- | --- | --- |\n"
        "| error | a\\|b:1:1 | bad-value | &lt;img&gt; \\[x](y) &#64;me\\n`a\\|b` |\n"
        "| warning | a.workfile.yaml:1:1 | bad-value | `abc` is wrong; write `abd`. |\n"
    )
    assert github.render_summary(Report((), ("a",))) == "### workfile check\n\n1 file checked, no findings.\n"


def test_the_job_summary_is_bounded(finding):
    findings = tuple(finding(place=(n, 1, n, 2)) for n in range(1, 1203))
    out = github.render_summary(Report(findings, ("a",)))
    assert out.count("\n| error") == 1000
    assert out.endswith("\n202 more findings left out.\n")
