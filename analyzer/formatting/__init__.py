"""The canonical layout of a Workfile, manifest, overlay or scenario (``docs/formatting.md``).

Formatting changes blanks, line breaks and the commas of flow collections, nothing else: keys, values, order, anchors,
aliases, quotes, expressions and comments stay as they are. The result is read back and compared before it is answered,
so a text that the layout cannot hold is answered unchanged rather than changed in meaning.
"""

from __future__ import annotations

from analyzer.formatting.compare import same_tree
from analyzer.formatting.emitter import Emitter, Unsupported
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source

__all__ = ["format_text"]

_BOM = "\ufeff"


def format_text(text: str) -> str:
    """``text`` in the canonical layout; unchanged when it has syntax problems.

    The file's line breaks (of mixed ones the most frequent) and its byte order mark are kept. Formatting the answer
    once more gives the same answer.
    """
    source = Source(text)
    plain = source.text.replace("\r\n", "\n").replace("\r", "\n")
    tree = parse(Source(plain))
    if tree.problems:
        return text
    try:
        body = Emitter(plain).run(tree.root)
    except Unsupported:
        return text
    # A block scalar that ends the file without a line break has none in its value either.
    for candidate in (body, body.removesuffix("\n")):
        if candidate == plain or _reads_the_same(tree, candidate):
            laid_out = candidate if source.eol == "\n" else candidate.replace("\n", source.eol)
            return _BOM + laid_out if source.bom else laid_out
    return text


def _reads_the_same(tree: Tree, text: str) -> bool:
    again = parse(Source(text))
    comments = [comment.text.rstrip() for comment in tree.comments]
    return (
        not again.problems
        and comments == [comment.text.rstrip() for comment in again.comments]
        and same_tree(tree.root, again.root)
    )
