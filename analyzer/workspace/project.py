"""One configuration root and what is read under it: documents, manifests, overlays, connections, the workflow index.

``project_for(path)`` gives the project of a file: one for each configuration, or for each folder without one. Whatever
is read or looked up is kept until it is invalidated, and reported to every open ``trace`` (also when it was kept), so
that a result can be stored with all that it depends on. Nothing outside the configuration's root and the folders that
the configuration names is read; without a configuration, a Workfile may name ``*.connector.yaml`` and
``*.overlay.yaml`` anywhere. What reads manifests is imported when one is read: a run from the cache needs none.
"""

# ruff: noqa: PTH100, PTH113, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzer.digest import digest_of
from analyzer.language.suggest import hint
from analyzer.model.problems import Place, Problem, Problems
from analyzer.selection import is_left_out
from analyzer.syntax.nodes import Entry, Mapping, Scalar, walk
from analyzer.workspace.config import Config, ConfigError, ConnectionConfig, config_in, find_config, load_config
from analyzer.workspace.documents import Document, read_file
from analyzer.workspace.files import (
    CONNECTOR_SUFFIX,
    MAX_FILES,
    OVERLAY_SUFFIX,
    Discovery,
    FileKind,
    Search,
    file_kind,
    found_kind,
    gather,
    search,
)
from analyzer.workspace.kept import Kept
from analyzer.workspace.listed import listed_overlays, listed_paths
from analyzer.workspace.names import SCAN_BYTES, Unsure, parsed_name, scan_name

if TYPE_CHECKING:
    from analyzer.workspace.manifests import Manifest

__all__ = [
    "ConnectorResult",
    "Discovery",
    "Document",
    "FileKind",
    "Project",
    "Trace",
    "discover",
    "file_kind",
    "forget_projects",
    "project_for",
]


@dataclass(slots=True, eq=False)
class Trace:
    """What was read or looked up (files that are not there, and folders that were listed, among them)."""

    paths: set[str] = field(default_factory=set)
    reads_index: bool = False


