"""Breakpoints on steps, and whether the step that comes next hits one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from analyzer.expressions.ast import Expr
from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from analyzer.expressions.values import Value
from analyzer.language.suggest import hint
from analyzer.language.words import shown
from lsp_server.dap.expressions import (
    BadExpression,
    Checker,
    LogMessage,
    read_expression,
    read_hits,
    read_log,
    reason_of,
)
from lsp_server.dap.places import lookup_at
from lsp_server.dap.sources import Program, Spot, WorkFile
from sim_runtime.core.definition import Definition
from sim_runtime.core.frames import State
from sim_runtime.history.paths import shown_path
from sim_runtime.history.records import Record

Json: TypeAlias = Any
Data: TypeAlias = dict[str, Any]

MAX_BREAKPOINTS: Final = 5_000
_OPEN_INDEX: Final = re.compile(r"\\\[(?:\\\*)?\\\]")


@dataclass(slots=True, eq=False)
class Breakpoint:
    """One breakpoint. ``spots`` are what it stands on; ``pattern`` is a function breakpoint's; ``message`` says why it
    was moved or cannot stand. ``hits`` counts how often its place was come to with its condition true."""

    id: int
    verified: bool
    message: str | None = None
    file: WorkFile | None = None
    spots: tuple[Spot, ...] = ()
    pattern: re.Pattern[str] | None = None
    condition: Expr | None = None
    stops_at: Callable[[int], bool] | None = None
    log: LogMessage | None = None
    #: Line and column that were asked for, from 0, and the request's entry.
    wanted: tuple[int, int | None, Data] = (0, None, {})
    hits: int = 0
    told: bool = False

    @property
    def function(self) -> bool:
        """Whether it is one by step path."""
        return self.pattern is not None


@dataclass(slots=True)
class Hit:
    """What a place has hit: breakpoints that stop, and what is to be printed (text, breakpoint)."""

    stopping: list[Breakpoint] = field(default_factory=list)
    printed: list[tuple[str, Breakpoint]] = field(default_factory=list)


class Breakpoints:
    """All that are set."""

    def __init__(self) -> None:
        self._last_id = 0
        self.by_file: dict[str, list[Breakpoint]] = {}
        self.functions: list[Breakpoint] = []
        self._by_spot: dict[tuple[str, str], list[Breakpoint]] = {}

    def __iter__(self) -> Iterator[Breakpoint]:
        for each in self.by_file.values():
            yield from each
        yield from self.functions

    @property
    def any(self) -> bool:
        """Whether one could be hit."""
        return bool(self._by_spot or self.functions)

    @property
    def count_hits(self) -> bool:
        """Whether it matters how often a place was come to."""
        return any(each.stops_at is not None for each in self)

    # ---- setting --------------------------------------------------------------------------------

    def set_lines(
        self,
        path: str,
        file: WorkFile | None,
        wanted: list[Data],
        why: str,
        position: Callable[[Data], tuple[int, int | None]],
    ) -> list[Breakpoint]:
        """Those of one file, in the place of the ones before. ``file`` is None where it cannot be read, ``why`` then
        says why; ``position`` gives line and column of a request's entry, from 0."""
        checker = None if file is None else Checker(file)
        found = []
        for each in wanted[:MAX_BREAKPOINTS]:
            breakpoint_ = Breakpoint(self._next_id(), False, why, wanted=(*position(each), each))
            if file is not None and checker is not None:
                self._stand(breakpoint_, file, checker)
            found.append(breakpoint_)
        self.by_file[path] = found
        self._index()
        return found

    def _stand(self, breakpoint_: Breakpoint, file: WorkFile, checker: Checker) -> None:
        """Find the place of a breakpoint."""
        line, column, entry = breakpoint_.wanted
        at = file.at(line, column)
        breakpoint_.file, breakpoint_.spots, breakpoint_.verified = file, at.spots, bool(at.spots)
        breakpoint_.message = None
        if at.reason is not None:
            moved = f": the breakpoint stands on {at.spots[0].words}" if at.spots else ""
            breakpoint_.message = f"line {line + 1} {at.reason}{moved}"
        if breakpoint_.verified:
            self._modify(breakpoint_, entry, checker)

    def set_functions(self, wanted: list[Data], program: Program | None) -> list[Breakpoint]:
        """Those by step path, in the place of the ones before; without a program they are looked at later."""
        self.functions = [self._function(each, program) for each in wanted[:MAX_BREAKPOINTS]]
        return self.functions

    def _function(self, wanted: Data, program: Program | None) -> Breakpoint:
        pattern = re.compile(_OPEN_INDEX.sub(r"\\[\\d+\\]", re.escape(wanted["name"].strip())))
        breakpoint_ = Breakpoint(self._next_id(), True, pattern=pattern, wanted=(0, None, wanted))
        self._look_up(breakpoint_, program)
        return breakpoint_

    def _look_up(self, breakpoint_: Breakpoint, program: Program | None) -> None:
        """Find the step of a function breakpoint; before the start it is taken on trust."""
        entry = breakpoint_.wanted[2]
        name = entry["name"].strip()
        found = program.find(name) if program is not None else None
        if program is not None and found is None:
            breakpoint_.verified = False
            breakpoint_.message = f"no step has the path `{shown(name)}`.{hint(name, program.paths())}"
            return
        breakpoint_.verified, breakpoint_.message = True, None
        if found is not None:
            breakpoint_.file, breakpoint_.spots = found[0], (found[1],)
        self._modify(breakpoint_, entry, None if found is None else Checker(found[0]))

    def _modify(self, breakpoint_: Breakpoint, wanted: Data, checker: Checker | None) -> None:
        """Read condition, hit condition and log message; a bad one makes the breakpoint unverified, with the reason."""
        condition, hits, log = (wanted.get(name) for name in ("condition", "hitCondition", "logMessage"))

        def check(expression: str, boolean: bool = False) -> None:
            if checker is not None:
                checker.check(expression, breakpoint_.spots, boolean)

        try:
            if condition:
                breakpoint_.condition = read_expression(condition)
                check(condition, boolean=True)
            if hits:
                breakpoint_.stops_at = read_hits(hits)
            if log:
                breakpoint_.log = read_log(log, check)
        except BadExpression as error:
            breakpoint_.verified = False
            breakpoint_.message = f"{error}"

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _index(self) -> None:
        self._by_spot = {}
        for each in self:
            if each.verified and each.file is not None and not each.function:
                for spot in each.spots:
                    self._by_spot.setdefault((each.file.path, spot.path), []).append(each)

    def look_again(self, program: Program) -> list[Breakpoint]:
        """Those whose place has changed now that the run's Workfiles are known: they are no part of it, or were edited
        since the breakpoints were set."""
        changed = []
        for path, each in self.by_file.items():
            file = program.files.get(path)
            for one in each:
                if file is not None and one.file is not None and one.file.source.text != file.source.text:
                    self._stand(one, file, Checker(file))
                    changed.append(one)
                elif file is None and one.verified:
                    one.verified = False
                    one.message = "this Workfile is not part of the run"
                    changed.append(one)
        for one in self.functions:
            before = one.verified
            self._look_up(one, program)
            if before or one.verified:
                changed.append(one)
        self._index()
        return changed

    # ---- hitting --------------------------------------------------------------------------------

    def forget_hits(self) -> None:
        """Begin to count anew."""
        for each in self:
            each.hits = 0

    def at(self, record: Record, program: Program) -> list[Breakpoint]:
        """Those whose place a record is."""
        found: list[Breakpoint] = []
        if self._by_spot:
            file, path = program.place(record.id)
            found.extend(self._by_spot.get((file.path, path), ()))
        if self.functions:
            shown_ = shown_path(record.id)
            found.extend(
                each for each in self.functions if each.verified and each.pattern and each.pattern.fullmatch(shown_)
            )
        return found

    def hit(
        self, breakpoints: Iterable[Breakpoint], record: Record, definition: Definition, state: Callable[[], State]
    ) -> Hit:
        """What breakpoints do at a place; ``state`` is that before it. Counts the hits."""
        hit = Hit()

        def lookup(name: str) -> Value:
            return lookup_at(definition, state(), record.id)(name)

        for each in breakpoints:
            if each.condition is not None and not self._holds(each, each.condition, lookup, hit):
                continue
            each.hits += 1
            if each.stops_at is not None and not each.stops_at(each.hits):
                continue
            if each.log is not None:
                hit.printed.append((each.log.text(lookup), each))
            else:
                hit.stopping.append(each)
        return hit

    @staticmethod
    def _holds(breakpoint_: Breakpoint, condition: Expr, lookup: Callable[[str], Any], hit: Hit) -> bool:
        """Whether a condition is true; that it has no value is told once."""
        try:
            value = evaluate(condition, lookup)
        except (Fault, KeyError) as error:
            reason = reason_of(error)
        else:
            if isinstance(value, bool):
                return value
            reason = "it is neither true nor false"
        if not breakpoint_.told:
            breakpoint_.told = True
            hit.printed.append((f"the condition of a breakpoint does not hold here: {reason}", breakpoint_))
        return False
