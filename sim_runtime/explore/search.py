"""The search: the runs in which nothing goes wrong first, then every deviation from each of their boundaries.

A *base* is a run without deviations: the expected one, and one for every other world (other results, events that come)
that reaches a step that no base before it reaches. A few boundaries of the bases in a row are a *unit*: everything that
can go otherwise there, followed until it meets a state that was seen with at least as much still to go wrong. A unit
knows the bases and itself, and nothing of other units, so that units can be done anywhere and in any order with the
same result.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from sim_runtime.core.inputs import Answered, Proceed, TimerDue
from sim_runtime.core.looking import holds
from sim_runtime.driver.run import LimitReached
from sim_runtime.explore.branch import Branch, Deviation, Known
from sim_runtime.explore.choices import Option
from sim_runtime.explore.ends import End, Graph, stuck
from sim_runtime.explore.monitor import Violation
from sim_runtime.explore.offers import (
    MAX_ROUNDS,
    MAX_STREAK,
    answers_of,
    cancel_at,
    decisions_of,
    events_of,
    expected_answer,
    goes_on,
    is_racing,
    late_answer,
    worlds_of,
)
from sim_runtime.explore.places import is_for_trouble, place_of
from sim_runtime.explore.plan import Plan
from sim_runtime.explore.units import CrashEdge, Found, OtherEdge, OutOfTime, Passing, Stop, Unit
from sim_runtime.history.records import Record

Json: TypeAlias = Any
Budget: TypeAlias = tuple[int, int, int, int]
"""How much may still go otherwise: crashes, deviations, decisions, cancellations."""

CHECK_EVERY: Final = 64
_NEVER: Final[Any] = object()
#: What is put to a run once at most with nothing coming of it, so that it is known by its kind and instant.
_REMEMBERED: Final = (Answered, Proceed, TimerDue)
MAX_WORLDS: Final = 2_000
"""Other worlds that wait to be tried."""
NOT_ALL: Final = "runs without deviations to start from: not all were followed to their end"
UNIT: Final = 16
"""How many boundaries make a unit: more of them find more states that were seen, and are fewer to share out."""


class Base(NamedTuple):
    """A run without deviations, from where it parts from an earlier one."""

    branch: Branch
    words: str


class Search:
    """Searches a plan. ``cancelled`` is asked now and then; ``Stop`` ends the search where it stands."""

    def __init__(self, plan: Plan, start: Branch, cancelled: Callable[[], bool] | None = None) -> None:
        self.plan = plan
        self.keys = plan.keys
        self.origin = start
        self.cancelled = cancelled
        self.deadline = None if plan.bounds.budget_s is None else time.monotonic() + plan.bounds.budget_s
        bounds = plan.bounds
        self.full: Budget = (bounds.crashes, bounds.deviations, bounds.decisions, bounds.cancellations)
        self.graph = Graph()
        self.seen: dict[int, Budget | list[Budget]] = {}
        self.bases: list[Base] = []
        self.base_unit = Unit(self.graph)
        self.states_left = plan.bounds.states
        most = plan.bounds.states
        self.too_many = f"the bound of {most:,} state{'' if most == 1 else 's'} was reached (`--states`)"
        self.walked: dict[int, Known] = {}
        self.starts: list[tuple[int, Deviation | None]] = []
        self.probes: dict[tuple[str, bool], tuple[Option | None]] = {}
        self._last: list[Record] = []
        self._ticks = 0
        self._probed = 0
        self.cut = False
        self._counts = True
        self._unit = self.base_unit
        self._local: dict[int, Budget | list[Budget]] = {}
        self._todo: list[tuple[Branch, int, Budget]] = []
        self._labels: tuple[Branch, int, int] | None = None

    # ---- bases --------------------------------------------------------------------------------------

    def find_bases(self) -> None:
        """Follow the run without deviations, and every other world that reaches something new; with half of the time
        and of the states at the most, so that some are left for what deviates. Raises ``Stop``."""
        end, now, most = self.deadline, time.monotonic(), self.states_left
        self.deadline = None if end is None else now + (end - now) / 2
        self.states_left = most // 2
        try:
            self._follow_worlds()
        except Stop as stop:
            spent = isinstance(stop, OutOfTime)
            if (spent and end is not None and end <= time.monotonic()) or not (spent or stop.why == self.too_many):
                raise
            half = "time budget was spent (`--budget`)" if spent else "states were looked at (`--states`)"
            self._cut_bases(f"half of the {half}")
        finally:
            self.deadline, self.states_left = end, most

    def _cut_bases(self, why: str) -> None:
        self.base_unit.skipped[f"{NOT_ALL}, as {why}"] = None
        self.cut = True

    def _follow_worlds(self) -> None:
        waiting = deque([Base(self.origin.fork(), "nothing deviates")])
        tried: set[int] = set()
        while waiting:
            base = waiting.popleft()
            reached = self.base_unit.reached
            if self.bases and (self._all_reached() or not self._reaches_more(base.branch.fork(), tried, reached)):
                continue
            self.bases.append(base)
            waiting.extend(self._walk_base(base.branch.fork()))
            if len(waiting) > MAX_WORLDS or self._probed > self.plan.bounds.states:
                self._cut_bases("there are too many")
                return

    def _all_reached(self) -> bool:
        """Whether no other world can reach more: handlers and probes are for when something goes wrong."""
        reached = self.base_unit.reached
        return not self.plan.calls and all(path in reached or is_for_trouble(path) for path in self.plan.steps)

    def _reaches_more(self, branch: Branch, tried: set[int], reached: dict[str, int]) -> bool:
        """Whether a run, left alone, comes to a step that no base comes to."""
        for _ in self.alone(branch):
            self._probed += 1
            key = branch.key(self.keys)
            if key in self.graph.following or key in self.graph.ends or key in tried:
                return False
            tried.add(key)
            if any(record.kind == "step.started" and place_of(record.id) not in reached for record in self._last):
                return True
        return False

    def _walk_base(self, branch: Branch) -> list[Base]:
        """Follow a base to its end or to one before it; the other worlds on its way."""
        unit = self.base_unit
        found: list[Base] = []
        key = branch.key(self.keys)
        self.starts.append((key, branch.deviations))
        self.seen[key] = self.full
        since = branch.now
        for records in self.alone(branch, found, unit):
            self._tick(unit)
            self._notice(unit, branch, records)
            then = branch.key(self.keys)
            self.graph.follow(
                key, then, branch.now - since, branch.monitor.acted, records[-1].path if branch.entered else ""
            )
            if branch.put in _REMEMBERED and not branch.crash_points_left:
                self.walked.setdefault(key, Known(branch.put, records, branch.state))
            key, since = then, branch.now
            if key in self.seen:
                return found
            self.seen[key] = self.full
        if not branch.left:
            self._rest(unit, branch, key)
        return found

    def alone(
        self, branch: Branch, worlds: list[Base] | None = None, unit: Unit | None = None, plain: bool = False
    ) -> Iterator[list[Record]]:
        """The transactions of a run in which nothing goes otherwise. ``worlds`` takes the other worlds that it passes;
        ``plain``: also probes are answered by default."""
        while True:
            self.pulse()
            before = branch.state
            records = self.step(branch, unit)
            if records is None:
                return
            if not records:
                if not self.move_clock(branch):
                    return
                continue
            branch.written(records, before)
            if branch.calling is not None:
                if worlds is not None:
                    for option in worlds_of(self.plan, branch):
                        other = branch.fork()
                        other.deviate("world", f"`{branch.calling.path}` {option.label}", branch.calling.path, option)
                        other.send_call(option)
                        worlds.append(Base(other, option.label))
                branch.send_call(None if plain else expected_answer(self, branch))
            if worlds is not None:
                for event in events_of(self.plan, branch, in_time=True):
                    other = branch.fork()
                    other.deviate("world", f"{event.label}", branch.opened[-1].path, event)
                    other.schedule(event.events)
                    worlds.append(Base(other, event.label))
            self._last = records
            yield records

    # ---- units --------------------------------------------------------------------------------------

    def units(self, wanted: Callable[[int], bool]) -> Iterator[tuple[int, Unit]]:
        """The units, each explored when its turn comes; ``wanted`` says which. Raises ``Stop`` in the middle of one,
        which is then left out."""
        boundary = 0
        walked: set[int] = set()
        for base in self.bases:
            branch = base.branch.fork()
            key = branch.key(self.keys)
            while True:
                number, place = divmod(boundary, UNIT)
                mine = wanted(number)
                if not place:
                    self._begin(Unit(Graph(self.graph)))
                    self._counts = mine
                going = self._boundary(branch, key, self.full if mine else None)
                if mine:
                    self._explore()
                    if place == UNIT - 1:
                        yield number, self._unit
                boundary += 1
                if going is None or going in walked:
                    break
                key = going
                walked.add(key)
        number, place = divmod(boundary, UNIT)
        if place and wanted(number):
            yield number, self._unit

    def explore_one(self, number: int) -> None:
        """Explore one unit, as far as the bounds let it. Raises ``Stop``."""
        for _ in self.units(lambda each: each == number):
            return

    @property
    def unit(self) -> Unit:
        """The unit that was explored last, as far as it went."""
        return self._unit

    def _begin(self, unit: Unit) -> None:
        self._unit, self._local, self._todo = unit, {}, []

    def _explore(self) -> None:
        """Follow everything that is to be followed."""
        while self._todo:
            branch, key, budget = self._todo.pop()
            following: int | None = key
            while following is not None:
                following = self._boundary(branch, following, budget, follow=True)
        self.keys.tidy()

    def _boundary(self, branch: Branch, key: int, budget: Budget | None, follow: bool = False) -> int | None:
        """Take everything that can go otherwise at a boundary, then the next transaction; the number of the state after
        it, None when there is none, or when it was seen (``follow``). ``budget`` None only goes on."""
        unit, since = self._unit, branch.now
        if budget is not None and budget[0] and branch._start is None:
            self._crash_after(branch, key, budget)
        while True:
            self._tick(unit)
            if budget is not None and budget[0]:
                branch.gate.about_to_write = lambda records: self._crash_before(branch, key, budget, records)
            before = branch.state
            branch.known = None if follow else self.walked.get(key)
            records = self.step(branch, unit)
            branch.known = branch.gate.about_to_write = None
            if records is None:
                return None
            if records:
                break
            if budget is not None and budget[2]:
                self._decisions(branch, key, budget)
            if budget is not None and budget[3]:
                self._cancel(branch, budget)
            if not self.move_clock(branch):
                self._rest(unit, branch, key)
                return None
        known = None if follow else self.graph.following.get(key)
        branch.written(records, before, again=known is not None)
        self._last = records
        branch.last = tuple(records)
        self._go_otherwise(branch, budget)
        if known is not None:
            return known[0]
        self._notice(unit, branch, records)
        then = branch.key(self.keys)
        unit.graph.follow(
            key, then, branch.now - since, branch.monitor.acted, records[-1].path if branch.entered else ""
        )
        if follow and budget is not None and not self._fresh(then, budget):
            self._met(unit, branch, then)
            return None
        return then

    def _go_otherwise(self, branch: Branch, budget: Budget | None) -> None:
        """Other answers to the call that leaves, other events at the wait that opens; then what is expected."""
        calling = branch.calling
        if calling is not None:
            expected = expected_answer(self, branch)
            if budget is not None:
                for option, cost in answers_of(self.plan, branch, expected, budget[1]):
                    other = branch.fork()
                    words = f"`{calling.path}` {option.label}" + ("" if cost else " again")
                    other.deviate("answer", words, calling.path, option)
                    other.send_call(option)
                    self._arrive(other, (budget[0], budget[1] - cost, budget[2], budget[3]))
                if budget[3]:
                    self._cancel(branch, budget, late_answer(branch))
            branch.send_call(expected)
        if budget is not None and budget[1] and branch.opened:
            for event in events_of(self.plan, branch):
                other = branch.fork()
                other.deviate("event", event.label, branch.opened[-1].path, event)
                other.schedule(event.events)
                self._arrive(other, (budget[0], budget[1] - 1, budget[2], budget[3]))

    def _arrive(self, branch: Branch, budget: Budget) -> int:
        """A branch is at a boundary after something that went otherwise."""
        unit = self._unit
        self._tick(unit)
        branch.last = tuple(self._last)
        key = branch.key(self.keys)
        assert branch.deviations is not None
        self._effects(unit, branch)
        unit.others.append(OtherEdge(key, branch.deviations))
        self._take_violations(unit, branch)
        if self._fresh(key, budget):
            self._todo.append((branch, key, budget))
        else:
            self._met(unit, branch, key)
        return key

    def _fresh(self, key: int, budget: Budget) -> bool:
        """Whether a state was not seen with at least as much to go wrong; it is now."""
        for seen in (self.seen, self._local):
            known = seen.get(key)
            if known is None:
                continue
            for each in known if isinstance(known, list) else (known,):
                if each[0] >= budget[0] and each[1] >= budget[1] and each[2] >= budget[2] and each[3] >= budget[3]:
                    return False
        known = self._local.get(key)
        if known is None:
            self._local[key] = budget
        elif isinstance(known, list):
            known.append(budget)
        else:
            self._local[key] = [known, budget]
        return True

    # ---- crashes ------------------------------------------------------------------------------------

    def _crash_after(self, branch: Branch, key: int, budget: Budget) -> None:
        last, self._labels = branch.last, None
        if last:
            crashed = branch.crashed_key(self.keys) if not self.plan.bounds.down_us else None
            self._labels = None if crashed is None else (branch, branch.now, crashed)
            self._crash(branch, key, budget, "after", last, crashed, None)

    def _crash_before(self, branch: Branch, key: int, budget: Budget, records: list[Record]) -> None:
        source = branch.source
        given_back = source is not None and not hasattr(source, "given")
        crashed: int | None = None
        if not given_back and not self.plan.bounds.down_us and branch._start is None and branch.trail.count:
            labels = self._labels
            if labels is not None and labels[0] is branch and labels[1] == branch.now:
                crashed = labels[2]
            else:
                crashed = branch.crashed_key(self.keys)
        self._crash(branch, key, budget, "before", tuple(records), crashed, source)

    def _crash(
        self,
        branch: Branch,
        key: int,
        budget: Budget,
        point: str,
        records: tuple[Record, ...],
        crashed: int | None,
        source: Any,
    ) -> None:
        """The executor dies here. ``crashed`` is the number of the state after that where it is known already."""
        unit, rest = self._unit, (budget[0] - 1, budget[1], budget[2], budget[3])
        self._tick(unit)
        other: Branch | None = None
        if crashed is None:
            other = self._dead(branch, point, records, source)
            crashed = other.key(self.keys)
        elif self._fresh(crashed, rest):
            other = self._dead(branch, point, records, source)
            self._todo.append((other, crashed, rest))
            other = None
        if other is not None:
            if self._fresh(crashed, rest):
                self._todo.append((other, crashed, rest))
            else:
                self._met(unit, other, crashed)
        disturbed = branch.deviations is not None and branch.deviations.disturbances > 0
        racing = self.plan.bounds.down_us > 0 or (disturbed and is_racing(branch.state))
        unit.crashes.append(CrashEdge(point, records, crashed, key, branch.deviations, branch.trail.count, racing))

    def _dead(self, branch: Branch, point: str, records: tuple[Record, ...], source: Any) -> Branch:
        other = branch.fork()
        other.last = ()
        record = records[-1] if point == "after" else records[0]
        where = f" at `{record.path}`" if record.path else ""
        if point == "before":
            if other._start is None and not branch.trail.count:
                other._start = self.origin._start  # the run was not accepted yet: it is offered again
            elif source is not None:
                other._give_back(source)
        other.die(self.plan.bounds.down_us, f"crash {point} `{record.kind}`{where}", record.path, (point, record))
        return other

    # ---- decisions ----------------------------------------------------------------------------------

    def _decisions(self, branch: Branch, key: int, budget: Budget) -> None:
        """What an operator may decide where the run is held."""
        state = branch.state
        if state.root is None or branch.over or not state.root.held:
            return
        for held in holds(state):
            if branch.monitor.holds.get(held.id) != branch.now:
                continue  # it was offered when the hold began
            for option in decisions_of(self.plan, branch, held):
                other = branch.fork()
                other.deviate("decision", f"{option.label} at `{option.decision.on}`", option.decision.on, option)
                other.decide_now(option.decision)
                then = self._arrive(other, (budget[0], budget[1], budget[2] - 1, budget[3]))
                self._unit.graph.decide(key, then)

    def _cancel(self, branch: Branch, budget: Budget, answer: Option | None = None) -> None:
        """An operator cancels the run before anything more happens; ``answer``: while a call is out that is answered
        later."""
        at, call = cancel_at(branch, answer), branch.calling
        if at is None or (call is not None and answer is None):
            return
        other = branch.fork()
        if call is not None:
            other.deviate("answer", f"`{call.path}` is out", call.path, answer)
            other.send_call(answer)
        last = branch.records[-1]
        where = f" at `{last.path}`" if last.path else ""
        other.deviate("cancel", f"an operator cancels the run after `{last.kind}`{where}", last.path, at)
        other.cancel_at(at)
        self._arrive(other, (budget[0], budget[1], budget[2], budget[3] - 1))

    # ---- steps --------------------------------------------------------------------------------------

    def step(self, branch: Branch, unit: Unit | None) -> list[Record] | None:
        """The next transaction; None when the run cannot be followed any further, and is left."""
        try:
            return branch.step()
        except LimitReached as error:
            why = error.brief
        except Passing:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the runtime breaks with is what is looked for
            why = ""
            if unit is not None:
                text = f"the runtime broke down: {type(error).__name__}: {error}".rstrip(": ")
                branch.monitor.found(Violation("internal-error", "", text))
                self._take_violations(unit, branch)
        if why and unit is not None:
            unit.skipped[why] = None
        branch.left = True
        return None

    def move_clock(self, branch: Branch) -> bool:
        """On to the next thing that is due; False when there is none."""
        due = branch.next_due()
        until = branch.script.until_us
        if due is None or (until is not None and due > branch.start_us + until):
            return False
        branch.now = max(branch.now, due)
        return True

    def _rest(self, unit: Unit, branch: Branch, key: int) -> None:
        """A run came to rest."""
        until = branch.script.until_us
        cut = until is not None and branch.next_due() is not None
        bad = None if cut else stuck(branch)
        if bad is not None:
            branch.monitor.found(bad)
            self._take_violations(unit, branch)
        unit.graph.ends[key] = End(branch)
        lines = {(action, place_of(id_)) for (action, id_, _), count in branch.world.net.items() if count}
        unit.always = lines if unit.always is None else unit.always & lines
        self._length(unit, branch, key)

    def _met(self, unit: Unit, branch: Branch, key: int) -> None:
        """A run met a state that was seen."""
        self._length(unit, branch, key)

    def _length(self, unit: Unit, branch: Branch, key: int) -> None:
        elapsed = branch.now - branch.start_us
        known = unit.lengths.get(key)
        if known is None or elapsed > known[0]:
            unit.lengths[key] = (elapsed, branch.deviations)

    def _tick(self, unit: Unit) -> None:
        if self._counts and unit.states >= self.states_left:
            raise Stop(self.too_many)
        unit.states += 1
        self.pulse()

    @property
    def seconds_left(self) -> float:
        """How much time there is."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    @property
    def spent(self) -> bool:
        """Whether there is no more time."""
        return self.seconds_left <= 0

    def pulse(self) -> None:
        """Something was done that takes time. Raises ``Stop`` when there is no more of it."""
        self._ticks += 1
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime(f"the time budget of {self.plan.bounds.budget_s:g} s was spent (`--budget`)")
        if self.cancelled is not None and self._ticks % CHECK_EVERY == 0 and self.cancelled():
            raise Stop("the exploration was cancelled")

    def _notice(self, unit: Unit, branch: Branch, records: list[Record]) -> None:
        """What a transaction shows: steps that are reached, limits that are spent, orders of compensation."""
        for record in records:
            kind = record.kind
            if kind == "step.started":
                place = place_of(record.id)
                unit.reached[place] = unit.reached.get(place, 0) + 1
            elif kind == "history.superseded":
                if record.data["undo"]:
                    order = tuple(place_of(each) for each in record.data["undo"])
                    self._fact(unit, branch, ("undo", record.path, *order))
            elif kind == "hold.entered" and record.data["reason"] == "recovery_limit":
                self._fact(unit, branch, ("limit", record.path, "hold"))
            elif kind == "step.failed" and record.data["disposition"] in ("limit", "escalate"):
                then = "fail" if record.data["disposition"] == "limit" else "escalate"
                self._fact(unit, branch, ("limit", record.path, then))
        self._effects(unit, branch)
        self._take_violations(unit, branch)
        if branch.world.streaks and not goes_on(branch.world):
            unit.skipped[f"one step that is disturbed more than {MAX_STREAK} times, or in {MAX_ROUNDS} redos"] = None

    @staticmethod
    def _fact(unit: Unit, branch: Branch, fact: tuple[str, ...]) -> None:
        """Something that happens; the shortest way to it is kept."""
        now, known = branch.deviations, unit.facts.get(fact, _NEVER)
        if known is _NEVER or (known is not None and (now is None or now.depth < known.depth)):
            unit.facts[fact] = now

    @staticmethod
    def _effects(unit: Unit, branch: Branch) -> None:
        """How many effects of a step have stood at once."""
        told, branch.world.told = branch.world.told, None
        if told is not None and told.standing and told.call.undoes is None:
            line = told.call.action, place_of(told.call.id)
            unit.most[line] = max(told.standing, unit.most.get(line, 0))

    def _take_violations(self, unit: Unit, branch: Branch) -> None:
        for violation in branch.monitor.take():
            unit.found.append(Found(violation, branch.deviations))
