"""The tolerant parser's half for flow collections: ``[…]``, ``{…}`` and what stands in them.

A collection is first read strictly, which is all that sound text needs. When that fails it is read again with repairs:
then a line that looks like the next entry at the enclosing indentation ends it, so that an unclosed bracket or quote
costs only the lines up to there, and is reported on its opener.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.keys import finish_mapping
from analyzer.syntax.limits import NESTING
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence
from analyzer.syntax.problems import quoting
from analyzer.syntax.properties import Properties, scan_properties
from analyzer.syntax.reading import (
    ALIAS,
    CLOSES_NOTHING,
    DOUBLE,
    ENTRY_LIKE,
    INTERPOLATION,
    MARKER,
    MORE_FLOW,
    PLAIN_FLOW,
    SINGLE,
    Broken,
    Reading,
    cannot_start,
)

_CLOSERS: Final = {"[": "]", "{": "}"}
_GAP = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_LINE_GAP = re.compile(r"[ \t\r]*(?:#[^\n]*)?\n(?:[ \t]*\r?\n)*([ \t]*)")
_BLANKS = re.compile(r"[ \t]*")
_AFTER_VALUE = re.compile(r"[ \t\r]*[,\]}#\n:]")
_CHEAP_END = re.compile(r"(?:\{\{[^\n]*?\}\}|[^,\]}\n])*")
_NEXT_PAIR = re.compile(
    r"(?:\{\{[^\n}]*\}\}|(?!\{\{[^\n}]*\}\})[^\n])*?(?=,[ ]*[\w.?-]+:[ ]|[ ]*[\]}]+[ \t\r]*[,#\n]|\n|\Z)"
)
_BRACKETS = re.compile(r"[\[\]{}\n]")
_SHAPE = re.compile(r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[ \t\r]+(?:#[^\n]*)?|[^ \t\r]""")
_WORD = re.compile(r"[^ \t\r\n,\[\]{}:]*")
_GLUED = re.compile(r"""([A-Za-z_][\w.?-]*)([ \t]*|:)(?=["'\[{])""")
_SIMPLE_PAIR = re.compile(
    r"""([A-Za-z_][0-9A-Za-z_.-]*+):[ ]+("[^"\\\r\n]*+"|[0-9A-Za-z_][0-9A-Za-z_.-]*+)(?=[ ]*[,}])"""
)
# Brackets with quotes and brackets of their own inside, two levels deep, and the `?` of a type.
_INSIDE = r"""[^\[\]{}"'\n]|"[^"\n]*"|'[^'\n]*'"""
_BRACKETED = re.compile(rf"(?:\[(?:{_INSIDE}|\[(?:{_INSIDE}|\[(?:{_INSIDE})*+\])*+\])*+\])++[\w.?-]*+(?=[ \t]*[,}}\n])")
_TYPE = re.compile(r"(?:list|map|enum)\[")
# A path with positions in it, as a key and as an element of a list.
_PATH = r"""[A-Za-z_(][^\s,\[\]{}"'#:]*+(?:\[\d++\][^\s,\[\]{}"'#:]*+)++"""
_PATH_KEY = re.compile(rf"{_PATH}(?=[ \t]*:[ \t\r\n,\[\]{{}}])")
_PATH_ITEM = re.compile(rf"{_PATH}(?=[ \t]*[,\]\n])")
_FLOW_KEY = re.compile(r"[ \t]*:(?=[ \t\r\n,\[\]{}])")
_JSON_KEY = re.compile(r"[ \t]*:")
_LONGEST_CHEAP: Final = 2_000
_LONGEST_SHOWN: Final = 60
_TRIALS: Final = 2
_TRIALS_MIN: Final = 10_000


