"""Units on several processes, and on a cluster: the same results, however many there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim_runtime.explore import Bounds, CannotShare, explore
from sim_runtime.explore.report import json_report
from sim_runtime.explore.search import Search
from sim_runtime.explore.shards import Task, _joined, explore_part
from sim_runtime.explore.summary import Summary, base_summary, summary_of
from sim_runtime.simulation import Changes, prepare
from tests.sim.explore.common import plan, prepared

ROOT = Path(__file__).resolve().parents[3]
APPROVAL = str(ROOT / "examples" / "approval.workfile.yaml")
BOUNDS = Bounds(budget_s=None)


def report(bounds: Bounds = BOUNDS, **options: object) -> str:
    found = explore(prepare(APPROVAL), bounds, **options)  # type: ignore[arg-type]
    return json.dumps(json_report(found, {}))


def test_the_parts_together_are_the_whole() -> None:
    whole = json.loads(report())
    for parts in (1, 3):
        answers = [explore_part(Task(APPROVAL, None, Changes(), BOUNDS, part, parts)) for part in range(parts)]
        summary = Summary()
        ready = prepare(APPROVAL)
        made = explore(ready, BOUNDS).plan
        search = Search(made, made.start())
        search.find_bases()
        summary.add(base_summary(search.base_unit, search.starts))
        for each in _joined(search, answers):
            summary.add(each)
        assert summary.states == whole["states"]
        assert summary.outcomes == whole["outcomes"]


@pytest.mark.slow
@pytest.mark.parametrize("states", [300_000, 400])
def test_processes_change_nothing(states: int) -> None:
    """Also where a bound ends the exploration in the middle of a unit."""
    bounds = Bounds(budget_s=None, states=states)
    assert report(bounds, jobs=2) == report(bounds)


def test_units_know_nothing_of_each_other() -> None:
    """Each is the same when it is explored alone."""
    text = "steps: [ { a: { lab.pay: { n: 1 } } }, { b: { lab.send: { n: 2 }, on_unknown: halt } } ]\n"
    first = plan(text)
    search = Search(first, first.start())
    search.find_bases()
    together = {number: summary_of(unit) for number, unit in search.units(lambda _: True)}
    for wanted, two in together.items():
        again = plan(text)
        alone = Search(again, again.start())
        alone.find_bases()
        (number, unit), *rest = list(alone.units(lambda each, wanted=wanted: each == wanted))
        assert not rest
        assert number == wanted
        one = summary_of(unit)
        assert (one.states, one.runs, one.outcomes) == (two.states, two.runs, two.outcomes)
        assert list(one.cells) == list(two.cells)


def test_what_is_not_in_files_cannot_be_shared() -> None:
    ready = prepared("steps: [ { a: { lab.pay: { n: 1 } } } ]\n")
    with pytest.raises(CannotShare, match="stand in files"):
        explore(ready, BOUNDS, jobs=2, start=ready.simulation().run)


def test_no_scheduler_is_one_line() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        with pytest.raises(CannotShare, match="pip install"):
            explore(prepare(APPROVAL), BOUNDS, dask="127.0.0.1:1")
    else:
        with pytest.raises(CannotShare, match="no Dask scheduler answers"):
            explore(prepare(APPROVAL), BOUNDS, dask="127.0.0.1:1")


@pytest.mark.slow
def test_a_cluster_changes_nothing() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        assert report(dask=cluster.scheduler_address) == report()
