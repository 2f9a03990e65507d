"""Writing a tree in the canonical layout: walk the nodes, copy their text, lay out what stands between them."""

from __future__ import annotations

from analyzer.formatting.blocks import BlockScalar, folded_lines
from analyzer.formatting.cursor import Cursor, PendingComment, Unsupported
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

__all__ = ["Emitter", "Unsupported"]

_STEP = 2


class Emitter:
    """One pass over one text. The cursor reads along with the tree, so that no character between values goes unseen.

    ``head`` in the methods is what already stands on the line of a node (``key:``, ``-``), indentation included;
    ``indent`` is the column, from 0, of the list or map around it in the new layout and ``parent`` in the old one.
    """

    __slots__ = ("_commented", "_cursor", "_lines")

    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._lines: list[str] = []
        self._commented = -1  # the line that has got its comment

    @property
    def position(self) -> int:
        """How far the text is read, as an offset; after ``Unsupported`` the place of what is not."""
        return self._cursor.pos

    def run(self, root: Node | None) -> str:
        """The text of the whole document, its last line break included; ``root`` is None when it is empty."""
        cursor = self._cursor
        cursor.gap()
        if cursor.at("---") and cursor.text[cursor.pos + 3 : cursor.pos + 4] in ("", " ", "\n", "\t"):
            self._flush(0, first=True)
            cursor.expect("---")
            self._lines.append("---")
            cursor.gap()
        if root is not None:
            self._flush(0, first=not self._lines)
            self._root(root)
        cursor.gap()
        self._flush_comments(0, first=not self._lines)
        if cursor.pos != len(cursor.text):
            raise Unsupported(f"nothing may stand at {cursor.pos}")
        return "".join([line + "\n" for line in self._lines])

    def _root(self, root: Node) -> None:
        if isinstance(root, Scalar) or root.anchor is not None:
            raise Unsupported("the document is a single value, or has an anchor")
        if _flow(root):
            self._flow_node(root, "", 0)
        else:
            self._block(root, 0, -1)

    # -- comments -----------------------------------------------------------------------------------------------------

    def _flush(self, indent: int, first: bool) -> None:
        """Write the comments that wait, and the empty line above what follows; ``first`` when none may stand there."""
        first = self._flush_comments(indent, first)
        if self._cursor.blank and not first:
            self._lines.append("")

    def _flush_comments(self, indent: int, first: bool = False) -> bool:
        """Write the comments that wait; whether what follows is still the first thing of its block."""
        comments = self._cursor.comments
        for comment in comments:
            self._write_comment(comment, indent, first)
            first = False
        comments.clear()
        return first

    def _write_comment(self, comment: PendingComment, indent: int, first: bool) -> None:
        last = len(self._lines) - 1
        if not comment.own_line and last >= 0 and self._commented != last:
            self._lines[last] += "  " + comment.text
        else:
            if comment.blank and not first:
                self._lines.append("")
            self._lines.append(" " * indent + comment.text)
        self._commented = len(self._lines) - 1

    def _flush_inner(self, indent: int, column: int) -> None:
        """Write the comments behind a block that belong to it: those on its last line, and those that stand at its
        column or deeper and deeper than what follows (which takes the others)."""
        cursor = self._cursor
        cursor.gap()
        following = cursor.column if cursor.pos < len(cursor.text) else -1
        taken = 0
        for comment in cursor.comments:
            if comment.own_line and not (comment.column >= column and comment.column > following):
                break
            self._write_comment(comment, indent, first=False)
            taken += 1
        del cursor.comments[:taken]

    # -- block collections --------------------------------------------------------------------------------------------

    def _block(self, node: Node, indent: int, parent: int, head: str | None = None) -> None:
        """The entries of a block map or list; ``head`` is a dash on whose line the first entry stands."""
        if isinstance(node, Mapping):
            column = self._block_map(node, indent, head)
        else:
            assert isinstance(node, Sequence)  # scalars are never blocks of entries
            # A list may stand at the column of its map; a comment there belongs to the map.
            column = max(self._block_list(node, indent, head), parent + 1)
        self._flush_inner(indent, column)

    def _block_map(self, node: Mapping, indent: int, head: str | None) -> int:
        cursor = self._cursor
        column = -1
        for place, entry in enumerate(node.entries):
            cursor.gap()
            if place == 0:
                column = cursor.column
            if place or head is None:
                self._flush(indent, first=place == 0)
                head = " " * indent
            else:
                head += " "
            key = self._key(entry.key)
            cursor.gap()
            cursor.expect(":")
            self._value(entry.value, f"{head}{key}:", indent, column)
        return column

    def _block_list(self, node: Sequence, indent: int, head: str | None) -> int:
        cursor = self._cursor
        column = -1
        for place, item in enumerate(node.items):
            cursor.gap()
            if place == 0:
                column = cursor.column
            if place or head is None:
                self._flush(indent, first=place == 0)
                head = " " * indent
            else:
                head += " "
            cursor.expect("-")
            self._value(item, f"{head}-", indent, column, dash=True)
        return column

    def _value(self, node: Node, head: str, indent: int, parent: int, dash: bool = False) -> None:
        """What stands behind a colon or a dash, on its line or below it."""
        cursor = self._cursor
        inner = indent + _STEP
        key = head
        if not self._nothing_left(node):
            cursor.gap()
            head = self._properties(node, self._below(head, inner), inner)
        if self._nothing_left(node):
            self._lines.append(head)
        elif _block_node(node):
            if dash and head == key and not cursor.comments:
                self._block(node, inner, parent, head)
                return
            if head.strip():
                self._lines.append(head)
            self._flush(inner, first=True)
            self._block(node, inner, parent)
        elif _flow(node) and not _alias(node, cursor):
            self._flow_value(node, head, inner, "" if dash else key)
        else:
            self._scalar(node, head, indent, parent)

    def _nothing_left(self, node: Node) -> bool:
        """Whether an absent value has no properties, or none that the cursor has not passed."""
        return _absent(node) and node.end <= self._cursor.pos

    def _properties(self, node: Node, head: str, inner: int) -> str:
        """``head`` with the anchor and tag that stand here behind it."""
        cursor = self._cursor
        block = _block_node(node)
        while word := cursor.property(block):
            head = _joined(head, word)
            if self._nothing_left(node):
                break
            cursor.gap()
            if not block:
                head = self._below(head, inner)
        return head

    def _below(self, head: str, inner: int) -> str:
        """``head`` itself, or, when comments stand behind it, the start of a new line below them."""
        if not self._cursor.comments:
            return head
        if head.strip():
            self._lines.append(head)
        self._flush(inner, first=True)
        return " " * inner

    # -- scalars ------------------------------------------------------------------------------------------------------

    def _key(self, node: Node) -> str:
        """A key of one line, with its anchor."""
        cursor = self._cursor
        if not isinstance(node, Scalar) or node.style in ("literal", "folded"):
            raise Unsupported(f"the key at {node.start} is not a scalar of one line")
        prefix = ""
        while word := cursor.property(block=False):
            prefix += word + " "
            line = cursor.line
            cursor.gap()
            if cursor.line != line:
                raise Unsupported(f"the key at {node.start} does not stand on the line of its anchor")
        if _absent(node):
            raise Unsupported(f"the key at {node.start} is empty")
        text = self._source_text(node)
        if "\n" in text or cursor.comments:
            raise Unsupported(f"the key at {node.start} is not a scalar of one line")
        # An alias takes a colon behind it for a part of its name.
        return prefix + text + (" " if text.startswith("*") else "")

    def _source_text(self, node: Node) -> str:
        """Move past an alias or a scalar that is no block scalar, and answer its text."""
        cursor = self._cursor
        if _alias(node, cursor):
            return cursor.name()
        if not isinstance(node, Scalar) or not node.start <= cursor.pos < node.end:
            raise Unsupported(f"the text of the value at {node.start} was not found")
        text = cursor.text[cursor.pos : node.end].rstrip()
        cursor.move(cursor.pos + len(text))
        return text

    def _scalar(self, node: Node, head: str, indent: int, parent: int) -> None:
        if isinstance(node, Scalar) and node.style in ("literal", "folded") and not _alias(node, self._cursor):
            self._block_scalar(head, indent, parent)
            return
        first, *others = folded_lines(self._source_text(node), indent + _STEP)
        self._lines.append(_joined(head, first))
        self._lines.extend(others)

    def _block_scalar(self, head: str, indent: int, parent: int) -> None:
        cursor = self._cursor
        block = BlockScalar(cursor.text, cursor.pos, max(parent, 0))
        self._lines.append(_joined(head, block.header))
        if block.comment:
            self._lines[-1] += "  " + block.comment
        self._lines.extend(block.placed(indent))
        self._commented = len(self._lines) - 1  # the last line is content: no comment may come behind it
        cursor.move(block.end, block.breaks)

    # -- flow collections ---------------------------------------------------------------------------------------------

    def _flow_value(self, node: Node, head: str, inner: int, key: str) -> None:
        """A flow collection behind ``key``, of which ``head`` is the end with the properties, or "" for none."""
        cursor = self._cursor
        if "\n" not in cursor.text[cursor.pos : node.end]:
            self._lines.append(_joined(head, self._inline(node)))
        elif key and head.startswith(key):
            # The bracket gets a line of its own: what closes it must stand deeper than the key.
            self._lines.append(key)
            self._flow_node(node, _joined(" " * inner + head[len(key) :].strip(), ""), inner)
        else:
            self._flow_node(node, _joined(head, ""), inner)

    def _flow_node(self, node: Node, head: str, indent: int) -> None:
        """A flow collection, on one line when it is on one, otherwise with an entry on each line."""
        cursor = self._cursor
        if "\n" not in cursor.text[cursor.pos : node.end]:
            self._lines.append(head + self._inline(node))
            return
        opener, closer = ("{", "}") if isinstance(node, Mapping) else ("[", "]")
        cursor.expect(opener)
        self._lines.append(head + opener)
        inner = indent + _STEP
        for place, (key, value) in enumerate(_children(node)):
            cursor.gap()
            self._flush(inner, first=place == 0)
            self._flow_entry(key, value, inner)
            cursor.gap()
            self._lines[-1] += ","
            if cursor.at(","):
                self._flush_line_end()
                cursor.expect(",")
        cursor.gap()
        self._flush_comments(inner)
        cursor.expect(closer)
        self._lines.append(" " * indent + closer)

    def _flush_line_end(self) -> None:
        """Write a comment that stands between an entry and its comma; those below it wait for the next entry."""
        comments = self._cursor.comments
        if comments and not comments[0].own_line:
            self._write_comment(comments.pop(0), 0, first=True)

    def _flow_entry(self, key: Node | None, value: Node, indent: int) -> None:
        pad = " " * indent
        if key is None:
            if isinstance(value, Mapping) and not self._cursor.at("{") and not _alias(value, self._cursor):
                pair = value.entries[0]  # a pair without braces
                self._flow_pair(pair.key, pair.value, pad, indent, always_colon=True)
            else:
                self._flow_content(value, pad, indent)
            return
        self._flow_pair(key, value, pad, indent, always_colon=False)

    def _flow_pair(self, key: Node, value: Node, pad: str, indent: int, always_colon: bool) -> None:
        cursor = self._cursor
        head = pad + self._key(key)
        cursor.gap()
        if not cursor.at(":"):
            self._lines.append(head)
            return
        cursor.expect(":")
        if self._nothing_left(value):
            self._lines.append(f"{head}: " if always_colon else head)
            return
        cursor.gap()
        self._flow_content(value, f"{head}:", indent)

    def _flow_content(self, node: Node, head: str, indent: int) -> None:
        cursor = self._cursor
        inner = indent + _STEP
        head = self._properties(node, self._below(head, inner), inner)
        if self._nothing_left(node):
            self._lines.append(head)
            return
        if _flow(node) and not _alias(node, cursor):
            self._flow_node(node, _joined(head, ""), len(head) - len(head.lstrip()))
        else:
            self._scalar(node, head, indent, indent)

    def _inline(self, node: Node) -> str:
        """A flow collection, alias or scalar that stands on one line."""
        cursor = self._cursor
        prefix = ""
        while not self._nothing_left(node) and (word := cursor.property(block=False)):
            prefix += word + " "
            if not self._nothing_left(node):
                cursor.gap()
        if _absent(node):
            return prefix.rstrip()
        if _alias(node, cursor) or isinstance(node, Scalar):
            return prefix + self._source_text(node)
        if isinstance(node, Mapping) and not cursor.at("{"):
            pair = node.entries[0]
            return prefix + self._inline_pair(pair.key, pair.value, always_colon=True)
        opener, closer, blank = ("{", "}", " ") if isinstance(node, Mapping) else ("[", "]", "")
        cursor.expect(opener)
        parts: list[str] = []
        for key, value in _children(node):
            cursor.gap()
            parts.append(self._inline(value) if key is None else self._inline_pair(key, value, always_colon=False))
            cursor.gap()
            if cursor.at(","):
                cursor.expect(",")
                cursor.gap()
        cursor.gap()
        cursor.expect(closer)
        content = ", ".join(parts)
        return f"{prefix}{opener}{blank}{content}{blank}{closer}" if parts else prefix + opener + closer

    def _inline_pair(self, key: Node, value: Node, always_colon: bool) -> str:
        cursor = self._cursor
        text = self._key(key)
        cursor.gap()
        if not cursor.at(":"):
            return text
        cursor.expect(":")
        if self._nothing_left(value):
            return f"{text}: " if always_colon else text
        cursor.gap()
        return f"{text}: {self._inline(value)}"


def _children(node: Node) -> list[tuple[Node | None, Node]]:
    if isinstance(node, Mapping):
        return [(entry.key, entry.value) for entry in node.entries]
    assert isinstance(node, Sequence)  # scalars have no children
    return [(None, item) for item in node.items]


def _absent(node: Node) -> bool:
    """Whether nothing stands where the value should: ``key:`` and an end of line."""
    return isinstance(node, Scalar) and node.style == "plain" and not node.text and node.origin is None


def _alias(node: Node, cursor: Cursor) -> bool:
    """Whether the cursor stands before a use of an alias, which has no anchor and no text of its own."""
    return node.origin is not None and cursor.at("*")


def _flow(node: Node) -> bool:
    return isinstance(node, (Mapping, Sequence)) and node.flow


def _block_node(node: Node) -> bool:
    """Whether the node is a block map or list that stands here itself (an alias of one is a word)."""
    return isinstance(node, (Mapping, Sequence)) and not node.flow and node.origin is None


def _joined(head: str, text: str) -> str:
    """``text`` behind ``head``, with one blank between them where ``head`` is more than indentation."""
    return f"{head} {text}" if head.strip() else head + text
