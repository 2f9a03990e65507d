"""The fewest lines that turn one text into another, as edits: the rest of the file, and the cursor in it, stay."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

from lsp_server.snapshot import Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
#: More lines than this between the first and the last difference are replaced as one.
MAX_LINES: Final = 4_000


def line_edits(before: str, after: str) -> list[tuple[Span, str]]:
    """Replacements of whole lines, in order; spans are offsets in ``before``. None for equal texts."""
    if before == after:
        return []
    old, new = _LINE.findall(before), _LINE.findall(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if len(middle_old) > MAX_LINES or len(middle_new) > MAX_LINES:
        return [((start, start + sum(map(len, middle_old))), "".join(middle_new))]
    starts = [start]
    for line in middle_old:
        starts.append(starts[-1] + len(line))
    return [
        ((starts[a], starts[b]), "".join(middle_new[c:d]))
        for tag, a, b, c, d in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
