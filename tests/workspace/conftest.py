"""Helpers of the workspace tests: types, manifests and projects from text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzer.expressions.schema_types import Reading, reading_of
from analyzer.model.problems import Problem
from analyzer.syntax.nodes import Node
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source
from analyzer.workspace.manifests import Manifest, load_manifest
from analyzer.workspace.project import forget_projects


class Typed:
    """A type read from YAML, with the faults as (text of the node, message)."""

    def __init__(self, text: str) -> None:
        self.tree = parse(Source(text))
        assert self.tree.root is not None, text
        self.faults: list[tuple[str, str]] = []
        self.reading: Reading = reading_of(self.tree.root, self.note)
        self.type = self.reading.type

    def note(self, node: Node, message: str) -> None:
        self.faults.append((self.tree.source.text[node.start : node.end], message))


class Read:
    """A manifest read from YAML, with its problems as (text, message)."""

    def __init__(self, text: str) -> None:
        self.tree = parse(Source(text, "/x/a.connector.yaml"))
        self.manifest, self.problems = load_manifest(self.tree, "/x/a.connector.yaml")

    @property
    def faults(self) -> list[tuple[str, str]]:
        return places(self.tree, self.problems)

    @property
    def sound(self) -> Manifest:
        assert self.manifest is not None
        return self.manifest


def places(tree: Tree, problems: list[Problem]) -> list[tuple[str, str]]:
    """The text that each problem stands at, and its message."""
    return [(tree.source.text[each.start : each.end], each.message) for each in problems]


@pytest.fixture
def read_text() -> Callable[[str], Typed]:
    return Typed


@pytest.fixture
def read_manifest() -> Callable[[str], Read]:
    return Read


@pytest.fixture(autouse=True)
def _fresh_projects() -> Iterator[None]:
    forget_projects()
    yield
    forget_projects()


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Write files below a folder: ``make({"a/b.yaml": "text"})`` gives the folder."""

    def write(files: dict[str, str | bytes], folder: str = "root") -> Path:
        root = tmp_path / folder
        root.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return write
