"""An exploration from beginning to end: search, sum up, find the shortest way to each finding."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from analyzer.memory import paused_collection
from analyzer.shown import shown_path
from sim_runtime.driver.run import Run
from sim_runtime.explore.monitor import RULES, Violation
from sim_runtime.explore.plan import Bounds, Plan, plan_of
from sim_runtime.explore.scenarios import Parts, Written, judged, scenario_for, shrunk, text_of
from sim_runtime.explore.search import UNIT, Search
from sim_runtime.explore.starting import branch_from
from sim_runtime.explore.summary import Chain, Example, Summary, base_summary, summary_of
from sim_runtime.explore.table import placed
from sim_runtime.explore.units import Stop
from sim_runtime.simulation import Prepared

Json: TypeAlias = Any
Progress: TypeAlias = Callable[[int, int, int], None]

MAX_COUNTEREXAMPLES: Final = 50
"""Findings that are made shorter and written out; the others are listed."""
WORTH_SHARING_S: Final = 2.0
"""With less time than this other processes would be ready when it is over."""
CLOSING_S: Final = 1.0
CLOSING_SHARE: Final = 0.1
"""What is left for counterexamples when the time is spent: so many seconds, or that share of the budget."""


class Finding(NamedTuple):
    """A rule that is broken, the shortest way to it, and the scenario that plays it, where one does."""

    violation: Violation
    chain: Chain
    written: Written | None


@dataclass
class Exploration:
    """What came of it. ``left`` says what was not explored within the bounds, a sentence each: nothing when
    ``complete``. ``ended``: no bound ended it early. ``worlds`` are the runs without anything wrong that deviations
    start from. ``unwritten``: no time was left for some scenarios."""

    plan: Plan
    search: Search
    summary: Summary
    left: list[str]
    worlds: list[str]
    findings: list[Finding] = field(default_factory=list)
    fixed: bool = True
    ended: bool = True
    unwritten: bool = False
    _scenarios: dict[int, Written | None] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything within the bounds was explored."""
        return not self.left

    @property
    def nothing(self) -> bool:
        """Whether a bound ended it before one way was followed to its end."""
        return not self.ended and not self.summary.runs

    @property
    def never(self) -> list[str]:
        """The steps that no run reached, in document order; none as long as that is not known."""
        return self.unreached if self.ended else []

    @property
    def unreached(self) -> list[str]:
        """The steps that no run reached that was followed, in document order."""
        return [path for path in self.plan.steps if path not in self.summary.reached]

    def scenario(self, example: Example | Chain) -> Written | None:
        """The scenario that plays a way; None when the exploration began in the middle of a run, and when no time is
        left to find it."""
        chain = example.chain if isinstance(example, Example) else example
        if not self.fixed:
            return None
        known = self._scenarios.get(id(chain))
        if known is None and not self.search.spent:
            known = scenario_for(self.search, chain)
            if known is not None or not self.search.spent:
                self._scenarios[id(chain)] = known
        self.unwritten |= known is None and self.search.spent
        return known


