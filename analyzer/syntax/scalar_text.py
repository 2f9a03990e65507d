"""How a scalar is written: folding, escapes and block scalars, from source text to value.

Texts here have LF and CRLF line breaks only (a lone CR is read as LF before). ``Piece`` is the common currency: the
tolerant parser joins the pieces' values, the source map asks where a piece stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_FOLD: Final = r"[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*"
_ESCAPE: Final = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0abt\tnvfre \"/\\N_LP])"
_CONTINUED: Final = r"\\\r?\n(?:[ \t]*\r?\n)*[ \t]*"
_PLAIN_PARTS = re.compile(_FOLD)
_SINGLE_PARTS = re.compile(f"''|{_FOLD}")
_DOUBLE_PARTS = re.compile(
    f"(?P<escape>{_ESCAPE})|(?P<continued>{_CONTINUED})|(?P<fold>{_FOLD})|(?P<bad>\\\\.?)", re.DOTALL
)
_BREAK = re.compile(r"\r?\n")

_ESCAPES: Final = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


class Piece(NamedTuple):
    """A part of a scalar: its value and where it stands.

    With ``exact`` each character of ``value`` stands at ``start`` plus its index; otherwise all of it stands at
    ``start``.
    """

    value: str
    start: int
    exact: bool


def _folded(text: str, start: int, end: int, first_counts: bool) -> Iterator[Piece]:
    """A fold: one line break is a space, n of them are n - 1 line breaks (n after an escaped one)."""
    breaks = [found.start() for found in _BREAK.finditer(text, start, end)]
    if first_counts and len(breaks) == 1:
        yield Piece(" ", breaks[0], False)
    for place in breaks[1:]:
        yield Piece("\n", place, False)


def plain_pieces(text: str, start: int, end: int) -> Iterator[Piece]:
    """The pieces of a plain scalar with the given span."""
    for found in _PLAIN_PARTS.finditer(text, start, end):
        yield Piece(text[start : found.start()], start, True)
        yield from _folded(text, found.start(), found.end(), True)
        start = found.end()
    yield Piece(text[start:end], start, True)


def single_pieces(text: str, start: int, end: int) -> Iterator[Piece]:
    """The pieces of a single-quoted scalar; the span is that of the text between the quotes."""
    for found in _SINGLE_PARTS.finditer(text, start, end):
        yield Piece(text[start : found.start()], start, True)
        if found[0] == "''":
            yield Piece("'", found.start(), False)
        else:
            yield from _folded(text, found.start(), found.end(), True)
        start = found.end()
    yield Piece(text[start:end], start, True)


def double_pieces(text: str, start: int, end: int, bad: list[tuple[int, int]] | None = None) -> Iterator[Piece]:
    """The pieces of a double-quoted scalar; the span is that of the text between the quotes.

    The spans of escapes that do not exist are added to ``bad``; they stand for themselves.
    """
    for found in _DOUBLE_PARTS.finditer(text, start, end):
        yield Piece(text[start : found.start()], start, True)
        start = found.end()
        if found.lastgroup == "escape":
            value = _unescape(found[0])
            if value is None and bad is not None:
                bad.append(found.span())
            yield Piece(found[0] if value is None else value, found.start(), False)
        elif found.lastgroup == "bad":
            if bad is not None:
                bad.append(found.span())
            yield Piece(found[0], found.start(), True)
        else:
            yield from _folded(text, found.start(), found.end(), found.lastgroup == "fold")
    yield Piece(text[start:end], start, True)


def _unescape(escape: str) -> str | None:
    kind = escape[1]
    if kind in _ESCAPES:
        return _ESCAPES[kind]
    code = int(f"0x{escape[2:]}", 0)
    return None if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def joined(pieces: Iterator[Piece]) -> str:
    """The value that pieces make up."""
    return "".join([piece.value for piece in pieces])


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """The first line of a block scalar: ``indent`` is its indicator (0: none), ``chomp`` is ``-``, ``+`` or empty.

    ``end`` is past the indicators, ``body`` the start of the next line.
    """

    folded: bool
    indent: int
    chomp: str
    end: int
    body: int


_HEADER = re.compile(r"[|>](?:(?P<chomp1>[-+])(?P<indent1>[1-9])?|(?P<indent2>[1-9])(?P<chomp2>[-+])?)?")
_HEADER_REST = re.compile(r"[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)")
_BLANK_LINE = re.compile(r"( *)\r?\n")
# Only the root may have text at column 0; libyaml refuses it and takes a line like a comment for one.
_ROOT_TEXT = re.compile(r"(?!(?:---|\.\.\.)[ \t\r\n])[^#\r\n]")
_ROOT_END = re.compile(r"(?:---|\.\.\.)[ \t\r\n]")
_SPACES = re.compile(r" *")


def block_header(text: str, start: int) -> BlockHeader | None:
    """Read the header at ``start``; None when its line holds something else."""
    found = _HEADER.match(text, start)
    rest = _HEADER_REST.match(text, found.end()) if found else None
    if found is None or rest is None:
        return None
    indent = found["indent1"] or found["indent2"] or "0"
    return BlockHeader(
        text[start] == ">", int(indent), found["chomp1"] or found["chomp2"] or "", found.end(), rest.end()
    )


def block_indent(text: str, header: BlockHeader, parent: int) -> int:
    """The column where the text of a block scalar's lines starts; ``parent`` is the enclosing indentation or -1."""
    if header.indent:
        return max(parent, 0) + header.indent
    deepest = 0
    position = header.body
    while found := _BLANK_LINE.match(text, position):
        deepest = max(deepest, len(found[1]))
        position = found.end()
    spaces = _SPACES.match(text, position)
    assert spaces is not None
    column = spaces.end() - position
    if parent < 0 and not deepest and not column and _ROOT_TEXT.match(text, position):
        return 0
    return max(deepest, column, parent + 1, 1)


