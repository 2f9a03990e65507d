"""Which build of the host this is: the digest of its sources, as they are installed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

#: Where the packages lie.
PACKAGE_ROOT: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = ("analyzer", "sim_runtime")


def build_digest() -> str:
    """The SHA-256 over the names and contents of everything that decides what the host does."""
    total = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((PACKAGE_ROOT / package).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".yaml", ".toml", ".json"):
                total.update(str(path.relative_to(PACKAGE_ROOT)).encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
