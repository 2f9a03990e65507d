"""``parse``: any text gives a tree, its problems and its comments; nothing that it is given makes it fail.

A sound file goes through libyaml's event stream (or ruamel.yaml's own when the C extension is not there); whatever they
refuse is read again by our tolerant parser, which decides what is wrong and where.
"""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

from analyzer.memory import paused_collection
from analyzer.syntax.clean import clean, restore
from analyzer.syntax.comments import find_comments
from analyzer.syntax.compose import Composer, PartsDiffer
from analyzer.syntax.events import HAS_C, event_reader, read_differently
from analyzer.syntax.limits import FILE_SIZE, RECURSION
from analyzer.syntax.nodes import Comment, Node, Scalar, SyntaxProblem
from analyzer.syntax.problems import Problems
from analyzer.syntax.source import Source

sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))

Backend: TypeAlias = Literal["auto", "c", "pure"]


class Tree:
    """One parsed text.

    ``root`` is None when there is nothing in it; ``problems`` and ``comments`` are in document order. ``local`` is what
    ``analyzer.incremental.splice`` has found out about the text, None before it was asked.
    """

    __slots__ = ("comments", "local", "problems", "root", "source")

    def __init__(
        self, source: Source, root: Node | None, problems: list[SyntaxProblem], comments: list[Comment]
    ) -> None:
        self.source = source
        self.root = root
        self.problems = problems
        self.comments = comments
        self.local: bool | None = None


def parse(source: Source, *, backend: Backend = "auto") -> Tree:
    """The tree of a whole text. Never fails: what cannot be read is a problem (architecture, invariant 1).

    ``backend`` chooses the event parser: ``c`` needs ruamel.yaml's C extension (raises RuntimeError without it),
    ``pure`` does not use it, ``auto`` takes what is there. The tree and the problems are the same.
    """
    if backend == "c" and not HAS_C:
        raise RuntimeError("ruamel.yaml's C extension is not installed; install ruamel.yaml.clib")
    if len(source.text) > FILE_SIZE.value:
        problems = Problems()
        problems.limit(FILE_SIZE, 0, 0)
        return Tree(source, None, problems.found, [])
    return _paused(source, source.text, backend != "pure" and HAS_C)


def _paused(source: Source, text: str, use_c: bool) -> Tree:
    with paused_collection():
        return _parse(source, text, use_c)


def _parse(source: Source, text: str, use_c: bool) -> Tree:
    problems = Problems()
    cleaned = clean(text, problems)
    reported = len(problems.found)
    try:
        if read_differently(cleaned.text, use_c):
            raise PartsDiffer
        composer = Composer(cleaned.text, event_reader(cleaned.text, use_c), problems)
        root = composer.compose()
        taken, stop = composer.hashes, composer.stop
    except Exception as error:  # noqa: BLE001
        # Whatever the event parser stumbles over, and however: the tolerant parser reads the text instead.
        from analyzer.syntax.recover import recover  # slow to import, and a sound file does not need it

        del problems.found[reported:]
        recovered = recover(cleaned.text, problems, error, use_c)
        root, taken, stop = recovered.root, recovered.hashes, recovered.stop
    if isinstance(root, Scalar) and root.start == root.end and root.value is None and root.anchor is None:
        root = None
    if root is not None and cleaned.restore:
        restore(root, cleaned.restore)
    return Tree(source, root, problems.in_order(), find_comments(text, taken, stop))
