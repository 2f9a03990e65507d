"""The engine that the commands run, in one place.

Checks that need the simulator are registered by importing them before the first file is checked. Worker processes load
the engine themselves, so that this belongs into the module that ``ENGINE.check`` names; ``ENGINE.packages`` then names
every package whose code takes part in a result.
"""

from __future__ import annotations

from analyzer.driver import DEFAULT_ENGINE, Engine

ENGINE: Engine = DEFAULT_ENGINE