@dataclass(frozen=True, slots=True)
class ConnectorResult:
    """A connector's manifest, its overlay merged, or why there is none.

    ``problems_exist``: the manifest's or overlay's own file has problems, which are reported there. ``reason`` is a
    sentence when there is no manifest, ``part`` whether it is about the ``manifest`` or the ``overlay`` that is listed.
    ``path`` is the manifest's, "" when none was found.
    """

    manifest: Manifest | None
    problems_exist: bool = False
    reason: str = ""
    path: str = ""
    part: str = "manifest"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A manifest file as read: by content."""

    digest: str
    manifest: Manifest | None
    problems: tuple[Problem, ...]
    has_problems: bool


class Project:
    """One configuration root, an absolute path."""

    def __init__(self, root: str, config: Config, problems: tuple[str, ...] = ()) -> None:
        self.root = root
        self.config = config
        self._problems = problems
        self._traces: list[Trace] = []
        self._texts: dict[str, str] = {}
        self._documents: Kept[Document] = Kept()
        self._reasons: dict[str, str] = {}
        self._listings: dict[str, tuple[str, ...]] = {}
        self._manifests: dict[str, _Loaded] = {}
        self._results: dict[tuple[str, ...], tuple[ConnectorResult, Trace]] = {}
        self._calls: dict[str, tuple[str, ...]] = {}
        self._overlaid: dict[str, tuple[str, str]] | None = None
        self._connector_names: dict[str, str | None] = {}
        self._names: dict[str, str | None] | None = None
        self._workflows: dict[str, list[str]] | None = None
        self._fingerprint: str | None = None
        self.index_problems: tuple[str, ...] = ()
        self._real_folders: tuple[str, ...] | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """In one line each why the configuration is not used; folders that it names may come and go."""
        return self._problems or self.config.missing_folders()

    # Dependencies.

    @contextmanager
    def trace(self) -> Iterator[Trace]:
        """Collect what is read or looked up while the block runs; traces may be nested."""
        trace = Trace()
        self._traces.append(trace)
        try:
            yield trace
        finally:
            self._traces.remove(trace)

    def replay(self, trace: Trace) -> None:
        """Report to the open traces what an earlier one collected, for a result that is used again."""
        for each in self._traces:
            each.paths |= trace.paths
            each.reads_index = each.reads_index or trace.reads_index

    def _touch(self, path: str) -> None:
        for each in self._traces:
            each.paths.add(path)

    # Documents.

    def document(self, path: str) -> Document | None:
        """The file at an absolute path, unsaved text first; None when it cannot be read (``unreadable`` says why)."""
        self._touch(path)
        known = self._documents.get(path)
        if known is not None:
            return known
        if path in self._reasons:
            return None
        text = self._texts.get(path)
        data = read_file(path) if text is None else text.encode("utf-8", "surrogatepass")
        if isinstance(data, str):
            self._reasons[path] = data
            return None
        document = Document(path, data)
        self._documents.put(path, document, len(data))
        return document

    def unreadable(self, path: str) -> str:
        """Why ``document`` gave None, in words; "" when it did not."""
        return self._reasons.get(path, "")

    def overlay_text(self, path: str, text: str | None) -> None:
        """Let ``text`` stand instead of the file's content (an editor's unsaved text); None ends that."""
        if text is None:
            self._texts.pop(path, None)
        else:
            self._texts[path] = text
        self.invalidate(path)

    def invalidate(self, path: str) -> None:
        """Forget what is known of a file or folder, because it has changed, come or gone."""
        self._documents.pop(path)
        self._calls.pop(path, None)
        self._overlaid = None
        self._reasons.pop(path, None)
        self._listings.pop(path, None)
        self._listings.pop(os.path.dirname(path), None)
        self._connector_names.pop(path, None)
        if found_kind(os.path.basename(path)) == "workflow":
            self._reindex(path)
            return
        self._results.clear()
        if not os.path.isfile(path):  # a folder, or what was one
            self._listings.clear()
            self._connector_names.clear()
            self._reasons.clear()
            self._names = self._workflows = self._fingerprint = None

    def _reindex(self, path: str) -> None:
        """Keep the index true to one Workfile; one that has come or gone makes it be built again."""
        if self._names is None:
            return
        there = path in self._texts or os.path.isfile(path)
        if not there or path not in self._names:
            self._names = None
        else:
            name = self._name_of(path, "name")
            if self._names[path] == name:
                return
            self._names[path] = name
        self._workflows = self._fingerprint = None

    # Connections.

    def connections(self, connector: str) -> ConnectionConfig | None:
        """The deployment's connections for a connector; None when it says nothing of it."""
        return self.config.connections.get(connector)

    # Connectors.

    def connector(self, workfile_path: str, name: str, listed: Entry | None) -> ConnectorResult:
        """The connector ``name`` as a Workfile means it; ``listed`` is its entry in the Workfile's ``connectors``."""
        folder = os.path.dirname(workfile_path)
        manifest, overlay = listed_paths(listed)
        key = (folder, name, manifest or "", overlay or "")
        known = self._results.get(key)
        if known is not None:
            self.replay(known[1])
            return known[0]
        with self.trace() as trace:
            if manifest is None:
                result = self._looked_up(folder, name)
            else:
                result = self._listed(folder, name, manifest, overlay)
        self._results[key] = (result, trace)
        return result

    def connector_names(self, workfile_path: str) -> list[str]:
        """The connectors that can be found from a Workfile without listing them, sorted."""
        names = {
            self._connector_name(path)
            for folder in self._folders(os.path.dirname(workfile_path))
            for path in self._manifests_in(folder)
        }
        return sorted(name for name in names if name is not None)

    def manifest(self, path: str) -> Manifest | None:
        """The manifest at an absolute path, without any overlay."""
        loaded = self._load(path)
        return None if loaded is None else loaded.manifest

    def manifest_problems(self, path: str) -> tuple[Problem, ...]:
        """What is wrong with a manifest or overlay as a file of its own; the YAML problems are its tree's."""
        if found_kind(os.path.basename(path)) != "overlay":
            loaded = self._load(path)
            return () if loaded is None else loaded.problems
        document = self.document(path)
        if document is None:
            return ()
        from analyzer.workspace.overlays import check_overlay_shape, merge_overlay

        problems = Problems()
        report_keys(document, problems)
        base = self._base_of(document)
        if base is not None:
            problems.items.extend(merge_overlay(base, document.tree, path)[1])
            return tuple(problems.items)
        check_overlay_shape(document.tree, problems)
        self._report_unknown_base(document, problems)
        return tuple(problems.items)

    def _folders(self, folder: str) -> list[str]:
        """Where connectors are looked up for a Workfile in ``folder``."""
        if self.config.connectors:
            return list(self.config.connectors)
        places = (os.path.join(folder, "connectors"), os.path.join(self.root, "connectors"))
        return [place for place in dict.fromkeys(places) if self._is_inside(place)]

    def _looked_up(self, folder: str, name: str) -> ConnectorResult:
        folders = self._folders(folder)
        for place in folders:
            path = self._find(place, name)
            if path is not None:
                return self._manifest_result(path, name)
        where = " or ".join(f"`{self.shown(place)}`" for place in folders) or "the configured folders"
        return ConnectorResult(None, reason=f"There is no `{name}{CONNECTOR_SUFFIX}` in {where}.")

    def _find(self, folder: str, name: str) -> str | None:
        """The manifest of a connector in one folder: by file name, else by what the files there declare."""
        candidate = os.path.join(folder, name + CONNECTOR_SUFFIX)
        if candidate in self._manifests_in(folder) and self._connector_name(candidate) in (name, None):
            return candidate
        return next((path for path in self._manifests_in(folder) if self._connector_name(path) == name), None)

    def _manifests_in(self, folder: str) -> list[str]:
        self._touch(folder)
        names = self._listings.get(folder)
        if names is None:
            try:
                names = tuple(sorted(each for each in os.listdir(folder) if each.endswith(CONNECTOR_SUFFIX)))
            except OSError:
                names = ()
            self._listings[folder] = names[:MAX_FILES]
        return [os.path.join(folder, each) for each in names]

    def _listed(self, folder: str, name: str, manifest: str, overlay: str | None) -> ConnectorResult:
        path = os.path.normpath(os.path.join(folder, manifest))
        refused = self._refused(path, folder)
        if refused:
            return ConnectorResult(None, reason=f"`{manifest}` {refused}.", path=path)
        result = self._manifest_result(path, name)
        if overlay is None or result.manifest is None:
            return result
        overlay_path = os.path.normpath(os.path.join(folder, overlay))
        refused = self._refused(overlay_path, folder)
        document = None if refused else self.document(overlay_path)
        if document is None:
            reason = refused or f"is not its overlay: {self.unreadable(overlay_path)}"
            return ConnectorResult(None, reason=f"`{overlay}` {reason}.", path=path, part="overlay")
        from analyzer.workspace.overlays import merge_overlay

        merged, problems = merge_overlay(result.manifest, document.tree, overlay_path)
        faulty = result.problems_exist or bool(problems or document.tree.problems)
        return ConnectorResult(merged, faulty, path=path)

    def _manifest_result(self, path: str, name: str) -> ConnectorResult:
        loaded = self._load(path)
        if loaded is None:
            return ConnectorResult(None, reason=f"`{self.shown(path)}`: {self.unreadable(path)}.", path=path)
        manifest = loaded.manifest
        if manifest is not None and manifest.connector != name:
            reason = f"`{self.shown(path)}` is the manifest of `{manifest.connector}`, not of `{name}`."
            return ConnectorResult(None, reason=reason, path=path)
        return ConnectorResult(manifest, loaded.has_problems, path=path)

    def _load(self, path: str) -> _Loaded | None:
        document = self.document(path)
        if document is None:
            return None
        known = self._manifests.get(path)
        if known is not None and known.digest == document.digest:
            return known
        from analyzer.workspace.manifests import load_manifest

        manifest, found = load_manifest(document.tree, path)
        problems = Problems()
        report_keys(document, problems)
        problems.items.extend(found)
        faulty = bool(problems.items or document.tree.problems)
        loaded = self._manifests[path] = _Loaded(document.digest, manifest, tuple(problems.items), faulty)
        return loaded

    def _connector_name(self, path: str) -> str | None:
        self._touch(path)
        if path not in self._connector_names:
            self._connector_names[path] = self._name_of(path, "connector")
        return self._connector_names[path]

    def _base_of(self, overlay: Document) -> Manifest | None:
        """The manifest that an overlay is most likely for: the nearest of its connector."""
        from analyzer.workspace.overlays import overlay_name

        name = overlay_name(overlay.tree)
        if name is None:
            return None
        for place in self._overlay_places(overlay.path):
            path = self._find(place, name)
            if path is not None:
                return self.manifest(path)
        return self._listed_base(overlay.path)

    def _overlay_places(self, path: str) -> list[str]:
        folder = os.path.dirname(path)
        above = os.path.dirname(folder)
        places = [folder, *self._folders(folder), above, os.path.join(above, "connectors")]
        return [place for place in dict.fromkeys(places) if self.config.root is None or self._is_inside(place)]

    def _listed_base(self, path: str) -> Manifest | None:
        """The manifest that a Workfile under the root names beside this overlay."""
        workfiles = sorted(path for paths in self.workflows().values() for path in paths)
        for each in self._traces:
            each.paths.update(workfiles)
        if self._overlaid is None:
            self._overlaid = {}
            for document in filter(None, map(self.document, workfiles)):
                for overlay, manifest in listed_overlays(document):
                    self._overlaid.setdefault(overlay, (manifest, os.path.dirname(document.path)))
        if path not in self._overlaid:
            return None
        listed, folder = self._overlaid[path]
        return None if self._refused(listed, folder) else self.manifest(listed)

    def _report_unknown_base(self, document: Document, problems: Problems) -> None:
        """A connector that is nowhere near may be listed elsewhere; a near miss of a known one is a mistake."""
        from analyzer.workspace.manifests import RULE
        from analyzer.workspace.overlays import overlay_name

        name = overlay_name(document.tree)
        names = [
            self._connector_name(p) for place in self._overlay_places(document.path) for p in self._manifests_in(place)
        ]
        near = hint(name, [each for each in names if each is not None]) if name else ""
        node = document.tree.root.get("overlay") if isinstance(document.tree.root, Mapping) else None
        if near and node is not None:
            problems.report(RULE, node, f"There is no manifest of a connector `{name}` here.{near}")

    def _refused(self, path: str, folder: str) -> str:
        """Why a path that a Workfile names is not read; "" when it may be."""
        if self._is_inside(path):
            return ""
        if self.config.root is not None:
            return f"is outside `{self.root}`; move it there, or add its folder to `connectors` in the configuration"
        if path.endswith((CONNECTOR_SUFFIX, OVERLAY_SUFFIX)):
            return ""
        return f"is outside `{folder}` and is not a `*{CONNECTOR_SUFFIX}` or `*{OVERLAY_SUFFIX}`; rename or move it"

    def _is_inside(self, path: str) -> bool:
        """Whether a path, its links followed, is under the root or a folder that the configuration names."""
        if self._real_folders is None:
            folders = (self.root, *self.config.connectors)
            self._real_folders = tuple(os.path.realpath(each).rstrip(os.sep) + os.sep for each in folders)
        try:
            real = os.path.realpath(path) + os.sep
        except (OSError, ValueError):
            return False
        return real.startswith(self._real_folders)

    def shown(self, path: str) -> str:
        """A path for messages: relative to the root where it is under it."""
        prefix = self.root.rstrip(os.sep) + os.sep
        return path.removeprefix(prefix).replace(os.sep, "/")

    def excludes(self, path: str) -> bool:
        """Whether searches leave the file or folder out, by ``check.exclude`` of the configuration."""
        return is_left_out(self.config.check, self.shown(path))

    # The workflow index.

    def workflows(self) -> dict[str, list[str]]:
        """Every workflow name under the root with the paths of its Workfiles, both in order; one that the configuration
        excludes takes no name from another."""
        for each in self._traces:
            each.reads_index = True
        if self._workflows is None:
            names = self._index()
            found: dict[str, list[str]] = {}
            for path in sorted(names):
                name = names[path]
                if name is not None:
                    found.setdefault(name, []).append(path)
            for name, paths in found.items():
                if len(paths) > 1:
                    found[name] = [path for path in paths if not self.excludes(path)] or paths
            self._workflows = dict(sorted(found.items()))
        return self._workflows

    @property
    def index_fingerprint(self) -> str:
        """A digest of all names and their files under the root."""
        if self._fingerprint is None:
            lines = [f"{name}\x00{self.shown(path)}" for name, paths in self.workflows().items() for path in paths]
            self._fingerprint = digest_of("\n".join(lines).encode("utf-8", "surrogatepass"))
        return self._fingerprint

    def name_place(self, path: str) -> Place:
        """Where a Workfile states its name."""
        document = self.document(path)
        root = None if document is None else document.tree.root
        node = root.get("name") if isinstance(root, Mapping) else None
        return Place(0, 0, path) if node is None else Place(node.start, node.end, path)

    def calls_of(self, path: str) -> tuple[str, ...]:
        """The names of the workflows that a Workfile calls literally, in document order."""
        self._touch(path)
        known = self._calls.get(path)
        if known is None:
            known = self._calls[path] = self._read_calls(path)
        return known

    def _read_calls(self, path: str) -> tuple[str, ...]:
        document = self.document(path)
        if document is None or b"wf.call" not in document.data:
            return ()
        names: dict[str, None] = {}
        for node in walk(document.tree.root) if document.tree.root is not None else ():
            callee = node.get("wf.call") if isinstance(node, Mapping) else None
            if isinstance(callee, Scalar) and isinstance(callee.value, str) and "{{" not in callee.value:
                names[callee.value] = None
        return tuple(names)

    def _index(self) -> dict[str, str | None]:
        """The name of every Workfile under the root; those below another configuration belong to it."""
        if self._names is None:
            found = Search()
            search(
                self.root,
                found,
                enter=_is_no_root,
                take=lambda path: found_kind(os.path.basename(path)) == "workflow",
            )
            self.index_problems = tuple(found.problems)
            unsaved = [path for path in self._texts if found_kind(os.path.basename(path)) == "workflow"]
            prefix = self.root.rstrip(os.sep) + os.sep
            paths = {*_without_links(found.files), *(path for path in unsaved if path.startswith(prefix))}
            self._names = {path: self._name_of(path, "name") for path in sorted(paths)}
        return self._names

    def _name_of(self, path: str, key: str) -> str | None:
        """The string at a root key: from the file's first lines where they are clear, else from its tree."""
        text = self._texts.get(path)
        try:
            if text is not None:
                return scan_name(text.encode("utf-8", "surrogatepass"), key, complete=True)
            with open(path, "rb") as stream:
                data = stream.read(SCAN_BYTES)
            return scan_name(data, key, complete=len(data) < SCAN_BYTES)
        except (OSError, ValueError):
            return None
        except Unsure:
            traces, self._traces = self._traces, []  # the index is a dependency as a whole
            try:
                document = self.document(path)
            finally:
                self._traces = traces
            return None if document is None else parsed_name(document.tree, key)


