"""What a unit came to, summed up as plain data that can be sent between processes and joined in the order of the
units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from sim_runtime.explore.branch import Deviation
from sim_runtime.explore.ends import OUTCOMES, Outcome, Round, status_of
from sim_runtime.explore.monitor import Violation
from sim_runtime.explore.units import CrashEdge, Unit, crash_deviation

#: What went otherwise on the way to something, in order.
Chain: TypeAlias = tuple[Deviation, ...]

#: A crash point: the step path, ``before`` or ``after``, the record's kind.
Point: TypeAlias = tuple[str, str, str]

K = TypeVar("K")


class Example(NamedTuple):
    """A way to something, and a few words on why it ends so."""

    chain: Chain
    why: str = ""

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Shorter ones come first."""
        last = self.chain[-1].records if self.chain else 0
        counted = [each for each in self.chain if each.kind != "world"]
        return len(counted), len(self.chain), last, " ".join(each.words for each in self.chain)


@dataclass(slots=True)
class Cell:
    """What a crash point leads to: an example for each outcome, and what follows an operator's decision there.
    ``changed`` are the outcomes that the run without the crash does not have. ``expected``: it lies on a run in which
    nothing else goes otherwise."""

    expected: bool
    outcomes: dict[str, Example] = field(default_factory=dict)
    changed: dict[str, Example] = field(default_factory=dict)
    decided: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Summary:
    """What one or more units came to. ``runs`` counts the ways that were explored, each by what it ends as; ``ended``
    holds every different end, with what stands then and how many runs come to it."""

    states: int = 0
    runs: int = 0
    units: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    examples: dict[str, Example] = field(default_factory=dict)
    cells: dict[Point, Cell] = field(default_factory=dict)
    findings: dict[Violation, Example] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    facts: dict[tuple[str, ...], Example] = field(default_factory=dict)
    longest: tuple[int, Example] = (0, Example(()))
    skipped: dict[str, None] = field(default_factory=dict)
    most: dict[tuple[str, str], int] = field(default_factory=dict)
    always: set[tuple[str, str]] | None = None

    def add(self, other: Summary) -> None:
        """Join what another unit came to."""
        self.states += other.states
        self.runs += other.runs
        for status, count in other.outcomes.items():
            self.outcomes[status] = self.outcomes.get(status, 0) + count
        _best(self.examples, other.examples)
        for point, cell in other.cells.items():
            known = self.cells.get(point)
            if known is None:
                self.cells[point] = cell
            elif known.expected == cell.expected:
                _best(known.outcomes, cell.outcomes)
                _best(known.changed, cell.changed)
                known.decided |= cell.decided
            elif cell.expected:
                self.cells[point] = cell
        _best(self.findings, other.findings)
        for path, count in other.reached.items():
            self.reached[path] = self.reached.get(path, 0) + count
        _best(self.facts, other.facts)
        if other.longest[0] > self.longest[0]:
            self.longest = other.longest
        for line, count in other.most.items():
            self.most[line] = max(count, self.most.get(line, 0))
        if other.always is not None:
            self.always = other.always if self.always is None else self.always & other.always
        self.skipped.update(other.skipped)


def _best(mine: dict[K, Example], theirs: dict[K, Example]) -> None:
    for key, example in theirs.items():
        known = mine.get(key)
        if known is None or example.rank < known.rank:
            mine[key] = example


def _keep(examples: dict[K, Example], key: K, example: Example) -> None:
    known = examples.get(key)
    if known is None or example.rank < known.rank:
        examples[key] = example


def chain_of(deviations: Deviation | None) -> Chain:
    """The deviations in order, each without those before it."""
    return () if deviations is None else tuple(each._replace(before=None) for each in deviations.chain())


