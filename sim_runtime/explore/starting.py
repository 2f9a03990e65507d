"""An exploration that begins in the middle of a run: the run as it stands becomes the branch that everything starts
from."""

from __future__ import annotations

from sim_runtime.core.frames import EMPTY
from sim_runtime.driver.run import Run
from sim_runtime.explore.branch import Branch
from sim_runtime.explore.plan import Plan
from sim_runtime.explore.trail import Trail
from sim_runtime.explore.world import ExploreWorld
from sim_runtime.history.records import Record
from sim_runtime.world.connectors import SimulatedWorld


def branch_from(run: Run, plan: Plan) -> Branch:
    """The branch of a run, which is left as it is."""
    copy = run.fork()
    if copy.down:
        copy.resume()
    records: list[Record] = list(copy.records)
    branch: Branch = object.__new__(Branch)
    branch.__dict__.update(copy.__dict__)
    branch.keys = plan.keys
    branch.begin(plan.monitor())
    branch.records.trail = Trail(None, records)  # type: ignore[attr-defined]
    branch.world = _world(copy.world, plan)
    if copy.state is EMPTY:
        return branch
    for record in records:
        if record.kind == "action.prepared" and record.data["effect"] == "write":
            branch.monitor.took[record.id] = True
        if record.kind in ("action.succeeded", "action.suppressed") or (
            record.kind in ("reconcile.decided", "operator.decided") and "result" in record.data
        ):
            branch.order = (*branch.order, record.seq)
    branch.monitor.read(records)
    branch.monitor.take()
    _stand(branch)
    return branch


def _world(world: object, plan: Plan) -> ExploreWorld:
    assert isinstance(world, SimulatedWorld)
    found = ExploreWorld(plan.actions, world._answers, plan.keys)
    found._used = {key: set(each) for key, each in world._used.items()}
    found._took = dict(world._took)
    found._reads = dict(world._reads)
    found._calls = dict(world._calls)
    return found


def _stand(branch: Branch) -> None:
    """The effects that stand now: those of the calls that completed and were not superseded."""
    from sim_runtime.core.frames import Attempt
    from sim_runtime.history.paths import address_of

    for id_ in branch.monitor.done:
        frame = branch.state.frame(address_of(id_))
        if frame is not None and isinstance(frame.info, Attempt) and frame.info.effect == "write":
            line = branch.world.line(frame.info.action, id_, frame.info.arguments)
            branch.world.net[line] = 1
