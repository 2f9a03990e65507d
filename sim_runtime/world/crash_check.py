"""The rule ``crash-unmatched``: a scenario with crash points is simulated, within bounds, to see which never act."""

from __future__ import annotations

from typing import Final

from analyzer.model.nodes import Workflow
from analyzer.model.problems import Problems
from analyzer.workspace.project import Project
from sim_runtime.core.compiling import CannotRun, definition_of
from sim_runtime.driver.protocol import CrashPoint
from sim_runtime.driver.run import LimitReached, Run
from sim_runtime.samples import NoSample
from sim_runtime.world.checks import workfile_is_sound
from sim_runtime.world.connectors import CannotAnswer, SimulatedWorld, actions_of
from sim_runtime.world.scenario import Scenario, Unset

RULE: Final = "crash-unmatched"
MAX_RECORDS: Final = 3_000


def check_crashes(project: Project, scenario: Scenario, workflow: Workflow, problems: Problems) -> None:
    """Simulate the scenario and report the crash points that never act; nothing when a bound is hit before the end."""
    if not workfile_is_sound(project, workflow.path):
        return
    unfired = _unfired(project, scenario, workflow)
    if unfired is None:
        return
    for entry in scenario.crashes:
        if any(entry.point is point for point in unfired):
            problems.report(RULE, entry.point_node, f"{_words(entry.point)}, so this crash never comes.")


def _words(point: CrashPoint) -> str:
    if point.seq is not None:
        return f"The run writes no record {point.seq}"
    place = "" if point.path is None else f" at `{point.path}`" if point.path else " of the run itself"
    often = "" if point.nth == 1 else f" {point.nth} times"
    return f"No `{point.kind}`{place} is written{often}"


def _unfired(project: Project, scenario: Scenario, workflow: Workflow) -> list[CrashPoint] | None:
    """The crash points that are left when the run has ended; None when that is not known."""
    try:
        run = Run(
            definition_of(workflow, project),
            SimulatedWorld(actions_of(workflow), scenario.actions),
            inputs=scenario.inputs,
            trigger=None if isinstance(scenario.trigger, Unset) else scenario.trigger,
            start_us=scenario.start_us,
            seed=scenario.seed,
            dry_run=scenario.dry_run,
            script=scenario.script(),
            limit=MAX_RECORDS,
        )
        run.finish()
    except (CannotRun, CannotAnswer, LimitReached, NoSample):
        return None
    return run.unfired
