"""Runs Workfiles under a fake clock against a simulated outside world. Start with ``simulate``.

Nothing is loaded before it is used: importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim_runtime.api import CannotSimulate, Simulation, prepare_run, simulate

__all__ = ["CannotSimulate", "Simulation", "prepare_run", "simulate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("sim_runtime.api"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
