"""The files at hand: open texts over what is on disk, their snapshots and findings, and what a change makes stale.

Findings are kept with the files that they depend on. A change drops those of the files that read what changed, so that
nothing is computed twice and nothing stale is answered (architecture, invariant 3).
"""

# ruff: noqa: PTH112, PTH116, PTH119, PTH120

from __future__ import annotations

import gc
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from analyzer.check import engine_for
from analyzer.driver import known_rules, problem_of_rule
from analyzer.findings import Finding, Range
from analyzer.memory import paused_collection
from analyzer.model.nodes import Workflow
from analyzer.selection import Selection, file_ignores
from analyzer.shown import relative_path
from analyzer.suppressions import apply_suppressions, find_directives
from analyzer.syntax.source import Encoding, Source
from analyzer.workspace.config import CONFIG_NAME, PYPROJECT_NAME
from analyzer.workspace.files import FileKind, file_kind, found_kind
from analyzer.workspace.project import Project, discover, forget_projects, project_for
from lsp_server.documents import Change, OpenDocument
from lsp_server.snapshot import Snapshot
from lsp_server.uris import VIRTUAL, Spellings, path_of
from sim_runtime.rules.engine import check_file

MAX_CHECKS: Final = 4_096
MAX_SNAPSHOTS: Final = 64
MAX_OPEN: Final = 2_000
STORM: Final = 500
"""From so many changed files on, everything that was read from disk is forgotten at once."""
COLLECT_AT_MOST: Final = 8
"""Analyses from the beginning after which memory is freed though messages wait."""
EDITS_AT_MOST: Final = 200
"""Analyses of small edits after which all memory is looked through: each leaves a step or two."""
NOT_CHECKED: Final = "configuration"
"""Stands for a rule in what is said of a file that is not checked."""
_EVERYTHING: Final = Selection()


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one file as they are shown: suppressed and unselected ones left out."""

    findings: tuple[Finding, ...]
    dependencies: frozenset[str]
    reads_index: bool


class Workspace:
    """All that the server knows of files. Paths are absolute; see ``lsp_server.uris`` for how they come from URIs."""

    def __init__(self) -> None:
        self.encoding: Encoding = "utf-16"
        self.folders: list[str] = []
        self.spellings = Spellings()
        self.open: dict[str, OpenDocument] = {}
        self.watching = False
        self._checks: OrderedDict[str, Checked] = OrderedDict()
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()
        self._workflows: dict[str, Workflow] = {}
        self._projects: dict[Project, None] = {}
        # Workfiles that scenarios of other projects have read, with those projects.
        self._foreign: dict[str, dict[Project, None]] = {}
        # For each file that was analysed, the other files that were read for it.
        self._read: dict[Project, dict[str, frozenset[str]]] = {}
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._listings: dict[str, list[str]] = {}
        self._anew = 0
        self._edits = 0

    # ---- documents -------------------------------------------------------------------------------

    def open_document(self, uri: str, version: int, text: str, language: str = "") -> OpenDocument:
        """The client has opened a file: its text is the client's from here on."""
        self.spellings.learn(uri)
        path = path_of(uri)
        document = OpenDocument(uri, path, version, text, self.encoding, language)
        self.open[path] = document
        while len(self.open) > MAX_OPEN:
            self.close_document(next(iter(self.open)))
        self._text_changed(path, document.text)
        return document

    def edit(self, path: str, changes: Iterable[Change], version: int) -> OpenDocument | None:
        """The client has edited a file; None when it has not opened it."""
        document = self.open.get(path)
        if document is not None:
            document.apply(changes, version)
            self._text_changed(path, document.text)
        return document

    def close_document(self, path: str) -> None:
        """The client has closed a file: what is on disk counts again."""
        self._workflows.pop(path, None)
        if self.open.pop(path, None) is not None:
            self._text_changed(path, None)

    def uri_of(self, path: str) -> str:
        """How the client spells a file."""
        document = self.open.get(path)
        return document.uri if document is not None else self.spellings.uri_of(path)

    # ---- projects --------------------------------------------------------------------------------

    def project(self, path: str) -> Project:
        """The project of a file, with the texts of all open files in it."""
        project = project_for(path)
        if project not in self._projects:
            self._projects[project] = None
            engine_for(project).edited = True
            for other, document in self.open.items():
                if project in self._readers(other):
                    project.overlay_text(other, document.text)
        return project

    def _readers(self, path: str) -> list[Project]:
        """The projects that may read a file. Without a configuration each folder is one of its own, so that a manifest
        is read by others than that of its folder."""
        own = project_for(path)
        if file_kind(path) == "workflow":
            return list(dict.fromkeys([own, *self._foreign.get(path, ())]))
        return list(dict.fromkeys([own, *self._projects]))

    # ---- what is stale ---------------------------------------------------------------------------

    def _text_changed(self, path: str, text: str | None) -> None:
        project = self.project(path)
        before = project.index_fingerprint if self._checks else ""
        for each in self._readers(path):
            each.overlay_text(path, text)
        index_changed = bool(before) and project.index_fingerprint != before
        self._drop([path], index_changed)

    def _drop(self, paths: Iterable[str], index_changed: bool) -> None:
        """Drop what was found with these files, and the analyses of projects in which others have read them."""
        changed = set(paths)
        stale = [
            path
            for path, check in self._checks.items()
            if path in changed or not check.dependencies.isdisjoint(changed) or (index_changed and check.reads_index)
        ]
        for path in stale:
            del self._checks[path]
        for project, readers in self._read.items():
            if index_changed or any(not read.isdisjoint(changed) for read in readers.values()):
                engine_for(project).forget()
                readers.clear()
                for path in [path for path, known in self._snapshots.items() if known.project is project]:
                    del self._snapshots[path]
        for path in changed:
            self._snapshots.pop(path, None)

    def _note(self, project: Project, path: str, dependencies: Iterable[str], workflow: Workflow | None) -> None:
        """An analysis of ``path`` has given this Workfile and has read these files."""
        known = self._workflows.get(path)
        if workflow is not None and path in self.open and (workflow.top_lists or known is None):
            self._workflows[path] = workflow
        self._read.setdefault(project, {})[path] = frozenset(dependencies) - {path}

    def files_changed(self, paths: Iterable[str]) -> bool:
        """Files have changed on disk, come or gone; false when none of them matters to us."""
        changed = [path for path in dict.fromkeys(paths) if path not in self.open and matters(path)]
        if not changed:
            return False
        self._listings.clear()
        if len(changed) >= STORM or any(is_configuration(path) for path in changed):
            self.reset()
            return True
        for path in changed:
            for each in self._readers(path):
                each.invalidate(path)
        self._drop([*changed, *(os.path.dirname(path) for path in changed)], True)
        return True

    def reset(self) -> None:
        """Forget everything that was read from disk: a configuration has changed, or a great many files."""
        forget_projects()
        self._checks.clear()
        self._snapshots.clear()
        self._read.clear()
        self._stamps.clear()
        self._projects.clear()
        self._foreign.clear()
        for path in self.open:
            self.project(path)

    def look_at_disk(self) -> None:
        """For clients that do not watch files: find out by their times which of those that were read have changed."""
        if self.watching:
            return
        self._listings.clear()
        known = {path for check in self._checks.values() for path in check.dependencies}
        stamps = {path: _stamp(path) for path in sorted(known)}
        changed = [path for path, stamp in stamps.items() if self._stamps.get(path, stamp) != stamp]
        self._stamps = stamps
        if changed:
            self.files_changed(changed)

    # ---- snapshots and findings ------------------------------------------------------------------

    def snapshot(self, path: str) -> Snapshot | None:
        """The file as it is now; None when it cannot be read."""
        project = self.project(path)
        document = project.document(path)
        if document is None:
            return None
        known = self._snapshots.get(path)
        if known is not None and known.document is document:
            self._snapshots.move_to_end(path)
            return known
        snapshot = self._snapshots[path] = Snapshot(project, document, self._note)
        while len(self._snapshots) > MAX_SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return snapshot

    def source(self, path: str) -> Source | None:
        """The source map of a file; of an open one without parsing it."""
        document = self.open.get(path)
        if document is not None:
            return document.source
        snapshot = self.snapshot(path)
        return None if snapshot is None else snapshot.source

    def last_workflow(self, path: str) -> Workflow | None:
        """The Workfile as it was when it was analysed last; it may be older than the text."""
        if path not in self._workflows:
            snapshot = self.snapshot(path)
            return None if snapshot is None else snapshot.workflow
        return self._workflows[path]

    def check(self, path: str) -> Checked:
        """The findings of a file as the command line reports them."""
        known = self._checks.get(path)
        if known is not None:
            self._checks.move_to_end(path)
            return known
        engine = engine_for(self.project(path))
        anew = engine.anew
        with paused_collection():
            checked = self._check(path)
            if self._show_foreign(self.project(path), checked.dependencies):
                checked = self._check(path)
            self._checks[path] = checked
        self._anew += engine.anew - anew
        self._edits += 1
        while len(self._checks) > MAX_CHECKS:
            self._checks.popitem(last=False)
        return checked

    def _show_foreign(self, project: Project, dependencies: Iterable[str]) -> bool:
        """Let a project see the unsaved texts of Workfiles that are not its own; whether it has read them from disk."""
        stale = False
        for path in dependencies:
            if file_kind(path) != "workflow" or project_for(path) is project:
                continue
            known = self._foreign.setdefault(path, {})
            if project not in known:
                known[project] = None
                if path in self.open:
                    project.overlay_text(path, self.open[path].text)
                    stale = True
        return stale

    def _check(self, path: str) -> Checked:
        project = self.project(path)
        document = self.open.get(path)
        if document is not None and not document.ours:
            return Checked((), frozenset(), False)
        faults = configuration_problems(project)
        if faults:
            # As on the command line nothing is found under it; but a file that is not checked must not look clean.
            message = f"Nothing is checked here until the configuration is mended: {faults[0]}"
            told = Finding(path, NOT_CHECKED, NOT_CHECKED, "error", message, Range(1, 1, 1, 1))
            about = {each for each in (project.config.path, *project.config.connectors) if each is not None}
            return Checked((told,), frozenset(about), True)
        result = check_file(project, path)
        analysis = engine_for(project).analysis(path) if file_kind(path) == "workflow" else None
        self._note(project, path, result.dependencies, None if analysis is None else analysis.workflow)
        read = project.document(path)
        findings = list(result.findings)
        if read is not None:
            directives = find_directives(read.text, result.comments)
            findings = apply_suppressions(path, findings, directives, known_rules).findings
        wanted = selection_of(project, path)
        kept = tuple(finding for finding in findings if wanted.wants(finding))
        return Checked(kept, frozenset(result.dependencies), result.reads_index)

    def check_texts(self, texts: Mapping[str, str]) -> dict[str, tuple[Finding, ...]]:
        """The findings that files would have if these were their texts; what is kept stays as it was."""
        kept = {path: self.open[path].text if path in self.open else None for path in texts}
        for path, text in texts.items():
            self._text_changed(path, text)
        try:
            with paused_collection():
                return {path: self._check(path).findings for path in texts}
        finally:
            for path, before in kept.items():
                self._text_changed(path, before)

    def shown(self, path: str) -> str:
        """A path for messages."""
        return self.project(path).shown(path)

    def known_check(self, path: str) -> Checked | None:
        """The findings of a file if they are at hand."""
        return self._checks.get(path)

    def files(self) -> list[str]:
        """Every file of ours below the workspace's folders, and the open ones, in order."""
        found = {path for folder in self.folders for path in self._files_below(folder)}
        unsaved = [path for path in self.open if not path.startswith(VIRTUAL)]
        return sorted({*found, *unsaved})

    def related(
        self, projects: Iterable[Project], words: Iterable[str], kinds: Iterable[FileKind]
    ) -> Iterator[Snapshot]:
        """The files of the workspace and of some projects, of the kinds asked for, that have one of the words."""
        wanted = tuple(kinds)
        needles = [word.encode("utf-8", "surrogatepass") for word in words]
        folders = [*self.folders, *(project.root for project in projects)]
        listed = {path for folder in dict.fromkeys(folders) for path in self._files_below(folder)}
        for path in sorted({*listed, *self.open}):
            if file_kind(path) not in wanted:
                continue
            document = self.project(path).document(path)
            if document is not None and any(needle in document.data for needle in needles):
                snapshot = self.snapshot(path)
                if snapshot is not None:
                    yield snapshot

    def _files_below(self, folder: str) -> list[str]:
        if folder not in self._listings:
            self._listings[folder] = discover([folder]).files if os.path.isdir(folder) else []
        return self._listings[folder]

    def configuration_problems(self) -> list[str]:
        """What is wrong with the configurations of the open files, a line each."""
        projects = {self.project(path).root: self.project(path) for path in self.open}
        return [problem for _, project in sorted(projects.items()) for problem in configuration_problems(project)]

    # ---- memory ----------------------------------------------------------------------------------

    @property
    def much_to_collect(self) -> bool:
        """Whether freeing memory must not wait any longer."""
        return self._anew >= COLLECT_AT_MOST

    def collect(self, idle: bool = False) -> None:
        """Free what old versions have left: models hold each other in rings, which only the collector finds.

        ``idle``: there is time to look through all of memory, and not only through what is new.
        """
        if self._anew or (idle and self._edits >= EDITS_AT_MOST):
            self._anew = self._edits = 0
            gc.collect()
        elif self._edits:
            gc.collect(1)


def is_configuration(path: str) -> bool:
    """Whether a file may hold a configuration."""
    return os.path.basename(path) in (CONFIG_NAME, PYPROJECT_NAME)


def matters(path: str) -> bool:
    """Whether a change of this file can change what is found."""
    return is_configuration(path) or found_kind(os.path.basename(path)) != "other" or "." not in os.path.basename(path)


def configuration_problems(project: Project) -> list[str]:
    """Why nothing is checked under a configuration: it cannot be used, or names rules that do not exist."""
    check = project.config.check
    names = [*check.select, *check.ignore, *(name for each in check.per_file_ignores.values() for name in each)]
    unknown = (problem_of_rule(name) for name in dict.fromkeys(names))
    where = project.config.path or project.root
    return [*project.problems, *(f"{where}: {problem}" for problem in unknown if problem is not None)]


def selection_of(project: Project, path: str) -> Selection:
    """Which findings the configuration wants of a file."""
    check = project.config.check
    selection = _EVERYTHING.over(check)
    ignored = file_ignores(check, relative_path(path, project.root))
    return Selection(selection.select, selection.ignore + ignored) if ignored else selection


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