def summary_of(unit: Unit, whole: bool = True) -> Summary:
    """Sum a unit up; of one that is not whole, ways whose end is not known are left out."""
    found = Summary(unit.states, reached=unit.reached, skipped=unit.skipped, most=unit.most, always=unit.always)
    for edge in unit.crashes:
        if whole or unit.graph.outcome(edge.key) is not None:
            _crash(found, unit, edge)
    for other in unit.others:
        outcome = unit.graph.outcome(other.key)
        if whole or outcome is not None:
            _run(found, outcome, other.deviations)
    for each in unit.found:
        _keep(found.findings, each.violation, Example(chain_of(each.deviations)))
    for fact, deviations in unit.facts.items():
        found.facts[fact] = Example(chain_of(deviations))
    for key, (elapsed, deviations) in unit.lengths.items():
        outcome = unit.graph.outcome(key)
        total = elapsed + (outcome.elapsed_us if isinstance(outcome, Outcome) else 0)
        if total > found.longest[0]:
            found.longest = (total, Example(chain_of(deviations)))
    return found


def base_summary(unit: Unit, keys: list[tuple[int, Deviation | None]], whole: bool = True) -> Summary:
    """Sum the bases up: a run for each; of those that are not whole, only those whose end is known."""
    found = summary_of(unit, whole)
    for key, deviations in keys:
        outcome = unit.graph.outcome(key)
        if whole or outcome is not None:
            _run(found, outcome, deviations)
    return found


def _run(found: Summary, outcome: Outcome | Round | None, deviations: Deviation | None) -> None:
    """Count a way that was explored."""
    status = status_of(outcome)
    found.runs += 1
    found.outcomes[status] = found.outcomes.get(status, 0) + 1
    known = found.examples.get(status)
    if known is None or _length(deviations) < len(known.chain):
        found.examples[status] = Example(chain_of(deviations), _why(outcome))
    if isinstance(outcome, Round):
        fact = ("round", *outcome.states)
        if fact not in found.facts or _length(deviations) < len(found.facts[fact].chain):
            found.facts[fact] = Example(chain_of(deviations))
        if outcome.at_once:
            states = ", ".join(f"`{each}`" for each in outcome.states)
            found.skipped[f"a run that goes round in circles at one instant, through {states}"] = None


def _why(outcome: Outcome | Round | None) -> str:
    return outcome.end.why if isinstance(outcome, Outcome) else ""


def _length(deviations: Deviation | None) -> int:
    return 0 if deviations is None else deviations.depth


def _crash(found: Summary, unit: Unit, edge: CrashEdge) -> None:
    outcome = unit.graph.outcome(edge.key)
    expected = edge.deviations is None or edge.deviations.disturbances == 0
    status = status_of(outcome)
    record = edge.records[-1] if edge.point == "after" else edge.records[0]
    crash = crash_deviation(edge, record.kind, record.path)
    _run(found, outcome, crash)
    example: Example | None = None
    parent = unit.graph.outcome(edge.parent)
    changes = outcome is not None and parent is not None and status_of(parent) != status
    for each in edge.records:
        point = each.path, edge.point, each.kind
        cell = found.cells.get(point)
        if cell is None or (expected and not cell.expected):
            cell = found.cells[point] = Cell(expected)
        elif cell.expected and not expected:
            continue
        for table in (cell.outcomes, cell.changed) if changes else (cell.outcomes,):
            known = table.get(status)
            if known is None or crash.depth < len(known.chain):
                example = example or Example(chain_of(crash), _why(outcome))
                table[status] = example
        if isinstance(outcome, Outcome):
            for then in unit.graph.decided.get(outcome.key, ()):
                cell.decided.add(status_of(unit.graph.outcome(then)))
    late = crash.before is not None and crash.before.slow
    if not isinstance(outcome, Outcome) or not isinstance(parent, Outcome) or outcome.acted or edge.racing or late:
        return
    if outcome.end is not parent.end and outcome.end.value != parent.end.value:
        message = f"a crash {edge.point} `{record.kind}` makes the run end differently: {_differs(outcome, parent)}"
        _keep(found.findings, Violation("crash-changes-outcome", record.path, message), Example(chain_of(crash)))


def _differs(outcome: Outcome, parent: Outcome) -> str:
    if outcome.end.status != parent.end.status:
        return f"`{outcome.end.status}`, not `{parent.end.status}`"
    return "another result, other bindings or other effects"


def ordered(statuses: set[str]) -> list[str]:
    """Outcomes in the order in which reports list them."""
    return [each for each in OUTCOMES if each in statuses]
