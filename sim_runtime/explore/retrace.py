"""Goes again the way that a chain of deviations describes, to its end: for the few runs that are shown or written
down. A run that goes on for ever is left when it has gone round once, or when it has become too long; its script ends
there then (``until``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sim_runtime.core.looking import hold_at
from sim_runtime.explore.branch import Branch, Deviation
from sim_runtime.explore.ends import End, stuck
from sim_runtime.explore.monitor import Violation
from sim_runtime.explore.offers import expected_answer
from sim_runtime.explore.search import Search
from sim_runtime.explore.units import Passing
from sim_runtime.history.records import Record


class _Dies(Passing):
    """The executor dies before it writes."""


class NotRetraced(Exception):
    """The run goes another way."""


@dataclass(slots=True)
class Retraced:
    """A run that came to rest: ``violations`` are all that were found on the way."""

    branch: Branch
    end: End
    violations: list[Violation]


def retrace(search: Search, chain: Sequence[Deviation]) -> Retraced:
    """Follow a chain from the start. Raises ``NotRetraced``; what the search raises passes through."""
    walker = _Walker(search, list(chain))
    walker.walk()
    if walker.branch.left and not walker.left:
        until = walker.matters
        walker = _Walker(search, list(chain))
        walker.end(until)
        walker.walk()
    if walker.left or walker.branch.left:
        raise NotRetraced(walker.left[0].words if walker.left else "it is too long")
    return Retraced(walker.branch, End(walker.branch), walker.violations)


class _Walker:
    def __init__(self, search: Search, chain: list[Deviation]) -> None:
        self.search = search
        self.left = chain
        self.branch = search.origin.fork()
        self.violations: list[Violation] = []
        self.matters = self.branch.now
        self.entered: set[int] = set()

    def walk(self) -> None:
        while True:
            self.search.pulse()
            self.crashes_after()
            branch = self.branch
            before = branch.state
            branch.gate.about_to_write = self.gate
            try:
                records = self.search.step(branch, None)
            except _Dies:
                branch.gate.about_to_write = None
                self.crash_before()
                continue
            branch.gate.about_to_write = None
            if records is None:
                self.note()
                return
            if not records:
                if self.decided() or self.cancelled() or self.search.move_clock(branch):
                    continue
                bad = stuck(branch) if branch.next_due() is None else None
                self.violations.extend([bad] if bad is not None else [])
                return
            branch.written(records, before)
            branch.last = tuple(records)
            self.answer()
            self.events()
            self.note()
            self.go_round()

    def note(self) -> None:
        """Take the violations, and note up to when the run matters."""
        found = self.branch.monitor.take()
        self.violations.extend(found)
        if found or self.left:
            self.matters = self.branch.now

    def go_round(self) -> None:
        """The run ends at this instant when it comes round to a state where it was before."""
        branch = self.branch
        if self.left or not branch.entered or branch.script.until_us is not None:
            return
        key = branch.key(self.search.keys)
        if key in self.entered:
            self.end(branch.now)
        self.entered.add(key)

    def end(self, now: int) -> None:
        """The run ends at an instant."""
        branch = self.branch
        branch.script = replace(branch.script, until_us=now - branch.start_us)

    def next(self, kind: str, fits: Callable[[Deviation], bool]) -> Any:
        """What comes next of the chain, when it is this; else None."""
        if not self.left or self.left[0].kind not in (kind, "world"):
            return None
        first = self.left[0]
        if first.records != self.branch.trail.count or not fits(first):
            return None
        self.left.pop(0)
        self.branch.deviate(first.kind, first.words, first.path, first.what)
        return first.what

    def crashes_after(self) -> None:
        while self.left and self.left[0].kind == "crash" and self.left[0].what[0] == "after":
            first = self.left[0]
            if first.records != self.branch.trail.count or not self.branch.last:
                return
            self.left.pop(0)
            self.branch.last = ()
            self.die(first)

    def die(self, crash: Deviation) -> None:
        self.branch.die(self.search.plan.bounds.down_us, crash.words, crash.path, crash.what)

    def gate(self, _records: Sequence[Record]) -> None:
        first = self.left[0] if self.left else None
        here = first is not None and first.kind == "crash" and first.records == self.branch.trail.count
        if first is not None and here and first.what[0] == "before":
            raise _Dies

    def crash_before(self) -> None:
        branch = self.branch
        first = self.left.pop(0)
        branch.last = ()
        if branch._start is None and not branch.trail.count:
            branch._start = self.search.origin._start
        elif branch.source is not None:
            branch._give_back(branch.source)
        self.die(first)

    def answer(self) -> None:
        branch = self.branch
        call = branch.calling
        if call is None:
            return
        option = self.next("answer", lambda each: each.path == call.path and hasattr(each.what, "lasting"))
        branch.send_call(option if option is not None else expected_answer(self.search, branch))
        self.cancelled()

    def events(self) -> None:
        opened = self.branch.opened
        if not opened:
            return
        found = self.next("event", lambda each: hasattr(each.what, "events") and each.path == opened[-1].path)
        if found is not None:
            self.branch.schedule(found.events)

    def cancelled(self) -> bool:
        at = self.next("cancel", lambda each: each.kind == "cancel")
        if at is not None:
            self.branch.cancel_at(at)
        return at is not None

    def decided(self) -> bool:
        branch = self.branch

        def here(each: Deviation) -> bool:
            return hold_at(branch.state, each.what.decision.on) is not None

        if not self.left or self.left[0].kind != "decision":
            return False
        found = self.next("decision", here)
        if found is None:
            return False
        branch.decide_now(found.decision)
        return True
