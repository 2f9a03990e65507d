"""What a Workfile names under ``connectors``: manifests, and overlays beside them."""

# Paths are texts here: loading pathlib costs more than it gives.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os

from analyzer.syntax.nodes import Entry, Mapping, Scalar
from analyzer.workspace.documents import Document


def listed_paths(listed: Entry | None) -> tuple[str | None, str | None]:
    """The manifest's and the overlay's path of an entry in ``connectors``."""
    node = None if listed is None else listed.value
    parts = (node.get("manifest"), node.get("overlay")) if isinstance(node, Mapping) else (node, None)
    manifest, overlay = (
        part.value if isinstance(part, Scalar) and isinstance(part.value, str) and part.value else None
        for part in parts
    )
    return manifest, overlay


def listed_overlays(document: Document) -> list[tuple[str, str]]:
    """The overlays that a Workfile names, each with the manifest beside it, as absolute paths."""
    if b"overlay" not in document.data:
        return []  # so that most files need no tree
    root, folder = document.tree.root, os.path.dirname(document.path)
    connectors = root.get("connectors") if isinstance(root, Mapping) else None
    entries = connectors.entries if isinstance(connectors, Mapping) else ()
    return [
        (os.path.normpath(os.path.join(folder, overlay)), os.path.normpath(os.path.join(folder, manifest)))
        for manifest, overlay in map(listed_paths, entries)
        if manifest and overlay
    ]
