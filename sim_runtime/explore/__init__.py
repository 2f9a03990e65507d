"""Every way that a run can go: ``explore`` searches crashes, answers, events and decisions, and says what comes of
them."""

from __future__ import annotations

from sim_runtime.explore.exploration import Exploration, Finding, explore, write_scenarios
from sim_runtime.explore.plan import Bounds
from sim_runtime.explore.shards import CannotShare

__all__ = ["Bounds", "CannotShare", "Exploration", "Finding", "explore", "write_scenarios"]
