"""Paths as the client writes them."""

# ruff: noqa: PTH100

from __future__ import annotations

import os
from typing import Any

from lsp_server.dap.protocol import ERROR_ARGUMENTS, Refused
from lsp_server.uris import path_of


def file_path(text: str, uris: bool) -> str:
    """The absolute path that a client means; ``uris``: it writes URIs, and a path is fine all the same."""
    if "\x00" in text:
        raise Refused("a path has no null character", ERROR_ARGUMENTS)
    if uris and "://" in text:
        return path_of(text)
    return os.path.abspath(text)


def source_path(source: dict[str, Any], uris: bool) -> str | None:
    """The path of the protocol's ``source``; None where it is no file."""
    path = source.get("path")
    return file_path(path, uris) if isinstance(path, str) and path else None
