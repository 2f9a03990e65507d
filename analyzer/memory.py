"""When to look for garbage: not in the middle of work that makes many objects which all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No garbage collection inside: trees, models, records and states are large, live long and hold few rings, and
    looking through all of them again and again costs more (4 to 5 times) than making them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