class FlowReader:
    """Reads flow collections of one text; ``position`` is past what was read last."""

    __slots__ = ("_ceiling", "_ended", "_floor", "_told", "_trials", "position", "reading", "text")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.text = reading.text
        self.position = 0
        self._floor = -1
        self._ceiling = reading.size
        self._ended = False
        self._told = False
        # How many characters may still be read in vain before collections are read with repairs at once.
        self._trials = _TRIALS_MIN + _TRIALS * reading.size

    def read(self, start: int, parent: int, properties: Properties | None) -> Node:
        """The collection whose opening bracket is at ``start``, in a block of column ``parent``. Never raises."""
        reading = self.reading
        self._floor = parent
        self._ceiling = reading.size
        self._ended = False
        self._told = False
        if reading.strict:
            return self._collection(start, properties)
        if self._trials > 0 and (node := self._strictly(start, properties)) is not None:
            return node
        self._ended = False
        self._ceiling = self._reach(start)
        return self._collection(start, properties)

    def _strictly(self, start: int, properties: Properties | None) -> Node | None:
        """The collection when it is sound, else None with nothing changed."""
        reading = self.reading
        factory = reading.factory
        before = len(reading.problems.found), len(reading.hashes), len(factory.open), factory.room, factory.exhausted
        anchors, beyond = factory.anchors.copy(), reading.beyond
        reading.strict = True
        try:
            node = self._collection(start, properties)
            reading.strict = False
            return node
        except Broken:
            reading.strict = False
            del reading.problems.found[before[0] :], reading.hashes[before[1] :], factory.open[before[2] :]
            factory.room, factory.exhausted = before[3:]
            factory.anchors, reading.beyond = anchors, beyond
            self._trials -= max(self.position - start, 1)
            return None

    def _reach(self, start: int) -> int:
        """How far a broken collection may reach: anywhere when its brackets are all closed before the next entry.

        When they are not, it is the lines that are clearly its own: its first, and those after a comma or an opener.
        """
        text = self.text
        depth = 0
        own = 0
        last = ""
        for found in _SHAPE.finditer(text, start, self.reading.size):
            token = found[0]
            if token == "\n":
                blanks = _BLANKS.match(text, found.end())
                place = blanks.end() if blanks else found.end()
                if not own and last not in ",[{":
                    own = found.start()
                if place - found.end() <= self._floor and ENTRY_LIKE.match(text, place):
                    return own or found.start()
            elif token[0] not in " \t\r":
                last = token
                depth += (token in "[{") - (token in "]}")
                if depth == 0:
                    return self.reading.size
        return own or self.reading.size

    def _collection(self, start: int, properties: Properties | None) -> Node:
        reading = self.reading
        if len(reading.factory.open) >= NESTING.value:
            return self._too_deep(start)
        mapping = self.text[start] == "{"
        node: Mapping | Sequence = Mapping(start, start, [], True) if mapping else Sequence(start, start, [], True)
        reading.factory.collection(node, properties)
        children: list[Node] = []
        entries: list[Entry] = []
        self.position = start + 1
        node.partial = not self._contents(start, entries, children)
        node.end = min(self.position, reading.size)
        reading.factory.open.pop()
        if self._ended and self.text.startswith("{{", start):
            return reading.broken(start, node.end)
        if isinstance(node, Mapping):
            node.entries = entries
            return finish_mapping(node, self.text, reading.problems)
        node.items = children
        return node

    def _contents(self, opener: int, entries: list[Entry], items: list[Node]) -> bool:
        """Read what stands in a collection, and its end; False when that, or a quote's end inside, was not found."""
        text = self.text
        told = self._told
        mapping = text[opener] == "{"
        closer = _CLOSERS[text[opener]]
        while True:
            if self._gap():
                return self._unclosed(opener)
            character = text[self.position]
            if character == closer:
                self.position += 1
                return self._told == told
            if character == ",":
                self.reading.problem(
                    self.position, self.position + 1, "Nothing stands before this `,`; remove it or write a value."
                )
                self.position += 1
                continue
            if character in "]}":
                if self._mismatch(opener):
                    return False
                continue
            if mapping:
                entries.append(self._pair(None))
            else:
                items.append(self._item())
            if self._gap():
                self._cut(entries[-1].value if mapping else items[-1])
                return self._unclosed(opener)
            self._separator(closer)

    def _separator(self, closer: str) -> None:
        character = self.text[self.position]
        if character == ",":
            self.position += 1
        elif character != closer and character not in "]}":
            word = _WORD.match(self.text, self.position)
            end = max(word.end() if word else 0, self.position + 1)
            self.reading.problem(self.position, end, "A `,` is missing before this.")

    def _gap(self) -> bool:
        """Go to the next character of the collection; True when there is none that can belong to it."""
        text = self.text
        start = self.position
        if start < self.reading.size and text[start] not in " \t\r\n#":
            return False
        gap = _GAP.match(text, start)
        assert gap is not None
        end = gap.end()
        if end >= self.reading.size:
            return self._stop(start)
        self.position = end
        if text.find("\n", start, end) < 0:
            return False
        line = text.rfind("\n", start, end) + 1
        if end > self._ceiling:
            return self._stop(start)
        if line == end and MARKER.match(text, end):
            return self._stop(start)
        if not self.reading.strict and end - line <= self._floor and ENTRY_LIKE.match(text, end):
            return self._stop(start)
        return False

    def _stop(self, place: int) -> bool:
        self.position = min(place, self.reading.size)
        if self.reading.strict:
            raise Broken
        return True

    @staticmethod
    def _cut(last: Node) -> None:
        """The last value of a collection that is not closed: a word may be half typed, so nothing is said of it."""
        if isinstance(last, Scalar) and last.style == "plain":
            last.broken = True

    def _unclosed(self, opener: int) -> bool:
        # One region, one problem: of several open brackets the innermost is told, the others end with it; an unclosed
        # quote has already told of its line.
        if not self._ended and not self._told:
            bracket = self.text[opener]
            closer = _CLOSERS[bracket]
            message = f"This `{bracket}` is never closed; write `{closer}` where it ends."
            if opener and self.text.startswith("{{", opener - 1):
                opener -= 1
            if self.text.startswith("{{", opener):
                message = 'This interpolation is not closed and not quoted; write `"{{ … }}"`.'
            self.reading.problem(opener, opener + 1, message)
        self._ended = True
        return False

    def _mismatch(self, opener: int) -> bool:
        """A closing bracket of the other kind: it closes an outer collection (True) or nothing."""
        closing = self.text[self.position]
        opening = "[" if closing == "]" else "{"
        outer = any(
            isinstance(node, Mapping if opening == "{" else Sequence) and node.flow
            for node in self.reading.factory.open[:-1]
        )
        if outer:
            bracket = self.text[opener]
            message = f"This `{bracket}` is never closed; write `{_CLOSERS[bracket]}` before the `{closing}`."
            self.reading.problem(opener, opener + 1, message)
            return True
        self.reading.problem(self.position, self.position + 1, CLOSES_NOTHING.format(closing))
        self.position += 1
        return False

    def _item(self) -> Node:
        """One element of a list: a value, or a lone pair."""
        text = self.text
        start = self.position
        if not self.reading.strict and (path := _PATH_ITEM.match(text, start)):
            return self._path(path)
        if text[start] == "?" and text[start + 1] in " \t\r\n":
            return self._lone_pair(None, start)
        if text[start] == ":" and text[start + 1] in " \t\r\n,[]{}":
            return self._lone_pair(self.reading.absent(start, None), start)
        node = self._value(start)
        end = self.position
        json = text[end - 1] in "\"'}]"
        colon = (_JSON_KEY if json else _FLOW_KEY).match(text, end)
        if colon is None or self._ended:
            return node
        if text.find("\n", start, end) >= 0:
            return self._split(node, colon.end() - 1)
        return self._lone_pair(node, start)

    def _lone_pair(self, key: Node | None, start: int) -> Node:
        # The pair is a level of its own although it has no brackets.
        node = Mapping(start, start, [], True)
        self.reading.factory.collection(node, None)
        node.entries = [self._pair(key)]
        node.end = node.entries[0].value.end
        self.reading.factory.open.pop()
        return finish_mapping(node, self.text, self.reading.problems)

    def _pair(self, key: Node | None) -> Entry:
        """``key: value``, ``key`` alone, or ``? key : value``; the position is past it afterwards."""
        text = self.text
        start = self.position
        if key is None and (simple := _SIMPLE_PAIR.match(text, start)):
            return self._simple(simple)
        if key is None and not self.reading.strict:
            if path := _PATH_KEY.match(text, start):
                key = self._path(path)
            elif glued := _GLUED.match(text, start):
                return self._glued(glued)
        if key is None:
            explicit = text[start] == "?" and text[start + 1] in " \t\r\n"
            if explicit:
                self.position = start + 1
                if self._gap():
                    absent = self.reading.absent(start + 1, None)
                    return Entry(absent, self.reading.absent(start + 1, None))
            if text[self.position] in ",}]" or (
                text[self.position] == ":" and text[self.position + 1] in " \t\r\n,[]{}"
            ):
                key = self.reading.absent(start + 1 if explicit else start, None)
            else:
                place = self.position
                key = self._value(place)
                if not explicit:
                    self._one_line(place)
        return Entry(key, self._pair_value(key))

    def _simple(self, found: re.Match[str]) -> Entry:
        """A pair as most are: a name and a word or a quoted text without escapes, on one line."""
        scalar = self.reading.scalar
        start, end = found.span(2)
        self.position = end
        key = scalar(found.start(1), found.end(1), found[1], "plain", None)
        if self.text[start] == '"':
            return Entry(key, scalar(start, end, self.text[start + 1 : end - 1], "double", None))
        return Entry(key, scalar(start, end, found[2], "plain", None))

    def _glued(self, found: re.Match[str]) -> Entry:
        """A name and a value with no ``: `` between, or only half of it."""
        name = found[1]
        colon = found.start(2)
        if found[2].startswith(":"):
            self.reading.problem(colon, colon + 1, f"A `:` needs a space after it; write `{name}: …`.")
        else:
            self.reading.problem(found.start(1), found.end(1), f"This key has no colon; write `{name}: …`.")
        key = self.reading.plain(found.start(1), found.end(1), None)
        self.position = found.end()
        return Entry(key, self._value(found.end()))

    def _path(self, found: re.Match[str]) -> Scalar:
        """A path whose brackets end it here, as it is not quoted; it is read as it was meant."""
        start, end = found.span()
        fix = quoting(start, end, found[0], "path")
        example = f": `{fix.text}`" if fix is not None and end - start <= _LONGEST_SHOWN else ""
        self.reading.problem(start, end, f"Inside brackets this path must be quoted{example}.", fix)
        self.position = end
        return self.reading.scalar(start, end, found[0], "plain", None)

    def _with_brackets(self, node: Node) -> Node:
        """A plain text with brackets behind it, which end it here: a type, most likely."""
        found = _BRACKETED.match(self.text, node.end) if isinstance(node, Scalar) and node.style == "plain" else None
        if found is None:
            return node
        start, end = node.start, found.end()
        written = self.text[start:end]
        what = "type" if _TYPE.match(written) else "text"
        fix = quoting(start, end, written, what)
        example = f": `{fix.text}`" if fix is not None and len(written) <= _LONGEST_SHOWN else ""
        self.reading.problem(start, end, f"In `{{ }}` this {what} must be quoted{example}.", fix)
        self.position = end
        return self.reading.broken(start, end)

    def _one_line(self, start: int) -> None:
        """A key and its colon stand on one line, unless a ``?`` begins it."""
        gap = _GAP.match(self.text, self.position)
        colon = gap.end() if gap else self.position
        if self.text.startswith(":", colon) and self.text.find("\n", start, colon) >= 0 and not self._ended:
            self.reading.problem(start, self.position, "A key and its `:` must stand on one line; join the lines.")

    def _pair_value(self, key: Node) -> Node:
        text = self.text
        end = self.position
        if self._ended or self._gap():
            self._cut(key)
            return self.reading.absent(key.end, None)
        json = end > 0 and text[end - 1] in "\"'}]" and key.end == end
        place = self.position
        if text[place] != ":" or not (json or text[place + 1] in " \t\r\n,[]{}"):
            self.position = end
            return self.reading.absent(key.end, None)
        if not json and text[place + 1] in "[{":
            # YAML allows it, and no event parser takes it.
            self.reading.problem(place, place + 1, "A `:` needs a space after it; write `: `.")
        colon = place + 1
        self.position = colon
        if self._gap():
            return self.reading.absent(colon, None)
        if text[self.position] in ",]}":
            return self.reading.absent(colon, None)
        node = self._value(self.position)
        if not self.reading.strict and text[self.position] == "[" and node.end == self.position:
            node = self._with_brackets(node)
        again = _FLOW_KEY.match(text, self.position)
        if again and not self._ended and text[node.end - 1] not in "\"'}]":
            return self._split(node, again.end() - 1)
        return node

    def _split(self, node: Node, colon: int) -> Node:
        """A second ``:`` in one value: a comma is missing before the last word, which begins the next pair."""
        text = self.text
        end = node.end
        word = end
        while word > node.start and text[word - 1] not in " \t\r\n":
            word -= 1
        if word > node.start:
            # The missing comma itself is told by the collection, which finds the word where its separator must be.
            self.position = word
            return self.reading.broken(node.start, word)
        self.reading.problem(colon, colon + 1, "A `:` inside this text must be quoted.")
        cheap = _CHEAP_END.match(text, colon)
        self.position = cheap.end() if cheap else end
        return self.reading.broken(node.start, self.position)

    def _value(self, start: int, properties: Properties | None = None) -> Node:
        """One value at ``start``."""
        text = self.text
        reading = self.reading
        character = text[start]
        if character in "[{":
            if not reading.strict and text.startswith("{{", start) and (found := INTERPOLATION.match(text, start)):
                # A quote or text right behind it is part of what must be quoted.
                rest = _CHEAP_END.match(text, found.end())
                node = reading.broken(start, rest.end() if rest else found.end())
                fix = quoting(node.start, node.end, node.text, "interpolation")
                reading.problem(start, node.end, 'An interpolation must be quoted: write `"{{ … }}"`.', fix)
                self.position = max(node.end, found.end())
                return node
            return self._collection(start, properties)
        if character in "\"'":
            return self._quoted(start, properties)
        if character == "*":
            return self._alias(start)
        if character in "&!" and properties is None:
            return self._with_properties(start)
        found = PLAIN_FLOW.match(text, start)
        if found is None:
            return self._cannot_start(start)
        end = self._more_lines(found.end())
        self.position = end
        return reading.plain(start, end, properties)

    def _more_lines(self, end: int) -> int:
        """The end of a plain scalar that may go on over several lines."""
        text = self.text
        while gap := _LINE_GAP.match(text, end):
            place = gap.end()
            if place > self._ceiling or "#" in gap[0] or (gap[1] == "" and MARKER.match(text, place)):
                break
            if not self.reading.strict and ENTRY_LIKE.match(text, place):
                break
            more = MORE_FLOW.match(text, place)
            if more is None:
                break
            end = more.end()
        return end

    def _alias(self, start: int) -> Node:
        name = self.reading.alias_name(start)
        end = start + 1 + len(name)
        self.position = end
        if not name:
            self.reading.problem(start, end, cannot_start("*"))
            return self.reading.broken(start, end)
        return self.reading.factory.alias(name, start, end)

    def _with_properties(self, start: int) -> Node:
        reading = self.reading
        found = scan_properties(self.text, start, True)
        reading.check_properties(found, start)
        place = found.content
        if place >= reading.size or self.text[place] in ",]}" or _FLOW_KEY.match(self.text, place):
            self.position = found.end
            return reading.absent(found.end, found)
        if ALIAS.match(self.text, place):
            reading.problem(start, found.end, "An alias has no anchor or tag of its own; remove this.")
        return self._value(place, found)

    def _quoted(self, start: int, properties: Properties | None) -> Node:
        text = self.text
        reading = self.reading
        closed = (DOUBLE if text[start] == '"' else SINGLE).match(text, start)
        end = closed.end() if closed else 0
        if closed and end <= reading.size and _AFTER_VALUE.match(text, end) and self._plausible(start, end):
            self.position = end
            return reading.quoted(start, end, properties)
        if closed and "\n" not in closed[0] and not re.search(r"[,}:]", closed[0]):
            rest = _CHEAP_END.match(text, end)
            self.position = rest.end() if rest else end
            return reading.after_quote(start, end, self.position)
        reading.problem(start, start + 1, f"This quote is never closed; write `{text[start]}` where the text ends.")
        self._told = True
        cheap = _NEXT_PAIR.match(text, start + 1, start + _LONGEST_CHEAP)
        self.position = cheap.end() if cheap else start + 1
        return reading.broken(start, self.position)

    def _plausible(self, start: int, end: int) -> bool:
        """Whether a closing quote belongs to this opening one, though lines that look like entries are between."""
        if self.reading.strict:
            return True
        if end > self._ceiling:
            return False
        line = self.text.find("\n", start, end)
        while line >= 0:
            blanks = _BLANKS.match(self.text, line + 1)
            place = blanks.end() if blanks else line + 1
            if place - line - 1 <= self._floor and ENTRY_LIKE.match(self.text, place):
                return False
            line = self.text.find("\n", place, end)
        return True

    def _cannot_start(self, start: int) -> Node:
        text = self.text
        reading = self.reading
        if text[start] == "-":
            message = "A list of its own cannot begin inside brackets; write `[…]`, or remove the `-`."
        else:
            message = cannot_start(text[start])
        reading.problem(start, start + 1, message)
        cheap = _CHEAP_END.match(text, start + 1)
        self.position = cheap.end() if cheap else start + 1
        return reading.broken(start, self.position)

    def _too_deep(self, start: int) -> Node:
        """Skip a collection that is nested too deeply, without looking into it."""
        if self.reading.strict:
            raise Broken
        self.reading.problems.limit(NESTING, start, start + 1)
        depth = 0
        for found in _BRACKETS.finditer(self.text, start):
            place = found.end()
            if found[0] == "\n":
                blanks = _BLANKS.match(self.text, place)
                indent = blanks.end() - place if blanks else 0
                if indent <= self._floor and ENTRY_LIKE.match(self.text, place + indent):
                    place = found.start()
                    break
            else:
                depth += 1 if found[0] in "[{" else -1
                if depth == 0:
                    break
        else:
            place = self.reading.size
        self.position = place
        return self.reading.broken(start, place)
