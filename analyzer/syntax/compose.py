"""From an event stream (libyaml's or ruamel.yaml's own) to the positioned tree.

This is the path that every sound file takes, so it is written for speed: one loop, no recursion, no mark objects kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from analyzer.syntax.keys import finish_mapping
from analyzer.syntax.limits import NESTING
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, ScalarStyle, ScalarValue, Sequence
from analyzer.syntax.problems import Problems
from analyzer.syntax.properties import Factory, Properties, scan_properties

_STYLES: Final[dict[str | None, ScalarStyle]] = {
    "": "plain",
    None: "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
_HEADER = re.compile(r"[|>][-+0-9]*")
_DOCUMENT = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_TO_COLON = re.compile(r"(?:[ \t\r\n]++(?:#[^\n]*+)?)*+:(?=[ \t\r\n]|\Z)")
_TO_FLOW_COLON = re.compile(r"(?:[ \t\r\n]++(?:#[^\n]*+)?)*+:")


class NestedTooDeeply(Exception):
    """The events go past ``limits.NESTING``: the text must be read by the parser that can skip a part."""


class PartsDiffer(Exception):
    """Text that the two event parsers read differently: the tolerant parser decides."""


class Composer:
    """Composes the first document of one text. ``text`` is the text that the events' marks point into.

    ``hashes`` holds the spans of scalars with a ``#`` in them (there is no comment inside those), ``stop`` is where the
    second document begins, if there is one.
    """

    __slots__ = ("events", "factory", "hashes", "problems", "stop", "text")

    def __init__(self, text: str, events: Callable[[], Any], problems: Problems) -> None:
        self.text = text
        self.events = events
        self.problems = problems
        self.factory = Factory(problems, {})
        self.hashes: list[tuple[int, int]] = []
        self.stop: int | None = None

    def compose(self) -> Node | None:
        """The first document's root, None when there is none.

        Raises what the event parser raises on text that it cannot read, and NestedTooDeeply.
        """
        self.events()
        event = self.events()
        if event.__class__ is StreamEndEvent:
            return None
        if "%" in self.text[: event.end_mark.index]:
            raise PartsDiffer
        root = self._document()
        if self.events().explicit or (isinstance(root, Scalar) and root.style in ("literal", "folded")):
            raise PartsDiffer
        event = self.events()
        if event.__class__ is DocumentStartEvent:
            self._second_document(event.start_mark.index)
        return root

    def _second_document(self, start: int) -> None:
        found = _DOCUMENT.search(self.text, start)
        self.stop = start
        begin, end = found.span() if found else (start, start + 1)
        report_second_document(self.problems, begin, end)

    def _document(self) -> Node:
        events = self.events
        stack: list[tuple[list[Node], Mapping | Sequence]] = []
        top: list[Node] = []
        children = top
        append = top.append
        opened = self.factory.open
        scalar = self.factory.scalar
        known: dict[str, ScalarValue] = {}
        hashed = "#" in self.text
        while True:
            event = events()
            kind = event.__class__
            if kind is ScalarEvent:
                text = event.value
                if event.ctag is not None or event.anchor is not None or not text:
                    append(self._odd_scalar(event, stack, children))
                elif not event.style:
                    if text in known:
                        append(Scalar(event.start_mark.index, event.end_mark.index, known[text], text))
                    else:
                        node = scalar(event.start_mark.index, event.end_mark.index, text, "plain")
                        append(node)
                        if not node.broken:
                            known[text] = node.value
                elif event.style in "|>":
                    start = event.start_mark.index
                    end = block_end(self.text, start, event.end_mark.index)
                    append(Scalar(start, end, text, text, _STYLES[event.style]))
                else:
                    append(Scalar(event.start_mark.index, event.end_mark.index, text, text, _STYLES[event.style]))
                if hashed and "#" in text:
                    self.hashes.append((children[-1].start, children[-1].end))
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                finished = children
                children, collection = stack.pop()
                append = children.append
                opened.pop()
                end = event.end_mark.index
                # An end event without width is the end of indentation, or of a lone pair in a flow list.
                collection.end = finished[-1].end if event.start_mark.index == end and finished else end
                if kind is MappingEndEvent:
                    collection.entries = list(map(Entry, finished[::2], finished[1::2]))  # type: ignore[union-attr]
                    append(finish_mapping(collection, self.text, self.problems))  # type: ignore[arg-type]
                else:
                    collection.items = finished  # type: ignore[union-attr]
                    append(collection)
            elif kind is AliasEvent:
                if ":" in event.anchor:
                    raise PartsDiffer
                append(self.factory.alias(event.anchor, event.start_mark.index, event.end_mark.index))
            else:
                if len(stack) >= NESTING.value:
                    raise NestedTooDeeply
                stack.append((children, self._begin(event, kind is MappingStartEvent)))
                children = []
                append = children.append
                continue
            if not stack:
                return top[0]

    def _begin(self, event: Any, mapping: bool) -> Mapping | Sequence:
        node: Mapping | Sequence
        flow = bool(event.flow_style)
        if event.anchor is None and event.ctag is None:
            start = event.start_mark.index
            node = Mapping(start, start, [], flow) if mapping else Sequence(start, start, [], flow)
            self.factory.open.append(node)
        else:
            properties = self._properties(event)
            start = properties.content
            node = Mapping(start, start, [], flow) if mapping else Sequence(start, start, [], flow)
            self.factory.collection(node, properties)
        return node

    def _properties(self, event: Any) -> Properties:
        count = (event.anchor is not None) + (event.ctag is not None)
        found = scan_properties(self.text, event.start_mark.index, True, count)
        if found.count != count or (found.tag is None) != (event.ctag is None):
            # ruamel.yaml loses a tag that stands before an anchor.
            raise PartsDiffer
        return found

    def _odd_scalar(
        self, event: Any, stack: list[tuple[list[Node], Mapping | Sequence]], siblings: list[Node]
    ) -> Scalar:
        """A scalar that is empty, or has properties."""
        start, end = event.start_mark.index, event.end_mark.index
        style = _STYLES[event.style]
        properties = None
        if event.anchor is not None or event.ctag is not None:
            properties = self._properties(event)
            start = properties.content
        if style == "plain" and not event.value:
            start = end = self._absent(stack, siblings, end) if properties is None else properties.end
        elif style in ("literal", "folded"):
            end = block_end(self.text, start, end)
        return self.factory.scalar(start, end, event.value, style, properties)

    def _absent(self, stack: list[tuple[list[Node], Mapping | Sequence]], siblings: list[Node], end: int) -> int:
        """Where an absent value stands: past its colon or dash, or past its key when there is no colon."""
        if not stack or not isinstance(stack[-1][1], Mapping):
            return end
        if len(siblings) % 2 == 0:
            # An absent key: the event parsers do not say where it would stand.
            raise PartsDiffer
        key_end = siblings[-1].end
        colon = (_TO_FLOW_COLON if stack[-1][1].flow else _TO_COLON).match(self.text, key_end)
        return colon.end() if colon else key_end


def report_second_document(problems: Problems, start: int, end: int) -> None:
    """A Workfile is one document (language page, section 1)."""
    problems.add(
        "multiple-documents",
        start,
        end,
        "A second document begins here; a file holds one. Move it to a file of its own.",
    )


def block_end(text: str, start: int, limit: int) -> int:
    """The end of a block scalar that starts at ``start``: its last line with text, without the line break."""
    header = _HEADER.match(text, start)
    assert header is not None
    line = text.find("\n", start, limit)
    if line < 0:
        return header.end()
    last = limit
    while last > line and text[last - 1] in " \t\r\n":
        last -= 1
    if last <= line:
        return header.end()
    end = text.find("\n", last)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1] == "\r" else end
