"""The texts that the client has open, kept in step with it edit by edit.

A position is a line and a character in units of the negotiated encoding. Only LF, CRLF and CR end a line; the source
map of the analyzer converts, so that there is one way of counting (architecture, invariant 2).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from analyzer.syntax.source import Encoding, Source
from analyzer.workspace.files import found_kind
from lsp_server.uris import VIRTUAL

BOM: Final = "\ufeff"
_BOM_WIDTH: Final[dict[Encoding, int]] = {"utf-8": 3, "utf-16": 1, "utf-32": 1}
LANGUAGE: Final = "workfile"
_SAYS_SO = re.compile(r"^workfile[ \t]*:", re.MULTILINE)
_SURROGATES = re.compile("[\ud800-\udfff]")

#: (line, character), from 0.
Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """One edit: ``start`` to ``end`` becomes ``text``; without places, the whole text does."""

    text: str
    start: Position | None = None
    end: Position | None = None


class Positions:
    """Places of one text for a client. A byte order mark counts for the client, and not in ``Source``."""

    __slots__ = ("_mark", "encoding", "source")

    def __init__(self, source: Source, encoding: Encoding) -> None:
        self.source = source
        self.encoding = encoding
        self._mark = _BOM_WIDTH[encoding] if source.bom else 0

    def of(self, offset: int) -> Position:
        """The position of an offset."""
        line, character = self.source.position(offset, self.encoding)
        return line, character + self._mark if line == 0 else character

    def offset(self, position: Position) -> int:
        """The offset of a position, clamped as the protocol asks."""
        line, character = position
        if line == 0:
            character = max(character - self._mark, 0)
        return self.source.offset_from(line, character, self.encoding)

    def of_place(self, line: int, column: int) -> Position:
        """The position of a line and a column in code points, both from 1."""
        return self.of(self.source.offset_at(line - 1, column - 1))


class OpenDocument:
    """One open document; ``uri`` is as the client opened it, ``path`` the key."""

    __slots__ = ("_source", "encoding", "language", "path", "text", "uri", "version")

    def __init__(self, uri: str, path: str, version: int, text: str, encoding: Encoding, language: str = "") -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.encoding: Encoding = encoding
        self.language = language
        self.text = sound(text)
        self._source: Source | None = None

    @property
    def source(self) -> Source:
        """The source map of the current text."""
        if self._source is None:
            self._source = Source(self.text, self.path)
        return self._source

    @property
    def ours(self) -> bool:
        """Whether to talk about it: by its name, because the client says so, or because it says so itself."""
        name = os.path.basename(self.path)  # noqa: PTH119
        if self.language == LANGUAGE or _SAYS_SO.search(self.text):
            return True
        return found_kind(name) != "other" and not self.path.startswith(VIRTUAL)

    def apply(self, changes: Iterable[Change], version: int) -> None:
        """Apply a batch of edits, one after the other, each on the result of those before it."""
        for change in changes:
            self.text = self._edited(change)
            self._source = None
        self.version = version

    def _edited(self, change: Change) -> str:
        text = sound(change.text)
        if change.start is None or change.end is None:
            return text
        source = self.source
        mark = 1 if source.bom else 0
        start, end = (self._index(source, place, mark) for place in (change.start, change.end))
        if end < start:
            start, end = end, start
        return self.text[:start] + text + self.text[end:]

    def _index(self, source: Source, position: Position, mark: int) -> int:
        """The index into the text as the client has it, its byte order mark counted."""
        if mark and position[0] == 0 and position[1] < _BOM_WIDTH[self.encoding]:
            return 0
        return Positions(source, self.encoding).offset(position) + mark


def sound(text: str) -> str:
    """The text without lone surrogates, which no file can hold; their stand-in is as wide in every encoding."""
    return text if text.isascii() or not _SURROGATES.search(text) else _SURROGATES.sub("\ufffd", text)
