"""Document and workspace symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from analyzer.model.nodes import Step, StepList, Workflow
from analyzer.syntax.nodes import Entry, Mapping, Scalar
from lsp_server.nodes import span
from lsp_server.snapshot import Snapshot, Span
from lsp_server.workspace import Workspace

MAX_FOUND: Final = 500
#: Roles of lists that are shown as a level of their own.
_SHOWN_ROLES: Final = frozenset({"else", "case", "default", "branch", "catch", "reconcile"})


@dataclass(slots=True)
class Symbol:
    """A thing in the outline. ``kind``: ``step``, ``group``, ``wait``, ``call``, ``input``, ``state``, ``list``, …"""

    name: str
    detail: str
    kind: str
    span: Span
    name_span: Span
    children: list[Symbol] = field(default_factory=list)


def document_symbols(snapshot: Snapshot) -> list[Symbol]:
    """The outline of a file."""
    if snapshot.workflow is not None:
        return _workflow(snapshot.workflow)
    root = snapshot.root
    return [] if root is None else [_entry(entry, 0) for entry in root.entries if isinstance(entry.key, Scalar)]


def _symbol(entry: Entry, name: str, detail: str, kind: str) -> Symbol:
    whole = (entry.key.start, max(entry.key.end, entry.value.end))
    return Symbol(name or "?", detail, kind, whole, span(entry.key))


def _workflow(workflow: Workflow) -> list[Symbol]:
    found: list[Symbol] = []
    for entry in workflow.root.entries:
        name = entry.key.text if isinstance(entry.key, Scalar) else "?"
        symbol = _symbol(entry, name, "", "section")
        if name == "inputs":
            symbol.children = [
                _symbol(decl.entry, decl.name, "optional" if decl.optional else "", "input")
                for decl in workflow.inputs.values()
            ]
        elif name == "steps" and workflow.steps is not None:
            symbol.children = _steps(workflow.steps)
        elif name == "states" and workflow.states is not None:
            for state in workflow.states.values():
                below = _symbol(state.entry, state.name, "final" if state.final else "", "state")
                below.children = [each for steps in state.lists for each in _steps(steps)]
                symbol.children.append(below)
        elif isinstance(entry.value, Scalar):
            symbol.detail = entry.value.text[:80]
        found.append(symbol)
    return found


def _steps(steps: StepList) -> list[Symbol]:
    return [_step(step) for step in steps.steps]


def _step(step: Step) -> Symbol:
    detail = step.call.reference if step.call is not None else step.kind
    kind = {"action": "step", "wf.wait_for": "wait", "wf.wait": "wait", "wf.call": "call", "wf.let": "let"}.get(
        step.kind, "group"
    )
    symbol = _symbol(step.entry, step.id, detail, kind)
    lists = [*step.lists]
    if step.reconcile is not None and step.reconcile.steps is not None:
        lists.append(step.reconcile.steps)
    lists += [handler.steps for handler in step.handlers if handler.steps is not None]
    for each in lists:
        inner = _steps(each)
        if each.role in _SHOWN_ROLES and each.entry is not None:
            label = each.label if each.role in ("case", "branch") else each.role
            below = _symbol(each.entry, label, each.role if label != each.role else "", "list")
            below.children = inner
            symbol.children.append(below)
        else:
            symbol.children.extend(inner)
    return symbol


def _entry(entry: Entry, depth: int) -> Symbol:
    name = entry.key.text if isinstance(entry.key, Scalar) else "?"
    detail = entry.value.text[:80] if isinstance(entry.value, Scalar) else ""
    symbol = _symbol(entry, name, detail, "section" if depth == 0 else "field")
    if isinstance(entry.value, Mapping) and depth < 2:
        symbol.children = [_entry(each, depth + 1) for each in entry.value.entries if isinstance(each.key, Scalar)]
    return symbol


@dataclass(frozen=True, slots=True)
class Found:
    """A symbol of some file of the workspace."""

    path: str
    name: str
    kind: str
    container: str
    span: Span


def workspace_symbols(query: str, workspace: Workspace) -> list[Found]:
    """Workflows, states, steps and inputs whose names have the letters of the query in order; the best first."""
    ranked: list[tuple[tuple[int, int, str, str], Found]] = []
    for path in workspace.files():
        snapshot = workspace.snapshot(path)
        if snapshot is None:
            continue
        for found in _of_file(snapshot):
            rank = match_rank(query, found.name)
            if rank is not None:
                ranked.append(((rank, len(found.name), found.name, path), found))
    ranked.sort(key=lambda pair: pair[0])
    return [found for _, found in ranked[:MAX_FOUND]]


def _of_file(snapshot: Snapshot) -> list[Found]:
    workflow = snapshot.workflow
    if workflow is None:
        root = snapshot.root
        actions = [root.get(part) for part in ("actions", "triggers")] if root is not None else []
        name = root.get("connector") if root is not None else None
        owner = name.text if isinstance(name, Scalar) else ""
        return [
            Found(snapshot.path, f"{owner}.{entry.key.text}", "action", owner, span(entry.key))
            for table in actions
            for entry in (table.entries if isinstance(table, Mapping) else ())
            if isinstance(entry.key, Scalar) and snapshot.kind == "connector"
        ]
    owner = workflow.name or ""
    found: list[Found] = []
    if workflow.name_node is not None and workflow.name is not None:
        found.append(Found(snapshot.path, workflow.name, "workflow", "", span(workflow.name_node)))
    stack: list[tuple[Symbol, str]] = [(symbol, owner) for symbol in reversed(_workflow(workflow))]
    while stack:
        symbol, container = stack.pop()
        if symbol.kind not in ("section", "list"):
            found.append(Found(snapshot.path, symbol.name, symbol.kind, container, symbol.name_span))
        inner = symbol.name if symbol.kind not in ("section", "list") else container
        stack.extend((child, inner) for child in reversed(symbol.children))
    return found


def match_rank(query: str, name: str) -> int | None:
    """How well a name fits: 0 the same, 1 begins so, 2 has it, 3 has its letters in order; None when not."""
    wanted, text = query.lower(), name.lower()
    if not wanted or text.startswith(wanted):
        return 0 if wanted == text else 1
    if wanted in text:
        return 2
    position = 0
    for letter in wanted:
        position = text.find(letter, position) + 1
        if not position:
            return None
    return 3