@dataclass(frozen=True, slots=True)
class BlockLines:
    """The lines of a block scalar.

    ``lines`` holds for each line its start, text start and text end (a blank line's text is empty), ``end`` is the
    start of the line after the last one, ``complete`` is whether the last line has a line break.
    """

    lines: list[tuple[int, int, int]]
    end: int
    complete: bool


def block_lines(text: str, body: int, indent: int, size: int) -> BlockLines:
    """The lines from ``body`` on, up to ``size``, that belong to a block scalar of this indentation."""
    lines: list[tuple[int, int, int]] = []
    position = body
    margin = " " * indent
    while position < size:
        stop = text.find("\n", position, size)
        complete = stop >= 0
        stop = stop if complete else size
        end = stop - 1 if stop > position and text[stop - 1] == "\r" else stop
        if not indent and _ROOT_END.match(text, position):
            break
        if end > position + indent and text.startswith(margin, position):
            lines.append((position, position + indent, end))
        elif not complete or text[position:end].strip(" "):
            break
        else:
            lines.append((position, end, end))
        position = stop + 1
        if not complete:
            return BlockLines(lines, size, False)
    return BlockLines(lines, position, True)


def block_pieces(text: str, header: BlockHeader, found: BlockLines) -> Iterator[Piece]:
    """The pieces of a block scalar: its lines, the folds between them, and what chomping leaves of the end."""
    pending: list[int] = []
    broken_at = -1
    after_blank = False
    for _, start, end in found.lines:
        if start == end:
            pending.append(end)
            continue
        starts_blank = text[start] in " \t"
        if header.folded and broken_at >= 0 and not after_blank and not starts_blank:
            if not pending:
                yield Piece(" ", broken_at, False)
        elif broken_at >= 0:
            yield Piece("\n", broken_at, False)
        for place in pending:
            yield Piece("\n", place, False)
        pending = []
        yield Piece(text[start:end], start, True)
        broken_at, after_blank = end, starts_blank
    if broken_at >= 0 and header.chomp != "-" and (found.complete or pending):
        yield Piece("\n", broken_at, False)
    if header.chomp == "+":
        for place in pending:
            yield Piece("\n", place, False)
