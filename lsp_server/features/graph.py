"""The control flow as a picture for the editor: Graphviz text, and where in the file each of its parts stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analyzer.findings import Finding
from analyzer.flow.analysis import analyse
from analyzer.flow.dot import to_dot
from analyzer.flow.noted import notes_of
from analyzer.flow.picture import draw
from analyzer.flow.redo import redo_of
from analyzer.model.nodes import State, Step, all_steps
from lsp_server.nodes import span
from lsp_server.snapshot import Snapshot, Span


@dataclass(frozen=True, slots=True)
class Place:
    """A step or a state. ``whole`` is its span from the key to the end of the value, ``name`` that of the key."""

    path: str
    kind: str
    whole: Span
    name: Span


@dataclass(frozen=True, slots=True)
class Drawing:
    """``dot`` is a digraph whose elements have ids ``<name>:<step path>``."""

    dot: str
    places: list[Place]


def drawing(snapshot: Snapshot, findings: Iterable[Finding], redo: bool = False) -> Drawing | None:
    """The picture of a Workfile, with what recovery runs again coloured if ``redo``; None for other files."""
    analysis = snapshot.analysis
    if analysis is None:
        return None
    workflow = analysis.workflow
    flow = analyse(workflow, every=True)
    scopes = redo_of(flow)
    notes = notes_of(workflow, findings, analysis.document.source)
    return Drawing(to_dot(draw(flow, scopes, notes, scopes if redo else [])), places(snapshot))


def places(snapshot: Snapshot) -> list[Place]:
    """Every step and state of a Workfile in document order."""
    workflow = snapshot.workflow
    if workflow is None:
        return []
    found = [_place(step, step.path, step.kind) for step in all_steps(workflow)]
    found += [_place(state, state.name, "state") for state in (workflow.states or {}).values()]
    return sorted(found, key=lambda place: place.whole)


def _place(part: Step | State, path: str, kind: str) -> Place:
    key, value = part.entry.key, part.entry.value
    return Place(path, kind, (key.start, max(key.end, value.end)), span(key))
