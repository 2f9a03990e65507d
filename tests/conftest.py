"""Set-up shared by every test: the hypothesis profiles.

``HYPOTHESIS_PROFILE=dev`` (default) is quick and random, ``ci`` searches longer and is the same on every run, so that a
red run can be repeated as it stands.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("dev", max_examples=40, **_COMMON)
settings.register_profile("ci", max_examples=100, derandomize=True, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
