"""Lines for the operator, on standard error."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from analyzer.report.common import printable

_STDERR: Final = 2


def tell(message: str) -> None:
    """One line. Where it cannot be written (the disk of the log is full, its reader is gone) it is lost: that is no
    reason for a host to stop its work."""
    line = printable(f"workfile host: {' '.join(message.split())}") + "\n"
    with suppress(OSError):
        os.write(_STDERR, line.encode("utf-8", "replace"))
