"""The canonical layout of a Workfile, manifest, overlay or scenario (``docs/formatting.md``).

Formatting changes blanks, line breaks and the commas of flow collections, nothing else: keys, values, order, anchors,
aliases, quotes, expressions and comments stay as they are. The result is read back and compared before it is answered,
so a text that the layout cannot hold is answered unchanged rather than changed in meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.formatting.compare import same_tree
from analyzer.formatting.emitter import Emitter, Unsupported
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source

__all__ = ["Layout", "format_text", "lay_out"]

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Layout:
    """A text in the canonical layout, or as it was and in words why: ``problem`` says that its YAML has problems,
    ``left`` that the layout has no place for something in it.
    """

    text: str
    problem: str = ""
    left: str = ""


def format_text(text: str) -> str:
    """``text`` in the canonical layout; unchanged when it has syntax problems.

    The file's line breaks (of mixed ones the most frequent) and its byte order mark are kept. Formatting the answer
    once more gives the same answer.
    """
    return lay_out(text).text


def lay_out(text: str) -> Layout:
    """``text`` in the canonical layout as ``format_text`` answers it, and why not where it stays as it is."""
    source = Source(text)
    plain = source.text.replace("\r\n", "\n").replace("\r", "\n")
    tree = parse(Source(plain))
    if tree.problems:
        return Layout(text, problem="its YAML has problems, which `workfile check` shows")
    emitter = Emitter(plain)
    try:
        body = emitter.run(tree.root)
    except Unsupported:
        line = plain.count("\n", 0, emitter.position) + 1
        return Layout(text, left=f"the layout has no place for what stands on line {line}")
    # A block scalar that ends the file without a line break has none in its value either.
    for candidate in (body, body.removesuffix("\n")):
        if candidate == plain or _reads_the_same(tree, candidate):
            laid_out = candidate if source.eol == "\n" else candidate.replace("\n", source.eol)
            return Layout(_BOM + laid_out if source.bom else laid_out)
    return Layout(text, left="its layout cannot change without a change of its meaning")


def _reads_the_same(tree: Tree, text: str) -> bool:
    again = parse(Source(text))
    comments = [comment.text.rstrip() for comment in tree.comments]
    return (
        not again.problems
        and comments == [comment.text.rstrip() for comment in again.comments]
        and same_tree(tree.root, again.root)
    )
