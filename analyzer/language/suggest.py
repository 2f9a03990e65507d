"""The nearest known word to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str, bound: int) -> int:
    """Edits (insert, delete, replace, swap neighbours) from ``a`` to ``b``; anything above ``bound`` is cut short."""
    if abs(len(a) - len(b)) > bound:
        return bound + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > bound:
            return bound + 1
        before, previous = previous, current
    return previous[-1]


#: Suggestions for one kind of fault in one file: past them a file is not mistyped but made so.
MAX_SUGGESTIONS = 100


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest to ``word``, or None when none is near; ties go to the first by name."""
    if len(word) > 80:
        return None
    bound = 1 if len(word) <= 3 else max(2, len(word) // 3)
    best: tuple[int, str] | None = None
    folded = word.lower().replace("-", "_")
    for candidate in sorted(set(known)):
        cost = 0 if folded == candidate.lower().replace("-", "_") else distance(word, candidate, bound)
        if cost <= bound and cost < max(len(word), len(candidate)) and (best is None or cost < best[0]):
            best = (cost, candidate)
    return None if best is None or best[1] == word else best[1]


def hint(word: str, known: Iterable[str]) -> str:
    """`` Did you mean `x`?`` for the end of a message, or nothing."""
    found = nearest(word, known)
    return f" Did you mean `{found}`?" if found is not None else ""
