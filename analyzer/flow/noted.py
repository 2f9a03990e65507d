"""Which findings belong to which part of a Workfile, for pictures of it."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.findings import Finding
from analyzer.model.nodes import Recovery, State, Step, Workflow, all_steps
from analyzer.syntax.source import Source


def notes_of(
    workflow: Workflow, findings: Iterable[Finding], source: Source
) -> dict[Step | State | Recovery, list[tuple[str, str]]]:
    """For each step, state or recovery the (severity, rule) of its findings; the innermost part counts."""
    places: list[tuple[int, int, Step | State | Recovery]] = []
    parts: list[Step | State] = [*(workflow.states or {}).values(), *all_steps(workflow)]
    places += [(part.entry.key.start, part.entry.value.end, part) for part in parts]
    recoveries = [workflow.recovery, *(part.recovery for part in parts)]
    places += [(each.entry.key.start, each.entry.value.end, each) for each in recoveries if each is not None]
    places.sort(key=lambda place: (place[0], -place[1]))
    notes: dict[Step | State | Recovery, list[tuple[str, str]]] = {}
    ordered = sorted(
        (
            (source.offset_at(finding.range.start_line - 1, finding.range.start_column - 1), finding)
            for finding in findings
        ),
        key=lambda pair: pair[0],
    )
    position = 0
    around: list[tuple[int, Step | State | Recovery]] = []
    for offset, finding in ordered:
        while position < len(places) and places[position][0] <= offset:
            start, end, inner = places[position]
            while around and around[-1][0] < start:
                around.pop()
            around.append((end, inner))
            position += 1
        while around and around[-1][0] < offset:
            around.pop()
        if around:
            notes.setdefault(around[-1][1], []).append((finding.severity, finding.rule))
    return notes
