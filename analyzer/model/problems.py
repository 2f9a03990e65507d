"""Where the passes put what they find, before it becomes findings of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from analyzer.findings import Applicability
from analyzer.syntax.nodes import Node, Scalar

Span: TypeAlias = tuple[int, int]

_MEANT: Final = re.compile(r"Did you mean `([^`]+)`\?")
_QUOTED: Final = re.compile(r"`([^`]+)`")
_BARE: Final = re.compile(r"[A-Za-z_][\w./-]*")
_QUOTES: Final = {"plain": "", "single": "'", "double": '"'}


class Place(NamedTuple):
    """A span of code point offsets; ``path`` is another file's absolute path, or "" for the file at hand."""

    start: int
    end: int
    path: str = ""


class EditDraft(NamedTuple):
    """Replace ``start`` to ``end`` of the file at hand by ``text``."""

    start: int
    end: int
    text: str


class FixDraft(NamedTuple):
    """A repair of the file at hand."""

    title: str
    applicability: Applicability
    edits: tuple[EditDraft, ...]


class Problem:
    """One finding in the making: offsets instead of lines, drafts instead of fixes."""

    __slots__ = ("end", "fixes", "message", "origin", "related", "rule", "start", "tags")

    def __init__(
        self,
        rule: str,
        start: int,
        end: int,
        message: str,
        related: tuple[tuple[Place, str], ...] = (),
        fixes: tuple[FixDraft, ...] = (),
        tags: tuple[str, ...] = (),
        origin: Node | None = None,
    ) -> None:
        self.rule = rule
        self.start = start
        self.end = end
        self.message = message
        self.related = related
        self.fixes = fixes
        self.tags = tags
        self.origin = origin

    def with_fixes(self, fixes: tuple[FixDraft, ...]) -> Problem:
        """The same problem with other fixes."""
        return Problem(self.rule, self.start, self.end, self.message, self.related, fixes, self.tags, self.origin)


class Problems:
    """Collects problems of one file; the same rule at the same place is kept once, inside alias uses too."""

    __slots__ = ("_seen", "items")

    def __init__(self) -> None:
        self.items: list[Problem] = []
        self._seen: set[tuple[str, int, int, str]] = set()

    def report(
        self,
        rule: str,
        where: Node | Span,
        message: str,
        *,
        related: Sequence[tuple[Node | Place, str]] = (),
        fixes: Sequence[FixDraft] = (),
        tags: tuple[str, ...] = (),
    ) -> None:
        """Add one problem. Inside an alias use it relates to the anchored text and offers no fix there.

        What the message says is meant ("Did you mean …?") is offered as a fix, where no other is given.
        """
        if isinstance(where, Node):
            start, end, origin = where.start, where.end, where.origin
        else:
            (start, end), origin = where, None
        key = (rule, start, end, message)
        if key in self._seen:
            return
        self._seen.add(key)
        places = tuple((as_place(place), text) for place, text in related)
        if origin is not None:
            places = (*places, (Place(origin.start, origin.end), "the anchored text that is used here"))
            fixes = ()
        elif not fixes and isinstance(where, Scalar):
            fixes = _suggested(where, message)
        self.items.append(Problem(rule, start, end, message, places, tuple(fixes), tags, origin))


def _suggested(node: Scalar, message: str) -> tuple[FixDraft, ...]:
    """The change that a message suggests for the scalar that it is about, or for the one word in it."""
    meant = _MEANT.search(message)
    value = node.value
    if meant is None or not isinstance(value, str) or node.style not in _QUOTES or '"' in meant[1]:
        return ()
    words = _QUOTED.findall(message[: meant.start()])
    if value in words:
        text = meant[1]
    elif words and value.count(words[0]) == 1:
        text = value.replace(words[0], meant[1])
    else:
        return ()
    bare = _BARE.fullmatch(text) is not None and text.lower() not in ("true", "false", "null")
    quote = _QUOTES[node.style] or ("" if bare else '"')
    if "\\" in text or (quote and quote in text):
        return ()
    edit = EditDraft(node.start, node.end, f"{quote}{text}{quote}")
    return (FixDraft(f"Change to `{meant[1]}`", "unsafe", (edit,)),)


def as_place(where: Node | Place, path: str = "") -> Place:
    """A node's span in the file at hand, or in the one at ``path``."""
    return where if isinstance(where, Place) else Place(where.start, where.end, path)
