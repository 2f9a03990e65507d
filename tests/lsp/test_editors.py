"""Real editors without a screen: Neovim's own client and Emacs with Eglot, where they are installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SESSIONS = Path(__file__).parent / "editors"

pytestmark = pytest.mark.slow


@pytest.fixture
def order(tmp_path: Path) -> Path:
    """A project with one mistake in it."""
    shutil.copytree(ROOT / "examples" / "connectors", tmp_path / "connectors")
    text = (ROOT / "examples" / "order.workfile.yaml").read_text(encoding="utf-8")
    (tmp_path / "order.workfile.yaml").write_text(text.replace("probe.found", "probe.fund"), encoding="utf-8")
    return tmp_path


def session(command: list[str], folder: Path) -> list[str]:
    server = folder / "server.sh"
    start = f"cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -m workfile_cli lsp"
    server.write_text(f"#!/bin/sh\n{start}\n", encoding="utf-8")
    server.chmod(0o755)
    environment = {**os.environ, "WORKFILE_SERVER": str(server), "HOME": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False
    )
    words = ("error ", "hover ", "item ", "errors ")
    return [line for line in done.stdout.decode().splitlines() if line.startswith(words)]


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim(order: Path) -> None:
    command = ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {SESSIONS / 'session.lua'}"]
    found = session(command, order)
    assert found[0] == "error unknown-member 25:33"
    assert "calls `payments.charge`" in found[1]
    assert found[2:] == ["item found", "item charge_id", "errors 0"]


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_emacs(order: Path) -> None:
    found = session(["emacs", "-q", "--batch", "-l", str(SESSIONS / "session.el")], order)
    assert "unknown-member" in found[0]
    assert "calls payments.charge" in found[1].replace("`", "")
    assert found[2:] == ["item found", "item charge_id", "errors 0"]
