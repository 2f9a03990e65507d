"""Which files there are: kinds by name, a bounded search of folders, and what a call names (``discover``).

A search does not follow links to folders, so that it cannot go round in circles or leave the folder, and passes over
hidden folders and those where tools keep other people's code.
"""

# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH119

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

FileKind: TypeAlias = Literal["workflow", "connector", "overlay", "scenario", "other"]

MAX_FILES: Final = 20_000
MAX_DEPTH: Final = 40
MAX_ENTRIES: Final = 500_000

CONNECTOR_SUFFIX: Final = ".connector.yaml"
OVERLAY_SUFFIX: Final = ".overlay.yaml"
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "venv", "__pycache__"})

_KINDS: Final[tuple[tuple[str, FileKind], ...]] = (
    (".workfile.yaml", "workflow"),
    (".workfile.yml", "workflow"),
    (CONNECTOR_SUFFIX, "connector"),
    (OVERLAY_SUFFIX, "overlay"),
    (".scenario.yaml", "scenario"),
)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to work on, absolute and sorted, and what could not be found or was left out, a line each."""

    files: list[str]
    problems: list[str]


@dataclass(slots=True)
class Search:
    """A search of one folder: files with a kind of their own, and what the bounds left out."""

    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    entries: int = 0


def found_kind(name: str) -> FileKind:
    """What a file is that a search comes across; ``other`` for anything without one of the known names."""
    if name == "Workfile":
        return "workflow"
    for suffix, kind in _KINDS:
        if name.endswith(suffix):
            return kind
    return "other"


def file_kind(path: str) -> FileKind:
    """What a file is that is named explicitly: any other ``*.yaml`` or ``*.yml`` counts as a workflow."""
    name = os.path.basename(path)
    kind = found_kind(name)
    return "workflow" if kind == "other" and name.endswith((".yaml", ".yml")) else kind


def search(
    folder: str,
    found: Search,
    *,
    enter: Callable[[str], bool],
    take: Callable[[str], bool],
    limit: int = MAX_FILES,
) -> None:
    """Add the files below ``folder`` to ``found``, in order; ``enter`` and ``take`` are asked with absolute paths."""
    for path in _walk(folder, found, enter):
        if not take(path):
            continue
        if len(found.files) >= limit:
            found.problems.append(f"`{folder}` has more than {limit:,} files of ours; the others are left out")
            return
        found.files.append(path)


def _walk(folder: str, found: Search, enter: Callable[[str], bool]) -> Iterator[str]:
    """Paths of the files with a known name, folder by folder in the order of names."""
    pending: list[tuple[str, int]] = [(folder, 0)]
    while pending:
        current, depth = pending.pop()
        try:
            with os.scandir(current) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            found.problems.append(f"`{current}` cannot be searched ({error.strerror or error})")
            continue
        below: list[tuple[str, int]] = []
        for entry in listed:
            found.entries += 1
            if found.entries > MAX_ENTRIES:
                found.problems.append(f"`{folder}` has more than {MAX_ENTRIES:,} entries; the others are not searched")
                return
            name = entry.name
            if found_kind(name) != "other" and _is_file(entry):
                yield entry.path
                continue
            if name.startswith(".") or name in SKIPPED_FOLDERS or not entry.is_dir(follow_symlinks=False):
                continue
            if depth >= MAX_DEPTH:
                found.problems.append(f"`{current}` is more than {MAX_DEPTH} folders deep; what is below is left out")
                break
            if enter(entry.path):
                below.append((entry.path, depth + 1))
        pending.extend(reversed(below))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads round in a circle
        return False


def gather(
    paths: Sequence[str],
    limit: int,
    *,
    excluded: Callable[[str], bool],
) -> Discovery:
    """The files that ``paths`` name or hold. A file that is named is taken whatever it is called or excluded."""
    found = Search()
    named: list[str] = []
    for path in paths:
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            search(
                absolute,
                found,
                enter=lambda each: not excluded(each),
                take=lambda each: not excluded(each),
                limit=limit,
            )
        elif os.path.isfile(absolute):
            named.append(absolute)
        elif os.path.exists(absolute):
            found.problems.append(f"`{path}` is not a regular file; use `-` for standard input")
        else:
            found.problems.append(f"`{path}`: there is no such file or folder")
    return Discovery(sorted({*named, *found.files}), list(dict.fromkeys(found.problems)))
