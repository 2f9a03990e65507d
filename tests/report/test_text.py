"""The report for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import Edit, Finding, Fix, Range, Related
from analyzer.report import text
from analyzer.report.common import Locator, Report, Suppressed, printable, split_lines
from analyzer.report.excerpt import render_excerpt
from analyzer.report.width import widths


def test_everything_that_a_finding_has(rich_finding):
    report = Report((rich_finding,), ("a.workfile.yaml",), sources={"a.workfile.yaml": "abc: 1\n"})
    assert text.render(report) == (
        "a.workfile.yaml:1:1: error bad-value: `abc` is wrong; write `abd`.\n"
        " 1 | abc: 1\n"
        "   | ^^^\n"
        "   > b c/ä.yaml:3:2: declared here\n"
        "   = fix: write `abd`\n"
        "   = unsafe fix: remove it\n"
        "\n"
        "1 error in 1 file; 1 can be fixed with `--fix`\n"
    )


def test_without_the_source_there_is_no_excerpt(finding):
    out = text.render(Report((finding(),), ("a.workfile.yaml",)))
    assert out == "a.workfile.yaml:1:1: error bad-value: `abc` is wrong; write `abd`.\n\n1 error in 1 file\n"


def test_the_summary_counts(finding):
    fix = Fix("t", "unsafe", (Edit("a", Range(1, 1, 1, 1), ""),))
    findings = (finding(), finding(), finding(severity="warning", fixes=(fix,)), finding(severity="information"))
    hidden = (Suppressed(finding(), "inSource"), Suppressed(finding(), "external"), Suppressed(finding(), "external"))
    assert text.render(Report(findings, ("a", "b"), hidden)).splitlines()[-1] == (
        "2 errors, 1 warning, 1 information finding in 2 files (1 suppressed, 2 in the baseline); "
        "1 can be fixed with `--fix --unsafe-fixes`"
    )
    assert text.render(Report((), ("a",))) == "1 file checked, no findings\n"


def test_many_related_places_are_cut(finding):
    related = tuple(Related("b", Range(n, 1, n, 2), "here") for n in range(1, 12))
    lines = text.render(Report((finding(related=related),))).splitlines()
    assert lines[8:10] == ["   > b:8:1: here", "   > and 3 more places"]


def test_colour_only_when_asked(rich_finding):
    report = Report((rich_finding,), sources={"a.workfile.yaml": "abc: 1\n"})
    assert "\x1b" not in text.render(report)
    coloured = text.render(report, colour=True)
    assert "\x1b[1;31m^^^\x1b[0m" in coloured
    assert "\x1b[1;31merror\x1b[0m" in coloured


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_nothing_raw_from_outside(path, message, source):
    related = (Related(path, Range(1, 1, 1, 1), message),)
    fix = Fix(message, "safe", (Edit(path, Range(1, 1, 1, 1), message),))
    out = text.render(
        Report((Finding(path, "r", "c", "error", message, Range(1, 1, 1, 2), related, (fix,)),), sources={path: source})
    )
    assert not [c for c in out if c != "\n" and printable(c) != c]
    assert len(out.splitlines()) == out.count("\n") <= 7


@pytest.mark.parametrize(
    ("line", "start", "end", "carets"),
    [
        ("name: abc", 7, 10, "      ^^^"),
        ("名前: abc", 5, 8, "      ^^^"),
        ("a: 値段", 4, 6, "   ^^^^"),
        ("\U0001f600: x", 4, 5, "    ^"),
        ("e\u0301: x", 5, 6, "   ^"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467: x", 8, 9, "    ^"),
        ("\U0001f44d\U0001f3fd: x", 5, 6, "    ^"),
        ("\u2764\ufe0f: x", 5, 6, "    ^"),
        ("한글: x", 5, 6, "      ^"),
        ("ﾊﾝ: x", 5, 6, "    ^"),
        ("\tx: y", 5, 6, "       ^"),
        ("ab\tx", 4, 5, "    ^"),
        ("a\x1bb", 3, 4, "     ^"),
        ("abc", 4, 4, "   ^"),
        ("abc", 2, 2, " ^"),
        ("abc", 9, 12, "   ^"),
        ("", 1, 1, "^"),
        ("e\u0301", 2, 3, " ^"),
    ],
)
def test_carets_stand_under_the_place(line, start, end, carets):
    excerpt = render_excerpt([line], Range(1, start, 1, end))
    assert excerpt is not None
    assert excerpt[1] == carets


def test_tabs_and_controls_in_the_line():
    assert render_excerpt(["\ta\x1b[m\tb"], Range(1, 2, 1, 3)) == ("    a\\x1b[m b", "    ^")


def test_a_place_over_several_lines_is_marked_to_the_end_of_its_first():
    assert render_excerpt(["x: |  ", "  y"], Range(1, 4, 2, 4)) == ("x: |  ", "   ^")


def test_a_line_that_is_not_there():
    assert render_excerpt(["x"], Range(2, 1, 2, 1)) is None
    assert render_excerpt([], Range(1, 1, 1, 1)) is None


@pytest.mark.parametrize("start", [1, 40, 500, 990])
def test_a_long_line_is_cut_around_the_place(start):
    line = "".join(str(n % 10) for n in range(1000))
    excerpt = render_excerpt([line], Range(1, start, 1, start + 5), 60)
    assert excerpt is not None
    shown, carets = excerpt
    assert len(shown) <= 60
    assert len(carets) <= 60
    at = carets.index("^")
    assert carets.count("^") == 5
    assert shown[at : at + 5] == line[start - 1 : start + 4]
    assert shown.startswith("…") == (start > 20)
    assert shown.endswith("…") == (start < 990)


def test_a_long_place_is_cut_itself():
    excerpt = render_excerpt(["x" * 1000], Range(1, 1, 1, 1001), 60)
    assert excerpt == ("x" * 58 + "…", "^" * 58)


@given(st.text(alphabet=st.sampled_from("a\t値\u0301\x1b…\U0001f600"), max_size=80), st.data())
def test_an_excerpt_fits_and_its_carets_are_in_it(line, data):
    start = data.draw(st.integers(1, len(line) + 1))
    end = data.draw(st.integers(start, len(line) + 1))
    excerpt = render_excerpt([line], Range(1, start, 1, end), 30)
    assert excerpt is not None
    shown, carets = excerpt
    assert sum(widths(shown)) <= 30
    assert carets.lstrip(" ").strip("^") == ""
    assert carets.count("^") >= 1
    assert len(carets) <= 31


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain é 値 \U0001f600", "plain é 値 \U0001f600"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x1b[31m\x07\x7f\x9b", "\\x1b[31m\\x07\\x7f\\x9b"),
        ("\u202e\u2066\u200f\u2028\ufeff\ud800", "\\u202e\\u2066\\u200f\\u2028\\ufeff\\ud800"),
    ],
)
def test_printable(given_text, shown):
    assert printable(given_text) == shown


def test_only_three_ends_end_a_line():
    assert split_lines("a\r\nb\rc\nd\x0be\x85f\u2028g") == ["a", "b", "c", "d\x0be\x85f\u2028g"]


def test_a_locator_makes_paths_relative(finding):
    locator = Locator("/work/x", {"/work/x/in": "<stdin>"})
    assert locator.path("/work/x/a/b") == "a/b"
    assert locator.path("/work/y/b") == "../y/b"
    assert locator.path("/work/x/in") == "<stdin>"
    assert locator.path("/work/xy") == "../xy"
    assert Locator("/").path("/a/b") == "a/b"
    report = locator.report([finding("/work/x/b"), finding("/work/x/a", (2, 1, 2, 1)), finding("/work/x/a")], [])
    assert [(f.path, f.range.start_line) for f in report.findings] == [("a", 1), ("a", 2), ("b", 1)]
