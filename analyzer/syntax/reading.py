"""What the two halves of the tolerant parser share: the text, its problems, nodes, and the look of a line."""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.nodes import Scalar, ScalarStyle, SyntaxFix
from analyzer.syntax.problems import Problems
from analyzer.syntax.properties import Factory, Properties, stand_in
from analyzer.syntax.scalar_text import double_pieces, joined, plain_pieces, single_pieces

# Only these characters are blanks to YAML; a regular expression's own \s knows many more.
BLANK: Final = r"[ \t\r\n]"
_FIRST: Final = r"""[^ \t\r\n\-?:,\[\]{}#&*!|>'"%@`]"""
_BLOCK_REST: Final = r"(?:[^ \t\r\n:]++|:(?=[^ \t\r\n])|[ \t]++(?=[^ \t\r\n#:]|:[^ \t\r\n]))*+"
_FLOW_CHAR: Final = r"[^ \t\r\n,\[\]{}]"
_FLOW_REST: Final = rf"(?:[^ \t\r\n:,\[\]{{}}]++|:(?={_FLOW_CHAR})|[ \t]++(?=[^ \t\r\n#:,\[\]{{}}]|:{_FLOW_CHAR}))*+"

PLAIN_BLOCK = re.compile(rf"(?:{_FIRST}|[\-?:](?=[^ \t\r\n])){_BLOCK_REST}")
MORE_BLOCK = re.compile(rf"(?:[^ \t\r\n:#]|:(?=[^ \t\r\n])){_BLOCK_REST}")
PLAIN_FLOW = re.compile(rf"(?:{_FIRST}|-(?=[^ \t\r\n])|[?:](?={_FLOW_CHAR})){_FLOW_REST}")
MORE_FLOW = re.compile(rf"(?:[^ \t\r\n:#,\[\]{{}}]|:(?={_FLOW_CHAR})){_FLOW_REST}")
DOUBLE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
SINGLE = re.compile(r"'(?:[^']++|'')*+'")
COLON = re.compile(rf"[ \t]*(:)(?={BLANK})")
ALIAS = re.compile(r"\*([^ \t\r\n,\[\]{}:]*)")
TO_LINE_END = re.compile(r"[^\n]*")
MARKER = re.compile(r"(?:---|\.\.\.)(?=[ \t\r\n])")
INTERPOLATION = re.compile(r"\{\{[^\n]*?\}\}")
_INNER_MARKER = re.compile(r"\n(?:---|\.\.\.)(?=[ \t\r\n])")

# A line that begins an entry of a map or list: a name and a colon, or a dash.
ENTRY_LIKE = re.compile(
    r"""-(?=[ \t\r\n])|(?:[A-Za-z_][\w.?-]*(?: [\w.?-]+){0,3}|"[^"\n]*"|'[^'\n]*')[ \t]*:(?=[ \t\r\n])"""
)
C_NAME = re.compile(r"[0-9A-Za-z_-]+\Z")

CLOSES_NOTHING: Final = "This `{0}` closes nothing; remove it, or quote the text it belongs to."


def named(character: str) -> str:
    """A character as messages show it."""
    return "A backtick" if character == "`" else f"`{character}`"


def cannot_start(character: str) -> str:
    """The message for a character that YAML keeps for itself."""
    return f"{named(character)} cannot start a value; quote it."


