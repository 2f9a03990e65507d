"""The cache: the same answer as without it, and never in the way."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer import cache as cache_module
from analyzer.cache import (
    ABSENT,
    Cache,
    Digests,
    decode_directives,
    decode_findings,
    default_folder,
    encode_directives,
    encode_findings,
)
from analyzer.digest import digest_of
from analyzer.findings import SEVERITIES, Edit, Finding, Fix, Range, Related
from analyzer.suppressions import find_directives


@pytest.fixture
def checked(run, monkeypatch, tmp_path):
    """Run, and say which files the engine was asked about."""
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))

    def call(*arguments: str) -> tuple[str, list[str]]:
        log.write_text("")
        ran = run("check", "--format", "json", *arguments)
        return ran.out, sorted(log.read_text().split())

    return call


def results(folder: Path) -> list[Path]:
    return sorted((folder.parent / "cache").glob("*.results"))


def test_the_second_run_asks_nothing_and_answers_the_same(checked, put):
    put("a.workfile.yaml", "x: !bad-value>1 !likely-wrong?2 # workfile: ignore[likely-wrong, needless-guard] é\n")
    put("b.workfile.yaml", "uses: c.connector.yaml\nx: !unknown-key\n")
    put("c.connector.yaml", "x: 1\n")
    names = ["a.workfile.yaml", "b.workfile.yaml", "c.connector.yaml"]
    fresh = checked()
    assert fresh[1] == names
    assert checked() == (fresh[0], [])
    assert checked("--no-cache") == (fresh[0], names)


def test_a_changed_file_is_checked_again(checked, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    put("b.workfile.yaml", "x: 1\n")
    checked()
    put("a.workfile.yaml", "x: 1\n")
    out, asked = checked()
    assert asked == ["a.workfile.yaml"]
    assert json.loads(out)["findings"] == []


def test_a_changed_new_or_gone_dependency_counts(checked, put, folder):
    put("a.workfile.yaml", "uses: c.yaml\nx: !bad-value\n")
    assert "(absent)" in checked()[0]
    put("c.yaml", "one")
    out, asked = checked()
    assert ("(one)" in out, asked) == (True, ["a.workfile.yaml"])
    assert checked()[1] == []
    put("c.yaml", "two")
    assert "(two)" in checked()[0]
    (folder / "c.yaml").unlink()
    assert "(absent)" in checked()[0]


def test_the_index_counts_only_for_those_that_read_it(checked, put):
    put("a.workfile.yaml", "reads-index\nx: !bad-value\n")
    put("b.workfile.yaml", "x: !bad-value\n")
    checked()
    put("c.workfile.yaml", "x: 1\n")
    out, asked = checked()
    assert asked == ["a.workfile.yaml", "c.workfile.yaml"]
    assert "[a.workfile.yaml,b.workfile.yaml,c.workfile.yaml]" in out


def test_configuration_and_profiles_count(checked, put):
    put("a.workfile.yaml", "x: !bad-value\n")
    checked()
    assert checked("--profiles", "core")[1] == ["a.workfile.yaml"]
    assert checked("--profiles", "core")[1] == []
    assert checked("--profiles", "core,durable")[1] == ["a.workfile.yaml"]
    assert checked()[1] == []
    put("workfile.toml", "[check]\n")
    assert checked()[1] == ["a.workfile.yaml"]


def test_selection_is_made_after_the_cache(checked, put):
    put("a.workfile.yaml", "x: !bad-value !likely-wrong\n")
    checked("--select", "likely-wrong")
    out, asked = checked("--select", "bad-value")
    assert ([f["rule"] for f in json.loads(out)["findings"]], asked) == (["bad-value"], [])


@pytest.mark.parametrize("damage", ["", "workfile 1 x y\n{}", "\x00\xff", "half", "flip"])
def test_a_damaged_cache_is_built_anew(checked, put, folder, damage):
    put("a.workfile.yaml", "x: !bad-value\n")
    fresh = checked()
    (file,) = results(folder)
    data = file.read_bytes()
    wrong = {"half": data[: len(data) // 2], "flip": data.replace(b"bad-value", b"bad-valve")}
    file.write_bytes(wrong.get(damage, damage.encode("latin-1")))
    assert checked() == fresh
    assert file.read_bytes() == data
    assert checked() == (fresh[0], [])


def test_a_cache_that_cannot_be_written_is_no_matter(checked, put, monkeypatch, tmp_path):
    put("a.workfile.yaml", "x: !bad-value\n")
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("WORKFILE_CACHE_DIR", str(file))
    assert checked()[1] == ["a.workfile.yaml"]
    assert checked()[1] == ["a.workfile.yaml"]
    monkeypatch.setenv("WORKFILE_CACHE_DIR", str(file / "below"))
    assert checked()[1] == ["a.workfile.yaml"]


def test_no_cache_writes_nothing(checked, put, folder):
    put("a.workfile.yaml", "x: !bad-value\n")
    checked("--no-cache")
    assert results(folder) == []


def test_faults_and_standard_input_are_not_kept(checked, run, put):
    put("a.workfile.yaml", "x: !crash\n")
    checked()
    assert checked()[1] == ["a.workfile.yaml"]
    run("check", "-", "--stdin-filename", "a.workfile.yaml", stdin=b"x: 1\n")
    assert checked()[1] == ["a.workfile.yaml"]


def test_entries_of_files_that_are_gone_are_pruned(checked, put, folder):
    gone = put("a.workfile.yaml", "x: !bad-value\n")
    checked()
    gone.unlink()
    put("b.workfile.yaml", "x: 1\n")
    checked()
    (file,) = results(folder)
    assert b"a.workfile.yaml" not in file.read_bytes()
    assert b"b.workfile.yaml" in file.read_bytes()


def test_old_and_too_many_results_are_removed(checked, put, folder, monkeypatch):
    put("a.workfile.yaml", "x: 1\n")
    checked()
    (file,) = results(folder)
    old, large, foreign = (file.with_name(name) for name in ("old.results", "large.results", "mine.txt"))
    for path in (old, large, foreign):
        path.write_bytes(b"x" * 100)
        os.utime(path, (1_000_000, 1_000_000))
    os.utime(large)
    put("b.workfile.yaml", "x: 1\n")
    checked()
    assert (old.exists(), large.exists(), foreign.exists()) == (False, True, True)
    monkeypatch.setattr(cache_module, "MAX_FOLDER_BYTES", 50)
    put("c.workfile.yaml", "x: 1\n")
    checked()
    assert (large.exists(), file.exists(), foreign.exists()) == (False, True, True)


def test_the_number_of_entries_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "MAX_ENTRIES", 2)
    cache = Cache(str(tmp_path / "kept"), "root", "k" * 32)
    files = [tmp_path / name for name in ("a", "b", "c")]
    for file in files:
        file.write_text("x")
        cache.put(str(file), [digest_of(b"x"), None, [], [], []])
    cache.save()
    again = Cache(str(tmp_path / "kept"), "root", "k" * 32)
    assert [again.has(str(file)) for file in files] == [False, True, True]


def test_runs_at_the_same_time_leave_a_whole_file(tmp_path):
    file = tmp_path / "a"
    file.write_text("x")

    def save(number: int) -> None:
        cache = Cache(str(tmp_path / "c"), "root", "k" * 32)
        cache.put(str(file), [digest_of(b"x"), None, [], [[str(number)] * 1000], []])
        cache.save()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(40)))
    assert Cache(str(tmp_path / "c"), "root", "k" * 32).has(str(file))
    assert [path.suffix for path in (tmp_path / "c").iterdir()] == [".results"]


def test_another_version_of_the_tool_or_its_code_does_not_answer(tmp_path):
    keys = {
        cache_module.key_of(version, stamp, fingerprint, profiles)
        for version in ("1", "2")
        for stamp in ("s", "t")
        for fingerprint in ("", "f")
        for profiles in (None, (), ("core",))
    }
    assert len(keys) == 24
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.py").write_text("1")
    before = cache_module.code_stamp([str(tmp_path)])
    (tmp_path / "sub" / "x.py").write_text("22")
    assert cache_module.code_stamp([str(tmp_path)]) != before


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKFILE_CACHE_DIR", "relative")
    monkeypatch.chdir(tmp_path)
    assert default_folder() == str(tmp_path / "relative")
    monkeypatch.delenv("WORKFILE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "workfile-tools" in default_folder()


def test_digests_of_what_is_no_file(tmp_path):
    digests = Digests()
    assert digests.of(str(tmp_path / "absent")) == ABSENT
    assert digests.of("nul\x00byte") == ABSENT
    folder = digests.of(str(tmp_path))
    (tmp_path / "new").write_text("")
    assert digests.of(str(tmp_path)) == folder
    assert Digests().of(str(tmp_path)) != folder


TEXT = st.text(max_size=8)
PATHS = st.sampled_from(["/own", "/other"])
PLACES = st.builds(Range, *[st.integers(1, 9)] * 4)
FIXES = st.builds(
    Fix,
    TEXT,
    st.sampled_from(["safe", "unsafe"]),
    st.lists(st.builds(Edit, PATHS, PLACES, TEXT), max_size=2).map(tuple),
)
FINDINGS = st.builds(
    Finding,
    PATHS,
    TEXT,
    TEXT,
    st.sampled_from(SEVERITIES),
    TEXT,
    PLACES,
    st.lists(st.builds(Related, PATHS, PLACES, TEXT), max_size=2).map(tuple),
    st.lists(FIXES, max_size=2).map(tuple),
    TEXT,
    st.lists(TEXT, max_size=2).map(tuple),
)


@given(st.lists(FINDINGS, max_size=3))
def test_findings_survive_the_cache(findings):
    stored = json.loads(json.dumps(encode_findings("/own", findings)))
    assert decode_findings("/own", stored) == findings


@given(st.lists(st.sampled_from(["x: 1", "", "# workfile: ignore", "[a, b]", "[a", " why # workfile: ignore[c]"])))
def test_suppressions_survive_the_cache(parts):
    text = "".join(parts)
    start = text.find("#")
    directives = find_directives(text, [(1, start + 1, text[start:], not text[:start].strip())] if start >= 0 else [])
    assert decode_directives(json.loads(json.dumps(encode_directives(directives)))) == directives


def test_a_file_that_changes_while_it_is_checked_is_kept_for_what_was_read(checked, put, monkeypatch):
    import fake_engine

    file = put("a.workfile.yaml", "x: !bad-value\n")
    honest = fake_engine.check_file

    def changing(project, path, text=None, profiles=None):
        result = honest(project, path, text, profiles)
        file.write_text("x: 1\n")
        return result

    monkeypatch.setattr(fake_engine, "check_file", changing)
    checked()
    monkeypatch.setattr(fake_engine, "check_file", honest)
    out, asked = checked()
    assert asked == ["a.workfile.yaml"]
    assert "bad-value" not in out