def report_keys(document: Document, problems: Problems) -> None:
    """Keys of manifests and overlays are strings, everywhere in them (language page, section 1)."""
    for node in walk(document.tree.root) if document.tree.root is not None else ():
        for entry in node.entries if isinstance(node, Mapping) else ():
            key = entry.key
            if isinstance(key, Scalar) and not key.broken and not isinstance(key.value, str):
                what = f"`{key.text}`" if key.text else "nothing"
                problems.report("non-string-key", key, f"A key is a string, and this is {what}: quote it.")


def _is_no_root(folder: str) -> bool:
    try:
        return config_in(folder) is None
    except ConfigError:
        return False


def _without_links(paths: list[str]) -> list[str]:
    """Without files that are links to others of them: one file is not two workflows of one name."""
    known = set(paths)
    return [path for path in paths if not os.path.islink(path) or os.path.realpath(path) not in known]  # noqa: PTH114


_PROJECTS: dict[str, Project] = {}
_BY_FOLDER: dict[str, Project] = {}


def project_for(path: str) -> Project:
    """The project of a file, by its absolute path. A configuration that cannot be used is in ``Project.problems``."""
    folder = os.path.dirname(os.path.abspath(path))
    known = _BY_FOLDER.get(folder)
    if known is None:
        known = _BY_FOLDER[folder] = _project_of_folder(folder)
    return known


def _project_of_folder(folder: str) -> Project:
    try:
        file = find_config(folder)
        key = folder if file is None else file
        if key not in _PROJECTS:
            config = Config() if file is None else load_config(file)
            _PROJECTS[key] = Project(config.root or folder, config)
    except ConfigError as error:
        key = error.path
        if key not in _PROJECTS:
            root = os.path.dirname(error.path)
            _PROJECTS[key] = Project(root, Config(path=error.path, root=root), (str(error),))
    return _PROJECTS[key]


def forget_projects() -> None:
    """Forget all projects: a configuration has changed, come or gone."""
    _PROJECTS.clear()
    _BY_FOLDER.clear()


def discover(paths: Sequence[str], limit: int = MAX_FILES) -> Discovery:
    """The files that a call names: files as they are, folders searched for all kinds that are ours.

    In a search, what ``check.exclude`` of the configuration at hand fits is left out (globs relative to its root).
    """
    return gather(paths, limit, excluded=lambda path: project_for(path).excludes(path))
