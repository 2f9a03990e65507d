"""The pages of rules as files, so that the link of a diagnostic opens one: offline, and for the version at hand."""

# ruff: noqa: PTH103, PTH110, PTH118, PTH120

from __future__ import annotations

import os
from functools import lru_cache

from analyzer.__about__ import __version__
from analyzer.atomic import write_atomically
from analyzer.cache import default_folder
from analyzer.rules.registry import rule


@lru_cache(maxsize=512)
def rule_page(name: str) -> str | None:
    """The path of a rule's page, written when it is first asked for; None when there is nowhere to write."""
    folder = default_folder()
    if folder is None:
        return None
    path = os.path.join(folder, "rules", __version__, f"{name}.md")
    if os.path.isfile(path):  # noqa: PTH113
        return path
    try:
        info = rule(name)
        page = f"# {info.name}\n\n*{info.severity}, {info.code}*: {info.summary}\n\n{info.documentation}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, page.encode("utf-8"))
    except (OSError, KeyError):
        return None
    return path
