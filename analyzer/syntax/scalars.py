"""Inside a scalar: from a place in its value to the place in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.syntax.nodes import Scalar
from analyzer.syntax.scalar_text import (
    BlockHeader,
    Piece,
    block_header,
    block_lines,
    block_pieces,
    double_pieces,
    plain_pieces,
    single_pieces,
)
from analyzer.syntax.source import Source

_LONE_CR = re.compile(r"\r(?!\n)")
_BLANK_LINES = re.compile(r"[ \t]*(?:(?:\r\n|\r|\n)[ \t]*)*")
_TEXT_LINE = re.compile(r"^( *)[^ \r\n]", re.MULTILINE)


def offset_in_source(source: Source, scalar: Scalar, index: int) -> int:
    """The offset in ``source`` where character ``index`` of ``scalar.text`` is written.

    That is the character itself, its escape's first character, or for the blank or break that a fold makes the line
    break it comes from. ``index`` is clamped: 0 … ``len(scalar.text)``, the last being where the text ends. Inside an
    alias use it is the use's start, since the text is written elsewhere (architecture, invariant 2).
    """
    if scalar.origin is not None:
        return scalar.start
    index = min(max(index, 0), len(scalar.text))
    width = scalar.end - scalar.start
    if scalar.style == "plain" and (width == len(scalar.text) or scalar.broken):
        return min(scalar.start + index, scalar.end)
    # Escapes and folds only ever shorten the text: as long as its source, it is its source.
    if scalar.style in ("single", "double") and width == len(scalar.text) + 2:
        return scalar.start + 1 + index
    if index == len(scalar.text) and scalar.style in ("plain", "single", "double"):
        return scalar.end - (scalar.style != "plain")
    return _find(_pieces(source.text, scalar), scalar.start, index, source.text)


def _find(pieces: Iterator[Piece], place: int, index: int, text: str) -> int:
    for piece in pieces:
        size = len(piece.value)
        if index < size:
            return piece.start + index if piece.exact else piece.start
        index -= size
        if piece.exact:
            place = piece.start + size
        elif size:
            place = piece.start + (2 if text.startswith("\r\n", piece.start) else 1)
    return place


def _pieces(text: str, scalar: Scalar) -> Iterator[Piece]:
    """The scalar's pieces, at places in ``text``."""
    start, end = scalar.start, scalar.end
    block = scalar.style in ("literal", "folded")
    if block:
        # Line breaks that chomping keeps stand past the node's end.
        blank = _BLANK_LINES.match(text, end)
        end = blank.end() if blank else end
    part = text[start:end]
    if "\r" in part:
        part = _LONE_CR.sub("\n", part)
    pieces: Iterator[Piece]
    if scalar.style == "plain":
        pieces = plain_pieces(part, 0, len(part))
    elif scalar.style == "single":
        pieces = single_pieces(part, 1, len(part) - 1)
    elif scalar.style == "double":
        pieces = double_pieces(part, 1, len(part) - 1)
    else:
        pieces = _block(part, scalar, end == len(text))
    return (Piece(piece.value, piece.start + start, piece.exact) for piece in pieces)


def _block(part: str, scalar: Scalar, at_end: bool) -> Iterator[Piece]:
    header = block_header(part, 0)
    if header is None:
        return iter(())
    if not at_end:
        # What was cut off behind is the next entry's own indentation.
        part = part[: part.rfind("\n") + 1]
    lines = block_lines(part, header.body, _indent(part, scalar.text, header), len(part))
    return block_pieces(part, header, lines)


def _indent(part: str, value: str, header: BlockHeader) -> int:
    """The column where the text's lines begin: the first line's indentation less what of it is text."""
    written = _TEXT_LINE.search(part, header.body)
    read = _TEXT_LINE.search(value)
    if written is None or read is None:
        return 1
    return len(written[1]) - len(read[1])