def explore(
    prepared: Prepared,
    bounds: Bounds = Bounds(),  # noqa: B008 - a value
    *,
    start: Run | None = None,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Exploration:
    """Explore a Workfile. ``start``: a run to begin with as it stands, which stays as it is. ``progress`` is told
    states, units that are done, and units; ``cancelled`` is asked now and then, and what was found until then is given.

    Raises:
        CannotSimulate: inputs cannot be made up.
        CannotShare: ``jobs`` or ``dask`` with what cannot be sent to other processes.
    """
    plan = plan_of(prepared, bounds)
    branch = plan.start() if start is None else branch_from(start, plan)
    search = Search(plan, branch, cancelled)
    summary = Summary()
    left: list[str] = []
    ended = based = False
    with paused_collection():
        try:
            search.find_bases()
            _add(summary, base_summary(search.base_unit, search.starts, whole=not search.cut), search)
            based = True
            total = -(-len(search.graph.following) // UNIT)
            for done, each in enumerate(_units(search, prepared, bounds, jobs, dask, start), 1):
                _add(summary, each, search)
                if progress is not None:
                    progress(summary.states, done, max(total, done))
            ended = True
        except Stop as stop:
            left.append(stop.why)
            if not based:
                summary.add(base_summary(search.base_unit, search.starts, whole=False))
            elif search.unit is not search.base_unit:
                summary.add(summary_of(search.unit, whole=False))
        left.extend(summary.skipped)
        worlds = [base.words for base in search.bases]
        found = Exploration(plan, search, summary, left, worlds, fixed=start is None, ended=ended and not search.cut)
        _close(search)
        found.findings = _findings(found)
    return found


def _close(search: Search) -> None:
    """Counterexamples are found in the time that is left, and a little more when there is none."""
    budget = search.plan.bounds.budget_s
    if budget is not None:
        now = time.monotonic()
        search.deadline = max(search.deadline or now, now + max(CLOSING_S, CLOSING_SHARE * budget))
    search.cancelled = None


def _add(summary: Summary, unit: Summary, search: Search) -> None:
    """Take in what a unit came to, as long as the states are within the bound. Raises ``Stop``."""
    most = search.plan.bounds.states
    if summary.states + unit.states > most:
        search.explore_one(summary.units - 1)  # as far as it goes, as one process would
        raise Stop(search.too_many)
    summary.add(unit)
    summary.units += 1
    search.states_left = most - summary.states


def _units(
    search: Search, prepared: Prepared, bounds: Bounds, jobs: int, dask: str | None, start: Run | None
) -> Iterator[Summary]:
    if (jobs > 1 and search.seconds_left > WORTH_SHARING_S) or dask is not None:
        from sim_runtime.explore.shards import shared

        yield from shared(search, prepared, bounds, jobs, dask, start is None)
        return
    for _, unit in search.units(_all):
        yield summary_of(unit)


def _all(_number: int) -> bool:
    return True


# ---- findings -----------------------------------------------------------------------------------


def _findings(found: Exploration) -> list[Finding]:
    """Each rule that is broken once a path, the shortest way first."""
    best: dict[tuple[str, str], tuple[Violation, Example]] = {}
    for violation, example in found.summary.findings.items():
        key = violation.kind, violation.path
        known = best.get(key)
        if known is None or example.rank < known[1].rank:
            best[key] = violation, example
    listed = sorted(best.values(), key=lambda each: (each[1].rank, each[0]))
    findings = []
    for number, (violation, example) in enumerate(listed):
        written = found.scenario(example) if number < MAX_COUNTEREXAMPLES else None
        if written is not None:
            written = _shorter(found.search, violation, written)
        findings.append(Finding(violation, example.chain, written))
    return findings


def _shorter(search: Search, violation: Violation, written: Written) -> Written:
    """The scenario without what it does not need to break the rule; it does not write more than before either."""

    def broken(parts: Parts) -> bool:
        return not search.spent and _breaks(search, violation, parts, written.records)

    if not broken(written.parts):
        return written
    parts = shrunk(written.parts, broken)
    came = judged(search, parts)
    return written if came is None else Written(parts, came.end, came.records)


def _breaks(search: Search, violation: Violation, parts: Parts, records: int) -> bool:
    came = judged(search, parts)
    if came is None or came.records > records:
        return False
    if violation.kind != "crash-changes-outcome":
        return (violation.kind, violation.path) in came.broken
    calm = judged(search, {name: each for name, each in parts.items() if name != "crashes"})
    return bool(parts.get("crashes")) and calm is not None and calm.end.value != came.end.value


# ---- files --------------------------------------------------------------------------------------


def write_scenarios(found: Exploration, folder: str) -> dict[str, str]:
    """Write the counterexamples, and one scenario for each way in which a crash ends a run otherwise; the name of each
    file by what it is for (``kind path``, or ``outcome path``). Raises ``OSError``."""
    from analyzer.atomic import write_atomically

    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    files: dict[str, str] = {}
    for number, (name, said, written) in enumerate(_to_write(found), 1):
        path = os.path.join(folder, f"{number:02d}-{_file_name(name)}.scenario.yaml")  # noqa: PTH118
        text = text_of(found.plan, written.parts, written.end, [*said, command(found, path)], os.path.abspath(path))  # noqa: PTH100
        write_atomically(path, text.encode("utf-8", "surrogatepass"))
        files[name] = path
    return files


def command(found: Exploration, path: str) -> str:
    """The one command that plays a scenario file."""
    workfile, scenario = (shlex.quote(shown_path(each)) for each in (found.plan.prepared.workflow.path, path))
    return f"workfile run {workfile} --scenario {scenario}"


def _to_write(found: Exploration) -> Iterator[tuple[str, list[str], Written]]:
    for finding in found.findings:
        if finding.written is not None:
            violation = finding.violation
            said = [f"{violation.kind} at `{violation.path}`: {violation.message}", RULES[violation.kind]]
            yield f"{violation.kind} {violation.path}", said, finding.written
    for name, example in notable(found):
        written = found.scenario(example)
        if written is not None:
            said = [" · ".join(each.words for each in example.chain), f"{written.end.status}: {written.end.why}"]
            yield name, said, written


def notable(found: Exploration) -> list[tuple[str, Example]]:
    """For each place and outcome that a crash leads to and the run without that crash does not: the first example. The
    expected runs count, and where these do not come by what the table shows."""
    shown = {id(cell) for _, _, cell in placed(found.summary)}
    listed: dict[str, Example] = {}
    for cell in found.summary.cells.values():
        if cell.expected or id(cell) in shown:
            for status, example in cell.changed.items():
                name = name_of(status, example)
                if name not in listed or example.rank < listed[name].rank:
                    listed[name] = example
    return sorted(listed.items(), key=lambda pair: pair[1].rank)[:MAX_COUNTEREXAMPLES]


def name_of(status: str, example: Example) -> str:
    """What the scenario of a crash is for: an outcome, and where the crash is."""
    return f"{status} {example.chain[-1].path}"


def _file_name(name: str) -> str:
    words = "".join(each if each.isalnum() and each.isascii() else "-" for each in name)
    return "-".join(part for part in words.split("-") if part)[:60] or "run"
