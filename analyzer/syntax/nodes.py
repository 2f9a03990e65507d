"""The positioned tree: slotted nodes with half-open spans of code point offsets into ``Source.text``.

One tree shape comes from every parser (C events, pure events, recovery). Aliases are expanded when the tree is
composed: the copy's spans are those of the alias *use*, and ``origin`` is the node that was anchored, so that a finding
inside aliased content points at the use and relates to the anchor (language page, section 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

ScalarValue: TypeAlias = str | int | float | bool | None
ScalarStyle: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]


class Node:
    """A place in a file: ``start`` and ``end`` are code point offsets, ``end`` is past the last character.

    ``anchor`` is the name after ``&`` or None, ``origin`` the anchored node when this node is (inside) an alias use.
    """

    __slots__ = ("anchor", "end", "origin", "start")

    def __init__(self, start: int, end: int, anchor: str | None = None, origin: Node | None = None) -> None:
        self.start = start
        self.end = end
        self.anchor = anchor
        self.origin = origin


class Scalar(Node):
    """A scalar; ``value`` follows the YAML 1.2 core schema, ``text`` is its decoded text whatever its kind.

    ``broken`` marks a stand-in for text that could not be read (a problem was reported for it): nothing should be
    reported about its value again. An absent value (``key:``) is a plain Scalar with value None, text "" and
    ``start == end``.
    """

    __slots__ = ("broken", "style", "text", "value")

    def __init__(
        self,
        start: int,
        end: int,
        value: ScalarValue,
        text: str,
        style: ScalarStyle = "plain",
        anchor: str | None = None,
        origin: Node | None = None,
        broken: bool = False,
    ) -> None:
        self.start = start
        self.end = end
        self.anchor = anchor
        self.origin = origin
        self.value = value
        self.text = text
        self.style = style
        self.broken = broken

    def __repr__(self) -> str:
        return f"Scalar({self.value!r}@{self.start}-{self.end})"


class Entry:
    """One ``key: value`` of a mapping; ``origin`` is the anchored entry when it stands inside an alias use."""

    __slots__ = ("key", "value")

    def __init__(self, key: Node, value: Node) -> None:
        self.key = key
        self.value = value


class Mapping(Node):
    """A map in document order; duplicate keys are all kept, ``get`` answers the first.

    ``partial`` says that some of it could not be read (a problem was reported for that), or that its end was not found:
    nothing should be reported as missing in it, or about what kind of value it is.
    """

    __slots__ = ("entries", "flow", "partial")

    def __init__(
        self,
        start: int,
        end: int,
        entries: list[Entry],
        flow: bool = False,
        anchor: str | None = None,
        origin: Node | None = None,
    ) -> None:
        self.start = start
        self.end = end
        self.anchor = anchor
        self.origin = origin
        self.entries = entries
        self.flow = flow
        self.partial = False

    def entry(self, key: str) -> Entry | None:
        """The first entry whose key is the string ``key``."""
        for entry in self.entries:
            node = entry.key
            if isinstance(node, Scalar) and node.value == key and type(node.value) is str:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        """The value of the first entry whose key is the string ``key``."""
        entry = self.entry(key)
        return None if entry is None else entry.value

    def __repr__(self) -> str:
        return f"Mapping({[(e.key, e.value) for e in self.entries]!r}@{self.start}-{self.end})"


class Sequence(Node):
    """A list; ``partial`` as in ``Mapping``."""

    __slots__ = ("flow", "items", "partial")

    def __init__(
        self,
        start: int,
        end: int,
        items: list[Node],
        flow: bool = False,
        anchor: str | None = None,
        origin: Node | None = None,
    ) -> None:
        self.start = start
        self.end = end
        self.anchor = anchor
        self.origin = origin
        self.items = items
        self.flow = flow
        self.partial = False

    def __repr__(self) -> str:
        return f"Sequence({self.items!r}@{self.start}-{self.end})"


def is_broken(node: Node) -> bool:
    """A stand-in for unreadable text, about which everything has been said."""
    return isinstance(node, Scalar) and node.broken


def is_cut(node: Node) -> bool:
    """Whether a node is a map or list some of which could not be read: what it was meant to be is not known."""
    return isinstance(node, Mapping | Sequence) and node.partial


class Comment:
    """A comment from its ``#`` to the end of the line; ``own_line`` when nothing but blanks stands before it."""

    __slots__ = ("end", "own_line", "start", "text")

    def __init__(self, start: int, end: int, text: str, own_line: bool) -> None:
        self.start = start
        self.end = end
        self.text = text
        self.own_line = own_line


class SyntaxFix(NamedTuple):
    """A repair that the parser knows: it puts ``text`` in the place of ``start`` to ``end`` (and is always safe)."""

    title: str
    start: int
    end: int
    text: str


class SyntaxProblem:
    """What the parser has to say; ``rule`` is a rule name, ``related`` places are ``(start, end, message)``."""

    __slots__ = ("end", "fix", "message", "related", "rule", "start")

    def __init__(
        self,
        rule: str,
        start: int,
        end: int,
        message: str,
        related: tuple[tuple[int, int, str], ...] = (),
        fix: SyntaxFix | None = None,
    ) -> None:
        self.rule = rule
        self.start = start
        self.end = end
        self.message = message
        self.related = related
        self.fix = fix


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything below it, keys before values, in document order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, Mapping):
            for entry in reversed(current.entries):
                stack.append(entry.value)
                stack.append(entry.key)
        elif isinstance(current, Sequence):
            stack.extend(reversed(current.items))


def plain_value(node: Node) -> object:
    """The Python value of a tree: dict, list or scalar; of duplicate keys the first counts."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        result: dict[object, object] = {}
        for entry in node.entries:
            key = entry.key.value if isinstance(entry.key, Scalar) else str(plain_value(entry.key))
            result.setdefault(key, plain_value(entry.value))
        return result
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    raise TypeError(f"not a tree node: {node!r}")