class Reading:
    """One tolerant reading of a text; ``size`` is its length without the line breaks that are added to it.

    ``strict`` readings are trials: the first problem ends them by raising Broken. ``beyond`` says that something was
    read that is sound YAML but that one of the event parsers refuses.
    """

    __slots__ = ("_hashed", "beyond", "factory", "hashes", "problems", "size", "strict", "text")

    def __init__(self, text: str, problems: Problems, factory: Factory) -> None:
        self.size = len(text)
        # Line breaks at the end spare every look-ahead its question whether there is a character.
        self.text = text + "\n\n"
        self.problems = problems
        self.factory = factory
        self.hashes: list[tuple[int, int]] = []
        self._hashed = "#" in text
        self.strict = False
        # With tabs the event parsers differ from YAML and from each other in many small ways.
        self.beyond = "\t" in text

    def problem(self, start: int, end: int, message: str, fix: SyntaxFix | None = None) -> None:
        """Report one broken region; ``end`` is kept inside the text."""
        if self.strict:
            raise Broken
        end = min(end, self.size)
        if end > start + 1 and self.text[end - 1] == "\r":
            end -= 1
        self.problems.syntax(start, max(start, end), message, fix)

    def broken(self, start: int, end: int) -> Scalar:
        """A stand-in for ``start … end`` (a problem was reported for it), without the blanks at its end."""
        end = min(end, self.size)
        while end > start and self.text[end - 1] in " \t\r\n":
            end -= 1
        self._note(start, end)
        return stand_in(start, end, self.text[start:end])

    def _note(self, start: int, end: int) -> None:
        if self._hashed and self.text.find("#", start, end) >= 0:
            self.hashes.append((start, end))

    def scalar(self, start: int, end: int, value: str, style: ScalarStyle, properties: Properties | None) -> Scalar:
        """A sound scalar."""
        self._note(start, end)
        return self.factory.scalar(start, end, value, style, properties)

    def absent(self, place: int, properties: Properties | None) -> Scalar:
        """A value that is not there; after properties it stands at their end."""
        place = min(place, self.size) if properties is None else properties.end
        return self.factory.scalar(place, place, "", "plain", properties)

    def plain(self, start: int, end: int, properties: Properties | None) -> Scalar:
        """A plain scalar with this span."""
        end = min(end, self.size)
        value = self.text[start:end]
        if "\n" in value:
            value = joined(plain_pieces(self.text, start, end))
        return self.scalar(start, end, value, "plain", properties)

    def quoted(self, start: int, end: int, properties: Properties | None) -> Scalar:
        """A quoted scalar whose closing quote is just before ``end``."""
        inner = self.text[start + 1 : end - 1]
        if "\n" in inner and (marker := _INNER_MARKER.search(self.text, start, end)):
            self.problem(
                marker.start() + 1,
                marker.end(),
                f"`{marker[0][1:]}` at the start of a line ends the document, inside a quote, too; indent it.",
            )
        if self.text[start] == "'":
            if "'" in inner or "\n" in inner:
                inner = joined(single_pieces(self.text, start + 1, end - 1))
            return self.scalar(start, end, inner, "single", properties)
        if "\\" in inner or "\n" in inner:
            bad: list[tuple[int, int]] = []
            inner = joined(double_pieces(self.text, start + 1, end - 1, bad))
            for place, past in bad:
                shown = self.text[place:past].strip()
                self.problem(place, past, f"The escape `{shown}` is unknown; write `\\\\` for a backslash.")
            node = self.scalar(start, end, inner, "double", properties)
            node.broken = node.broken or bool(bad)
            return node
        return self.scalar(start, end, inner, "double", properties)

    def alias_name(self, start: int) -> str:
        """The name of the alias at ``start``; empty when there is none."""
        found = ALIAS.match(self.text, start)
        name = found[1] if found else ""
        self.beyond = self.beyond or not C_NAME.match(name)
        return name

    def check_properties(self, found: Properties, start: int) -> None:
        """Report properties that cannot be."""
        sound = (found.anchor is not None) + (found.tag is not None)
        if found.count > sound:
            self.problem(start, found.end, "A value has one anchor and one tag at most; remove the others.")
        elif found.anchor == "":
            self.problem(start, found.end, "An anchor needs a name right after the `&`; quote a text that begins so.")
        elif found.anchor is not None and not C_NAME.match(found.anchor):
            self.beyond = True

    def after_quote(self, start: int, end: int, stop: int) -> Scalar:
        """Report text between a closing quote and ``stop``; the stand-in is the quoted text."""
        place = end
        while place < stop and self.text[place] in " \t":
            place += 1
        while stop > place + 1 and self.text[stop - 1] in " \t\r\n":
            stop -= 1
        message = "Text after the closing quote; remove it, or move it inside the quotes."
        if self.text[start] == "'" and place == end and "'" in self.text[end:stop]:
            message = "This text is after the closing quote; write `''` for a quote inside single quotes."
        self.problem(place, stop, message)
        node = self.broken(start, end)
        node.text = self.text[start + 1 : end - 1]
        node.value = node.text
        return node


class Broken(Exception):
    """A strict reading met a problem."""
