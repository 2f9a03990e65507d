"""``workfile doctor``: each thing that can be missing is said with what to do, and only what must be mended fails."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from workfile_cli import doctor


def _named(out: str) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(out)["checks"]}


def test_a_sound_installation_is_said_in_a_line_each(run) -> None:
    done = run("doctor")
    assert done.code == 0, done.out
    assert [line.split()[0] for line in done.out.splitlines() if line[:1] != " "].count("wrong") == 0
    assert "workfile-tools" in done.out
    assert "YAML parser" in done.out
    assert not done.err


def test_json_says_the_same(run) -> None:
    done = run("doctor", "--format", "json")
    report = json.loads(done.out)
    assert (report["version"], report["ok"]) == (1, True)
    assert all(set(check) == {"name", "status", "found", "advice"} for check in report["checks"])
    assert all(check["advice"] for check in report["checks"] if check["status"] != "ok")


def test_a_faulty_configuration_must_be_mended(run, folder: Path) -> None:
    (folder / "workfile.toml").write_text("[check]\nignored = 3\n")
    done = run("doctor", "--format", "json")
    check = _named(done.out)["configuration"]
    assert done.code == 1
    assert check["status"] == "wrong"
    assert "workfile.toml" in check["found"]


def test_the_configuration_in_force_is_named(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    (folder / "workfile.toml").write_text("")
    assert _named(run("doctor", "--format", "json").out)["configuration"]["found"] == "~/work/workfile.toml"


def test_a_cache_that_cannot_be_written_costs_time_only(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("WORKFILE_CACHE_DIR", str(folder / "file" / "below"))
    done = run("doctor", "--format", "json")
    check = _named(done.out)["cache"]
    assert done.code == 0
    assert check["status"] == "slow"
    assert "WORKFILE_CACHE_DIR" in check["advice"]


def test_the_slow_parser_is_told(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.syntax.events.HAS_C", False)
    check = _named(run("doctor", "--format", "json").out)["YAML parser"]
    assert check["status"] == "slow"
    assert "pip install" in check["advice"]


def test_a_missing_package_must_be_mended(run, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = metadata.requires
    monkeypatch.setattr(
        metadata, "requires", lambda name: [*(declared(name) or ()), "no-such-package[x]>=1; python_version>'3'"]
    )
    done = run("doctor", "--format", "json")
    check = _named(done.out)["packages"]
    assert done.code == 1
    assert check["found"] == "missing: no-such-package"


def test_what_is_optional_says_who_needs_it(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    done = run("doctor", "--format", "json")
    named = _named(done.out)
    assert done.code == 0
    assert named["dask"]["status"] == named["Graphviz"]["status"] == "absent"
    assert "graph" in named["Graphviz"]["advice"]
    assert "explore" in named["dask"]["advice"]
