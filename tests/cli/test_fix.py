"""``--fix``, ``--unsafe-fixes`` and ``--diff``."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from analyzer.findings import Edit, Finding, Fix, Range
from analyzer.fixes import MAX_ROUNDS, apply_once, fix_texts, unified_diff


def test_safe_fixes_are_applied_and_counted(run, put):
    file = put("a.workfile.yaml", "x: !bad-value>1 !likely-wrong?2\ny: !bad-value>3\n")
    ran = run("check", "--fix")
    assert file.read_text() == "x: 1 !likely-wrong?2\ny: 3\n"
    assert ran.code == 0
    assert ran.err == "fixed 2 findings in 1 file; 1 more with `--unsafe-fixes`\n"
    assert "likely-wrong" in ran.out
    assert "bad-value" not in ran.out


def test_unsafe_fixes_too(run, put):
    file = put("a.workfile.yaml", "x: !bad-value>1 !likely-wrong?2\n")
    ran = run("check", "--fix", "--unsafe-fixes")
    assert file.read_text() == "x: 1 2\n"
    assert (ran.code, ran.err) == (0, "fixed 2 findings in 1 file\n")


def test_fixes_that_make_new_findings_go_on_until_stable(run, put):
    file = put("a.workfile.yaml", "x: !bad-value>!unknown-key>!bad-value>ok\n")
    ran = run("check", "--fix")
    assert file.read_text() == "x: ok\n"
    assert "fixed 3 findings" in ran.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfx: !bad-value>1\r\ny: 2\r\n", b"\xef\xbb\xbfx: 1\r\ny: 2\r\n"),
        (b"x: !bad-value>1\\ntwo\r\ny: 2", b"x: 1\r\ntwo\r\ny: 2"),
        (b"x: !bad-value>1\ry: 2\r", b"x: 1\ry: 2\r"),
        ("\U0001f600é: \u2028 !bad-value>1 \t\n\n\n".encode(), "\U0001f600é: \u2028 1 \t\n\n\n".encode()),
    ],
)
def test_all_other_bytes_stay(run, put, before, after):
    file = put("a.workfile.yaml", before)
    run("check", "--fix")
    assert file.read_bytes() == after


def test_the_mode_and_the_link_stay(run, put, folder: Path):
    real = put("real/a.workfile.yaml", "x: !bad-value>1\n")
    real.chmod(0o640)
    link = folder / "b.workfile.yaml"
    link.symlink_to(real)
    run("check", "--fix", "real")
    assert real.read_text() == "x: 1\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert [path.name for path in (folder / "real").iterdir()] == ["a.workfile.yaml"]


def test_diff_shows_and_writes_nothing(run, put):
    file = put("sub/a.workfile.yaml", "a: 0\nx: !bad-value>1")
    ran = run("check", "--fix", "--diff")
    assert file.read_text() == "a: 0\nx: !bad-value>1"
    assert ran.out == (
        "--- a/sub/a.workfile.yaml\n+++ b/sub/a.workfile.yaml\n@@ -1,2 +1,2 @@\n a: 0\n"
        "-x: !bad-value>1\n\\ No newline at end of file\n+x: 1\n\\ No newline at end of file\n"
    )
    assert ran.err == "would fix 1 finding in 1 file\n"
    assert ran.code == 1
    assert run("check", "--diff").out == ran.out


def test_diff_shows_what_stays_on_standard_error(run, put):
    put("a.workfile.yaml", "x: !bad-value>1\ny: !unknown-key\n")
    ran = run("check", "--diff")
    assert ran.code == 1
    assert "unknown-key" not in "".join(line for line in ran.out.splitlines() if line[:1] in "+-")
    assert "`unknown-key` here." in ran.err
    assert "`bad-value` here." not in ran.err
    put("a.workfile.yaml", "y: !unknown-key\n")
    ran = run("check", "--diff")
    assert (ran.code, ran.out) == (1, "")
    assert "`unknown-key` here." in ran.err
    assert ran.err.endswith("would fix 0 findings\n")


def test_diff_on_a_terminal_is_coloured_and_harmless(run, put, monkeypatch):
    put("a.workfile.yaml", "x: !bad-value>1 \x1b[2J\ty\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = run("check", "--diff").out
    assert "\x1b[32m+x: 1 \\x1b[2J\ty\x1b[0m\n" in out
    assert "\x1b[2J" not in run("check", "--diff", "--color", "never").out


def test_standard_input_comes_out_fixed(run):
    ran = run("check", "-", "--fix", stdin="\ufeffé: !bad-value>1\r\ny: !unknown-key\r\n".encode())
    assert ran.out == "\ufeffé: 1\r\ny: !unknown-key\r\n"
    assert "unknown-key" in ran.err
    assert ran.code == 1


def test_suppressed_ignored_and_known_findings_are_not_fixed(run, put):
    text = "x: !bad-value>1 # workfile: ignore[bad-value]\ny: !unknown-key>2\n"
    file = put("a.workfile.yaml", text)
    run("check", "--baseline", "base.json", "--write-baseline")
    assert run("check", "--fix", "--baseline", "base.json").code == 0
    assert file.read_text() == text
    run("check", "--fix", "--ignore", "unknown-key")
    assert file.read_text() == text


def test_a_file_that_is_not_utf8_is_not_fixed(run, put):
    file = put("a.workfile.yaml", b"x: \xff !bad-value>1\n")
    assert run("check", "--fix").code == 1
    assert file.read_bytes() == b"x: \xff !bad-value>1\n"


def test_a_fix_that_breaks_the_yaml_is_taken_back(run, put):
    file = put("a.workfile.yaml", "x: !bad-value>!yaml-syntax\n")
    other = put("b.workfile.yaml", "x: !bad-value>1\n")
    ran = run("check", "--fix")
    assert file.read_text() == "x: !bad-value>!yaml-syntax\n"
    assert other.read_text() == "x: 1\n"
    assert "a fix in a.workfile.yaml would have broken its YAML" in ran.err
    assert ran.code == 1


def test_the_report_after_fixing_is_of_what_is_on_disk(run, put, monkeypatch):
    file = put("a.workfile.yaml", "x: !bad-value>1 !unknown-key\n")
    put("b.workfile.yaml", "uses: a.workfile.yaml\nx: !likely-wrong\n")

    def refuse(*_arguments):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("workfile_cli.fixing.write_atomically", refuse)
        ran = run("check", "--fix", "--format", "json")
    assert ran.code == 2
    assert "cannot write `a.workfile.yaml`: Permission denied" in ran.err
    assert [f["rule"] for f in json.loads(ran.out)["findings"]] == ["bad-value", "unknown-key", "likely-wrong"]
    assert "!bad-value>1" in json.loads(ran.out)["findings"][2]["message"]
    ran = run("check", "--fix", "--format", "json")
    assert [f["rule"] for f in json.loads(ran.out)["findings"]] == ["unknown-key", "likely-wrong"]
    assert "!bad-value" not in ran.out
    assert file.read_text() == "x: 1 !unknown-key\n"
    assert run("check", "--format", "json").out == run("check", "--format", "json", "--no-cache").out == ran.out


def test_a_file_that_changes_meanwhile_is_left_alone(run, put, monkeypatch):
    import fake_engine

    file = put("a.workfile.yaml", "x: !bad-value>1\n")
    honest = fake_engine.check_file

    def changing(project, path, text=None, profiles=None):
        if fake_engine.OVERLAYS:
            file.write_text("somebody: else\n")
        return honest(project, path, text, profiles)

    monkeypatch.setattr(fake_engine, "check_file", changing)
    ran = run("check", "--fix")
    assert (ran.code, file.read_text()) == (2, "somebody: else\n")
    assert "`a.workfile.yaml` changed while it was being fixed" in ran.err


def finding(path: str, start: int, end: int, *edits: Edit, safe: bool = True, line: int = 1) -> Finding:
    place = Range(line, start, line, end)
    fix = Fix("t", "safe" if safe else "unsafe", edits)
    return Finding(path, "r", "c", "error", "m", place, fixes=(fix,))


def edit(start: int, end: int, text: str, path: str = "a", line: int = 1) -> Edit:
    return Edit(path, Range(line, start, line, end), text)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(1, 3, "X"), (2, 4, "Y")], "Xcdef"),
        ([(1, 3, "X"), (3, 5, "Y")], "XYef"),
        ([(3, 3, "X"), (3, 3, "Y")], "abXcdef"),
        ([(1, 3, "X"), (3, 3, "Y")], "Xcdef"),
        ([(3, 3, "Y"), (3, 5, "X")], "abYcdef"),
        ([(5, 7, "Z"), (1, 3, "X"), (3, 4, "")], "XdZ"),
        ([(1, 8, "X")], "abcdef"),
        ([(4, 2, "X")], "abcdef"),
        ([(0, 2, "X")], "abcdef"),
    ],
)
def test_edits_that_meet_the_first_wins(edits, expected):
    findings = [finding("a", start, end, edit(start, end, text)) for start, end, text in edits]
    changed, _ = apply_once({"a": "abcdef"}, findings, unsafe=False)
    assert changed.get("a", "abcdef") == expected


def test_a_fix_is_applied_whole_or_not_at_all():
    texts = {"a": "abc", "b": "abc"}
    both = finding("a", 2, 3, edit(2, 3, "X"), edit(1, 2, "Y", path="b"))
    assert apply_once(texts, [both], unsafe=False) == ({"a": "aXc", "b": "Ybc"}, 1)
    first = finding("a", 1, 2, edit(1, 3, "_"))
    assert apply_once(texts, [first, both], unsafe=False) == ({"a": "_c"}, 1)
    absent = finding("a", 2, 3, edit(2, 3, "X"), edit(1, 2, "Y", path="elsewhere"))
    assert apply_once(texts, [absent], unsafe=False) == ({}, 0)
    itself = finding("a", 2, 3, edit(1, 3, "X"), edit(2, 4, "Y"))
    assert apply_once(texts, [itself], unsafe=False) == ({}, 0)


def test_rounds_end():
    def grow(texts):
        return [finding("a", 1, 1, edit(1, 1, "x"))]

    fixed = fix_texts({"a": ""}, grow({}), grow)
    assert fixed.texts == {"a": "x" * MAX_ROUNDS}
    assert (fixed.fixed, fixed.unstable) == (MAX_ROUNDS, ["a"])

    def swap(texts):
        return [finding("a", 1, 2, edit(1, 2, "b" if texts["a"] == "a" else "a"))]

    fixed = fix_texts({"a": "a"}, swap({"a": "a"}), swap)
    assert (fixed.texts, fixed.fixed, fixed.unstable) == ({"a": "a"}, 2, ["a"])


def test_many_fixes_in_one_file_are_all_placed():
    text = "ab" * 20_000
    findings = [finding("a", n, n + 1, edit(n, n + 1, "X")) for n in range(1, 40_000, 2)]
    changed, applied = apply_once({"a": text}, findings, unsafe=False)
    assert (changed["a"], applied) == ("Xb" * 20_000, 20_000)


def test_a_diff_of_a_file_with_other_line_ends_can_be_applied():
    assert unified_diff("f", "a\u2028b\r\nc\r\n", "a\u2028b\r\nd\r\n") == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\u2028b\r\n-c\r\n+d\r\n"
    )
    assert unified_diff("f", "a\n", "a\n") == ""


def test_fixes_stand_in_the_json(run, put):
    put("a.workfile.yaml", "x: !bad-value>1\n")
    document = json.loads(run("check", "--format", "json").out)
    place = {"start": {"line": 1, "column": 4}, "end": {"line": 1, "column": 16}}
    assert document["findings"][0]["fixes"] == [
        {
            "title": "replace by `1`",
            "applicability": "safe",
            "edits": [{"path": "a.workfile.yaml", "range": place, "text": "1"}],
        }
    ]
