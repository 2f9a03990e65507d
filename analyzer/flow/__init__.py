"""Control flow of a Workfile: what can fail and run where, redo sets, and a graph of it (language page, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

    from analyzer.model.nodes import Workflow


def build(workflow: Workflow) -> nx.DiGraph[Any]:
    """The control-flow graph of a resolved and typed Workfile.

    Nodes are strings, ``path#kind`` (``fulfil.charge#failure``), with the attributes ``kind`` and ``path``, and of a
    call ``workflow``. Edges have ``kind`` and ``label``; between two nodes that several kinds connect, the first in
    document order counts and ``kinds`` has all. The kinds are documented in ``analyzer.flow.graph``.
    """
    import networkx as nx

    from analyzer.flow.analysis import analyse
    from analyzer.flow.graph import build_graph
    from analyzer.model.nodes import Step

    tables = build_graph(analyse(workflow))
    graph: nx.DiGraph[Any] = nx.DiGraph(workflow=workflow.name or "")
    for name, kind, part in zip(tables.names, tables.kinds, tables.parts, strict=True):
        graph.add_node(name, kind=kind, path=name.partition("#")[0])
        if isinstance(part, Step) and part.callee is not None:
            graph.nodes[name]["workflow"] = part.callee.name or ""
    for source, target, kind, label in tables.edges:
        start, end = tables.names[source], tables.names[target]
        if graph.has_edge(start, end):
            graph.edges[start, end]["kinds"] += (kind,)
        else:
            graph.add_edge(start, end, kind=kind, kinds=(kind,), label=label)
    return graph
