"""Go to definition: from a name to where it comes from, in this file, another Workfile or a manifest."""

from __future__ import annotations

from analyzer.syntax.nodes import Mapping, Node, Scalar
from lsp_server.nodes import content_span, span, trail
from lsp_server.occurrences import Symbol, at, members_of, occurrences, workfile_of
from lsp_server.shapes import Shapes
from lsp_server.snapshot import Snapshot, Target
from lsp_server.workspace import Workspace


def definition(snapshot: Snapshot, offset: int, workspace: Workspace) -> list[Target]:
    """Where what stands at an offset is defined; nothing when it is no name."""
    found = at(occurrences(snapshot, target_of(snapshot, workspace)), offset)
    if found is not None:
        return targets(found.symbol, workspace)
    argument = _argument(snapshot, offset)
    if argument is not None:
        return [argument]
    return _anchor(snapshot, offset)


def target_of(snapshot: Snapshot, workspace: Workspace) -> Snapshot | None:
    """The Workfile that a scenario runs."""
    path = workfile_of(snapshot) if snapshot.kind == "scenario" else None
    return None if path is None else workspace.snapshot(path)


def targets(symbol: Symbol, workspace: Workspace) -> list[Target]:
    """The places that define a symbol."""
    snapshot = workspace.snapshot(symbol.path) if symbol.path else None
    if snapshot is None:
        return []
    workflow = snapshot.workflow
    if workflow is None:
        return [
            Target(symbol.path, each.span)
            for each in occurrences(snapshot)
            if each.symbol == symbol and each.definition
        ]
    if symbol.kind == "step":
        return [_of_entry(snapshot, step.entry.key, step.entry.value) for step in members_of(workflow, symbol)]
    if symbol.kind == "input" and symbol.name in workflow.inputs:
        entry = workflow.inputs[symbol.name].entry
        return [_of_entry(snapshot, entry.key, entry.value)]
    if symbol.kind == "state" and symbol.name in (workflow.states or {}):
        entry = (workflow.states or {})[symbol.name].entry
        return [_of_entry(snapshot, entry.key, entry.value)]
    if symbol.kind == "workflow":
        node = workflow.name_node
        return [Target(symbol.path, (0, 0) if node is None else span(node))]
    return [
        Target(symbol.path, each.span) for each in occurrences(snapshot) if each.symbol == symbol and each.definition
    ]


def _of_entry(snapshot: Snapshot, key: Node, value: Node) -> Target:
    place = content_span(key) if isinstance(key, Scalar) else span(key)
    return Target(snapshot.path, place, (key.start, max(value.end, key.end)))


def _argument(snapshot: Snapshot, offset: int) -> Target | None:
    """From an argument's name to its declaration in the manifest."""
    crumbs = trail(snapshot.tree.root, offset)
    shapes = Shapes(snapshot.kind, snapshot.workflow).along(crumbs)
    for crumb, shape in zip(reversed(crumbs), reversed(shapes), strict=True):
        if crumb.on_key and shape.kind == "typed" and shape.call is not None and isinstance(crumb.entry, object):
            action = shape.call.action
            declared = action.node if action is not None else None
            where = declared.get("input") if isinstance(declared, Mapping) else None
            if action is None or where is None:
                return None
            name = crumb.entry.key.text if crumb.entry is not None and isinstance(crumb.entry.key, Scalar) else ""
            properties = where.get("properties") if isinstance(where, Mapping) else None
            entry = properties.entry(name) if isinstance(properties, Mapping) else None
            return Target(action.path, span(entry.key if entry is not None else where))
    return None


def _anchor(snapshot: Snapshot, offset: int) -> list[Target]:
    """From the use of an alias to the text that is anchored."""
    crumbs = trail(snapshot.tree.root, offset)
    origin = crumbs[-1].node.origin if crumbs else None
    return [] if origin is None else [Target(snapshot.path, span(origin))]
