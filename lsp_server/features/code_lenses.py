"""Code lenses: simulate and explore a Workfile, run a scenario, and how scenarios came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lsp_server.nodes import span
from lsp_server.occurrences import workfile_of
from lsp_server.results import Results
from lsp_server.snapshot import Snapshot, Span
from lsp_server.workspace import Workspace

MAX_SCENARIOS: Final = 500
STALE: Final = " (before the last change)"


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a place that does something: ``action`` is done with the files at ``paths``. ``debugs``: only a
    client that can debug can do it."""

    span: Span
    title: str
    action: str
    paths: tuple[str, ...]
    debugs: bool = False


def lenses(snapshot: Snapshot, workspace: Workspace, results: Results) -> list[Lens]:
    """The lenses of a file, in order."""
    if snapshot.kind == "workflow" and snapshot.root is not None:
        return list(_of_workfile(snapshot, workspace, results))
    if snapshot.kind == "scenario":
        return list(_of_scenario(snapshot, workspace, results))
    return []


def scenarios_of(snapshot: Snapshot, workspace: Workspace) -> list[str]:
    """The scenarios of the workspace that run a Workfile, in order."""
    found: list[str] = []
    name = snapshot.path.replace("\\", "/").rsplit("/", 1)[-1]
    for each in workspace.related([snapshot.project], [name], ["scenario"]):
        if workfile_of(each) == snapshot.path:
            found.append(each.path)
            if len(found) == MAX_SCENARIOS:
                break
    return found


def version_of(path: str, workspace: Workspace) -> str:
    """What a result depends on, of the files that are edited: the scenario's text and its Workfile's."""
    snapshot = workspace.snapshot(path)
    if snapshot is None:
        return ""
    run = workfile_of(snapshot) if snapshot.kind == "scenario" else None
    other = None if run is None else workspace.snapshot(run)
    return snapshot.document.digest + ("" if other is None else other.document.digest)


def _of_workfile(snapshot: Snapshot, workspace: Workspace, results: Results) -> Iterator[Lens]:
    root = snapshot.root
    assert root is not None
    if root.entry("name") is None and root.entry("workfile") is None:
        return
    place = span(root.entries[0].key)
    yield Lens(place, "Simulate", "simulate", (snapshot.path,))
    yield Lens(place, "Explore", "explore", (snapshot.path,))
    scenarios = scenarios_of(snapshot, workspace)
    if scenarios:
        yield Lens(place, _summary(scenarios, workspace, results), "test", (snapshot.path,))
    covered = results.coverage(snapshot.path)
    if covered is not None:
        stale = "" if covered.version == snapshot.document.digest else STALE
        yield Lens(place, f"{covered.percent:g} % covered{stale}", "test", (snapshot.path,))


def _summary(scenarios: list[str], workspace: Workspace, results: Results) -> str:
    known = {path: results.scenario(path) for path in scenarios}
    counts: dict[str, int] = {}
    stale = False
    for path, result in known.items():
        if result is not None:
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
            stale = stale or result.version != version_of(path, workspace)
    words = f"{len(scenarios)} scenario{'s' if len(scenarios) != 1 else ''}"
    if not counts:
        return f"Run {words}"
    told = ", ".join(f"{counts[outcome]} {_WORDS[outcome]}" for outcome in _WORDS if outcome in counts)
    return f"{words}: {told}{STALE if stale else ''}"


_WORDS: Final = {"passed": "passed", "failed": "failed", "error": "in error"}


def _of_scenario(snapshot: Snapshot, workspace: Workspace, results: Results) -> Iterator[Lens]:
    root = snapshot.root
    entry = None if root is None else root.entry("workfile")
    target = workfile_of(snapshot)
    if root is None or entry is None or target is None:
        return
    place = span(entry.key)
    yield Lens(place, "Run scenario", "test", (snapshot.path,))
    yield Lens(place, "Debug scenario", "debug", (snapshot.path,), debugs=True)
    result = results.scenario(snapshot.path)
    if result is None:
        return
    stale = "" if result.version == version_of(snapshot.path, workspace) else STALE
    expected = root.entry("expect") or entry
    title = {"passed": "Passed", "failed": "Failed", "error": "In error"}.get(result.outcome, result.outcome)
    told = f": {'; '.join(result.differences[:3])}" if result.differences else ""
    yield Lens(span(expected.key), f"{title}{told}{stale}", "test", (snapshot.path,))
