"""Sizes and words: what a reviewer would say, said by a test (docs/contributing.md, "Rules of the house")."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("analyzer", "sim_runtime", "lsp_server", "workfile_cli", "benchmarks")
SOURCES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
# Put together so that this file does not find itself.
WORDS = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "for " + "now")
UNFINISHED = re.compile(rf"\b({'|'.join(WORDS)})\b")


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=by_name)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= FILE_LINES_MAX
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=by_name)
def test_nothing_is_left_unfinished(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if UNFINISHED.search(line)] == []


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name != "__init__.py"], ids=by_name)
def test_modules_say_what_they_are(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_nothing_that_runs_leave_behind_is_kept() -> None:
    """No cache, environment or database under version control."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    wrong = re.compile(r"(^|/)(__pycache__|\.venv[^/]*|node_modules|\.[a-z]+_cache|\.hypothesis)/|\.(pyc|sqlite|whl)$")
    assert [path for path in listed.stdout.splitlines() if wrong.search(path)] == []
