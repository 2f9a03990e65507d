"""``workfile check``: options, exit codes, what goes where."""

from __future__ import annotations

import json
from pathlib import Path

import fake_engine
import pytest

from analyzer.findings import Finding, Range


def findings(out: str) -> list[tuple[str, str, int]]:
    return [(f["path"], f["rule"], f["range"]["start"]["line"]) for f in json.loads(out)["findings"]]


def test_a_clean_file_is_0(run, put):
    put("a.workfile.yaml", "name: a\n")
    ran = run("check", "a.workfile.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "1 file checked, no findings\n", "")


def test_an_error_is_1_and_a_warning_only_when_strict(run, put):
    put("e.workfile.yaml", "x: !bad-value\n")
    put("w.workfile.yaml", "x: !likely-wrong\n")
    put("i.workfile.yaml", "x: !needless-guard\n")
    assert run("check", "e.workfile.yaml").code == 1
    assert run("check", "w.workfile.yaml").code == 0
    assert run("check", "w.workfile.yaml", "--strict").code == 1
    assert run("check", "i.workfile.yaml", "--strict").code == 0


def test_without_a_path_the_working_directory_is_searched(run, put):
    put("deep/b.workfile.yaml", "x: !bad-value\n")
    put("a.workfile.yaml", "x: !unknown-key !bad-value\n")
    ran = run("check", "--format", "json")
    assert findings(ran.out) == [
        ("a.workfile.yaml", "unknown-key", 1),
        ("a.workfile.yaml", "bad-value", 1),
        ("deep/b.workfile.yaml", "bad-value", 1),
    ]
    assert json.loads(ran.out)["files"] == 2
    assert json.loads(ran.out)["summary"] == {"error": 3, "warning": 0, "information": 0}


def test_an_empty_folder_is_clean_and_says_so(run):
    ran = run("check")
    assert ran.code == 0
    assert "no Workfiles" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], "--nonsense"),
        (["--format", "xml"], "xml"),
        (["--jobs", "0"], "--jobs"),
        (["--jobs", "many"], "--jobs"),
        (["missing.workfile.yaml"], "`missing.workfile.yaml`"),
        (["--select", "bad-valeu"], "Did you mean `bad-value`?"),
        (["--ignore", "document.nul"], "Did you mean `document.null`?"),
        (["--profiles", "durble"], "Did you mean `durable`?"),
        (["--profiles", "core,replay"], "`replay` needs `durable`"),
        (["--profiles", ","], "at least one profile"),
        (["--baseline", "missing.json"], "missing.json"),
        (["--write-baseline"], "--baseline FILE"),
        (["--unsafe-fixes"], "--fix"),
        (["--stdin-filename", "a.workfile.yaml"], "`-`"),
        (["-", "--stdin-filename", "m.txt"], "`m.txt` has no name that tells what it is"),
        (["notes.txt"], "`notes.txt` has no name that tells what it is"),
        ([""], "an empty path names nothing"),
        (["--write-baseline", "--baseline", "b.json", "--fix"], "--fix"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_2_in_one_line(run, put, arguments, words):
    put("a.workfile.yaml", "name: a\n")
    put("notes.txt", "x: !bad-value\n")
    ran = run("check", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("workfile check: error: ")
    assert words in ran.err


def test_what_can_be_checked_is_reported_beside_what_cannot(run, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    ran = run("check", "--format", "json", "a.workfile.yaml", "gone.workfile.yaml")
    assert ran.code == 2
    assert findings(ran.out) == [("a.workfile.yaml", "bad-value", 1)]
    assert ran.err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_2(run, put, monkeypatch):
    gone = put("a.workfile.yaml", "x: !bad-value\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    honest = fake_engine.discover

    def racing(*arguments):
        found = honest(*arguments)
        gone.unlink()
        return found

    monkeypatch.setattr(fake_engine, "discover", racing)
    ran = run("check", "--format", "json")
    assert (ran.code, ran.err) == (
        2,
        "workfile check: error: cannot read `a.workfile.yaml`: No such file or directory.\n",
    )
    assert findings(ran.out) == [("b.workfile.yaml", "bad-value", 1)]


def test_a_faulty_configuration_is_2(run, put):
    put("workfile.toml", "[check\n")
    put("a.workfile.yaml", "x: !bad-value\n")
    ran = run("check")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "`workfile.toml` is not TOML" in ran.err


def test_an_unknown_rule_in_the_configuration_is_2(run, put):
    put("workfile.toml", '[check]\nignore = ["bad-vale"]\n')
    put("a.workfile.yaml", "x: !bad-value\n")
    ran = run("check")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "Did you mean `bad-value`?" in ran.err


def test_an_internal_fault_is_one_line_and_costs_only_its_file(run, put, monkeypatch):
    put("a.workfile.yaml", "x: !crash\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    ran = run("check", "--format", "json")
    assert ran.code == 2
    assert findings(ran.out) == [("b.workfile.yaml", "bad-value", 1)]
    assert ran.err.count("\n") == 1
    assert "`a.workfile.yaml`: RuntimeError: a fault of the engine" in ran.err
    assert "WORKFILE_DEBUG=1" in ran.err
    monkeypatch.setenv("WORKFILE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run("check")


def test_selection_by_rule_and_family(run, put):
    put("a.workfile.yaml", "x: !bad-value\ny: !unknown-key\nz: !likely-wrong\n")

    def rules(*arguments: str) -> list[str]:
        return [rule for _, rule, _ in findings(run("check", "--format", "json", *arguments).out)]

    assert rules("--select", "bad-value,likely-wrong") == ["bad-value", "likely-wrong"]
    assert rules("--select", "document.structure") == ["bad-value", "unknown-key"]
    assert rules("--select", "document", "--ignore", "unknown-key") == ["bad-value", "likely-wrong"]
    assert rules("--ignore", "document.structure") == ["likely-wrong"]
    assert rules("--ignore", "bad-value", "--ignore", "unknown-key") == ["likely-wrong"]


def test_the_call_wins_over_the_configuration(run, put):
    put("workfile.toml", '[check]\nignore = ["bad-value"]\n')
    put("a.workfile.yaml", "x: !bad-value\ny: !unknown-key\n")

    def rules(*arguments: str) -> list[str]:
        return [rule for _, rule, _ in findings(run("check", "--format", "json", *arguments).out)]

    assert rules() == ["unknown-key"]
    assert rules("--ignore", "unknown-key") == []
    assert rules("--select", "bad-value") == ["bad-value"]


def test_per_file_ignores(run, put):
    put(
        "workfile.toml",
        '[check.per-file-ignores]\n"old/**" = ["bad-value"]\n"*.connector.yaml" = ["document.structure"]\n',
    )
    for name in ("a.workfile.yaml", "old/deep/b.workfile.yaml", "x/c.connector.yaml"):
        put(name, "x: !bad-value !likely-wrong\n")
    found = findings(run("check", "--format", "json").out)
    assert [(path, rule) for path, rule, _ in found] == [
        ("a.workfile.yaml", "bad-value"),
        ("a.workfile.yaml", "likely-wrong"),
        ("old/deep/b.workfile.yaml", "likely-wrong"),
        ("x/c.connector.yaml", "likely-wrong"),
    ]


def test_profiles_reach_the_engine_in_their_order(run, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    ran = run("check", "--format", "json", "--profiles", "durable,core,durable")
    assert json.loads(ran.out)["findings"][0]["message"] == "`bad-value` here [core,durable]."


def test_standard_input(run):
    ran = run("check", "-", "--format", "json", stdin=b"x: !bad-value\n")
    assert (ran.code, findings(ran.out)) == (1, [("<stdin>", "bad-value", 1)])
    ran = run("check", "-", "--format", "json", "--stdin-filename", "sub/a.workfile.yaml", stdin=b"x: !bad-value\n")
    assert findings(ran.out) == [("sub/a.workfile.yaml", "bad-value", 1)]
    ran = run("check", "-", stdin=b"x: !bad-value\n")
    assert ran.out.startswith(
        "<stdin>:1:4: error bad-value: `bad-value` here.\n 1 | x: !bad-value\n   |    ^^^^^^^^^^\n"
    )


def test_standard_input_stands_for_the_file_on_disk(run, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    ran = run(
        "check", "-", "a.workfile.yaml", "--stdin-filename", "a.workfile.yaml", "--format", "json", stdin=b"x: 1\n"
    )
    assert json.loads(ran.out)["files"] == 1
    assert ran.code == 0


def test_what_depends_on_standard_input_sees_it_and_is_not_kept(run, put):
    put("a.workfile.yaml", "uses: c.yaml\nx: !bad-value\n")
    put("c.yaml", "old")
    ran = run("check", "-", "a.workfile.yaml", "--stdin-filename", "c.yaml", "--format", "json", stdin=b"new")
    assert "(new)" in ran.out
    assert "(old)" in run("check", "--format", "json").out


def test_standard_input_that_is_not_utf8(run):
    ran = run("check", "-", stdin=b"x: \xff\n")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "byte 4" in ran.err


def test_a_file_that_is_not_utf8_is_left_to_the_engine(run, put):
    put("a.workfile.yaml", b"x: \xff !bad-value\n")
    assert [rule for _, rule, _ in findings(run("check", "--format", "json").out)] == ["yaml-syntax", "bad-value"]


def test_paths_are_relative_to_the_working_directory(run, put, folder: Path, monkeypatch):
    put("a.workfile.yaml", "x: !bad-value\n")
    put("sub/b.workfile.yaml", "x: !bad-value\n")
    monkeypatch.chdir(folder / "sub")
    found = findings(run("check", "--format", "json", "..").out)
    assert [path for path, _, _ in found] == ["../a.workfile.yaml", "b.workfile.yaml"]
    document = json.loads(run("check", "--format", "json", "..").out)
    assert document["findings"][0]["related"][0]["path"] == "../a.workfile.yaml"


def test_colour(run, put, monkeypatch):
    put("a.workfile.yaml", "x: !bad-value\n")
    assert "\x1b[" not in run("check").out
    assert "\x1b[1;31merror\x1b[0m" in run("check", "--color", "always").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[" in run("check").out
    assert "\x1b[" not in run("check", "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("check").out
    assert "\x1b[" in run("check", "--color", "always").out


def test_nothing_hostile_reaches_the_terminal(run, put):
    put("a\x1b[2J\n.workfile.yaml", "x\x1b]0;t\x07: !bad-value \u202e\u2028\x9b1m\n")
    ran = run("check")
    assert ran.code == 1
    assert ran.out.splitlines()[:3] == [
        "a\\x1b[2J\\n.workfile.yaml:1:10: error bad-value: `bad-value` here.",
        " 1 | x\\x1b]0;t\\x07: !bad-value \\u202e\\u2028\\x9b1m",
        "   |                ^^^^^^^^^^",
    ]
    ran = run("check", "nothing\x1b[2J")
    assert "\x1b" not in ran.err
    assert ran.err.count("\n") == 1


def test_github_writes_a_job_summary(run, put, tmp_path, monkeypatch):
    put("a.workfile.yaml", "x: !bad-value\n")
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = run("check", "--format", "github")
    assert ran.out == (
        "::error file=a.workfile.yaml,line=1,endLine=1,col=4,endColumn=14,title=bad-value::`bad-value` here.\n"
    )
    assert summary.read_text().startswith(
        "before\n### workfile check\n\n1 file checked, 1 finding of severity error.\n"
    )
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ran = run("check", "--format", "github")
    assert ran.code == 1
    assert "job summary cannot be written" in ran.err


def test_suppressed_findings_are_counted_and_in_sarif(run, put):
    put("a.workfile.yaml", "x: !bad-value # workfile: ignore[bad-value] known\n")
    ran = run("check")
    assert (ran.code, ran.out) == (0, "1 file checked, no findings (1 suppressed)\n")
    results = json.loads(run("check", "--format", "sarif").out)["runs"][0]["results"]
    assert [result["suppressions"] for result in results] == [[{"kind": "inSource", "justification": "known"}]]


def test_a_yaml_file_that_is_named_counts_as_a_workfile(run, put):
    put("a.yaml", "x: !bad-value\n")
    put("b.yml", "x: !bad-value\n")
    assert findings(run("check", "--format", "json", "a.yaml", "b.yml").out) == [
        ("a.yaml", "bad-value", 1),
        ("b.yml", "bad-value", 1),
    ]


def test_an_excluded_file_that_is_named(run, put):
    put("workfile.toml", '[check]\nexclude = ["vendor/**"]\n')
    put("vendor/a.workfile.yaml", "x: !bad-value\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    named = ("check", "--format", "json", "vendor/a.workfile.yaml", "b.workfile.yaml")
    assert findings(run(*named).out) == [
        ("b.workfile.yaml", "bad-value", 1),
        ("vendor/a.workfile.yaml", "bad-value", 1),
    ]
    assert findings(run(*named, "--force-exclude").out) == [("b.workfile.yaml", "bad-value", 1)]
    assert run("check", "--force-exclude", "vendor/a.workfile.yaml").code == 0
    piped = ("check", "-", "--stdin-filename", "vendor/a.workfile.yaml", "--force-exclude")
    assert run(*piped, stdin=b"x: !bad-value\n").code == 0
    ran = run(*piped, "--fix", stdin=b"x: !bad-value>1\n")
    assert (ran.code, ran.out) == (0, "x: !bad-value>1\n")


def test_nameless_standard_input_is_no_duplicate_of_a_file(run, put):
    text = b"x: !duplicate-workflow !bad-value # workfile: ignore[duplicate-workflow]\n"
    assert findings(run("check", "-", "--format", "json", stdin=text).out) == [("<stdin>", "bad-value", 1)]
    named = run("check", "-", "--stdin-filename", "a.workfile.yaml", "--format", "json", stdin=text[:36] + b"\n")
    assert [rule for _, rule, _ in findings(named.out)] == ["duplicate-workflow", "bad-value"]


def test_findings_at_one_place_are_in_the_order_of_their_rules():
    def at(rule: str, end: int, column: int = 1) -> Finding:
        return Finding("a", rule, "document", "error", "m", Range(1, column, 1, end))

    ordered = [at("a", 9), at("a", 12), at("b", 3), at("c", 8), at("a", 3, 2)]
    mixed = [ordered[number] for number in (3, 0, 4, 2, 1)]
    assert sorted(mixed, key=Finding.sort_key) == ordered


def _paths(format_: str, out: str) -> list[str]:
    if format_ == "github":
        return [line.partition("file=")[2].partition(",")[0] for line in out.splitlines()]
    results = json.loads(out)["runs"][0]["results"]
    return [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]


@pytest.mark.parametrize("format_", ["github", "sarif"])
def test_for_github_paths_are_those_of_the_repository(run, put, folder, tmp_path, monkeypatch, format_):
    put("sub/deep/a.workfile.yaml", "x: !bad-value\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    monkeypatch.chdir(folder / "sub")
    call = ("check", "deep", "../b.workfile.yaml", "--format", format_)
    assert _paths(format_, run(*call).out) == ["../b.workfile.yaml", "deep/a.workfile.yaml"]
    link = tmp_path / "link"
    link.symlink_to(folder)
    for workspace in (folder, link, f"{folder}/"):
        monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
        assert _paths(format_, run(*call).out) == ["b.workfile.yaml", "sub/deep/a.workfile.yaml"]
    found = json.loads(run(*call[:-1], "json").out)["findings"]
    assert [each["path"] for each in found] == ["../b.workfile.yaml", "deep/a.workfile.yaml"]
    for elsewhere in (folder / "sub" / "deep", str(folder / "su"), "/nowhere", ""):
        monkeypatch.setenv("GITHUB_WORKSPACE", str(elsewhere))
        assert _paths(format_, run(*call).out) == ["../b.workfile.yaml", "deep/a.workfile.yaml"]
