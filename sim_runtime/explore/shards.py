"""Units shared out among processes, or among the workers of a Dask cluster. Every process finds the bases for itself
and explores the units whose turn is its own, so that nothing but results is sent, and results do not depend on how many
there are."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from analyzer.memory import paused_collection
from sim_runtime.explore.plan import Bounds, plan_of
from sim_runtime.explore.search import Search
from sim_runtime.explore.summary import Summary, summary_of
from sim_runtime.explore.units import OutOfTime, Stop
from sim_runtime.simulation import Changes, Prepared, prepare


class CannotShare(Exception):
    """An exploration cannot be shared out; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to do its part: files, options, and which part it is. ``left_s`` seconds were left when it
    was sent, at ``sent_at`` of the same clock; None where the clock is another machine's."""

    workfile: str
    scenario: str | None
    changes: Changes
    bounds: Bounds
    part: int
    parts: int
    left_s: float | None = None
    sent_at: float | None = None

    def deadline(self) -> float | None:
        """When the time of this part is over."""
        if self.left_s is None:
            return None
        gone = 0.0 if self.sent_at is None else time.time() - self.sent_at
        return time.monotonic() + self.left_s - gone


def explore_part(task: Task) -> bytes:
    """Explore one part; the summaries of its units by their numbers, why it ended early or an empty text, and what the
    unit came to in which the time was over."""
    prepared = prepare(task.workfile, task.scenario)
    prepared.changes = task.changes
    plan = plan_of(prepared, task.bounds)
    search = Search(plan, plan.start())
    search.deadline = task.deadline()
    found: list[tuple[int, Summary]] = []
    partly: Summary | None = None
    why = ""
    with paused_collection():
        try:
            search.find_bases()
            for number, unit in search.units(lambda each: each % task.parts == task.part):
                found.append((number, summary_of(unit)))
        except Stop as stop:
            why = stop.why
            if isinstance(stop, OutOfTime) and search.unit is not search.base_unit:
                partly = summary_of(search.unit, whole=False)
    return pickle.dumps((found, why, partly))


def shared(
    search: Search, prepared: Prepared, bounds: Bounds, jobs: int, dask: str | None, from_files: bool
) -> Iterator[Summary]:
    """The summaries of all units in order. Raises ``Stop`` where a part ended early, ``CannotShare``."""
    scenario = prepared.scenario.path or None
    if not from_files or (scenario is None and prepared.scenario.root is not None):
        raise CannotShare("only a Workfile and a scenario that stand in files can be explored by several processes")
    left = None if search.deadline is None else search.seconds_left
    task = Task(prepared.workflow.path, scenario, prepared.changes, bounds, 0, jobs, left)
    if dask is not None:
        answers = _on_dask(dask, task)
    else:
        tasks = [replace(task, part=part, sent_at=time.time()) for part in range(jobs)]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=jobs, mp_context=context) as pool:
            answers = list(pool.map(explore_part, tasks))
    yield from _joined(search, answers)


def _joined(search: Search, answers: list[bytes]) -> Iterator[Summary]:
    whys: list[str] = []
    parts: list[Summary] = []
    units: dict[int, Summary] = {}
    for answer in answers:
        found, why, partly = pickle.loads(answer)
        units.update(found)
        if why:
            whys.append(why)
        if partly is not None:
            parts.append(partly)
    number = 0
    while number in units:
        yield units[number]
        number += 1
    if whys:
        if search.too_many in whys:
            search.explore_one(number)  # as far as it goes, as one process would
        else:
            yield from (units[each] for each in sorted(units) if each > number)
            yield from parts
        raise Stop(whys[0])


def _on_dask(address: str, task: Task) -> list[bytes]:
    try:
        from distributed import Client  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise CannotShare("Dask is not installed: `pip install 'workfile-tools[dask]'`") from None
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise CannotShare(f"no Dask scheduler answers at `{address}`: {error}") from None
    with client:
        parts = max(1, sum(client.nthreads().values()))
        tasks = [replace(task, part=part, parts=parts) for part in range(parts)]
        answers: list[bytes] = client.gather(client.map(explore_part, tasks, pure=False))
    return answers
