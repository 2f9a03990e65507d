"""Runs the command line against the fake engine, in a folder of its own with a cache of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from fake_engine import ENGINE  # noqa: E402 - the path above makes it importable, for worker processes too

STARTER = (
    "import sys, fake_engine as f, workfile_cli.engine as e; e.ENGINE = f.ENGINE; from workfile_cli.main import main"
)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("WORKFILE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "WORKFILE_DEBUG", "NO_COLOR", "FAKE_ENGINE_LOG"):
        monkeypatch.delenv(name, raising=False)
    return work


Run = Callable[..., Ran]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command line in this process; ``stdin`` is bytes."""
    from workfile_cli import engine
    from workfile_cli.main import main

    monkeypatch.setattr(engine, "ENGINE", ENGINE)

    def call(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def python_path() -> str:
    """What lets another process find the packages and the fake engine."""
    return os.pathsep.join((str(ROOT), str(HERE)))


@pytest.fixture
def spawn(folder: Path, python_path: str) -> Run:
    """Call the command line in a process of its own, still with the fake engine."""

    def call(*arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-c", STARTER + "; sys.exit(main())", *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=60,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path, **environment},
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A file in the folder, its text byte for byte."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def put(folder: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file into the working directory."""
    return lambda name, text: write(folder, name, text)
