"""The tolerant parser's half for block structure: indentation, maps, lists, block scalars.

Every method that reads a node leaves the reader at the first line after it.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.key_lines import KeyReader
from analyzer.syntax.keys import finish_mapping
from analyzer.syntax.limits import NESTING
from analyzer.syntax.lines import BLANK_LINES, SIMPLE_KEY
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_cut
from analyzer.syntax.problems import quoting
from analyzer.syntax.properties import Properties, scan_properties
from analyzer.syntax.reading import (
    ALIAS,
    CLOSES_NOTHING,
    COLON,
    DOUBLE,
    ENTRY_LIKE,
    INTERPOLATION,
    MARKER,
    MORE_BLOCK,
    PLAIN_BLOCK,
    SINGLE,
    TO_LINE_END,
    cannot_start,
)
from analyzer.syntax.scalar_text import block_header, block_indent, block_lines, block_pieces, joined

_REST = re.compile(r"[ \t\r]*(?:#[^\n]*)?\n")
_BLANKS = re.compile(r"[ \t]*")
_NO_SPACE = re.compile(r"""([A-Za-z_][\w.?-]*|"[^"\n]*"|'[^'\n]*'):(?=[^ \t\r\n/])""")
_NAME_ALONE = re.compile(r"[A-Za-z_][\w.?-]*(?:[ \t\r]*(?:[ \t]#[^\n]*)?\n|:[^ \t\r\n/])")
_NEXT_LINE = re.compile(r"[ \t\r]*\n(?:[ \t]*\r?\n)*( *)([ \t]*)")
_DASHES = re.compile(r"-+[ \t]*")
_AFTER_QUOTE = re.compile(r"[ \t\r]*(?:[#\n]|:[ \t\r\n])")
_SHOWN: Final = 40
_SIBLING_LINES: Final = 1_000


