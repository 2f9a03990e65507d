"""The pages of rules as files, so that the link of a diagnostic opens one: offline, and for the version at hand."""

# ruff: noqa: PTH103, PTH118, PTH120, PTH123

from __future__ import annotations

import os
from functools import lru_cache

from analyzer.__about__ import __version__
from analyzer.atomic import write_atomically
from analyzer.cache import default_folder
from analyzer.rules.docs import page
from analyzer.rules.registry import rule


@lru_cache(maxsize=512)
def rule_page(name: str) -> str | None:
    """The path of a rule's page, written when it is first asked for; None when it cannot be written."""
    path = os.path.join(default_folder(), "rules", __version__, f"{name}.md")
    try:
        data = page(rule(name)).encode("utf-8")
        if _content(path) != data:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomically(path, data)
    except (OSError, KeyError):
        return None
    return path


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
