"""URIs and paths: every spelling of one file is one key, and answers are written as the client writes.

Editors spell a Windows drive in four ways (``c:``, ``C:``, ``c%3A``, ``C%3A``); a key has the drive in lower case. What
is no file (``untitled:``, ``git:``) gets a path in a folder of its own, so that it is never taken for a file of the
project.
"""

# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import hashlib
import os
import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from analyzer.workspace.files import found_kind

VIRTUAL: Final = os.path.join(os.path.abspath(os.sep), ".unsaved-documents")  # noqa: PTH100
_DRIVE = re.compile(r"/([A-Za-z]):(?=/|$)")
_SPELLED_DRIVE = re.compile(r"(?i)^file:///([a-z])(:|%3a)(?=/|$)")
_SAFE: Final = "/~!$&'()*+,;=@-._"


def path_of(uri: str) -> str:
    """The absolute path that stands for a URI: the same for every spelling of it."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return _virtual(uri)
    if parts.scheme.lower() != "file":
        return _virtual(uri)
    path = unquote(parts.path, errors="surrogateescape").replace("\x00", "\ufffd")
    if parts.netloc and parts.netloc.lower() != "localhost":
        path = f"//{parts.netloc.lower()}{path}"
    drive = _DRIVE.match(path)
    if drive:
        path = f"/{drive[1].lower()}:{path[drive.end() :]}"
    if os.name == "nt":
        path = path.lstrip("/") if drive else path
        return os.path.normpath(path)
    return os.path.normpath(path) if path else "/"


def _virtual(uri: str) -> str:
    """A path outside every project; it ends like the URI, so that it is of the same kind."""
    name = os.path.basename(unquote(uri).replace("\\", "/").split("?")[0]).replace("\x00", "")
    if found_kind(name) == "other":
        name = "untitled.workfile.yaml"
    return os.path.join(VIRTUAL, hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:16], name)


class Spellings:
    """How the client spells URIs: by file for what it has named, by drive for what it has not."""

    __slots__ = ("_drives",)

    def __init__(self) -> None:
        self._drives: dict[str, str] = {}

    def learn(self, uri: str) -> None:
        """Remember how a URI of the client spells its drive."""
        found = _SPELLED_DRIVE.match(uri)
        if found:
            self._drives[found[1].lower()] = found[1] + found[2]

    def uri_of(self, path: str) -> str:
        """The URI of a file that the client has not named itself."""
        text = path.replace(os.sep, "/")
        if text.startswith("//"):
            host, _, rest = text[2:].partition("/")
            return f"file://{host}/{quote(rest, safe=_SAFE, errors='surrogateescape')}"
        if not text.startswith("/"):
            text = "/" + text
        drive = _DRIVE.match(text)
        if drive:
            spelled = self._drives.get(drive[1].lower(), f"{drive[1]}%3A")
            return f"file:///{spelled}{quote(text[drive.end() :], safe=_SAFE, errors='surrogateescape')}"
        return f"file://{quote(text, safe=_SAFE, errors='surrogateescape')}"
