"""The engine that the commands run, in one place.

Checks that need the simulator are registered by the module that ``ENGINE.check`` names, which worker processes load
too; ``ENGINE.packages`` names every package whose code takes part in a result.
"""

from __future__ import annotations

from analyzer.driver import Engine

ENGINE: Engine = Engine(check="sim_runtime.rules.engine:check_file", packages=("analyzer", "sim_runtime"))
