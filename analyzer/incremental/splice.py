"""Parsing only the steps that an edit has touched: the other nodes of the tree stay, and are moved.

The touched steps are parsed with the line that holds their list above them and what follows them below: when that comes
out as it was, the edit ends where its lines end, and the tree is the one that parsing the whole text gives. Whatever is
not sure of that is answered by None, and the text is parsed as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Final, NamedTuple

from analyzer.syntax.limits import FILE_SIZE, PROBLEMS
from analyzer.syntax.nodes import Comment, Entry, Mapping, Node, Scalar, Sequence, SyntaxProblem
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.problems import NOT_YAML
from analyzer.syntax.source import Source

_LIST: Final = "steps"
_HEAD: Final = f"{_LIST}:\n"
# What reaches over the lines that it stands in: anchors and aliases, tabs (they make indentation a guess), line breaks
# that are not those of the other lines, and merge conflicts.
_FAR_REACHING = re.compile(r"""(?:^|[\s\[{(,:?-])[&*][^\s&*=}]|\t|\r(?!\n)|<<<<<<<|>>>>>>>""", re.MULTILINE)


class _Part(NamedTuple):
    """The lines of some items in the old text: items ``first`` to ``last``, offsets ``start`` to ``end``."""

    first: int
    last: int
    start: int
    end: int


class _Parsed(NamedTuple):
    """What stands in the lines now: where the first dash is, the items, their comments and problems."""

    start: int
    items: list[Node]
    comments: list[Comment]
    problems: list[SyntaxProblem]


def steps_of(tree: Tree) -> tuple[int, Sequence] | None:
    """The entry of the root's list of steps, by position, and the list, when it is one that can be parsed in parts."""
    root = tree.root
    if not isinstance(root, Mapping) or root.flow or root.partial:
        return None
    for position, entry in enumerate(root.entries):
        if isinstance(entry.key, Scalar) and entry.key.value == _LIST:
            steps = entry.value
            if isinstance(steps, Sequence) and steps.items and not (steps.flow or steps.partial):
                return position, steps
            return None
    return None


def splice(old: Tree, source: Source) -> Tree | None:
    """The tree of a new text, made of the old one's nodes: ``old`` must not be used any more when there is one."""
    found = steps_of(old)
    before, after = old.source.text, source.text
    if found is None or len(after) > FILE_SIZE.value or source.bom != old.source.bom or not _is_local(old):
        return None
    start, end, new_end = changed_span(before, after)
    by = new_end - end
    part = _touched(old, found, start, end)
    if part is None or _FAR_REACHING.search(after, max(part.start - 1, 0), part.end + by):
        return None
    kept = [each for each in old.problems if not _inside(each, part)]
    if any(_overlaps(each, part) for each in kept) or not _stands_alone(old, found[1], kept, kept):
        return None
    parsed = _parse_part(old, found, part, after, by, kept)
    if parsed is None or len(kept) + len(parsed.problems) >= PROBLEMS.value:
        return None
    return _spliced(old, found, source, part, parsed, kept, by)


def changed_span(old: str, new: str) -> tuple[int, int, int]:
    """The one span outside which two texts are the same: its start, its end in the old text and in the new one."""
    most = min(len(old), len(new))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, most - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return start, len(old) - low, len(new) - low


def _is_local(tree: Tree) -> bool:
    """Whether nothing in the text reaches over the lines that it stands in; asked once, a splice keeps it so."""
    if tree.local is None:
        tree.local = _FAR_REACHING.search(tree.source.text) is None
    return tree.local


# ---- which lines ---------------------------------------------------------------------------------


def _touched(tree: Tree, found: tuple[int, Sequence], start: int, end: int) -> _Part | None:
    """The items whose lines hold the change and the characters beside it; None when it goes past the list."""
    items = found[1].items
    first = max(last_before(items, start - 1), 0)
    begin = _dash_line(tree, found[1], first)
    if begin is None or begin >= start:
        return None
    last = max(first, last_before(items, end))
    while True:
        stop = _dash_line(tree, found[1], last + 1) if last + 1 < len(items) else _list_end(tree, found[0])
        if stop is None:
            return None
        if end < stop or stop == len(tree.source.text):
            return _Part(first, last, begin, stop)
        if last + 1 == len(items):
            return None
        last += 1


def last_before(nodes: list[Node], offset: int) -> int:
    """The position of the last node that starts at or before an offset; -1 when there is none."""
    return bisect_right(nodes, offset, key=lambda node: node.start) - 1


def _dash_line(tree: Tree, steps: Sequence, position: int) -> int | None:
    """Where the line of an item's dash starts; None when the item starts on a later line."""
    source, item = tree.source, steps.items[position]
    line, _ = source.line_column(item.start)
    start = source.line_start(line)
    column = _column(source, steps)
    before = source.text[start : item.start]
    return start if before[:column].strip(" ") == "" and before[column:].rstrip(" ") == "-" else None


def _stands_alone(tree: Tree, steps: Sequence, problems: list[SyntaxProblem], elsewhere: list[SyntaxProblem]) -> bool:
    """Whether what was said of some lines would be said with what stands elsewhere, too.

    Of several dashes that do not stand where they should only the first is told of, and what is told when nothing else
    was found depends on all of the text.
    """
    if any(each.message == NOT_YAML for each in problems):
        return False
    return not (problems and elsewhere) or all(
        _dash_line(tree, steps, at) is not None for at in range(len(steps.items))
    )


def _list_end(tree: Tree, position: int) -> int | None:
    """Where the list's lines end: the line of the root's next key, or the end of the text."""
    assert isinstance(tree.root, Mapping)
    if position + 1 == len(tree.root.entries):
        return len(tree.source.text)
    key = tree.root.entries[position + 1].key
    start = tree.source.line_start(tree.source.line_of(key.start))
    return start if tree.source.text[start : key.start].strip(" ") == "" else None


def _inside(problem: SyntaxProblem, part: _Part) -> bool:
    return all(part.start <= start and end <= part.end for start, end in _places(problem))


def _overlaps(problem: SyntaxProblem, part: _Part) -> bool:
    return any(end >= part.start and start <= part.end for start, end in _places(problem))


def _places(problem: SyntaxProblem) -> list[tuple[int, int]]:
    places = [(problem.start, problem.end), *((start, end) for start, end, _ in problem.related)]
    if problem.fix is not None:
        places.append((problem.fix.start, problem.fix.end))
    return places


# ---- what stands there now -----------------------------------------------------------------------


@lru_cache(maxsize=16)
def _shallow(column: int) -> re.Pattern[str]:
    """Lines that do not belong to an item of a list at that column."""
    left = rf" {{0,{column - 1}}}[^ #\r\n]|" if column else ""
    return re.compile(rf"^(?:{left} {{{column}}}(?:[^-# \r\n]|-[^ \r\n]))", re.MULTILINE)


def _parse_part(
    old: Tree, found: tuple[int, Sequence], part: _Part, text: str, by: int, kept: list[SyntaxProblem]
) -> _Parsed | None:
    position, steps = found
    column = _column(old.source, steps)
    lines = text[part.start : part.end + by]
    if _shallow(column).search(lines):
        return None
    below, stop = _below(old, position, steps, part)
    offset = part.start - len(_HEAD)
    tree = parse(Source(f"{_HEAD}{lines}{text[part.end + by : stop + by]}"))
    if tree.source.bom:
        return None
    parsed = steps_of(tree)
    if parsed is None or parsed[0] != 0 or not isinstance(tree.root, Mapping):
        return None
    if _column(tree.source, parsed[1]) != column or not _stands_alone(tree, parsed[1], tree.problems, kept):
        return None
    items, follow = parsed[1].items, tree.root.entries[1:]
    if isinstance(below, Node):
        if len(items) < 2 or follow or not same_tree(items[-1], below, offset - by):
            return None
        items = items[:-1]
    elif below is None:
        if follow:
            return None
    elif not _same_entry(follow, below, offset - by):
        return None
    move(tree, offset)
    edge = part.end + by
    if any(end > edge or start < part.start for each in tree.problems for start, end in _places(each)):
        return None
    comments = [each for each in tree.comments if each.start < edge]
    return _Parsed(parsed[1].start, items, comments, tree.problems)


def _column(source: Source, steps: Sequence) -> int:
    return source.line_column(steps.start)[1]


def _below(old: Tree, position: int, steps: Sequence, part: _Part) -> tuple[Node | Entry | None, int]:
    """What follows the lines: an item, an entry of the root, or nothing; and where it ends in the old text."""
    assert isinstance(old.root, Mapping)
    text = old.source
    if part.last + 1 < len(steps.items):
        node = steps.items[part.last + 1]
        after = _dash_line(old, steps, part.last + 2) if part.last + 2 < len(steps.items) else None
        return node, after if after is not None else _next_line(text, node.end)
    if position + 1 < len(old.root.entries):
        entry = old.root.entries[position + 1]
        return entry, _next_line(text, entry.value.end)
    return None, len(text.text)


def _next_line(source: Source, offset: int) -> int:
    line = source.line_of(offset) + 1
    return source.line_start(line) if line < source.line_count else len(source.text)


def _same_entry(found: list[Entry], entry: Entry, by: int) -> bool:
    return len(found) == 1 and same_tree(found[0].key, entry.key, by) and same_tree(found[0].value, entry.value, by)


def same_tree(new: Node, old: Node, by: int) -> bool:
    """Whether two trees are the same, when the new one is moved by ``by``."""
    stack = [(new, old)]
    while stack:
        a, b = stack.pop()
        if a.__class__ is not b.__class__ or a.start + by != b.start or a.end + by != b.end or a.anchor or b.anchor:
            return False
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            if (a.text, a.style, a.broken, type(a.value)) != (b.text, b.style, b.broken, type(b.value)):
                return False
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            if len(a.entries) != len(b.entries) or a.flow != b.flow or a.partial != b.partial:
                return False
            for mine, other in zip(a.entries, b.entries, strict=True):
                stack += [(mine.key, other.key), (mine.value, other.value)]
        elif isinstance(a, Sequence) and isinstance(b, Sequence):
            if len(a.items) != len(b.items) or a.flow != b.flow or a.partial != b.partial:
                return False
            stack += zip(a.items, b.items, strict=True)
    return True


# ---- putting it in -------------------------------------------------------------------------------


def _spliced(
    old: Tree,
    found: tuple[int, Sequence],
    source: Source,
    part: _Part,
    parsed: _Parsed,
    kept: list[SyntaxProblem],
    by: int,
) -> Tree:
    root, (position, steps) = old.root, found
    assert isinstance(root, Mapping)
    after = steps.items[part.last + 1 :]
    later = [node for entry in root.entries[position + 1 :] for node in (entry.key, entry.value)]
    if by:
        move_nodes([*after, *later], by)
    if part.first == 0:
        steps.start = parsed.start
    steps.items = [*steps.items[: part.first], *parsed.items, *after]
    steps.end = steps.items[-1].end
    root.end = root.entries[-1].value.end
    comments = [each for each in old.comments if each.start < part.start]
    behind = [each for each in old.comments if each.start >= part.end]
    for comment in behind:
        comment.start += by
        comment.end += by
    for problem in kept:
        move_problem(problem, by, part.end)
    problems = sorted([*kept, *parsed.problems], key=lambda each: (each.start, each.end))
    tree = Tree(source, root, problems, [*comments, *parsed.comments, *behind])
    tree.local = True
    return tree


def move(tree: Tree, by: int) -> None:
    """Move everything in a tree."""
    if tree.root is not None:
        move_nodes([tree.root], by)
    for comment in tree.comments:
        comment.start += by
        comment.end += by
    for problem in tree.problems:
        move_problem(problem, by)


def move_nodes(nodes: list[Node], by: int) -> None:
    """Move nodes and all below them."""
    stack = nodes
    pop = stack.pop
    while stack:
        node = pop()
        node.start += by
        node.end += by
        kind = node.__class__
        if kind is Mapping:
            for entry in node.entries:  # type: ignore[attr-defined]
                stack.append(entry.value)
                key = entry.key
                if key.__class__ is Scalar:
                    key.start += by
                    key.end += by
                else:
                    stack.append(key)
        elif kind is Sequence:
            stack.extend(node.items)  # type: ignore[attr-defined]


def move_problem(problem: SyntaxProblem, by: int, past: int = 0) -> None:
    """Move the places of a problem that stand at ``past`` or behind it."""
    if problem.start >= past:
        problem.start += by
        problem.end += by
    if problem.fix is not None and problem.fix.start >= past:
        problem.fix = problem.fix._replace(start=problem.fix.start + by, end=problem.fix.end + by)
    problem.related = tuple(
        (start + by, end + by, message) if start >= past else (start, end, message)
        for start, end, message in problem.related
    )
