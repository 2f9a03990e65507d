"""The rules of scenario files are found by the simulator: its checks are registered as the command line does it."""

from __future__ import annotations

from sim_runtime.rules.engine import register

register()
