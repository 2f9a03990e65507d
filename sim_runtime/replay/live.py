"""The scenario that a continuation goes on under: times count from the end of the usable history."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from analyzer.model.problems import Problems
from analyzer.workspace.project import project_for
from sim_runtime.given import refuse, scenario_of
from sim_runtime.history.canonical import content_of
from sim_runtime.history.paths import shown_path
from sim_runtime.replay.definitions import Chosen
from sim_runtime.simulation import CannotSimulate
from sim_runtime.world.checks import check_against
from sim_runtime.world.scenario import Scenario

#: What a scenario says of a run's start, and of what it is to come to, is for other commands.
_LEFT_OUT: Final = frozenset({"workfile", "start", "seed", "inputs", "trigger", "dry_run", "expect"})


def live_scenario(path: str, start_us: int, chosen: Chosen, orphans: Collection[str] = ()) -> Scenario:
    """The scenario of a file, for a run of ``chosen`` that goes on at ``start_us``. ``orphans`` are the identities of
    actions that the definition does not have, and that an operator may decide on all the same.

    Raises:
        CannotSimulate: the file cannot be read, is no scenario, or does not fit the definition.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100
    project = project_for(absolute)
    project.invalidate(absolute)  # it may have been written since it was read last
    document = project.document(absolute)
    if document is None:
        raise CannotSimulate(f"cannot read `{path}`: {project.unreadable(absolute)}")
    if document.tree.problems:
        raise CannotSimulate(f"`{path}`: {document.tree.problems[0].message}")
    content: Any = content_of(document.tree.root)
    if not isinstance(content, dict):
        raise CannotSimulate(f"`{path}` is not a scenario: it is a map of what happens, such as `events:`")
    parts = {name: each for name, each in content.items() if name not in _LEFT_OUT}
    try:
        scenario = scenario_of(parts, Scenario(start_us=start_us))
        problems = Problems()
        known = {*orphans, *map(shown_path, orphans)}
        own = [each for each in scenario.operator if each.decision.on not in known]
        check_against(chosen.project, replace(scenario, operator=own), chosen.workflow, problems)
        refuse(problems)
    except CannotSimulate as error:
        raise CannotSimulate(f"`{path}`: {error}") from None
    return replace(scenario, expect=None)
