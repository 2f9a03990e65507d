"""Where something stands in the Workfile, whichever execution of it is meant."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from sim_runtime.history.paths import shown_path

_INDEX: Final = re.compile(r"\[\d+\]")


@lru_cache(maxsize=65_536)
def place_of(id_: str) -> str:
    """The step path of an identity, positions of loops as ``[]``."""
    return _INDEX.sub("[]", shown_path(id_))


def is_for_trouble(path: str) -> bool:
    """Whether a step only runs when something went wrong: it stands in a handler or in a probe scope."""
    return "(catch:" in path or "(reconcile)" in path
