"""Workfiles as a debugger sees them: which step stands on a line, and where the step of a record is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from analyzer.model.nodes import State, Step, Workflow, all_steps
from analyzer.syntax.nodes import Node, Scalar, walk
from analyzer.syntax.source import Source
from analyzer.workspace.project import Project
from sim_runtime.history.paths import CHILD, UNDO, shown_path

_INDEX: Final = re.compile(r"\[\d+\]")
_OPEN_INDEX: Final = re.compile(r"\[\*?\]")


@dataclass(slots=True, eq=False)
class Spot:
    """A step or a state, where it is written: offset, lines from 0. ``copied``: it stands behind an alias."""

    path: str
    start: int
    line: int
    end_line: int
    node: Step | State
    copied: bool = False

    @property
    def words(self) -> str:
        """What it is, for messages."""
        return f"the step `{self.path}`" if isinstance(self.node, Step) else f"the state `{self.path}`"


@dataclass(frozen=True, slots=True)
class Found:
    """The spots of a line (they are written at one place), and why they are not on the line that was asked for."""

    spots: tuple[Spot, ...] = ()
    reason: str | None = None


class WorkFile:
    """One Workfile. ``path`` is absolute; ``reference`` stands for a text that is no file of the client."""

    def __init__(self, path: str, source: Source, workflow: Workflow, reference: int = 0) -> None:
        self.path = path
        self.source = source
        self.workflow = workflow
        self.reference = reference
        self.name = f"{workflow.name or 'Workfile'} (recorded)" if reference else re.split(r"[/\\]", path)[-1]
        self.spots = sorted(self._spots(), key=lambda spot: spot.start)
        self.by_path = {spot.path: spot for spot in self.spots}
        self._by_line: dict[int, list[Spot]] = {}
        for spot in self.spots:
            self._by_line.setdefault(spot.line, []).append(spot)
        self._texts: list[tuple[int, int]] | None = None
        self._aliases: set[int] = set()

    def _spots(self) -> Iterator[Spot]:
        for state in (self.workflow.states or {}).values():
            yield self._spot(state.name, state.entry.key, state.entry.value, state)
        for step in all_steps(self.workflow):
            yield self._spot(step.path, step.entry.key, step.entry.value, step)

    def _spot(self, path: str, key: Node, value: Node, node: Step | State) -> Spot:
        written, copied = _written(key), key.origin is not None
        end = max(written.end, _written(value).end if copied else value.end)
        end = len(self.source.text[:end].rstrip())
        line = self.source.line_of(written.start)
        return Spot(path, written.start, line, max(line, self.source.line_of(max(end - 1, 0))), node, copied)

    def column(self, spot: Spot) -> int:
        """The column of a spot in UTF-16 code units, from 0."""
        return self.source.position(spot.start)[1]

    def on_line(self, line: int) -> list[Spot]:
        """The spots that are written on a line."""
        return self._by_line.get(line, [])

    def at(self, line: int, column: int | None = None) -> Found:
        """The spots that a breakpoint on a line means; lines and columns (in UTF-16 code units) from 0."""
        exact = self.on_line(line)
        if exact:
            offset = None if column is None else self.source.offset_from(line, column)
            starts = [spot.start for spot in exact if offset is None or spot.start <= offset]
            start = (starts[-1] if offset is not None else starts[0]) if starts else exact[0].start
            return Found(tuple(spot for spot in exact if spot.start == start))
        if not 0 <= line < self.source.line_count:
            return Found((), f"is past the end, line {self.source.line_count}")
        self._look()
        if any(first <= line <= last for first, last in self._texts or ()):
            return self._inside(line, "is inside a text of several lines")
        text = self.source.line_text(line).strip()
        if not text or text.startswith("#"):
            what = "is a comment" if text else "is blank"
            following = self._following(line)
            return Found(tuple(following), what) if following else self._inside(line, what)
        if line in self._aliases:
            return self._inside(line, "has an alias; what it stands for is written at its anchor")
        return self._inside(line, "begins no step")

    def _following(self, line: int) -> list[Spot]:
        """The spots on the next line that is neither blank nor a comment."""
        for number in range(line + 1, self.source.line_count):
            text = self.source.line_text(number).strip()
            if text and not text.startswith("#"):
                found = self.on_line(number)
                return [spot for spot in found if spot.start == found[0].start]
        return []

    def _inside(self, line: int, reason: str) -> Found:
        """The innermost step or state around a line."""
        around = [spot for spot in self.spots if not spot.copied and spot.line <= line <= spot.end_line]
        inner = max(around, key=lambda spot: (spot.line, -spot.end_line, spot.start), default=None)
        if inner is None:
            return Found((), f"{reason}, and no step stands around it")
        return Found(tuple(spot for spot in self.spots if spot.start == inner.start), reason)

    def _look(self) -> None:
        """Note where texts of several lines stand, and aliases."""
        if self._texts is not None:
            return
        self._texts = []
        line_of = self.source.line_of
        for node in walk(self.workflow.root):
            if node.origin is not None:
                self._aliases.add(line_of(node.start))
            elif isinstance(node, Scalar) and node.style in ("literal", "folded"):
                last = len(self.source.text[: node.end].rstrip())
                self._texts.append((line_of(node.start) + 1, line_of(max(last - 1, node.start))))


def _written(node: Node) -> Node:
    """Where the text of a node stands: behind an alias at its anchor."""
    for _ in range(64):
        if node.origin is None:
            break
        node = node.origin
    return node


@dataclass(slots=True, eq=False)
class Program:
    """The Workfiles of a run: the root's first."""

    root: str
    files: dict[str, WorkFile] = field(default_factory=dict)
    _callees: dict[str, dict[str, str]] = field(default_factory=dict)
    _located: dict[str, tuple[WorkFile, str] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, workflow: Workflow, recorded: bool = False) -> Program:
        """The Workfile and those that it calls; ``recorded``: they are no files of the client."""
        program = cls(workflow.path)
        program._add(project, workflow, recorded)
        return program

    def _add(self, project: Project, workflow: Workflow, recorded: bool) -> None:
        if workflow.path in self.files:
            return
        document = project.document(workflow.path)
        source = document.source if document is not None else Source("", workflow.path)
        reference = len(self.files) + 1 if recorded else 0
        self.files[workflow.path] = WorkFile(workflow.path, source, workflow, reference)
        called = {step.path: step.callee for step in all_steps(workflow) if step.callee is not None}
        self._callees[workflow.path] = {path: callee.path for path, callee in called.items()}
        for callee in called.values():
            self._add(project, callee, recorded)

    def locate(self, id_: str) -> tuple[WorkFile, Spot | None]:
        """The Workfile that an identity stands in, and the step or state there."""
        file, path = self.place(id_)
        return file, file.by_path.get(path)

    def place(self, id_: str) -> tuple[WorkFile, str]:
        """The Workfile that an identity stands in, and the step path there with ``[]`` for positions."""
        key = _INDEX.sub("[]", id_)
        found = self._located.get(key)
        if found is None:
            path: str = self.root
            *calls, inside = key.split(CHILD)
            for call in calls:
                path = self._callees[path].get(shown_path(call), path)
            found = self.files[path], shown_path(inside).removesuffix(UNDO).removesuffix(".")
            self._located[key] = found
        return found

    def find(self, pattern: str) -> tuple[WorkFile, Spot] | None:
        """The step that a path means, positions given or open."""
        *calls, inside = _OPEN_INDEX.sub("[]", _INDEX.sub("[]", pattern)).split(CHILD)
        path: str | None = self.root
        for call in calls:
            path = self._callees[path].get(call) if path is not None else None
        spot = self.files[path].by_path.get(inside) if path is not None else None
        return None if path is None or spot is None else (self.files[path], spot)

    def paths(self) -> list[str]:
        """The step paths of the root Workfile."""
        return list(self.files[self.root].by_path)

    def by_reference(self, reference: int) -> WorkFile | None:
        """The text that is no file of the client."""
        return next((file for file in self.files.values() if reference and file.reference == reference), None)
