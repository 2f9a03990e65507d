"""Finding files (interfaces page: a folder is searched, files are taken as they are)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.workspace.files import MAX_DEPTH, SKIPPED_FOLDERS, file_kind, found_kind
from analyzer.workspace.project import discover


def relative(root: Path, files: list[str]) -> list[str]:
    return [os.path.relpath(each, root) for each in files]


TREE = {
    "a.workfile.yaml": "",
    "b.workfile.yml": "",
    "Workfile": "",
    "x.yaml": "",
    "notes.md": "",
    "connectors/m.connector.yaml": "",
    "prod.overlay.yaml": "",
    "s/t.scenario.yaml": "",
    ".hidden/c.workfile.yaml": "",
    "node_modules/p/d.workfile.yaml": "",
    ".venv/e.workfile.yaml": "",
    "venv/f.workfile.yaml": "",
    "__pycache__/g.workfile.yaml": "",
}


def test_a_folder_is_searched_for_all_kinds(make: Any) -> None:
    root = make(TREE)
    found = discover([str(root)])
    assert relative(root, found.files) == [
        "Workfile",
        "a.workfile.yaml",
        "b.workfile.yml",
        "connectors/m.connector.yaml",
        "prod.overlay.yaml",
        "s/t.scenario.yaml",
    ]
    assert found.problems == []


def test_named_files_are_taken_once_whatever_they_are(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make({**TREE, "workfile.toml": '[check]\nexclude = ["*"]\n'})
    monkeypatch.chdir(root)
    found = discover(["x.yaml", "./x.yaml", "node_modules/p/d.workfile.yaml", ".", str(root / "a.workfile.yaml")])
    assert relative(root, found.files) == ["a.workfile.yaml", "node_modules/p/d.workfile.yaml", "x.yaml"]


def test_a_hidden_folder_that_is_named_is_searched(make: Any) -> None:
    root = make(TREE)
    assert relative(root, discover([str(root / ".hidden")]).files) == [".hidden/c.workfile.yaml"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("examples/**", ["a.workfile.yaml", "sub/b.workfile.yaml", "sub/examples/d.workfile.yaml"]),
        ("examples", ["a.workfile.yaml", "sub/b.workfile.yaml"]),
        ("/examples", ["a.workfile.yaml", "sub/b.workfile.yaml", "sub/examples/d.workfile.yaml"]),
        ("sub/*.workfile.yaml", ["a.workfile.yaml", "examples/c.workfile.yaml", "sub/examples/d.workfile.yaml"]),
        ("b.*", ["a.workfile.yaml", "examples/c.workfile.yaml", "sub/examples/d.workfile.yaml"]),
    ],
)
def test_exclude(make: Any, pattern: str, left: list[str]) -> None:
    root = make(
        {
            "workfile.toml": f'[check]\nexclude = ["{pattern}"]\n',
            "a.workfile.yaml": "",
            "examples/c.workfile.yaml": "",
            "sub/b.workfile.yaml": "",
            "sub/examples/d.workfile.yaml": "",
        }
    )
    assert relative(root, discover([str(root)]).files) == left


def test_each_root_has_its_own_excludes(make: Any) -> None:
    root = make(
        {
            "workfile.toml": '[check]\nexclude = ["b.*"]\n',
            "b.workfile.yaml": "",
            "inner/workfile.toml": '[check]\nexclude = ["c.*"]\n',
            "inner/b.workfile.yaml": "",
            "inner/c.workfile.yaml": "",
        }
    )
    assert relative(root, discover([str(root)]).files) == ["inner/b.workfile.yaml"]


def test_what_is_not_there(make: Any) -> None:
    root = make({"a.workfile.yaml": ""})
    found = discover([str(root / "nope"), str(root / "a.workfile.yaml")])
    assert relative(root, found.files) == ["a.workfile.yaml"]
    assert found.problems == [f"`{root / 'nope'}`: there is no such file or folder"]


def test_links_in_circles_and_out_of_the_folder(make: Any) -> None:
    root = make({"a/b.workfile.yaml": "", "../other/c.workfile.yaml": ""})
    (root / "a" / "up").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    (root / "loop.workfile.yaml").symlink_to(root / "loop.workfile.yaml")
    (root / "gone.workfile.yaml").symlink_to(root / "nowhere")
    (root / "out").symlink_to(root.parent / "other")
    (root / "link.workfile.yaml").symlink_to(root / "a" / "b.workfile.yaml")
    found = discover([str(root)])
    assert relative(root, found.files) == ["a/b.workfile.yaml", "link.workfile.yaml"]
    assert found.problems == []


def test_pipes_are_neither_found_nor_opened(make: Any) -> None:
    root = make({"a.workfile.yaml": ""})
    os.mkfifo(root / "p.workfile.yaml")
    found = discover([str(root), str(root / "p.workfile.yaml")])
    assert relative(root, found.files) == ["a.workfile.yaml"]
    assert len(found.problems) == 1
    assert "not a regular file" in found.problems[0]


def test_the_limit_is_said(make: Any) -> None:
    root = make({f"{n}.workfile.yaml": "" for n in range(5)})
    found = discover([str(root)], limit=3)
    assert relative(root, found.files) == ["0.workfile.yaml", "1.workfile.yaml", "2.workfile.yaml"]
    assert "more than 3 files" in found.problems[0]


def test_deep_folders_are_bounded(make: Any) -> None:
    root = make({})
    deep = root
    for _ in range(MAX_DEPTH + 5):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "a.workfile.yaml").write_text("")
    found = discover([str(root)])
    assert found.files == []
    assert f"more than {MAX_DEPTH} folders deep" in found.problems[0]


@pytest.mark.slow
def test_a_huge_folder_takes_bounded_time(make: Any) -> None:
    root = make({"a.workfile.yaml": ""})
    for number in range(20_000):
        (root / f"f{number}.txt").touch()
    started = time.process_time()
    assert relative(root, discover([str(root)]).files) == ["a.workfile.yaml"]
    assert time.process_time() - started < 3


def test_a_folder_that_may_not_be_read_is_said(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make({"a.workfile.yaml": "", "closed/b.workfile.yaml": ""})
    scan = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = discover([str(root)])
    assert relative(root, found.files) == ["a.workfile.yaml"]
    assert "cannot be searched (Permission denied)" in found.problems[0]


def test_kinds() -> None:
    assert file_kind("/x/Workfile") == "workflow"
    assert file_kind("/x/a.connector.yaml") == "connector"
    assert file_kind("/x/a.overlay.yaml") == "overlay"
    assert file_kind("/x/a.scenario.yaml") == "scenario"
    assert file_kind("/x/any.yml") == "workflow"
    assert found_kind("any.yml") == "other"
    assert file_kind("/x/a.txt") == "other"


def test_the_documentation_names_what_a_search_passes_over() -> None:
    page = (Path(__file__).parents[2] / "docs" / "checking.md").read_text(encoding="utf-8")
    assert [name for name in sorted(SKIPPED_FOLDERS) if f"`{name}`" not in page] == []
