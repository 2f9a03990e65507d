"""Files as the analysis sees them: bytes, text, source map and tree, each made when it is first asked for."""

# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

from analyzer.digest import digest_of
from analyzer.syntax.limits import FILE_SIZE
from analyzer.syntax.nodes import SyntaxProblem

if TYPE_CHECKING:
    from analyzer.syntax.parse import Tree
    from analyzer.syntax.source import Source

# A code point has at most four bytes: a longer file is past the bound on characters, whatever is in it.
MAX_FILE_BYTES: Final = 4 * FILE_SIZE.value
_FIRST_BYTES: Final = 1 << 20


class Document:
    """One version of one file. ``path`` is absolute, ``digest`` that of its bytes.

    Bytes that are not UTF-8, and files past the size bound, give a tree without a root and the problem that says so.
    """

    __slots__ = ("_data", "_source", "_tree", "digest", "path", "too_large")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.too_large = len(data) > MAX_FILE_BYTES
        self.digest = digest_of(data)
        self._data = b"" if self.too_large else data
        self._source: Source | None = None
        self._tree: Tree | None = None

    @property
    def data(self) -> bytes:
        """The file's bytes; none when it is too large."""
        return self._data

    @property
    def text(self) -> str:
        """The text without a byte order mark."""
        return self.source.text

    @property
    def source(self) -> Source:
        """The source map."""
        return self.tree.source if self._source is None else self._source

    @property
    def tree(self) -> Tree:
        """The parsed text."""
        if self._tree is None:
            self._tree = self._parse()
            self._source = self._tree.source
        return self._tree

    def take_over(self, before: Document) -> bool:
        """Make the tree out of that of an earlier version, which has it no more; false when it has to be parsed."""
        if before._tree is None or self.too_large:
            return False
        # Only an editor makes a tree out of another.
        from analyzer.incremental.splice import splice
        from analyzer.syntax.source import Source, decode

        text, bad = decode(self._data)
        tree = splice(before._tree, Source(text, self.path)) if bad is None else None
        if tree is None:
            return False
        self._tree, self._source = tree, tree.source
        before._tree = before._source = None
        return True

    def share(self, same: Document) -> None:
        """Take the tree of another version with the same bytes, if it has one."""
        if same._tree is not None:
            self._tree, self._source = same._tree, same._source

    def _parse(self) -> Tree:
        # Slow to import, and a run that is answered from the cache parses nothing.
        from analyzer.syntax.parse import Tree, parse
        from analyzer.syntax.source import Source, decode

        if self.too_large:
            problem = SyntaxProblem("limit-exceeded", 0, 0, FILE_SIZE.message())
            return Tree(Source("", self.path), None, [problem], [])
        text, bad = decode(self._data)
        source = Source(text, self.path)
        # What follows undecodable bytes is not what the author wrote: nothing else is said about it.
        return parse(source) if bad is None else Tree(source, None, [bad], [])


def read_bounded(stream: BinaryIO, most: int) -> bytes:
    """What a stream holds, one byte more than ``most`` at most; asked for all at once, Python makes room for that."""
    data = stream.read(min(_FIRST_BYTES, most + 1))
    return data if len(data) < _FIRST_BYTES else data + stream.read(most + 1 - len(data))


def read_file(path: str) -> bytes | str:
    """The bytes of a regular file, one more than the bound at most; or why it cannot be read, in words."""
    try:
        # Opening a pipe or a device could wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return "it is a folder" if os.path.isdir(path) else "it is not a regular file"  # noqa: PTH112
        with open(path, "rb") as stream:
            return read_bounded(stream, MAX_FILE_BYTES)
    except FileNotFoundError:
        return "there is no such file"
    except PermissionError:
        return "it may not be read; check its permissions"
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        return f"it cannot be read ({getattr(error, 'strerror', None) or error})"
