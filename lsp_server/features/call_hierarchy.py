"""Call hierarchy: which workflows a workflow calls as child runs, and which call it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.model.nodes import Step, Workflow, all_steps
from analyzer.syntax.nodes import Scalar
from lsp_server.nodes import content_span, span
from lsp_server.occurrences import at, occurrences
from lsp_server.snapshot import Snapshot, Span
from lsp_server.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Item:
    """A workflow: its file, its name and where that stands, the span of the whole file."""

    path: str
    name: str
    span: Span
    whole: Span


@dataclass(frozen=True, slots=True)
class Calls:
    """A workflow at the other end, and the places of the calls."""

    item: Item
    places: tuple[Span, ...]


def prepare(snapshot: Snapshot, offset: int, workspace: Workspace) -> list[Item]:
    """The workflow at an offset: one that is named there, else that of the file itself."""
    found = at(occurrences(snapshot), offset) if snapshot.kind == "workflow" else None
    if found is not None and found.symbol.kind == "workflow":
        item = item_of(workspace, found.symbol.path)
        return [] if item is None else [item]
    own = item_of(workspace, snapshot.path) if snapshot.kind == "workflow" else None
    return [] if own is None else [own]


def item_of(workspace: Workspace, path: str) -> Item | None:
    """The workflow of a file."""
    snapshot = workspace.snapshot(path)
    workflow = None if snapshot is None else snapshot.workflow
    if snapshot is None or workflow is None or workflow.name is None or workflow.name_node is None:
        return None
    return Item(path, workflow.name, span(workflow.name_node), (0, len(snapshot.text)))


def outgoing(path: str, workspace: Workspace) -> list[Calls]:
    """The workflows that a file calls, in the order of their first call."""
    snapshot = workspace.snapshot(path)
    workflow = None if snapshot is None else snapshot.workflow
    if snapshot is None or workflow is None:
        return []
    places: dict[str, list[Span]] = {}
    for step in all_steps(workflow):
        if step.callee is not None:
            places.setdefault(step.callee.path, []).append(_place(step))
    found = [(item_of(workspace, callee), tuple(spans)) for callee, spans in places.items()]
    return [Calls(item, spans) for item, spans in found if item is not None]


def incoming(path: str, workspace: Workspace) -> list[Calls]:
    """The workflows that call the one of a file."""
    snapshot = workspace.snapshot(path)
    workflow = None if snapshot is None else snapshot.workflow
    if snapshot is None or workflow is None or workflow.name is None:
        return []
    found: list[Calls] = []
    for caller in workspace.related([snapshot.project], ["wf.call"], ["workflow"]):
        places = _calls_of(caller.workflow, path)
        item = item_of(workspace, caller.path) if places else None
        if item is not None:
            found.append(Calls(item, tuple(places)))
    return found


def _calls_of(workflow: Workflow | None, path: str) -> list[Span]:
    steps = all_steps(workflow) if workflow is not None else ()
    return [_place(step) for step in steps if step.callee is not None and step.callee.path == path]


def _place(step: Step) -> Span:
    assert step.subject is not None
    node = step.subject.value
    return content_span(node) if isinstance(node, Scalar) else span(node)
