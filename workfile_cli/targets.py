"""The files that a call names or that its folders hold, and in words what cannot be taken."""

# ruff: noqa: PTH100, PTH113

from __future__ import annotations

import os
from collections.abc import Sequence

from analyzer.driver import Engine, is_excluded
from analyzer.workspace.files import file_kind

_KINDS = (
    "`Workfile`, `*.workfile.yaml` (or any other `*.yaml`), `*.connector.yaml`, `*.overlay.yaml` or `*.scenario.yaml`"
)


def find_targets(paths: Sequence[str], engine: Engine, *, force_exclude: bool) -> tuple[list[str], list[str]]:
    """The files, absolute and sorted, and the problems, a line each.

    A file that is named is taken although the configuration excludes it, unless ``force_exclude``: programs that name
    files (pre-commit) do not know the configuration.
    """
    problems: list[str] = []
    wanted: list[str] = []
    for path in dict.fromkeys(paths):
        problem = _problem(path)
        if problem is not None:
            problems.append(problem)
        elif not (force_exclude and os.path.isfile(path) and is_excluded(os.path.abspath(path), engine)):
            wanted.append(path)
    if not wanted:
        return [], problems
    found = engine.find_files(wanted)
    return list(found.files), [*problems, *found.problems]


def _problem(path: str) -> str | None:
    if not path:
        return "an empty path names nothing; name a file or a folder, or leave it out to search the working directory"
    return kind_problem(path) if os.path.isfile(path) else None


def kind_problem(path: str) -> str | None:
    """That the name is not one of a file that we know; None when it is."""
    return f"`{path}` has no name that tells what it is; name it {_KINDS}" if file_kind(path) == "other" else None
