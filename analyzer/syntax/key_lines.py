"""The tolerant parser's way with the keys of block maps: where one ends, and what stands where one lost its colon."""

from __future__ import annotations

import re
from typing import Final

from analyzer.syntax.flow import FlowReader
from analyzer.syntax.lines import LineReader
from analyzer.syntax.nodes import Node
from analyzer.syntax.properties import scan_properties
from analyzer.syntax.reading import ALIAS, COLON, DOUBLE, PLAIN_BLOCK, SINGLE, Broken, Reading

_FLOW_AS_KEY = re.compile(r"[^\n]*[\]}][ \t]*:[ \t\r\n]")
_GLUED = re.compile(r"([A-Za-z_][\w.-]*+)(?::|[ \t]++)(?=[\[{])")
_KEY_LENGTH: Final = 1_024
_REST = re.compile(r"[ \t\r]*(?:[ \t]#[^\n]*)?\n")


class KeyReader(LineReader):
    """Finds and reads the keys of block maps."""

    __slots__ = ("flow",)

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.flow = FlowReader(reading)

    def _length(self, size: int) -> None:
        # The event parsers do not agree on how long a key may be.
        if size > _KEY_LENGTH:
            self.reading.beyond = True

    def _key_colon(self, at: int) -> int:
        """The offset of the colon of the key that starts at ``at``, -1 when the line has none."""
        text = self.text
        character = text[at]
        if character in "&!":
            found = scan_properties(text, at, False)
            if text[found.content] in "&!":
                return -1
            return self._key_colon(found.content)
        if character in "\"'":
            quoted = (DOUBLE if character == '"' else SINGLE).match(text, at)
            if quoted is None or "\n" in quoted[0]:
                return -1
            end = quoted.end()
        elif character in "[{":
            end = self._flow_key_end(at)
        elif character == "*":
            alias = ALIAS.match(text, at)
            end = alias.end() if alias else at
        else:
            plain = PLAIN_BLOCK.match(text, at)
            end = plain.end() if plain else at
            if plain is None and character != ":":
                return -1
        colon = COLON.match(text, end) if end >= 0 else None
        return colon.start(1) if colon else -1

    def _flow_key_end(self, at: int) -> int:
        """The end of a flow collection that may be a key, -1 when it is none that ends on its line."""
        return self._flow_end(at) if _FLOW_AS_KEY.match(self.text, at) else -1

    def _flow_end(self, at: int) -> int:
        """The end of a sound flow collection that ends on its line, else -1."""
        factory = self.reading.factory.trial()
        trial = Reading(self.text[at : self._line_end(at)], factory.problems, factory)
        trial.strict = True
        flow = FlowReader(trial)
        try:
            flow.read(0, -1, None)
        except Broken:
            return -1
        return at + flow.position

    def _key(self, at: int, colon: int) -> Node:
        text = self.text
        properties = None
        if text[at] in "&!":
            properties = scan_properties(text, at, False)
            self.reading.check_properties(properties, at)
            at = properties.content
        end = colon
        while end > at and text[end - 1] in " \t":
            end -= 1
        if at >= end:
            return self.reading.absent(at, properties)
        if text[at] in "\"'":
            return self.reading.quoted(at, end, properties)
        if text[at] in "[{":
            return self.flow.read(at, -1, properties)
        if text[at] == "*":
            return self.reading.factory.alias(self.reading.alias_name(at), at, end)
        return self.reading.plain(at, end, properties)

    def _before_brackets(self, at: int) -> re.Match[str] | None:
        """A name with brackets right behind it that end with the line: a key without its colon, or the colon's space.

        YAML may well read ``name {a: b}`` as the key ``name {a``; its author never meant that.
        """
        found = _GLUED.match(self.text, at)
        if found is None or ":" not in self.text[found.end() : self._line_end(at)]:
            return None
        end = self._flow_end(found.end())
        return found if end >= 0 and _REST.match(self.text, end) else None