class BlockReader(KeyReader):
    """Reads one document of a text."""

    __slots__ = ()

    def _entry_like(self) -> bool:
        return ENTRY_LIKE.match(self.text, self.at) is not None or self._key_colon(self.at) >= 0

    def _swallow(self, column: int) -> int:
        """Skip deeper lines that begin no entry; answers the end of the last one, or -1."""
        end = -1
        while self.indent > column and not self._entry_like():
            end = self._line_end(self.at)
            self._skip_line(self.at)
        return end

    # --- nodes ---------------------------------------------------------------------------------------------------

    def node(self, column: int, parent: int, properties: Properties | None = None) -> Node:
        """The node whose text starts at ``at`` in ``column``; its lines are indented by more than ``parent``."""
        text = self.text
        at = self.at
        if self._dash() or (text[at] == "-" and self._glued_dash(at, column)):
            return self._sequence(column, parent, properties, False)
        if self._key_colon(at) >= 0 or (text[at] == "?" and text[at + 1] in " \t\r\n"):
            return self._mapping(column, parent, properties)
        if text[at] in "&!":
            return self._with_properties(parent, True, properties)
        if properties is None and self._lost_colon(at, column):
            return self._mapping(column, parent, None)
        return self._inline(at, parent, properties)

    def after_document_marker(self) -> Node:
        """The root value on the line of its ``---``, where no block collection may begin."""
        at = self.at
        if self._dash() or self._key_colon(at) >= 0:
            self.reading.problem(at - 1, at, "The content begins on the line below `---`; break the line here.")
            return self.node(0, -1)
        return self._inline(at, -1, None)

    def _lost_colon(self, at: int, column: int) -> bool:
        """Whether a line without a colon is a key that lost it: the next line begins an entry at or right of it."""
        text = self.text
        if text[at] in "\"'":
            quoted = (DOUBLE if text[at] == '"' else SINGLE).match(text, at)
            if quoted and _AFTER_QUOTE.match(text, quoted.end()):
                return False
            rest = TO_LINE_END.match(text, at)
            past = rest.end() + 1 if rest else at
        else:
            found = PLAIN_BLOCK.match(text, at)
            rest = _REST.match(text, found.end()) if found else None
            past = rest.end() if rest else 0
        if rest is None:
            return False
        following = BLANK_LINES.match(text, past)
        assert following is not None
        place = following.end()
        begins = place - following.start(1) >= column and ENTRY_LIKE.match(text, place) is not None
        # A dash that goes on with the line's plain text is text; only one with a key after it cannot be.
        return begins and (text[place] != "-" or self._key_after_dash(place))

    def _glued_dash(self, at: int, column: int) -> bool:
        """Whether a ``-name:`` is a list item whose dash lost its space: its next sibling has a dash and a space."""
        if self._column(at) != column or not self._key_after_dash(at):
            return False
        text = self.text
        position = self._line_end(at) + 1
        for _ in range(_SIBLING_LINES):
            found = BLANK_LINES.match(text, position)
            assert found is not None
            if found.end() >= self.reading.size or len(found[1]) < column:
                return False
            if len(found[1]) == column:
                return text[found.end()] == "-" and text[found.end() + 1] in " \t\r\n"
            position = self._line_end(found.end()) + 1
        return False

    def _key_after_dash(self, place: int) -> bool:
        found = _DASHES.match(self.text, place)
        return found is not None and self._key_colon(found.end()) >= 0

    def _value(self, position: int, column: int, compact: bool, indentless: bool) -> Node:
        """What follows a colon or dash at ``position``: on its line, or below it.

        ``compact`` allows a block collection on the line itself, ``indentless`` a list at ``column`` below it.
        """
        text = self.text
        rest = _REST.match(text, position)
        if rest:
            self.advance(rest.end())
            return self._below(position, column, indentless, None)
        blanks = _BLANKS.match(text, position)
        assert blanks is not None
        self.at = blanks.end()
        if compact:
            if "\t" in blanks[0] and (self._dash() or self._key_colon(self.at) >= 0):
                self.reading.problem(blanks.start(), blanks.end(), "A tab cannot be used to indent; use spaces.")
            return self.node(self._column(self.at), column)
        return self._inline(self.at, column, None)

    def _below(self, place: int, column: int, indentless: bool, properties: Properties | None) -> Node:
        if self.indent > column:
            return self.node(self.indent, column, properties)
        if indentless and self.indent == column and self._dash():
            return self._sequence(column, column - 1, properties, True)
        if self.indent == column >= 0 and self.text[self.at] in "|>":
            # The event parsers let a block scalar's header stand where its key does.
            return self._inline(self.at, column, properties)
        return self.reading.absent(place, properties)

    def _with_properties(self, parent: int, compact: bool, above: Properties | None = None) -> Node:
        """A node that begins with properties; ``above`` are those on the lines before."""
        start = self.at
        found = scan_properties(self.text, start, False)
        if above is not None:
            found = above.joined(found)
        self.reading.check_properties(found, start)
        rest = _REST.match(self.text, found.end)
        if rest:
            self.advance(rest.end())
            return self._below(found.end, parent, not compact, found)
        self.at = found.content
        if ALIAS.match(self.text, self.at):
            self.reading.problem(start, found.end, "An alias has no anchor or tag of its own; remove this.")
        if compact and self._dash():
            self.reading.problem(self.at, self.at + 1, "A list begins on its own line; put this `-` below.")
            return self.node(self._column(self.at), parent, found)
        return self._inline(self.at, parent, found)

    def _too_deep(self, parent: int) -> Node:
        start = self.at
        self.reading.problems.limit(NESTING, start, start + 1)
        end = self._line_end(start)
        self._skip_line(start)
        while self.indent > parent:
            end = self._line_end(self.at)
            self._skip_line(self.at)
        return self.reading.broken(start, end)

    # --- lists ---------------------------------------------------------------------------------------------------

    def _sequence(self, column: int, parent: int, properties: Properties | None, indentless: bool) -> Node:
        factory = self.reading.factory
        if len(factory.open) >= NESTING.value:
            return self._too_deep(parent)
        node = Sequence(self.at, self.at, [])
        factory.collection(node, properties)
        self._lists.append(column)
        told = False
        first = True
        while first or self.indent > parent or self._stray(parent):
            first = False
            if self._dash():
                if self.indent != column and node.items:
                    told = self._misplaced(column, told)
                node.end = self.at + 1
                node.items.append(self._value(self.at + 1, self._own(column), True, False))
            elif (0 <= self.indent < column and not self._stray(parent)) or (indentless and self.indent == column):
                break
            else:
                told = self._no_dash(node, column, told)
            node.end = max(node.end, node.items[-1].end)
        node.partial = self._cut(node.items[-1])
        self._lists.pop()
        factory.open.pop()
        return node

    def _stray(self, parent: int) -> bool:
        """Whether the line is text that belongs nowhere, and the lines after it go on as before it."""
        if self.indent < 0 or self.text[self.at] in "?:" or self._entry_like():
            return False
        if self.indent in self._maps and _NAME_ALONE.match(self.text, self.at):
            return False
        below = BLANK_LINES.match(self.text, self._line_end(self.at) + 1)
        return below is not None and below.end() < self.reading.size and len(below[1]) > parent

    def _own(self, column: int) -> int:
        """The column of the current entry: its line's own when that is misplaced, else the collection's."""
        return self.indent if self.at == self._first_text() else column

    def _first_text(self) -> int:
        return self.line + self.indent - self._shift

    def _tell(self, told: bool, start: int, end: int, message: str) -> bool:
        """Report the first line of a region only: ``told`` says that it was, and so is the answer."""
        if not told:
            self.reading.problem(start, end, message)
        return True

    def _misplaced(self, column: int, told: bool) -> bool:
        which = "more" if self.indent > column else "less"
        where = f"indent it by {column} spaces" if column else "do not indent it"
        message = f"This line is indented {which} than the entries around it; {where}."
        return self._tell(told, *self._words(), message)

    def _no_dash(self, node: Sequence, column: int, told: bool) -> bool:
        """A line among list items that does not begin with a dash and a blank."""
        start, end = self._words()
        dashes = _DASHES.match(self.text, self.at)
        if dashes:
            message = "A list item begins with one `-` and a space; write `- ` here."
            self.reading.problem(start, dashes.end(), message)
            self.at = dashes.end()
            node.items.append(self._value(self.at, column, True, False))
            return told
        if self._entry_like():
            told = self._tell(told, start, end, "This entry of the list has no `-`; write `- ` before it.")
            node.items.append(self.node(self.indent, column - 1 if self.indent == column else column))
            return told
        message = "This line belongs to no entry; remove it, or write `- ` before it."
        told = self._tell(told, start, end, message)
        self._skip_line(self.at)
        self._swallow(column)
        node.items.append(self.reading.broken(start, end))
        return told

    # --- maps ----------------------------------------------------------------------------------------------------

    def _mapping(self, column: int, parent: int, properties: Properties | None) -> Node:
        factory = self.reading.factory
        if len(factory.open) >= NESTING.value:
            return self._too_deep(parent)
        node = Mapping(self.at, self.at, [])
        factory.collection(node, properties)
        self._maps.append(column)
        told = False
        first = True
        while first or self.indent > parent or self._stray(parent):
            if not first and self._dash():
                if self._lists:
                    break
                told = self._list_in_map(column, told)
                node.partial = True
                continue
            if not first and self.indent != column:
                if not self._entry_like():
                    told = self._stray_line(told)
                    node.partial = True
                    continue
                told = self._misplaced(column, told)
            else:
                told = False
            entry = self._entry(column if first else self._own(column))
            if entry is not None:
                node.entries.append(entry)
                node.end = max(entry.value.end, entry.key.end)
            else:
                node.partial = True
            first = False
        node.partial = node.partial or (bool(node.entries) and self._cut(node.entries[-1].value))
        self._maps.pop()
        factory.open.pop()
        return finish_mapping(node, self.text, self.reading.problems)

    def _cut(self, last: Node) -> bool:
        """Whether the document ends in brackets or quotes that were not closed: more was to come, in all that is open.

        ``last`` is the last value of a collection that was just read.
        """
        if self.indent >= 0:
            return False
        return last.broken and last.text[:1] in ("'", '"') if isinstance(last, Scalar) else is_cut(last)

    def _list_in_map(self, column: int, told: bool) -> bool:
        message = "A list item cannot stand among the keys of a map; indent it below its key, or remove the `-`."
        told = self._tell(told, *self._words(), message)
        self._sequence(self.indent, max(self.indent - 1, column - 1), None, True)
        return told

    def _stray_line(self, told: bool) -> bool:
        start, end = self._words()
        if self.text[start] in "]}":
            end = start + 1
            message = CLOSES_NOTHING.format(self.text[start])
        else:
            message = "This line belongs to no entry; remove it, or write it as `name: value`."
        told = self._tell(told, start, end, message)
        self._skip_line(self.at)
        return told

    def _entry(self, column: int) -> Entry | None:
        text = self.text
        at = self.at
        simple = SIMPLE_KEY.match(text, at)
        if simple:
            self._length(simple.end(1) - at)
            key: Node = self.reading.scalar(at, simple.end(1), simple[1], "plain", None)
            return Entry(key, self._value(simple.end(), column, False, True))
        if text[at] == "?" and text[at + 1] in " \t\r\n":
            return self._explicit(column)
        if glued := self._before_brackets(at):
            return self._glued(glued, column)
        colon = self._key_colon(at)
        if colon < 0:
            return self._without_colon(column)
        key = self._key(at, colon)
        self._length(colon - at)
        return Entry(key, self._value(colon + 1, column, False, True))

    def _glued(self, found: re.Match[str], column: int) -> Entry:
        """A name and a flow collection with no ``: `` between, or only half of it."""
        start, end = found.span(1)
        shown = found[1] if end - start <= _SHOWN else "name"
        if self.text[end] == ":":
            self.reading.problem(end, end + 1, f"A `:` needs a space after it; write `{shown}: …`.")
        else:
            self.reading.problem(start, end, f"This key has no colon; write `{shown}: …`.")
        key = self.reading.plain(start, end, None)
        return Entry(key, self._inline(found.end(), column, None))

    def _explicit(self, column: int) -> Entry:
        key = self._value(self.at + 1, column, True, True)
        text = self.text
        if self.indent == column and text[self.at] == ":" and text[self.at + 1] in " \t\r\n":
            return Entry(key, self._value(self.at + 1, column, True, True))
        return Entry(key, self.reading.absent(key.end, None))

    def _without_colon(self, column: int) -> Entry | None:
        """A line of a map that has no ``: ``: what its author most likely meant."""
        text = self.text
        at = self.at
        glued = _NO_SPACE.match(text, at)
        if glued:
            colon = glued.end() - 1
            name = glued[1].strip("\"'")
            self.reading.problem(colon, colon + 1, f"A `:` needs a space after it; write `{name[:_SHOWN]}: …`.")
            return Entry(self._key(at, colon), self._value(colon + 1, column, False, True))
        start, end = self._words()
        if text[at] in "\"'" and not (DOUBLE if text[at] == '"' else SINGLE).match(text[start:end]):
            self.reading.problem(at, at + 1, f"This quote is never closed; write `{text[at]}` where the text ends.")
            self._skip_line(at)
            return None
        if text[at] in "]}":
            self._stray_line(False)
            return None
        if PLAIN_BLOCK.match(text, at) is None and text[at] not in "\"'":
            self.reading.problem(at, at + 1, f"`{text[at]}` cannot start a key; quote it, or remove this line.")
            self._skip_line(at)
            self._swallow(column)
            return None
        return self._colonless(column, start, end)

    def _colonless(self, column: int, start: int, end: int) -> Entry:
        comment = self.text.find(" #", start, end)
        end = comment if comment > 0 else end
        key = self.reading.broken(start, end)
        word = key.text.split(" ")[0]
        shown = word if len(word) <= _SHOWN else "name"
        if not self._tabbed:
            self.reading.problem(start, key.end, f"This key has no colon; write `{shown}: value`.")
        self._skip_line(start)
        if self.indent > column and self._entry_like():
            key.broken = " " in key.text
            return Entry(key, self._below(key.end, column, True, None))
        self._swallow(column)
        value = self.reading.broken(key.end, key.end)
        return Entry(key, value)

    # --- values on a line ----------------------------------------------------------------------------------------

    def _inline(self, at: int, parent: int, properties: Properties | None) -> Node:
        """A value that starts at ``at`` and is no block collection."""
        text = self.text
        character = text[at]
        if character in "\"'":
            return self._quoted(at, parent, properties)
        if character in "[{":
            return self._flow(at, parent, properties)
        if character in "|>":
            return self._block_scalar(at, parent, properties)
        if character == "*":
            return self._alias(at)
        if character in "&!" and properties is None:
            return self._with_properties(parent, False, None)
        found = PLAIN_BLOCK.match(text, at)
        if found is None:
            return self._cannot_start(at, parent)
        end = self._more_lines(found.end(), parent)
        colon = COLON.match(text, end)
        if colon:
            return self._second_colon(at, colon.start(1), parent)
        node = self.reading.plain(at, end, properties)
        self._finish(end)
        return node

    def _more_lines(self, end: int, parent: int) -> int:
        text = self.text
        while found := _NEXT_LINE.match(text, end):
            place = found.end()
            if len(found[1]) <= parent or place >= self.reading.size:
                break
            if place == found.start(1) and MARKER.match(text, place):
                break
            more = MORE_BLOCK.match(text, place)
            if more is None or COLON.match(text, more.end()):
                break
            end = more.end()
        return end

    def _second_colon(self, at: int, colon: int, parent: int) -> Node:
        self.reading.problem(colon, colon + 1, "A `:` inside this text must be quoted; put the text in quotes.")
        end = self._line_end(at)
        self._skip_line(at)
        past = self._swallow(parent)
        return self.reading.broken(at, max(end, past))

    def _cannot_start(self, at: int, parent: int) -> Node:
        text = self.text
        if self._dash():
            self.reading.problem(at, at + 1, "A list begins on its own line; put this `-` below, or quote the text.")
            return self.node(self._column(at), parent)
        message = CLOSES_NOTHING.format(text[at]) if text[at] in "]}" else cannot_start(text[at])
        self.reading.problem(at, at + 1, message)
        end = self._line_end(at)
        self._skip_line(at)
        past = self._swallow(parent)
        return self.reading.broken(at, max(end, past))

    def _finish(self, end: int) -> None:
        """The rest of a value's line must be blank or a comment."""
        rest = _REST.match(self.text, end)
        if rest:
            self.advance(rest.end())
            return
        blanks = _BLANKS.match(self.text, end)
        start = blanks.end() if blanks else end
        stop = self._line_end(start)
        while stop > start + 1 and self.text[stop - 1] in " \t\r":
            stop -= 1
        if self.text[start] in "]}":
            self.reading.problem(start, start + 1, CLOSES_NOTHING.format(self.text[start]))
        elif self.text[start] == ":":
            self.reading.problem(start, start + 1, "A `:` inside this text must be quoted; put the text in quotes.")
        else:
            self.reading.problem(start, stop, "Text after the end of this value; remove it.")
        self._skip_line(start)

    def _alias(self, at: int) -> Node:
        name = self.reading.alias_name(at)
        end = at + 1 + len(name)
        if not name:
            self.reading.problem(at, end, cannot_start("*"))
            self._skip_line(at)
            return self.reading.broken(at, self._line_end(at))
        node = self.reading.factory.alias(name, at, end)
        self._finish(end)
        return node

    def _flow(self, at: int, parent: int, properties: Properties | None) -> Node:
        interpolation = INTERPOLATION.match(self.text, at)
        if interpolation and not _REST.match(self.text, interpolation.end()):
            node = self.reading.broken(at, self._line_end(at))
            fix = None if " #" in node.text else quoting(at, node.end, node.text, "text")
            message = 'A text with an interpolation must be quoted: write `"{{ … }} …"`.'
            self.reading.problem(at, node.end, message, fix)
            self._skip_line(at)
            return node
        collection = self.flow.read(at, parent, properties)
        self._finish(max(self.flow.position, at + 1))
        return collection

    def _quoted(self, at: int, parent: int, properties: Properties | None) -> Node:
        text = self.text
        reading = self.reading
        closed = (DOUBLE if text[at] == '"' else SINGLE).match(text, at)
        end = closed.end() if closed else 0
        if closed and end <= reading.size and _AFTER_QUOTE.match(text, end):
            node: Node = reading.quoted(at, end, properties)
            self._finish(end)
            return node
        line_end = self._line_end(at)
        if closed and end <= line_end and ": " not in closed[0]:
            node = reading.after_quote(at, end, line_end)
        else:
            reading.problem(at, at + 1, f"This quote is never closed; write `{text[at]}` where the text ends.")
            node = reading.broken(at, line_end)
        self._skip_line(at)
        node.end = max(node.end, self._swallow(parent))
        return node

    def _block_scalar(self, at: int, parent: int, properties: Properties | None) -> Node:
        text = self.text
        header = block_header(text, at)
        if header is None:
            line_end = self._line_end(at)
            self.reading.problem(
                at, at + 1, f"`{text[at]}` begins a text on the lines below it; move this text there, or quote it."
            )
            node: Node = self.reading.broken(at, line_end)
            self._skip_line(at)
            node.end = max(node.end, self._swallow(parent))
            return node
        if text.startswith("#", header.end):
            self.reading.beyond = True
        indent = block_indent(text, header, parent)
        found = block_lines(text, header.body, indent, self.reading.size)
        end = header.end
        for _, start, stop in found.lines:
            if text[start:stop].strip(" \t"):
                end = stop
        value = joined(block_pieces(text, header, found))
        node = self.reading.scalar(at, end, value, "folded" if header.folded else "literal", properties)
        self.advance(found.end)
        return node
