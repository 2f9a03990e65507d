"""References: every place, in all files of the project, that names the same thing; and highlight in one file."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.workspace.files import FileKind
from lsp_server.features.definition import target_of
from lsp_server.occurrences import Occurrence, Symbol, at, occurrences
from lsp_server.snapshot import Snapshot, Target
from lsp_server.workspace import Workspace

#: The kinds of files that can name a thing of a kind.
_KINDS: dict[str, tuple[FileKind, ...]] = {
    "step": ("workflow", "scenario"),
    "state": ("workflow", "scenario"),
    "loop": ("workflow",),
    "input": ("workflow", "scenario"),
    "workflow": ("workflow",),
    "connector": ("workflow", "connector", "overlay", "scenario"),
    "action": ("workflow", "connector", "overlay", "scenario"),
    "trigger": ("workflow", "connector", "overlay", "scenario"),
}
_OWN_FILE_ONLY = frozenset({"loop"})


def symbol_at(snapshot: Snapshot, offset: int, workspace: Workspace) -> Occurrence | None:
    """The occurrence at an offset."""
    return at(occurrences(snapshot, target_of(snapshot, workspace)), offset)


def everywhere(symbol: Symbol, asked: Snapshot, workspace: Workspace) -> Iterator[tuple[Snapshot, Occurrence]]:
    """Every occurrence of a symbol that was met in the file ``asked``, file by file, in order."""
    home = workspace.snapshot(symbol.path)
    if home is None:
        return
    word = symbol.name.rpartition(".")[2]
    local = symbol.kind in _OWN_FILE_ONLY
    files = [home] if local else workspace.related([home.project, asked.project], [word], _KINDS[symbol.kind])
    for snapshot in files:
        if symbol.kind in ("step", "state") and snapshot.kind == "workflow" and snapshot.path != symbol.path:
            continue
        for found in occurrences(snapshot, target_of(snapshot, workspace)):
            if found.symbol == symbol:
                yield snapshot, found


def references(snapshot: Snapshot, offset: int, workspace: Workspace, declaration: bool) -> list[Target]:
    """The places that name what stands at an offset, its definition among them if asked for."""
    found = symbol_at(snapshot, offset, workspace)
    if found is None:
        return []
    return [
        Target(file.path, each.span)
        for file, each in everywhere(found.symbol, snapshot, workspace)
        if declaration or not each.definition
    ]


def highlights(snapshot: Snapshot, offset: int, workspace: Workspace) -> list[Occurrence]:
    """The places in this file that name what stands at an offset."""
    all_here = occurrences(snapshot, target_of(snapshot, workspace))
    found = at(all_here, offset)
    return [] if found is None else [each for each in all_here if each.symbol == found.symbol]
