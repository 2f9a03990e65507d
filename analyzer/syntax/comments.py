"""Finding comments, by our own scan: the event parsers do not tell of them."""

from __future__ import annotations

import re

from analyzer.syntax.nodes import Comment

# After a blank or a line break; right after a bracket, comma or closing quote the parsers take it for a comment, too.
# The look behind stands after the `#`, so that the search can leap from one to the next.
_CANDIDATE = re.compile(r"""#(?<![^ \t\r\n,\[\]{}"']#)[^\r\n]*""")
_BLANKS = " \t"


def find_comments(text: str, taken: list[tuple[int, int]], stop: int | None) -> list[Comment]:
    """The comments of a text, in order.

    ``taken`` are the spans of the scalars that have a ``#`` in them: a ``#`` inside one is text. A block scalar's first
    line may end with a comment all the same. ``stop`` is where the analysed text ends, when that is before its end.
    """
    if "#" not in text:
        return []
    spans = sorted(_text_part(text, start, end) for start, end in taken)
    comments: list[Comment] = []
    index = 0
    position = 0
    while found := _CANDIDATE.search(text, position):
        start = found.start()
        if stop is not None and start >= stop:
            break
        while index < len(spans) and spans[index][1] <= start:
            index += 1
        if index < len(spans) and spans[index][0] <= start:
            position = spans[index][1]
            continue
        comments.append(Comment(start, found.end(), found[0], _own_line(text, start)))
        position = found.end()
    return comments


def _text_part(text: str, start: int, end: int) -> tuple[int, int]:
    if text[start] not in "|>":
        return start, end
    line = text.find("\n", start, end)
    return (end if line < 0 else line), end


def _own_line(text: str, start: int) -> bool:
    while start > 0 and text[start - 1] in _BLANKS:
        start -= 1
    return start == 0 or text[start - 1] in "\r\n"
