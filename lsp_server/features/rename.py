"""Rename: every place that names a thing, in all files, or a reason why not.

A rename that would be read differently afterwards is refused: the files are checked with their new texts, and anything
that is found in them that was not found before is the reason.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from analyzer.findings import Finding
from analyzer.language.vocabulary import IDENTIFIER, NAME, RESERVED_WORDS, VALUE_KINDS
from lsp_server.features.references import everywhere, symbol_at
from lsp_server.occurrences import Occurrence, Symbol
from lsp_server.snapshot import Snapshot, Span, TextEdit
from lsp_server.workspace import Workspace

RENAMED: Final = ("step", "input", "state", "loop", "connector", "workflow")
_NAMES: Final = frozenset({"connector", "workflow"})
_BROKEN: Final = frozenset({"yaml-syntax", "expression-syntax"})


class CannotRename(Exception):
    """Why a rename is refused; ``bad_name`` when the fault is in the new name itself."""

    def __init__(self, message: str, bad_name: bool = False) -> None:
        super().__init__(message)
        self.bad_name = bad_name


def prepare(snapshot: Snapshot, offset: int, workspace: Workspace) -> tuple[Span, str]:
    """The span and the name that can be renamed at an offset. Raises ``CannotRename``."""
    found = _at(snapshot, offset, workspace)
    return found.span, found.symbol.name


def rename(snapshot: Snapshot, offset: int, name: str, workspace: Workspace) -> list[TextEdit]:
    """The edits of all files; none when the name stays as it is. Raises ``CannotRename``."""
    found = _at(snapshot, offset, workspace)
    symbol = found.symbol
    if name == symbol.name:
        return []
    _check_name(symbol, name)
    _check_configuration(symbol, workspace)
    edits = [TextEdit(file.path, each.span, name) for file, each in everywhere(symbol, snapshot, workspace)]
    _check_result(symbol, name, edits, workspace)
    return edits


def _at(snapshot: Snapshot, offset: int, workspace: Workspace) -> Occurrence:
    found = symbol_at(snapshot, offset, workspace)
    if found is None:
        raise CannotRename("Nothing here has a name that can be changed.")
    if found.symbol.kind not in RENAMED:
        raise CannotRename(
            f"Renaming {found.symbol.kind}s is not supported: change `{found.symbol.name}` in its connector's file "
            "and where it is used. *Find References* lists all places."
        )
    return found


def _check_name(symbol: Symbol, name: str) -> None:
    kind = "name" if symbol.kind in _NAMES else "identifier"
    if not (NAME if kind == "name" else IDENTIFIER).match(name):
        raise CannotRename(f"`{name}` is not {VALUE_KINDS[kind]}.", bad_name=True)
    if name in RESERVED_WORDS and symbol.kind in ("step", "loop", "state"):
        raise CannotRename(f"`{name}` is a word of the language: choose another name.", bad_name=True)


def _check_configuration(symbol: Symbol, workspace: Workspace) -> None:
    home = workspace.snapshot(symbol.path)
    if symbol.kind == "connector" and home is not None and symbol.name in home.project.config.connections:
        raise CannotRename(
            f"The configuration has connections for `{symbol.name}`, which a rename cannot change: change them first."
        )


def _check_result(symbol: Symbol, name: str, edits: list[TextEdit], workspace: Workspace) -> None:
    """Refuse what would mean something else afterwards."""
    paths = list(dict.fromkeys(edit.path for edit in edits))
    before = {path: workspace.check(path).findings for path in paths}
    for path in paths:
        if any(finding.rule in _BROKEN for finding in before[path]):
            raise CannotRename(f"`{workspace.shown(path)}` has syntax problems: mend them before renaming.")
    texts = {path: _edited(workspace, path, edits) for path in paths}
    after = workspace.check_texts(texts)
    for path in paths:
        new = _new_findings(before[path], after[path])
        if new is not None:
            raise CannotRename(f"`{symbol.name}` cannot become `{name}` ({workspace.shown(path)}): {new.message}")


def _edited(workspace: Workspace, path: str, edits: list[TextEdit]) -> str:
    snapshot = workspace.snapshot(path)
    assert snapshot is not None
    text = snapshot.text
    for edit in sorted((edit for edit in edits if edit.path == path), key=lambda edit: -edit.span[0]):
        text = text[: edit.span[0]] + edit.text + text[edit.span[1] :]
    return text


def _new_findings(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> Finding | None:
    """The first finding that a rule has more of than before; those that are only worth knowing do not count."""
    counts = Counter(finding.rule for finding in before)
    for finding in after:
        counts[finding.rule] -= 1
        if counts[finding.rule] < 0 and finding.severity != "information":
            return finding
    return None


__all__ = ["RENAMED", "CannotRename", "prepare", "rename"]
