"""The findings of ``workfile check --histories``: recorded runs held against Workfiles (``document.replay``)."""

# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from analyzer.check import route_of
from analyzer.findings import Finding, Range, Related
from analyzer.rules.registry import rule
from analyzer.syntax.nodes import Node
from analyzer.workspace.files import file_kind
from analyzer.workspace.project import project_for
from sim_runtime.history.header import Header
from sim_runtime.history.load import read_header
from sim_runtime.history.refusal import Refusal, Refused
from sim_runtime.replay.divergence import INVALIDATED, PINS
from sim_runtime.replay.many import Result, evaluate_files
from sim_runtime.replay.structure import own_path, step_at
from sim_runtime.simulation import CannotSimulate, Prepared, prepare

FAMILY: Final = "document.replay"
SUFFIX: Final = ".history.jsonl"
DIVERGES: Final = "history-diverges"
UNUSABLE: Final = "history-unusable"
#: So many histories that diverge at one place are told one by one.
MAX_AT_PLACE: Final = 20

Findings = dict[str, list[Finding]]
Progress = Callable[[int, int], None]


def find_histories(folder: str) -> list[str]:
    """The histories in a folder and those below it, sorted."""
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        found.extend(os.path.join(root, each) for each in sorted(files) if each.endswith(SUFFIX))
    return found


def history_findings(
    files: Sequence[str],
    histories: Sequence[str],
    texts: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> Findings:
    """The findings by path. ``files`` are absolute; a Workfile with errors is held against nothing. ``texts`` stand
    instead of what is on the disk."""
    for path, text in (texts or {}).items():
        project_for(path).overlay_text(path, text)
    headers: dict[str, Header] = {}
    found: Findings = {}
    for history in histories:
        try:
            headers[history] = read_header(history)
        except Refused as error:
            absolute = os.path.abspath(history)  # noqa: PTH100
            found.setdefault(absolute, []).append(_of_history(absolute, error.refusal))
    for file in files:
        if file_kind(file) != "workflow":
            continue
        try:
            prepared = prepare(file, namesakes=True)
        except CannotSimulate:
            continue
        name = prepared.workflow.name
        own = [path for path, each in headers.items() if name in (each.workflow, *each.pins["children"])]
        results = evaluate_files(own, prepared, jobs, progress, going_on=True)
        found.setdefault(file, []).extend(_findings(results, prepared))
    return found


def _of_history(path: str, refusal: Refusal) -> Finding:
    info = rule(UNUSABLE)
    return Finding(path, info.name, info.code, info.severity, refusal.message, Range(1, 1, 1, 1))


def _findings(results: Sequence[Result], prepared: Prepared) -> list[Finding]:
    found: list[Finding] = []
    places: dict[tuple[object, str], int] = {}
    for result in results:
        if result.outcome == "refused":
            found.append(_unusable(result, prepared))
        elif result.outcome == "divergent":
            place = (result.span, str(result.divergence["cause"]))
            places[place] = places.get(place, 0) + 1
            if places[place] <= MAX_AT_PLACE:
                found.append(_diverges(result, prepared))
    more = sum(count - MAX_AT_PLACE for count in places.values() if count > MAX_AT_PLACE)
    if more:
        found.append(_more(more, prepared))
    return found


def _diverges(result: Result, prepared: Prepared) -> Finding:
    told = result.divergence
    at = f" at `{told['path']}`" if told["path"] else ""
    changes = f" What changed: {'; '.join(result.changes)}." if result.changes else ""
    what = "cannot go on under" if told["cause"] == PINS else "comes out differently on"
    message = (
        f"The recorded run `{result.run}` {what} this file, from record {told['seq']} (`{told['kind']}`{at}) on: "
        f"{INVALIDATED[told['cause']]}.{changes} Let it end on the definition that it pinned, or start a successor run."
    )
    place = result.span or _name_span(prepared)
    line = told["seq"] + 1
    related = [Related(os.path.abspath(result.path), Range(line, 1, line, 1), f"the record: `{told['kind']}`{at}")]  # noqa: PTH100
    document = prepared.project.document(prepared.workflow.path)
    step = step_at(prepared.workflow, own_path(told["path"]))
    if step is not None and document is not None:
        node = step.anchor_node
        related.insert(0, Related(document.path, document.source.range(node.start, node.end), "the step"))
    return _finding(DIVERGES, message, place, prepared, related)


def _unusable(result: Result, prepared: Prepared) -> Finding:
    refusal = result.refusal
    assert refusal is not None
    boundary = refusal.boundary
    path = boundary["path"] if isinstance(boundary, dict) else None
    step = step_at(prepared.workflow, own_path(path)) if path else None
    place = (step.anchor_node.start, step.anchor_node.end) if step is not None else _name_span(prepared)
    line = boundary["seq"] + 1 if isinstance(boundary, dict) else 1
    where = os.path.abspath(result.path)  # noqa: PTH100
    told = [Related(where, Range(line, 1, line, 1), "the first record that cannot be used")]
    message = f"The history in `{os.path.basename(where)}` must be refused. {refusal.message}"  # noqa: PTH119
    return _finding(UNUSABLE, message, place, prepared, told)


def _more(count: int, prepared: Prepared) -> Finding:
    words = f"{count:,} more recorded runs diverge at these places; `workfile history reevaluate` lists all of them."
    return _finding(DIVERGES, words, _name_span(prepared), prepared, [])


def _name_span(prepared: Prepared) -> tuple[int, int]:
    node: Node = prepared.workflow.name_node or prepared.workflow.root
    return node.start, node.end


def _finding(
    name: str, message: str, place: tuple[int, int], prepared: Prepared, related: Sequence[Related]
) -> Finding:
    info = rule(name)
    workflow = prepared.workflow
    document = prepared.project.document(workflow.path)
    assert document is not None
    span = document.source.range(*place)
    route = route_of(document.tree.root, place[0])
    return Finding(workflow.path, info.name, info.code, info.severity, message, span, tuple(related), route=route)
