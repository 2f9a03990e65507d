"""One version of one file, as the features see it: text, tree, and what the analysis knows. Plain data, no protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from analyzer.check import Analysis, Engine, engine_for
from analyzer.flow.analysis import Flow, analyse
from analyzer.flow.control import recoveries
from analyzer.flow.redo import ScopeRedo, redo_of
from analyzer.incremental.excerpt import excerpt
from analyzer.model.nodes import Workflow
from analyzer.syntax.nodes import Mapping
from analyzer.syntax.parse import Tree
from analyzer.syntax.source import Source
from analyzer.workspace.files import FileKind, file_kind
from analyzer.workspace.project import Document, Project
from lsp_server.scopes import Scopes

#: Is told what an analysis has given and which files it has read.
Note = Callable[[Project, str, Iterable[str], Workflow | None], None]

#: A span of code point offsets, its end past the last character.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Target:
    """A place in some file; ``span`` is what is meant, ``whole`` what belongs to it."""

    path: str
    span: Span
    whole: Span | None = None


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace a span of a file by ``text``."""

    path: str
    span: Span
    text: str


class Snapshot:
    """A file at one moment. The parts that cost something are made when they are first asked for, and kept."""

    def __init__(self, project: Project, document: Document, note: Note | None = None) -> None:
        self._note = note
        self.project = project
        self.document = document
        self.path = document.path
        self.kind: FileKind = file_kind(document.path)

    @property
    def source(self) -> Source:
        """The source map."""
        return self.document.source

    @property
    def text(self) -> str:
        """The text, without a byte order mark."""
        return self.document.source.text

    @property
    def tree(self) -> Tree:
        """The parsed text: of a Workfile the tree that its model was read from."""
        return (self.document if self.analysis is None else self.analysis.document).tree

    @property
    def root(self) -> Mapping | None:
        """The root map, if the file is one."""
        root = self.tree.root
        return root if isinstance(root, Mapping) else None

    @property
    def engine(self) -> Engine:
        """The analyses of the project."""
        return engine_for(self.project)

    @cached_property
    def analysis(self) -> Analysis | None:
        """The analysis of a Workfile; None for other files."""
        if self.kind != "workflow":
            return None
        analysis = self.engine.analysis(self.path)
        if analysis is not None and self._note is not None:
            self._note(self.project, self.path, analysis.trace.paths, analysis.workflow)
        # The project may have read a newer text meanwhile: then the tree and the model would not belong together.
        return analysis if analysis is not None and analysis.document.digest == self.document.digest else None

    @property
    def workflow(self) -> Workflow | None:
        """The resolved and typed Workfile."""
        return None if self.analysis is None else self.analysis.workflow

    @cached_property
    def scopes(self) -> Scopes | None:
        """What can be read where."""
        analysis = self.analysis
        return None if analysis is None else Scopes(analysis.workflow, analysis.document.source, analysis.parts)

    @cached_property
    def flow(self) -> Flow | None:
        """The control flow."""
        return None if self.workflow is None else analyse(self.workflow)

    @cached_property
    def redo(self) -> list[ScopeRedo]:
        """The redo set of every recovery scope."""
        return [] if self.flow is None else redo_of(self.flow)

    def redo_in(self, wanted: Span) -> list[ScopeRedo]:
        """The redo sets of the recovery scopes whose steps, or whose own lines, are in a span."""
        analysis = self.analysis
        if analysis is None or not recoveries(analysis.workflow):
            return []
        workflow, parts = analysis.workflow, analysis.parts
        if "redo" in self.__dict__ or workflow.recovery is not None or parts is None:
            return self.redo
        # Without a recovery of the root, no scope reaches past the step of its list that it stands in.
        inside = [part for node, part in parts.by_node.items() if node.start <= wanted[1] and wanted[0] <= node.end]
        near = excerpt(workflow, parts, inside)
        return redo_of(analyse(near)) if recoveries(near) else []
