"""``workfile format``: what is written, shown and answered; the layout itself is tested with the formatter."""

from __future__ import annotations

import stat

import pytest

from analyzer.formatting import Layout
from workfile_cli import format as format_module


@pytest.fixture(autouse=True)
def formatter(monkeypatch):
    """A layout that is easy to see: no blanks at the end of a line."""

    def layout(text: str) -> Layout:
        if "broken" in text:
            return Layout(text, problem="its YAML has problems")
        if "odd" in text:
            return Layout(text, left="the layout has no place for it")
        return Layout("".join(f"{line.rstrip()}\n" for line in text.splitlines()))

    monkeypatch.setattr(format_module, "lay_out", layout)


def test_files_are_changed_in_place(run, put):
    changed = put("a.workfile.yaml", "x: 1   \n")
    same = put("sub/b.connector.yaml", "x: 1\n")
    changed.chmod(0o600)
    before = same.stat().st_mtime_ns
    ran = run("format")
    assert (ran.code, ran.out, ran.err) == (0, "", "2 files looked at, 1 changed\n")
    assert changed.read_text() == "x: 1\n"
    assert stat.S_IMODE(changed.stat().st_mode) == 0o600
    assert same.stat().st_mtime_ns == before


def test_check_changes_nothing_and_is_1(run, put):
    file = put("a.workfile.yaml", "x: 1   \n")
    put("b.workfile.yaml", "x: 1\n")
    ran = run("format", "--check")
    assert (ran.code, ran.out, ran.err) == (1, "a.workfile.yaml\n", "2 files looked at, 1 would change\n")
    assert file.read_text() == "x: 1   \n"
    assert run("format", "--check", "b.workfile.yaml").code == 0


def test_diff_changes_nothing(run, put):
    file = put("a.workfile.yaml", "x: 1   \n")
    ran = run("format", "--diff")
    assert ran.out == "--- a/a.workfile.yaml\n+++ b/a.workfile.yaml\n@@ -1 +1 @@\n-x: 1   \n+x: 1\n"
    assert ran.code == 0
    assert run("format", "--diff", "--check").code == 1
    assert file.read_text() == "x: 1   \n"


def test_standard_input(run):
    assert run("format", "-", stdin=b"x: 1  \n").out == "x: 1\n"
    ran = run("format", "-", "--check", stdin=b"x: 1  \n")
    assert (ran.code, ran.out) == (1, "")
    assert "+x: 1\n" in run("format", "-", "--diff", stdin=b"x: 1  \n").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], "--nonsense"),
        (["gone.workfile.yaml"], "`gone.workfile.yaml`"),
        (["-", "a.workfile.yaml"], "`-` does not go with other paths"),
        (["notes.txt"], "`notes.txt` has no name that tells what it is"),
        (["latin.workfile.yaml"], "it is not UTF-8"),
        (["broken.workfile.yaml"], "its YAML has problems"),
    ],
)
def test_what_cannot_be_done_is_2_in_one_line(run, put, arguments, words):
    put("latin.workfile.yaml", b"x: \xff\n")
    put("broken.workfile.yaml", "broken: [\n")
    put("notes.txt", "x: 1  \n")
    ran = run("format", *arguments)
    assert (ran.code, ran.out) == (2, "")
    lines = [line for line in ran.err.splitlines() if "looked at" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("workfile format: error: ")
    assert words in lines[0]


def test_broken_standard_input_comes_out_as_it_is(run):
    ran = run("format", "-", stdin=b"broken: [\n")
    assert (ran.code, ran.out) == (2, "broken: [\n")
    assert "its YAML has problems" in ran.err
    assert run("format", "-", stdin=b"\xff").code == 2


def test_what_the_layout_has_no_place_for_is_announced_and_fails_a_check(run, put):
    file = put("a.workfile.yaml", "odd: 1  \n")
    ran = run("format")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == ("a.workfile.yaml stays as it is: the layout has no place for it\n1 file looked at, 0 changed\n")
    assert file.read_text() == "odd: 1  \n"
    assert run("format", "--check").code == 1
    ran = run("format", "-", "--check", stdin=b"odd: 1\n")
    assert (ran.code, ran.err) == (1, "standard input stays as it is: the layout has no place for it\n")
    assert run("format", "-", stdin=b"odd: 1\n").out == "odd: 1\n"


def test_excluded_files_that_are_named(run, put):
    put("workfile.toml", '[check]\nexclude = ["vendor/**"]\n')
    file = put("vendor/a.workfile.yaml", "x: 1  \n")
    assert run("format", "--check", "vendor/a.workfile.yaml").code == 1
    assert run("format", "--force-exclude", "vendor/a.workfile.yaml").code == 0
    assert file.read_text() == "x: 1  \n"
