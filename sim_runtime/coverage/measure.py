"""Counts what of each Workfile has happened, over any number of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from analyzer.model.nodes import Workflow, all_steps
from analyzer.syntax.source import Source
from analyzer.workspace.project import Project
from sim_runtime.coverage.excluded import counted
from sim_runtime.coverage.places import KINDS, NO_BRANCH, Key, Place, places_of
from sim_runtime.history.paths import CHILD, UNDO, shown_path
from sim_runtime.history.records import Record

_INDEX: Final = re.compile(r"\[\d+\]")
_ATTEMPTS: Final = frozenset({"action.succeeded", "action.failed", "action.ambiguous"})


@dataclass(slots=True, eq=False)
class WorkfileCoverage:
    """One Workfile. ``path`` is absolute; ``played`` says whether a run of it was added; ``places`` are in document
    order."""

    path: str
    workflow: str
    source: Source
    places: list[Place]
    played: bool = False
    by_key: dict[Key, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_key = {place.key: place for place in self.places}

    @property
    def total(self) -> int:
        """How many places there are."""
        return len(self.places)

    @property
    def covered(self) -> int:
        """How many of them happened."""
        return sum(place.hits > 0 for place in self.places)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Covered and all places of each kind that there is, in the order of ``KINDS``."""
        found = {}
        for kind in KINDS:
            hits = [place.hits > 0 for place in self.places if place.kind == kind]
            if hits:
                found[kind] = (sum(hits), len(hits))
        return found

    def line(self, place: Place) -> int:
        """The line of a place, from 1."""
        return self.source.line_of(place.start) + 1

    def missed(self) -> list[tuple[Place, int]]:
        """What never happened, with how many more places it stands for: those that cannot happen without it."""
        outermost: dict[Place, int] = {}
        for place in self.places:
            if place.hits:
                continue
            top = place
            while top.parent is not None and not top.parent.hits:
                top = top.parent
            outermost[top] = outermost.get(top, 0) + (top is not place)
        return sorted(outermost.items(), key=lambda each: each[0].start)


def percent(covered: int, total: int) -> float:
    """Covered places as a percentage, to one decimal and never rounded up to 100; 100 where there are none."""
    if covered >= total:
        return 100.0
    return min(round(100 * covered / total, 1), 99.9)


class Coverage:
    """What happened in all Workfiles. ``scenarios`` are the names that runs were added under."""

    def __init__(self) -> None:
        self.files: dict[str, WorkfileCoverage] = {}
        self.scenarios: list[str] = []
        self._located: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._callees: dict[str, dict[str, Workflow]] = {}

    @property
    def total(self) -> int:
        """How many places there are in all Workfiles."""
        return sum(file.total for file in self.files.values())

    @property
    def covered(self) -> int:
        """How many of them happened."""
        return sum(file.covered for file in self.files.values())

    def sorted_files(self) -> list[WorkfileCoverage]:
        """The Workfiles by path."""
        return [self.files[path] for path in sorted(self.files)]

    def add_workfile(self, project: Project, workflow: Workflow) -> None:
        """Count a Workfile, and those that it calls, also when nothing plays them. They have no error findings."""
        if workflow.path in self.files:
            return
        document = project.document(workflow.path)
        source = document.source if document is not None else Source("", workflow.path)
        places = counted(places_of(workflow), document)
        self.files[workflow.path] = WorkfileCoverage(workflow.path, workflow.name or "", source, places)
        callees = {step.path: step.callee for step in all_steps(workflow) if step.callee is not None}
        self._callees[workflow.path] = callees
        for callee in callees.values():
            self.add_workfile(project, callee)

    def add_run(self, project: Project, workflow: Workflow, records: Iterable[Record], scenario: str) -> None:
        """Count the records of one run under the name of its scenario."""
        self.add_workfile(project, workflow)
        self.files[workflow.path].played = True
        self.scenarios.append(scenario)
        number = len(self.scenarios) - 1
        for record in records:
            happened = _happened(record)
            if happened is None:
                continue
            located = self._locate(workflow.path, record.id)
            if located is None:
                continue
            path, at = located
            file = self.files[path]
            file.played = True
            for kind, outcome in happened:
                place = file.by_key.get((at, kind, outcome))
                if place is not None:
                    place.hits += 1
                    if not place.scenarios or place.scenarios[-1] != number:
                        place.scenarios.append(number)

    def _locate(self, root: str, id_: str) -> tuple[str, str] | None:
        """The Workfile that an identity is in, and the step path there with ``[]`` for positions."""
        key = root, _INDEX.sub("[]", id_)
        if key not in self._located:
            path: str | None = root
            *calls, inside = key[1].split(CHILD)
            for call in calls:
                callee = self._callees[path].get(shown_path(call)) if path is not None else None
                path = callee.path if callee is not None else None
            at = shown_path(inside).removesuffix(UNDO).removesuffix(".")
            self._located[key] = None if path is None else (path, at)
        return self._located[key]


def _happened(record: Record) -> tuple[tuple[str, str], ...] | None:
    """What a record says has happened, as kind and outcome; None for what no place is about."""
    kind, data = record.kind, record.data
    if kind == "step.started":
        return (("step", "run"), ("guard", "true")) if data.get("guard") else (("step", "run"),)
    if kind in _ATTEMPTS:
        return (("action", kind.removeprefix("action.")),)
    pick = _PICK.get(kind)
    if pick is None:
        return None
    found = pick(data)
    return None if found is None else (found,)


def _limit(data: dict[str, Any]) -> tuple[str, str] | None:
    return ("recovery", "limit") if data["disposition"] in ("limit", "escalate") else None


_PICK: Final[dict[str, Callable[[dict[str, Any]], tuple[str, str] | None]]] = {
    "step.skipped": lambda _: ("guard", "false"),
    "step.failed": _limit,
    "hold.entered": lambda data: ("recovery", "limit") if data["reason"] == "recovery_limit" else None,
    "branch.selected": lambda data: ("branch", NO_BRANCH if data["branch"] is None else str(data["branch"])),
    "handler.entered": lambda data: ("handler", str(data["handler"])),
    "wait.selected": lambda data: ("wait", str(data["status"])),
    "reconcile.decided": lambda data: ("reconcile", str(data["outcome"])),
    "compensation.succeeded": lambda _: ("undo", "undone"),
    "recovery.decided": lambda _: ("recovery", "acts"),
    "state.entered": lambda _: ("state", "entered"),
    "route.selected": lambda data: ("route", str(data["route"])),
    "timer.fired": lambda data: ("timer", str(data["timer"]).removeprefix("state:")),
}
