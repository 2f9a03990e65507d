"""Which workflows a host serves, and the definitions that its runs are pinned to.

The supervisor reads the folder once, at its start. Every definition that a run began with stays in the store with its
content, so that a run goes on with what it began with although the files have changed or are gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.shown import shown_path
from sim_runtime.core.compiling import CannotRun, definition_of
from sim_runtime.core.definition import Definition
from sim_runtime.driver.store import StoreDamaged
from sim_runtime.history.canonical import digest_of
from sim_runtime.history.pins import pinned_project, pins_of
from sim_runtime.host.store import HostStore

FIXTURES: Final = Path(__file__).parent / "fixtures"
NOOP: Final = "conformance-noop"
FAILURE: Final = "conformance-failure"
EFFECT: Final = "conformance-effect"
#: What the discovery advertises; the third fixture belongs to the seam.
ADVERTISED: Final = (NOOP, FAILURE)
MAX_FILES: Final = 10_000
#: So many compiled definitions are kept in a process.
MAX_COMPILED: Final = 256
#: So many are compiled before the first run of theirs comes.
MAX_PREPARED: Final = 64


class CannotServe(Exception):
    """The folder of workflows cannot be served; the message says why."""


@dataclass(frozen=True, slots=True)
class Served:
    """A workflow as it is now. ``pins`` is JSON text."""

    workflow: str
    digest: str
    pins: str
    builtin: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a folder holds. ``problems`` tells of files that are not served; ``urls`` are those of connections, by
    connector and connection."""

    served: tuple[Served, ...]
    problems: tuple[str, ...]
    urls: dict[str, dict[str, str]]


def read_catalogue(folder: str | None) -> Catalogue:
    """The fixtures, and the Workfiles of a folder. Raises ``CannotServe``."""
    fixtures = [served for served, _ in _read_folder(str(FIXTURES), builtin=True) if served is not None]
    if folder is None:
        return Catalogue(tuple(fixtures), (), {})
    if not os.path.isdir(folder):  # noqa: PTH112
        raise CannotServe(f"there is no folder `{shown_path(folder)}` of workflows")
    found = {each.workflow: each for each in fixtures}
    problems: list[str] = []
    for served, problem in _read_folder(os.path.abspath(folder), builtin=False):  # noqa: PTH100
        if served is None:
            problems.append(problem)
        elif served.workflow in found:
            problems.append(f"`{served.workflow}` is served already; another workflow of that name is left out")
        else:
            found[served.workflow] = served
    return Catalogue(tuple(found.values()), tuple(problems), _urls(folder))


def _urls(folder: str) -> dict[str, dict[str, str]]:
    """The URLs of connections. Raises ``CannotServe`` for a configuration that cannot be read."""
    from analyzer.workspace.project import project_for

    project = project_for(os.path.join(os.path.abspath(folder), "any.workfile.yaml"))  # noqa: PTH100, PTH118
    if project.problems:
        raise CannotServe(project.problems[0])
    return {name: dict(each.urls) for name, each in project.config.connections.items() if each.urls}


def _read_folder(folder: str, *, builtin: bool) -> Iterator[tuple[Served | None, str]]:
    from sim_runtime.simulation import CannotSimulate, load_workflow, prepare

    for path in _workfiles(folder):
        shown = shown_path(path)
        try:
            prepared = prepare(path) if not builtin else None
            project, workflow = (prepared.project, prepared.workflow) if prepared is not None else load_workflow(path)
            pins = pins_of(workflow, project)
        except CannotSimulate as error:
            first = f": {error.findings[0].message}" if error.findings else ""
            yield None, f"`{shown}` is not served: {error}{first}"
            continue
        if not workflow.name:
            yield None, f"`{shown}` is not served: it has no name"
            continue
        yield Served(workflow.name, digest_of(pins), json.dumps(pins, ensure_ascii=False), builtin), ""


def _workfiles(folder: str) -> list[str]:
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found.extend(os.path.join(root, each) for each in sorted(files) if is_workfile(each))  # noqa: PTH118
        if len(found) > MAX_FILES:
            raise CannotServe(f"`{shown_path(folder)}` holds more than {MAX_FILES} Workfiles: serve a smaller folder")
    return found


def is_workfile(name: str) -> bool:
    """Whether a file's name is that of a Workfile."""
    return name.endswith((".workfile.yaml", ".workfile.yml"))


def keep_catalogue(store: HostStore, catalogue: Catalogue) -> None:
    """Put it into the store: what is served now, and every definition for good. Raises ``StoreError``."""
    with store.transaction():
        store.change("delete from host_catalogue")
        for each in catalogue.served:
            store.change(
                "insert or ignore into host_definitions values (?, ?, ?, ?)",
                each.digest,
                each.workflow,
                each.pins,
                int(each.builtin),
            )
            store.change("insert into host_catalogue values (?, ?)", each.workflow, each.digest)
        store.change("insert or replace into host_meta values ('urls', ?)", json.dumps(catalogue.urls))


def read_urls(store: HostStore) -> dict[str, dict[str, str]]:
    """The URLs of connections, as they were at the supervisor's start. Raises ``StoreError``."""
    row = store.one("select value from host_meta where name = 'urls'")
    found: dict[str, dict[str, str]] = json.loads(row[0]) if row is not None else {}
    return found


@dataclass(frozen=True, slots=True)
class Compiled:
    """A definition that can be run."""

    definition: Definition
    builtin: bool


class Definitions:
    """The definitions of runs, compiled when they are first needed."""

    def __init__(self, store: HostStore) -> None:
        self._store = store
        self._known: dict[str, Compiled] = {}
        self._ahead: list[str] | None = None

    def prepare_one(self) -> bool:
        """Compile one more of the definitions that are served; false when there is none. Raises ``StoreError``."""
        if self._ahead is None:
            rows = self._store.all("select digest from host_catalogue order by workflow desc limit ?", MAX_PREPARED)
            self._ahead = [row[0] for row in rows]
        if not self._ahead:
            return False
        with suppress(StoreDamaged):  # told when a run needs it
            self.of(self._ahead.pop())
        return True

    def of(self, digest: str) -> Compiled:
        """A definition by its digest. Raises ``StoreError``."""
        known = self._known.get(digest)
        if known is None:
            row = self._store.one("select pins, builtin from host_definitions where digest = ?", digest)
            if row is None:
                shown = shown_path(self._store.path)
                raise StoreDamaged(f"the store `{shown}` lacks the definition `{digest[:12]}…`")
            if len(self._known) >= MAX_COMPILED:
                del self._known[next(iter(self._known))]
            known = self._known[digest] = Compiled(compile_pins(json.loads(row[0])), bool(row[1]))
        return known


def compile_pins(pins: dict[str, Any]) -> Definition:
    """The definition of pinned content. Raises ``StoreDamaged`` for content that no longer can be run."""
    from analyzer.check import engine_for

    with pinned_project(pins) as (project, path):
        workflow = engine_for(project).typed(path)
        try:
            if workflow is None:
                raise CannotRun("it cannot be analysed")
            return definition_of(workflow, project)
        except CannotRun as error:
            raise StoreDamaged(f"a pinned definition cannot be run: {error}") from None


def fixtures_of(names: Sequence[str]) -> list[str]:
    """Of the workflows that are served, the fixtures that the protocol knows."""
    return [name for name in ADVERTISED if name in names]
