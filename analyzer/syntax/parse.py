"""``parse``: any text gives a tree, its problems and its comments; nothing that it is given makes it fail.

A sound file goes through libyaml's event stream (or ruamel.yaml's own when the C extension is not there); whatever they
refuse is read again by our tolerant parser, which decides what is wrong and where.
"""

from __future__ import annotations

import gc
from typing import Literal, TypeAlias

from analyzer.syntax.clean import clean, restore
from analyzer.syntax.comments import find_comments
from analyzer.syntax.compose import Composer, PartsDiffer
from analyzer.syntax.events import HAS_C, event_reader, read_differently
from analyzer.syntax.limits import FILE_SIZE
from analyzer.syntax.nodes import Comment, Node, Scalar, SyntaxProblem
from analyzer.syntax.problems import Problems
from analyzer.syntax.recover import recover
from analyzer.syntax.source import Source

Backend: TypeAlias = Literal["auto", "c", "pure"]


class Tree:
    """One parsed text.

    ``root`` is None when there is nothing in it; ``problems`` and ``comments`` are in document order.
    """

    __slots__ = ("comments", "problems", "root", "source")

    def __init__(
        self, source: Source, root: Node | None, problems: list[SyntaxProblem], comments: list[Comment]
    ) -> None:
        self.source = source
        self.root = root
        self.problems = problems
        self.comments = comments


def parse(source: Source, *, backend: Backend = "auto") -> Tree:
    """The tree of a whole text. Never fails: what cannot be read is a problem (architecture, invariant 1).

    ``backend`` chooses the event parser: ``c`` needs ruamel.yaml's C extension (raises RuntimeError without it),
    ``pure`` does not use it, ``auto`` takes what is there. The tree and the problems are the same.
    """
    if backend == "c" and not HAS_C:
        raise RuntimeError("ruamel.yaml's C extension is not installed; install ruamel.yaml.clib")
    problems = Problems()
    if len(source.text) > FILE_SIZE.value:
        problems.limit(FILE_SIZE, 0, 0)
        return Tree(source, None, problems.found, [])
    # A tree is tens of thousands of objects that all stay: collecting while it grows only costs (by 4 to 5 times).
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _parse(source, problems, use_c=backend != "pure" and HAS_C)
    finally:
        if collecting:
            gc.enable()


def _parse(source: Source, problems: Problems, use_c: bool) -> Tree:
    cleaned = clean(source.text, problems)
    reported = len(problems.found)
    composer = Composer(cleaned.text, event_reader(cleaned.text, use_c), problems)
    try:
        if read_differently(cleaned.text, use_c):
            raise PartsDiffer
        root = composer.compose()
        taken, stop = composer.hashes, composer.stop
    except Exception as error:
        # Whatever the event parser stumbles over, and however: the tolerant parser reads the text instead.
        del problems.found[reported:]
        recovered = recover(cleaned.text, problems, error, use_c)
        root, taken, stop = recovered.root, recovered.hashes, recovered.stop
    if isinstance(root, Scalar) and root.start == root.end and root.value is None and root.anchor is None:
        root = None
    if root is not None and cleaned.restore:
        restore(root, cleaned.restore)
    comments = find_comments(source.text, taken, stop)
    return Tree(source, root, problems.in_order(), comments)
