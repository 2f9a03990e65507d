"""``--baseline`` and ``--write-baseline``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def entries(file: Path) -> list[tuple[str, str, str, int]]:
    document = json.loads(file.read_text())
    assert document["version"] == 1
    return [(e["path"], e["rule"], e["route"], e["count"]) for e in document["entries"]]


def test_known_findings_are_not_reported_wherever_they_move(run, put, folder):
    put("a.workfile.yaml", "x: !bad-value\ny: !bad-value\nz: !likely-wrong\n")
    ran = run("check", "--baseline", "base.json", "--write-baseline")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "wrote 3 findings in 2 entries to base.json\n"
    assert entries(folder / "base.json") == [
        ("a.workfile.yaml", "bad-value", "line.bad-value", 2),
        ("a.workfile.yaml", "likely-wrong", "line.likely-wrong", 1),
    ]
    put("a.workfile.yaml", "\n\n\nw: 1\ny: !bad-value\n  x: !bad-value\nz: !likely-wrong\n")
    ran = run("check", "--baseline", "base.json", "--strict")
    assert (ran.code, ran.out) == (0, "1 file checked, no findings (3 in the baseline)\n")


def test_findings_beyond_the_count_are_reported(run, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    put("a.workfile.yaml", "x: !bad-value\ny: !bad-value\n")
    ran = run("check", "--baseline", "base.json", "--format", "json")
    assert ran.code == 1
    assert [f["range"]["start"]["line"] for f in json.loads(ran.out)["findings"]] == [2]


def test_stale_entries_are_told_and_pruned(run, put, folder):
    put("a.workfile.yaml", "x: !bad-value\ny: !unknown-key\n")
    gone = put("gone.workfile.yaml", "x: !bad-value\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    put("a.workfile.yaml", "x: !bad-value\n")
    gone.unlink()
    ran = run("check", "--baseline", "base.json")
    assert ran.err == "gone since the baseline was written: 1 finding; `--write-baseline` takes them out\n"
    run("check", "a.workfile.yaml", "--baseline", "base.json", "--write-baseline")
    assert [entry[:2] for entry in entries(folder / "base.json")] == [
        ("a.workfile.yaml", "bad-value"),
        ("b.workfile.yaml", "bad-value"),
    ]


def test_paths_count_from_the_file_not_from_the_working_directory(run, put, folder, monkeypatch):
    put("sub/a.workfile.yaml", "x: !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    monkeypatch.chdir(folder / "sub")
    assert run("check", "--baseline", "../base.json").code == 0


def test_the_file_is_the_same_for_the_same_findings(run, put, folder):
    put("b.workfile.yaml", "x: !bad-value\n")
    put("a.workfile.yaml", "x: !unknown-key !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    before = (folder / "base.json").read_bytes()
    run("check", "b.workfile.yaml", "a.workfile.yaml", "--baseline", "base.json", "--write-baseline")
    assert (folder / "base.json").read_bytes() == before


def test_known_findings_are_external_suppressions_in_sarif(run, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    log = json.loads(run("check", "--baseline", "base.json", "--format", "sarif").out)
    assert [result["suppressions"] for result in log["runs"][0]["results"]] == [[{"kind": "external"}]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "has no `entries`"),
        ('{"entries": []}', "not of version 1"),
        ('{"version": 2, "entries": []}', "not of version 1"),
        ('{"version": 1, "entries": [1]}', "entry 1"),
        ('{"version": 1, "entries": [{"path": "a", "rule": "r", "route": "", "count": 0}]}', "entry 1"),
        ('{"version": 1, "entries": [{"path": "a", "rule": "r", "route": "", "count": true}]}', "entry 1"),
        ('{"version": 1, "entries": [{"path": "a", "rule": 1, "route": "", "count": 1}]}', "entry 1"),
    ],
)
def test_a_bad_file_is_one_clear_line(run, put, text, words):
    put("a.workfile.yaml", "x: 1\n")
    put("base.json", text)
    ran = run("check", "--baseline", "base.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err
    assert "`--write-baseline`" in ran.err


def test_a_folder_is_no_baseline(run, put, folder):
    put("a.workfile.yaml", "x: 1\n")
    (folder / "base").mkdir()
    for extra in ((), ("--write-baseline",)):
        ran = run("check", "--baseline", "base", *extra)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_nothing_is_written_while_something_cannot_be_checked(run, put, folder):
    put("a.workfile.yaml", "x: !crash\n")
    ran = run("check", "--baseline", "base.json", "--write-baseline")
    assert ran.code == 2
    assert not (folder / "base.json").exists()


@pytest.mark.parametrize(
    "narrower",
    [
        ("--select", "bad-value"),
        ("--select", "document.structure"),
        ("--ignore", "likely-wrong"),
        ("--ignore", "document.control"),
    ],
)
def test_entries_of_rules_that_were_not_looked_at_stay(run, put, folder, narrower):
    put("a.workfile.yaml", "x: !bad-value\nz: !likely-wrong\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    before = (folder / "base.json").read_bytes()
    assert run("check", "--baseline", "base.json", *narrower).err == ""  # nothing is gone
    run("check", "--baseline", "base.json", "--write-baseline", *narrower)
    assert (folder / "base.json").read_bytes() == before
    put("a.workfile.yaml", "z: !likely-wrong\n")
    assert "1 finding;" in run("check", "--baseline", "base.json", *narrower).err
    run("check", "--baseline", "base.json", "--write-baseline", *narrower)
    assert [entry[1] for entry in entries(folder / "base.json")] == ["likely-wrong"]


@pytest.mark.parametrize(
    "setting", ['ignore = ["likely-wrong"]', 'per-file-ignores = { "a.*" = ["document.control"] }']
)
def test_entries_of_rules_that_the_configuration_leaves_out_stay(run, put, folder, setting):
    put("a.workfile.yaml", "x: !bad-value\nz: !likely-wrong\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    before = (folder / "base.json").read_bytes()
    put("workfile.toml", f"[check]\n{setting}\n")
    assert run("check", "--baseline", "base.json").err == ""
    run("check", "--baseline", "base.json", "--write-baseline")
    assert (folder / "base.json").read_bytes() == before


def test_in_a_file_that_was_read_in_part_only_that_counts_as_looked_at(run, put, folder):
    put("a.workfile.yaml", "x: !bad-value\n")
    run("check", "--baseline", "base.json", "--write-baseline")
    put("a.workfile.yaml", "x: !yaml-syntax\n")
    assert run("check", "--baseline", "base.json").err == ""
    run("check", "--baseline", "base.json", "--write-baseline")
    assert [entry[1] for entry in entries(folder / "base.json")] == ["bad-value", "yaml-syntax"]
    put("a.workfile.yaml", "x: !bad-value\n")
    assert "1 finding;" in run("check", "--baseline", "base.json").err


def test_a_rule_that_no_longer_exists_is_gone(run, put, folder):
    put("a.workfile.yaml", "x: !bad-value\n")
    put("base.json", '{"version": 1, "entries": [{"path": "a.workfile.yaml", "rule": "old", "route": "", "count": 1}]}')
    assert "1 finding;" in run("check", "--baseline", "base.json").err
    run("check", "--baseline", "base.json", "--write-baseline")
    assert [entry[1] for entry in entries(folder / "base.json")] == ["bad-value"]
