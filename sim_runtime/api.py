"""The Python interface: ``simulate`` runs a Workfile, with a scenario file, with its keys as arguments, or with both.

from sim_runtime import simulate

run = simulate("order.workfile.yaml", inputs={"amount": 5}, actions={"payments.charge": {"fail": {"code": "declined"}}})
assert run.status == "failed"
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from analyzer.workspace.project import forget_projects, project_for
from sim_runtime.given import check_parts, scenario_of
from sim_runtime.simulation import CannotSimulate, Prepared, Simulation, load_scenario, prepare

Json: TypeAlias = Any
Path: TypeAlias = "str | os.PathLike[str]"

__all__ = ["CannotSimulate", "Simulation", "prepare_run", "simulate"]

#: Files that are watched for changes between two calls; past it everything is read anew.
MAX_WATCHED: Final = 5_000
MAX_NOTES: Final = 20

_watched: dict[str, tuple[int, int] | None] = {}


def simulate(
    workfile: Path | None = None, scenario: Path | Mapping[str, Json] | None = None, **parts: Json
) -> Simulation:
    """Run a Workfile in the simulated world to its end: an outcome, nothing left to act, or ``until``.

    Args:
        workfile: The Workfile; may be left out when a scenario file names it.
        scenario: A scenario file, or a map with the keys of one.
        parts: Keys of a scenario (``inputs``, ``trigger``, ``actions``, ``events``, ``crashes``, ``operator``,
            ``cancel``, ``start``, ``until``, ``seed``, ``dry_run``, ``expect``), written as in a scenario file. Each
            replaces what the scenario says; ``inputs`` name by name. A ``timedelta`` may stand for a duration, and a
            ``datetime`` with a time zone for a timestamp.

    Returns:
        The run: ``status``, ``result``, ``failure``, ``binding(path)``, ``effects(action)``, ``invocations(action)``,
        ``report`` (the JSON of ``workfile run``), ``expect(…)``, ``history_lines()``.

    Raises:
        CannotSimulate: a file cannot be read, the Workfile or the scenario has findings of severity error (they are in
            ``findings``), or the simulation reached a bound. A run that fails is no error: its status is ``failed``.
        TypeError: an argument is nothing that a scenario file could hold.
    """
    return prepare_run(workfile, scenario, **parts).simulation().finish()


def prepare_run(
    workfile: Path | None = None, scenario: Path | Mapping[str, Json] | None = None, **parts: Json
) -> Prepared:
    """Load, check and compile as ``simulate`` does, and run nothing; each ``simulation()`` of it is a new run."""
    _notice_changes()
    given = {**scenario, **parts} if isinstance(scenario, Mapping) else parts
    file = None if scenario is None or isinstance(scenario, Mapping) else os.path.abspath(scenario)  # noqa: PTH100
    path = None if workfile is None else os.path.abspath(workfile)  # noqa: PTH100
    named = path or file
    if named is None:
        raise CannotSimulate("neither a Workfile nor a scenario that names one was given")
    project = project_for(named)
    with project.trace() as trace:
        try:
            prepared = _prepared(path, file, given)
        except CannotSimulate as error:
            for each in error.findings[:MAX_NOTES]:
                error.add_note(f"{each.path}:{each.range.start_line}:{each.range.start_column}: {each.message}")
            raise
        finally:
            _watch(trace.paths)
    return prepared


def _prepared(path: str | None, file: str | None, given: Mapping[str, Json]) -> Prepared:
    base = load_scenario(file) if file is not None else None
    if not given:
        return prepare(path, base)
    scenario = scenario_of(given, base)
    prepared = prepare(path, scenario)
    check_parts(prepared, scenario)
    return prepared


def _watch(paths: set[str]) -> None:
    for path in paths:
        _watched[path] = _stamp(path)


def _notice_changes() -> None:
    """Read everything anew when a file that was read has changed, come or gone: a session may last for days."""
    if len(_watched) > MAX_WATCHED or any(_stamp(path) != stamp for path, stamp in _watched.items()):
        _watched.clear()
        forget_projects()


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
