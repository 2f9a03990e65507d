"""The source map: one text, and every way in which a place in it is counted.

Inside the analysis a place is an *offset*: a number of Unicode code points from the start of ``Source.text``. What
leaves the analysis (lines and columns, editor positions, bytes) is converted here and nowhere else. Only LF, CRLF and
CR end a line; form feeds, NEL and the Unicode separators do not.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

from analyzer.findings import Range
from analyzer.syntax.nodes import SyntaxProblem

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_BOM = "\ufeff"
_BREAK = re.compile(r"\r\n|\r|\n")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# Longest first: the UTF-32 mark begins with the UTF-16 one.
_WIDE_MARKS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xff\xfe\x00\x00", "utf-32-le", "UTF-32"),
    (b"\x00\x00\xfe\xff", "utf-32-be", "UTF-32"),
    (b"\xff\xfe", "utf-16-le", "UTF-16"),
    (b"\xfe\xff", "utf-16-be", "UTF-16"),
)


# Past this size the lines are counted without making them all at once: slower, with a tenth of the memory.
_SPLIT_SIZE_MAX = 2_000_000


def _line_starts(text: str) -> Sequence[int]:
    if "\r" in text or len(text) > _SPLIT_SIZE_MAX:
        starts = array("q", [0])
        starts.extend(found.end() for found in _BREAK.finditer(text))
        return starts
    lines = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
    lines.pop()
    return lines


class Source:
    """A file's text and its line map.

    ``text`` is without a byte order mark (``bom`` says whether there was one), ``path`` is only carried along. Offsets
    outside ``0 … len(text)`` are clamped by every conversion.
    """

    __slots__ = ("_byte_starts", "_line_starts", "bom", "path", "text")

    def __init__(self, text: str, path: str = "") -> None:
        self.bom = text.startswith(_BOM)
        self.text = text[1:] if self.bom else text
        self.path = path
        self._line_starts: Sequence[int] = _line_starts(self.text)
        self._byte_starts: list[int] | None = None

    @property
    def line_count(self) -> int:
        """The number of lines; a text that ends with a line break has an empty last line."""
        return len(self._line_starts)

    @property
    def eol(self) -> str:
        """The line break that the file uses most (``\\n`` when it has none); fixes write this one."""
        text = self.text
        if "\r" not in text:
            return "\n"
        pairs = text.count("\r\n")
        counts = ((text.count("\n") - pairs, "\n"), (pairs, "\r\n"), (text.count("\r") - pairs, "\r"))
        return max(counts, key=lambda count: count[0])[1]

    def line_start(self, line: int) -> int:
        """The offset of the first character of a line (from 0)."""
        return self._line_starts[min(max(line, 0), len(self._line_starts) - 1)]

    def line_end(self, line: int) -> int:
        """The offset past the last character of a line (from 0), before its line break."""
        line = min(max(line, 0), len(self._line_starts) - 1)
        if line + 1 == len(self._line_starts):
            return len(self.text)
        end = self._line_starts[line + 1] - 1
        if end > self._line_starts[line] and self.text[end] == "\n" and self.text[end - 1] == "\r":
            end -= 1
        return end

    def line_text(self, line: int) -> str:
        """The text of a line (from 0) without its line break; empty for a line that does not exist."""
        if not 0 <= line < len(self._line_starts):
            return ""
        return self.text[self._line_starts[line] : self.line_end(line)]

    def line_of(self, offset: int) -> int:
        """The line (from 0) that an offset is on."""
        return bisect_right(self._line_starts, max(offset, 0)) - 1

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column from 0, the column in code points."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._line_starts, offset) - 1
        return line, offset - self._line_starts[line]

    def offset_at(self, line: int, column: int) -> int:
        """The offset of a line and column from 0; past a line's end is its end, past the last line the text's end."""
        if line < 0:
            return 0
        if line >= len(self._line_starts):
            return len(self.text)
        return min(self._line_starts[line] + max(column, 0), self.line_end(line))

    def range(self, start: int, end: int) -> Range:
        """The reported range of a span: lines and columns from 1, columns in code points."""
        start_line, start_column = self.line_column(start)
        end_line, end_column = self.line_column(max(start, end))
        return Range(start_line + 1, start_column + 1, end_line + 1, end_column + 1)

    def position(self, offset: int, encoding: Encoding = "utf-16") -> tuple[int, int]:
        """An editor's position: line from 0 and a character in code units of ``encoding``.

        An offset inside a CRLF is answered as the end of its line: an editor has no position there.
        """
        line, column = self.line_column(offset)
        start = self._line_starts[line]
        column = min(column, self.line_end(line) - start)
        if encoding == "utf-32":
            return line, column
        before = self.text[start : start + column]
        if before.isascii():
            return line, column
        if encoding == "utf-16":
            return line, column + len(_ASTRAL.findall(before))
        return line, len(before.encode("utf-8", "surrogatepass"))

    def offset_from(self, line: int, character: int, encoding: Encoding = "utf-16") -> int:
        """The offset of an editor's position, clamped as the protocol asks.

        A character past the line's end is its end, a line past the last one the text's end; a position inside a code
        point is answered as that code point's start.
        """
        if line < 0:
            return 0
        if line >= len(self._line_starts):
            return len(self.text)
        start = self._line_starts[line]
        character = max(character, 0)
        text = self.text[start : self.line_end(line)]
        if encoding == "utf-32" or text.isascii():
            return start + min(character, len(text))
        if encoding == "utf-16":
            return start + _column_from_utf16(text, character)
        return start + _column_from_utf8(text, character)

    def byte_offset(self, offset: int) -> int:
        """Bytes from the start of the file in UTF-8; a byte order mark counts as its three."""
        offset = min(max(offset, 0), len(self.text))
        mark = 3 if self.bom else 0
        if self.text.isascii():
            return mark + offset
        if self._byte_starts is None:
            starts = self._line_starts
            pieces = [len(self.text[a:b].encode("utf-8", "surrogatepass")) for a, b in pairwise(starts)]
            self._byte_starts = list(accumulate(pieces, initial=0))
        line, column = self.line_column(offset)
        start = self._line_starts[line]
        return mark + self._byte_starts[line] + len(self.text[start : start + column].encode("utf-8", "surrogatepass"))


def _column_from_utf16(text: str, character: int) -> int:
    column = character
    for found in _ASTRAL.finditer(text):
        if found.start() >= column:
            break
        column -= 1
        if found.start() >= column:
            return found.start()
    return min(column, len(text))


def _column_from_utf8(text: str, character: int) -> int:
    data = text.encode("utf-8", "surrogatepass")
    if character >= len(data):
        return len(text)
    while data[character] & 0xC0 == 0x80:
        character -= 1
    return len(data[:character].decode("utf-8", "surrogatepass"))


def decode(data: bytes) -> tuple[str, SyntaxProblem | None]:
    """The text of a file's bytes, and one ``yaml-syntax`` problem when they are not UTF-8.

    The text is always there (bad bytes become U+FFFD) and keeps its byte order mark for ``Source``; the problem's
    offsets are those of ``Source.text`` (language page, section 1: UTF-8, a byte order mark is allowed).
    """
    for mark, codec, name in _WIDE_MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(codec, "replace")
            message = f"This file is in {name}; save it as UTF-8."
            return text, SyntaxProblem("yaml-syntax", 0, min(1, len(text)), message)
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        start = len(data[: error.start].decode("utf-8"))
        text = data.decode("utf-8", "replace")
        if text.startswith(_BOM):
            start -= 1
        message = f"The byte 0x{data[error.start]:02X} here is not UTF-8; save the file as UTF-8."
        return text, SyntaxProblem("yaml-syntax", start, start + 1, message)
