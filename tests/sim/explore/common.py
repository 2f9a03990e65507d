"""Explorations of small Workfiles, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from sim_runtime.explore import Bounds, Exploration, explore
from sim_runtime.explore.plan import Plan, plan_of
from sim_runtime.simulation import Prepared
from sim_runtime.world.scenario import Scenario
from tests.sim.lab import definition, loaded


def prepared(text: str, *children: str, **scenario: Any) -> Prepared:
    """A Workfile of the laboratory without its first two lines, ready to run."""
    workflow, project = loaded(text, *children)
    return Prepared(project, workflow, definition(text, *children), Scenario(**scenario))


def explored(text: str, *children: str, inputs: dict[str, Any] | None = None, **bounds: Any) -> Exploration:
    """A Workfile of the laboratory, explored without a bound of time."""
    bounds.setdefault("budget_s", None)
    bounds.setdefault("states", 20_000)
    return explore(prepared(text, *children, inputs=inputs or {}), Bounds(**bounds))


def plan(text: str, **bounds: Any) -> Plan:
    """What an exploration of a Workfile of the laboratory starts from."""
    return plan_of(prepared(text), Bounds(budget_s=None, **bounds))


def outcomes(found: Exploration, path: str, point: str, record: str) -> list[str]:
    """The outcomes of a crash point."""
    return sorted(found.summary.cells[path, point, record].outcomes)


def kinds(found: Exploration) -> list[str]:
    """The kinds of the findings."""
    return [each.violation.kind for each in found.findings]
