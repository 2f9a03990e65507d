"""The pictures of ``docs/redo-sets.md`` are what ``workfile graph --redo`` draws.

``WORKFILE_UPDATE_DOCS=1`` writes them anew.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from workfile_cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "redo-sets.md"
PAIR = re.compile(r"(<!-- graph -->\n```yaml\n)(.*?)(```\n\n```mermaid\n)(.*?)(```\n)", re.DOTALL)


def drawn(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The picture of a Workfile that stands beside the example connectors."""
    shutil.copytree(ROOT / "examples" / "connectors", folder / "connectors", dirs_exist_ok=True)
    (folder / "workfile.toml").write_text("", encoding="utf-8")
    path = folder / "example.workfile.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["graph", str(path), "--redo"]) == 0
    return capsys.readouterr().out


def test_the_pictures_are_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    pairs = list(PAIR.finditer(page))
    assert len(pairs) == page.count("```yaml") == page.count("```mermaid")
    wanted = page
    for number, pair in enumerate(pairs):
        folder = tmp_path / str(number)
        folder.mkdir()
        picture = drawn(pair[2], folder, capsys)
        wanted = wanted.replace(pair[0], pair[1] + pair[2] + pair[3] + picture + pair[5])
    if os.environ.get("WORKFILE_UPDATE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert page == wanted or os.environ.get("WORKFILE_UPDATE_DOCS"), "run this test with WORKFILE_UPDATE_DOCS=1"


def test_the_examples_show_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unsafe = []
    for number, pair in enumerate(PAIR.finditer(PAGE.read_text(encoding="utf-8"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        picture = drawn(pair[2], folder, capsys)
        unsafe.append(re.findall(r"class n\d+_(\w+) unsafe", picture))
    assert unsafe == [["charge"], ["label"], ["tell"], ["charge"]]
