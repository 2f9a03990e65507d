"""What a step, list, state or run can do, and how that of parts makes that of the whole."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.flow.facts import Codes, Failure, failure_of
from analyzer.model.nodes import State, Step


class Summary:
    """What one step, list, state or run can do.

    ``out``: what may have succeeded in it when it completes, None when it never does. ``may``: what may succeed in it
    at all. ``early``: what may have succeeded while something of it is still to run. ``stand``: what may have succeeded
    while time passes in it, None when none ever does. ``failures`` leave it; ``ended`` and ``stopped``: what may have
    succeeded when it ends the run as failed or aborted, or by ``wf.stop``; None when it does not.
    """

    __slots__ = ("early", "ended", "failures", "may", "out", "stand", "stopped")

    def __init__(
        self,
        out: int | None = 0,
        may: int = 0,
        early: int = 0,
        stand: int | None = None,
        failures: list[Failure] | None = None,
        ended: int | None = None,
        stopped: int | None = None,
    ) -> None:
        self.out = out
        self.may = may
        self.early = early
        self.stand = stand
        self.failures: list[Failure] = [] if failures is None else failures
        self.ended = ended
        self.stopped = stopped


def join(first: int | None, second: int | None) -> int | None:
    """The union of two sets of which either may not exist."""
    if first is None:
        return second
    return first if second is None else first | second


def lifted(found: int | None, prior: int) -> int | None:
    """A set that may not exist, with what came before it."""
    return None if found is None else found | prior


def union(failures: Iterable[Failure]) -> int:
    """What may have succeeded before any of the failures."""
    found = 0
    for failure in failures:
        found |= failure.executed
    return found


class Line:
    """Parts that run one after the other: a list of steps, the lists of a state.

    ``prior`` only grows, so what may stand behind a failure, a pause or an end is that of its last occurrence, with
    what the parts themselves did; the wide sets are joined once and not at every part.
    """

    __slots__ = ("_before", "_ended", "_last", "_may", "_stand", "_stopped", "failures", "out")

    def __init__(self) -> None:
        self.out: int | None = 0
        self.failures: list[Failure] = []
        self._may = 0
        self._before = 0
        self._last = 0
        self._stand: tuple[int, int] | None = None
        self._ended: tuple[int, int] | None = None
        self._stopped: tuple[int, int] | None = None

    def add(self, found: Summary, last: bool, behind: int = 0) -> None:
        """Add the next part; the one before it completed, and ``behind`` stands already in the parts after it."""
        done = self.out
        assert done is not None
        prior = done | behind if behind else done
        if last:
            self._before = self._may
            self._last = found.early
        self._may |= found.may
        for failure in found.failures:
            whole = failure.whole | prior if failure.whole else prior
            executed = whole if failure.executed == failure.whole else failure.executed | prior
            self.failures.append(failure.seen(failure.after | behind, whole, executed))
        if found.stand is not None:
            self._stand = _noted(self._stand, found.stand, prior)
        if found.ended is not None:
            self._ended = _noted(self._ended, found.ended, prior)
        if found.stopped is not None:
            self._stopped = _noted(self._stopped, found.stopped, prior)
        if found.out is None:
            self.out = None
            if not last:
                self._before = self._may
        else:
            self.out = done | found.out if found.out else done

    def summary(self) -> Summary:
        """What all of it can do."""
        early = self._before | self._last
        return Summary(
            self.out,
            self._may,
            early,
            _joined(self._stand),
            self.failures,
            _joined(self._ended),
            _joined(self._stopped),
        )


def _noted(known: tuple[int, int] | None, found: int, prior: int) -> tuple[int, int]:
    return (found if known is None else known[0] | found), prior


def _joined(noted: tuple[int, int] | None) -> int | None:
    return None if noted is None else noted[0] | noted[1]


def time_passes(branches: list[tuple[int | None, int | None]]) -> int | None:
    """What may have succeeded while time passes in branches, each given as (standing, at its end).

    Each branch then stands or has ended, and at least one stands; one that can do neither has ended the run by then.
    """
    either = [join(stand, end) for stand, end in branches]
    if any(each is None for each in either) or all(stand is None for stand, _ in branches):
        return None
    found = 0
    standers = sum(stand is not None for stand, _ in branches)
    for (stand, _), each in zip(branches, either, strict=True):
        alone = standers == 1 and stand is not None
        found |= (stand if alone else each) or 0
    return found


def beside(found: Summary, other: int) -> Summary:
    """What a branch can do while ``other`` stands in branches that are not taken this time."""
    if not other:
        return found
    failures = [each.seen(each.after, each.whole | other, each.executed | other) for each in found.failures]
    return Summary(
        lifted(found.out, other),
        found.may | other,
        found.early | other,
        lifted(found.stand, other),
        failures,
        lifted(found.ended, other),
        lifted(found.stopped, other),
    )


def copied(found: Summary) -> Summary:
    """A summary that may be changed; the failures themselves never are."""
    return Summary(found.out, found.may, found.early, found.stand, list(found.failures), found.ended, found.stopped)


def consumed(found: Summary, policy: str) -> tuple[int | None, list[Failure]]:
    """What may have succeeded at the end of a branch or iteration, and the failures that leave it."""
    if policy != "continue":
        return found.out, found.failures
    ordinary = [each for each in found.failures if not each.escalating]
    end = join(found.out, union(ordinary)) if ordinary else found.out
    return end, [each for each in found.failures if each.escalating]


def incomplete(found: Summary, policy: str) -> int:
    """What may have succeeded in a branch or iteration that is not completed: it still runs, or has failed."""
    return found.early | union(consumed(found, policy)[1])


def merged(owner: Step | State, how: str, failures: list[Failure], caught: int = 0) -> list[Failure]:
    """The failures of ``owner`` that come of failures inside it: one for each set of codes."""
    by_codes: dict[Codes, list[Failure]] = {}
    for failure in failures:
        by_codes.setdefault(failure.codes, []).append(failure)
    return [failure_of(owner, how, codes, caught | union(each), tuple(each)) for codes, each in by_codes.items()]


def others(sets: list[int]) -> list[int]:
    """For each position the union of all the other sets."""
    result = [0] * len(sets)
    running = 0
    for position, each in enumerate(sets):
        result[position] = running
        running |= each
    running = 0
    for position in range(len(sets) - 1, -1, -1):
        result[position] |= running
        running |= sets[position]
    return result
