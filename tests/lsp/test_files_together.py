"""Files that are edited beside each other: what is found in one follows the texts of the others, always."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import analyzer.check as check_module
from analyzer.workspace.project import forget_projects
from lsp_server.documents import Change
from lsp_server.workspace import Workspace
from tests.incremental.edits import edited
from tests.lsp.raw import ROOT

NAMES = (
    "onboarding.workfile.yaml",
    "account-setup.workfile.yaml",
    "order.workfile.yaml",
    "connectors/payments.connector.yaml",
    "connectors/directory.connector.yaml",
    "scenarios/order-retry-after-decline.scenario.yaml",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path / "examples"


def opened(folder: Path, texts: dict[str, str]) -> Workspace:
    """A server's files that know nothing yet."""
    forget_projects()
    check_module._ENGINES.clear()
    workspace = Workspace()
    for name, text in texts.items():
        workspace.open_document((folder / name).as_uri(), 0, text)
    return workspace


def found(workspace: Workspace, folder: Path) -> dict[str, list[Any]]:
    return {name: list(workspace.check(str(folder / name)).findings) for name in NAMES}


def change(workspace: Workspace, folder: Path, name: str, text: str) -> None:
    workspace.edit(str(folder / name), [Change(text)], 1)


@pytest.mark.parametrize(
    ("name", "old", "new", "reader"),
    [
        ("connectors/directory.connector.yaml", "  get_person:", "  get_someone:", "onboarding.workfile.yaml"),
        ("account-setup.workfile.yaml", "  person_id:", "  person:", "onboarding.workfile.yaml"),
    ],
)
def test_a_file_that_was_checked_itself_is_still_read_by_others(
    folder: Path, name: str, old: str, new: str, reader: str
) -> None:
    texts = {each: (folder / each).read_text(encoding="utf-8") for each in NAMES}
    assert old in texts[name]
    workspace = opened(folder, texts)
    before = found(workspace, folder)
    change(workspace, folder, name, texts[name].replace(old, new))
    assert found(workspace, folder)[reader] != before[reader]
    change(workspace, folder, name, texts[name])
    assert found(workspace, folder) == before


@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_is_what_a_server_finds_that_was_just_started(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in NAMES}
    for _ in range(4):
        workspace = opened(folder, texts)
        found(workspace, folder)
        for _ in range(3):
            name = chance.choice(NAMES)
            undo = chance.random() < 0.3
            texts[name] = (folder / name).read_text(encoding="utf-8") if undo else edited(chance, texts[name])
            change(workspace, folder, name, texts[name])
            if chance.random() < 0.5:
                workspace.check(str(folder / chance.choice(NAMES)))
        assert found(workspace, folder) == found(opened(folder, texts), folder)
