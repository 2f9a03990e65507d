"""Document links: paths of manifests, overlays and Workfiles."""

from __future__ import annotations

import os
from collections.abc import Iterator

from analyzer.syntax.nodes import Mapping, Node, Scalar
from lsp_server.nodes import content_span
from lsp_server.occurrences import workfile_of
from lsp_server.snapshot import Snapshot, Target


def links(snapshot: Snapshot) -> list[tuple[tuple[int, int], Target]]:
    """The spans that lead to a file that exists, and the files."""
    found: list[tuple[tuple[int, int], Target]] = []
    for node in _paths(snapshot):
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value and node.origin is None:
            path = os.path.normpath(os.path.join(os.path.dirname(snapshot.path), node.value))  # noqa: PTH118, PTH120
            if "\x00" not in path and os.path.isfile(path):  # noqa: PTH113
                found.append((content_span(node), Target(path, (0, 0))))
    return found


def _paths(snapshot: Snapshot) -> Iterator[Node]:
    root = snapshot.root
    if root is None:
        return
    if snapshot.kind == "scenario" and workfile_of(snapshot) is not None:
        node = root.get("workfile")
        if node is not None:
            yield node
    listed = root.get("connectors") if snapshot.kind == "workflow" else None
    for entry in listed.entries if isinstance(listed, Mapping) else ():
        if isinstance(entry.value, Mapping):
            yield from (part for part in (entry.value.get("manifest"), entry.value.get("overlay")) if part is not None)
        else:
            yield entry.value
