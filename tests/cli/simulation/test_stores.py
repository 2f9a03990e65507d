"""Stores that cannot be used: a disk without room, one that is read-only, a folder. One line that says what to do."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.shown import shown_path
from sim_runtime.driver.store import StoreDamaged, StoreError, StoreUnavailable, problem
from tests.cli.simulation.conftest import Put, Run

WORKFILE = (sys.executable, "-m", "workfile_cli")
PLAY = ("run", "sell.workfile.yaml", "--scenario", "sell.scenario.yaml")
UNSHARE = shutil.which("unshare") or ""


@pytest.fixture
def folder(put: Put, tmp_path: Path) -> Path:
    """Where the small project is, and where the commands are called."""
    return tmp_path


def real(folder: Path, *words: str, room: int | None = None, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which can write so many bytes a file."""
    command = [*WORKFILE, *words]
    if before:
        command = [UNSHARE, "-rm", "sh", "-ec", f'{before}\nexec "$@"', "sh", *command]

    def limit() -> None:
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.mark.parametrize("room", [0, 4_096, 20_480, 60_000])
def test_a_disk_without_room(folder: Path, room: int) -> None:
    ran = real(folder, *PLAY, "--store", str(folder / "s.sqlite"), room=room)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("workfile run: error: the store `s.sqlite` cannot ")
    assert ran.stderr.count("\n") == 1
    assert "room" in ran.stderr


def test_a_store_on_a_disk_that_is_read_only(folder: Path) -> None:
    """It can be read: nothing needs to be written beside it."""
    if not UNSHARE or real(folder, "--version", before="mount --bind . .").returncode:
        pytest.skip("mounting in a namespace of one's own is not allowed here")
    place = folder / "disk"
    place.mkdir()
    assert real(folder, *PLAY, "--store", "disk/s.sqlite").returncode == 0
    assert sorted(each.name for each in place.iterdir()) == ["s.sqlite"]
    locked = "mount --bind disk disk && mount -o remount,bind,ro disk"
    ran = real(folder, "history", "export", "disk/s.sqlite", "-o", "x.history.jsonl", before=locked)
    assert (ran.returncode, (folder / "x.history.jsonl").exists()) == (0, True), ran.stderr
    ran = real(folder, *PLAY, "--seed", "7", "--store", "disk/s.sqlite", before=locked)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "the store `disk/s.sqlite` cannot be opened: " in ran.stderr


def test_paths_are_shown_from_here(workfile: Run, folder: Path) -> None:
    for words in (
        ("history", "export", str(folder / "none.sqlite"), "-o", "x"),
        ("history", "export", str(folder), "-o", "x"),
        ("history", "export", str(folder / "sell.workfile.yaml"), "-o", "x"),
        (*PLAY, "--store", str(folder / "sell.workfile.yaml")),
        (*PLAY, "--store", str(folder)),
        (*PLAY, "--store", str(folder / "none" / "s.sqlite")),
    ):
        ran = workfile(*words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert str(folder) not in ran.err


def test_a_path_is_shown_where_the_working_directory_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host lives longer than many a folder that it was started in."""
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    assert shown_path("/a/s.sqlite") == "/a/s.sqlite"


def test_each_error_says_what_to_do() -> None:
    def told(name: str) -> StoreError:
        error = sqlite3.OperationalError("the words of SQLite")
        error.sqlite_errorname = name
        return problem("/some/where/s.sqlite", error)

    assert "make room" in str(told("SQLITE_FULL"))
    assert "room" in str(told("SQLITE_IOERR_WRITE"))
    assert "right to write" in str(told("SQLITE_READONLY_DBMOVED"))
    assert "another program" in str(told("SQLITE_BUSY_SNAPSHOT"))
    assert "folder" in str(told("SQLITE_CANTOPEN_ISDIR"))
    assert all(isinstance(told(name), StoreUnavailable) for name in ("SQLITE_FULL", "SQLITE_LOCKED", "SQLITE_PROTOCOL"))
    assert isinstance(told("SQLITE_CORRUPT"), StoreDamaged)
    assert "`/some" not in str(told("SQLITE_CORRUPT"))
