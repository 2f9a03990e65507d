"""The project that the tests of the commands work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.replay.shop import MANIFEST, ORDER, TELL, record


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a recorded run in ``histories``; the working directory."""
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "shop.connector.yaml").write_text(MANIFEST)
    (tmp_path / "workfile.toml").touch()
    (tmp_path / "order.workfile.yaml").write_text(ORDER)
    (tmp_path / "tell.workfile.yaml").write_text(TELL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "histories").mkdir()
    record(tmp_path, 1)
    return tmp_path
