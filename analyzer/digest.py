"""The digest by which content is told from other content: of files, in the cache and between versions in memory."""

from __future__ import annotations

import hashlib


def digest_of(data: bytes) -> str:
    """32 hex digits; results are kept by it, so all that keep or look up results must agree on it."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
