"""Node properties (``&anchor``, ``!tag``), aliases and their expansion: what every parser of this package shares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from analyzer.syntax.limits import ALIAS_NODES, NESTING, NUMBER_DIGITS, Limit
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, ScalarStyle, ScalarValue, Sequence
from analyzer.syntax.problems import Problems
from analyzer.syntax.resolve import (
    COLLECTION_TAGS,
    CORE_PREFIX,
    MAYBE_TYPED,
    SCALAR_TAGS,
    NumberTooLong,
    resolve_plain,
    resolve_tagged,
)

_ANCHOR = r"&[^ \t\r\n,\[\]{}:]*"
_TAG = r"!<[^> \t\r\n]*>|![^ \t\r\n,\[\]{}]*"
PROPERTY = re.compile(f"(?P<anchor>{_ANCHOR})|(?P<tag>{_TAG})")
_BLANKS = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]+(?:#[^\n]*)?)*")
_TAG_DIRECTIVE = re.compile(r"^%TAG[ \t]+(!\w*!?)[ \t]+([^ \t\r\n]+)", re.MULTILINE)

Handles: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class Properties:
    """What stands before a node's content: ``end`` is past the last property, ``content`` where the content starts.

    ``count`` is how many properties there are, at most one of each kind being sound.
    """

    anchor: str | None
    tag: str | None
    tag_start: int
    tag_end: int
    end: int
    content: int
    count: int

    def joined(self, below: Properties) -> Properties:
        """These properties and those on a line below them, as the properties of one node."""
        anchor = self.anchor if below.anchor is None else below.anchor
        tagged = self if below.tag is None else below
        count = self.count + below.count
        return Properties(anchor, tagged.tag, tagged.tag_start, tagged.tag_end, below.end, below.content, count)


def scan_properties(text: str, start: int, lines: bool, most: int = 8) -> Properties:
    """Read at most ``most`` properties at ``start``, and the blanks up to the content.

    With ``lines`` line breaks and comments between are blanks, too.
    """
    anchor = tag = None
    tag_start = tag_end = end = content = start
    count = 0
    blanks = _GAP if lines else _BLANKS
    while count < most and (found := PROPERTY.match(text, content)):
        if found["anchor"]:
            anchor = found["anchor"][1:]
        else:
            tag, tag_start, tag_end = found["tag"], found.start(), found.end()
        count += 1
        end = found.end()
        gap = blanks.match(text, end)
        content = gap.end() if gap else end
        if content == end:
            break
    return Properties(anchor, tag, tag_start, tag_end, end, content, count)


def tag_handles(head: str) -> Handles:
    """The handles that ``%TAG`` directives declare in the text before a document."""
    return dict(_TAG_DIRECTIVE.findall(head)) if "%TAG" in head else {}


def core_kind(tag: str, handles: Handles) -> str | None:
    """``str``, ``map`` and so on for a tag of the core schema, ``""`` for the non-specific ``!``, else None."""
    if tag == "!":
        return ""
    if tag.startswith("!<"):
        name = tag[2:-1]
    else:
        cut = tag.rfind("!") + 1
        handle = tag[:cut]
        name = handles.get(handle, CORE_PREFIX if handle == "!!" else "!") + tag[cut:]
    kind = name.removeprefix(CORE_PREFIX)
    return kind if kind != name and (kind in SCALAR_TAGS or kind in COLLECTION_TAGS) else None


class Factory:
    """Makes nodes from what a parser read: resolves values and tags, keeps anchors, expands aliases.

    Everything that it cannot use becomes a stand-in and one problem. ``open`` is the parser's stack of collections that
    are not finished: an alias to one of them is recursive.
    """

    __slots__ = ("anchors", "exhausted", "handles", "open", "problems", "room")

    def __init__(self, problems: Problems, handles: Handles) -> None:
        self.problems = problems
        self.handles = handles
        self.anchors: dict[str, Node] = {}
        self.open: list[Node] = []
        self.room = ALIAS_NODES.value
        self.exhausted = False

    def trial(self) -> Factory:
        """A factory like this one for reading something that will be read again, and of which nothing may stay."""
        other = Factory(Problems(), self.handles)
        other.anchors = self.anchors.copy()
        other.open = self.open.copy()
        other.room = self.room
        return other

    def scalar(
        self, start: int, end: int, text: str, style: ScalarStyle, properties: Properties | None = None
    ) -> Scalar:
        """A scalar with its content's span; an empty plain one is an absent value."""
        node = Scalar(start, end, text, text, style)
        if properties is not None:
            self._tagged(node, properties)
            if properties.anchor is not None:
                node.anchor = properties.anchor
                self.anchors[properties.anchor] = node
        elif style == "plain" and (not text or text[0] in MAYBE_TYPED):
            node.value = self._value(node, None)
        return node

    def _tagged(self, node: Scalar, properties: Properties) -> None:
        kind = self.kind_of(properties)
        if kind in COLLECTION_TAGS:
            self._wrong_kind(properties, "a map" if kind == "map" else "a list", "a value")
            kind = None
        # What the value would be without its wrong tag is a guess, so nothing is said of it.
        node.broken = kind is None and properties.tag is not None
        if kind == "":
            kind = "str"
        if kind is not None:
            try:
                node.value = self._value(node, kind)
            except ValueError:
                self.problems.syntax(
                    node.start,
                    max(node.end, properties.end),
                    f"This value is not what its tag `{properties.tag}` says; remove the tag or change the value.",
                )
                node.broken = True
        elif node.style == "plain":
            node.value = self._value(node, None)

    def _value(self, node: Scalar, kind: str | None) -> ScalarValue:
        try:
            value = resolve_plain(node.text) if kind is None else resolve_tagged(node.text, kind)
        except NumberTooLong:
            self.problems.limit(NUMBER_DIGITS, node.start, node.end)
            node.broken = True
            return node.text
        if type(value) is float and not isfinite(value):
            self.problems.add(
                "invalid-value",
                node.start,
                node.end,
                f"`{node.text}` is not a finite number, and no value can be that: write another one, or quote it.",
            )
            node.broken = True
            return node.text
        return value

    def kind_of(self, properties: Properties) -> str | None:
        """The core kind that a tag names; any other tag is reported and treated as if it was not there."""
        if properties.tag is None:
            return None
        kind = core_kind(properties.tag, self.handles)
        if kind is None:
            self.problems.add(
                "custom-tag",
                properties.tag_start,
                properties.tag_end,
                f"The tag `{properties.tag}` is not allowed: a Workfile uses plain YAML values only. Remove the tag.",
            )
        return kind

    def _wrong_kind(self, properties: Properties, says: str, stands: str) -> None:
        self.problems.syntax(
            properties.tag_start,
            properties.tag_end,
            f"The tag `{properties.tag}` says {says}, but {stands} stands here. Remove the tag.",
        )

    def collection(self, node: Mapping | Sequence, properties: Properties | None) -> None:
        """Give a collection that begins its properties, and put it on the stack of open ones."""
        if properties is not None:
            kind = self.kind_of(properties)
            stands = "map" if isinstance(node, Mapping) else "seq"
            if kind and kind != stands:
                names = {"map": "a map", "seq": "a list"}
                self._wrong_kind(properties, names.get(kind, "a single value"), names[stands])
            node.anchor = properties.anchor
            if properties.anchor is not None:
                self.anchors[properties.anchor] = node
        self.open.append(node)

    def alias(self, name: str, start: int, end: int) -> Node:
        """A copy of the anchored node that has the use's span, or a stand-in with one problem."""
        anchored = self.anchors.get(name)
        if anchored is None:
            message = f"No anchor `&{name}` stands before this alias; write the value here, or anchor it first."
            self.problems.syntax(start, end, message)
            return stand_in(start, end, f"*{name}")
        if any(anchored is node for node in self.open):
            self.problems.add(
                "recursive-alias",
                start,
                end,
                f"The alias `*{name}` stands inside the value that it names, which would never end. Remove it.",
                ((anchored.start, anchored.start + 1, f"`&{name}` is anchored here"),),
            )
            return stand_in(start, end, f"*{name}")
        if self.exhausted:
            return stand_in(start, end, f"*{name}")
        try:
            return self._copy(anchored, start, end, len(self.open))
        except _TooMuch as too_much:
            self.exhausted = too_much.limit is ALIAS_NODES
            self.problems.limit(too_much.limit, start, end)
            return stand_in(start, end, f"*{name}")

    def _copy(self, node: Node, start: int, end: int, depth: int) -> Node:
        self.room -= 1
        if self.room < 0:
            raise _TooMuch(ALIAS_NODES)
        origin = node.origin or node
        if isinstance(node, Scalar):
            return Scalar(start, end, node.value, node.text, node.style, None, origin, node.broken)
        if depth >= NESTING.value:
            raise _TooMuch(NESTING)
        if isinstance(node, Mapping):
            entries = [
                Entry(self._copy(entry.key, start, end, depth + 1), self._copy(entry.value, start, end, depth + 1))
                for entry in node.entries
            ]
            mapping = Mapping(start, end, entries, node.flow, None, origin)
            mapping.partial = node.partial
            return mapping
        assert isinstance(node, Sequence)
        items = [self._copy(item, start, end, depth + 1) for item in node.items]
        sequence = Sequence(start, end, items, node.flow, None, origin)
        sequence.partial = node.partial
        return sequence


class _TooMuch(Exception):
    def __init__(self, limit: Limit) -> None:
        super().__init__(limit.name)
        self.limit = limit


def stand_in(start: int, end: int, text: str) -> Scalar:
    """What stands for text that could not be read; its problem is reported by the caller."""
    return Scalar(start, end, text, text, "plain", None, None, True)
