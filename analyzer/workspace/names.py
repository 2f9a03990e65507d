"""The value of a root key that names a file (``name``, ``connector``), without parsing the file where that is sure.

The scan reads lines from the start and trusts only what it fully understands: comments, blank lines, and root keys with
a simple scalar on one line. Anything else (a block, a flow collection, an anchor, an escape …) makes it unsure, and
then the parser decides; a test holds the two against each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from analyzer.syntax.nodes import Mapping, Scalar

if TYPE_CHECKING:
    from analyzer.syntax.parse import Tree

SCAN_BYTES: Final = 4_096

_BOM: Final = b"\xef\xbb\xbf"
_IGNORED = re.compile(rb"[ ]*(#.*)?\Z")
# key: word | "text" | 'text', then blanks or a comment. The words that are no strings are left to the parser.
_SIMPLE = re.compile(
    rb"([a-z][a-z0-9_-]*):[ ]+"
    rb"(?:([A-Za-z][A-Za-z0-9_./-]*)|\"([ !#-\[\]-~]*)\"|'([ -&(-~]*)')"
    rb"[ ]*(?:[ ]#.*)?\Z"
)
# What some parser takes for a line break, or refuses.
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf")
_NOT_STRINGS: Final = frozenset({b"null", b"Null", b"NULL", b"true", b"True", b"TRUE", b"false", b"False", b"FALSE"})


class Unsure(Exception):
    """The scan cannot tell; the parser can."""


def scan_name(data: bytes, key: str, *, complete: bool) -> str | None:
    """The string at root key ``key``, or None when the file certainly has none.

    ``data`` is the file's beginning, or all of it when ``complete``. Raises ``Unsure``.
    """
    wanted = key.encode()
    lines = data.removeprefix(_BOM).split(b"\n")
    if not complete:
        lines.pop()  # it may be cut
    found: str | None = None
    for line in lines:
        line = line.removesuffix(b"\r")
        if _CONTROL.search(line):
            raise Unsure
        if _IGNORED.match(line):
            continue
        if found is not None:
            # An indented line would go on with the value.
            if line.startswith(b" "):
                raise Unsure
            return found
        match = _SIMPLE.match(line)
        if match is None or match[2] in _NOT_STRINGS:
            raise Unsure
        if match[1] == wanted:
            found = next(group for group in match.groups()[1:] if group is not None).decode("ascii")
    if not complete:
        raise Unsure
    return found


def parsed_name(tree: Tree, key: str) -> str | None:
    """The string at a root key of a parsed file."""
    node = tree.root.get(key) if isinstance(tree.root, Mapping) else None
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) and not node.broken else None
