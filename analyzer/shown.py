"""Paths as users see them: relative, so that output is the same wherever a checkout stands."""

from __future__ import annotations

import os


def relative_path(path: str, base: str) -> str:
    """An absolute path relative to an absolute folder, with ``/``; where there is no relative path (another drive),
    the absolute one."""
    prefix = base if base.endswith(os.sep) else base + os.sep
    if path.startswith(prefix):
        relative = path[len(prefix) :]
    else:
        try:
            relative = os.path.relpath(path, base)
        except ValueError:
            relative = path
    return relative.replace(os.sep, "/")


def shown_path(path: str) -> str:
    """A path relative to the working directory, with ``/``; as it is where that directory was removed."""
    try:
        return relative_path(os.path.abspath(path), os.getcwd())  # noqa: PTH100, PTH109
    except FileNotFoundError:
        return path
