"""What holds for every Workfile, on Workfiles made at random."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.flow.analysis import analyse
from analyzer.flow.redo import redo_of
from analyzer.model.nodes import all_steps
from sim_runtime.core.evolve import evolve
from sim_runtime.core.frames import EMPTY
from sim_runtime.driver.protocol import CrashPoint, Decision, Script, ScriptedEvent
from sim_runtime.driver.run import Run
from sim_runtime.history.encoding import record_json
from sim_runtime.history.paths import shown_path
from tests.sim.generated import INPUTS, FunctionalWorld, Maker
from tests.sim.lab import H, M, check, definition, workflow_of

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)


@lru_cache(maxsize=4096)
def texts_of(seed: int, sequential: bool = False) -> tuple[str, str]:
    """The Workfile and the one that it may call."""
    maker = Maker(seed, sequential=sequential)
    return maker.workfile(), maker.child()


def script_of(seed: int, crashes: tuple[CrashPoint, ...] = ()) -> Script:
    random = Random(seed)
    events = tuple(
        ScriptedEvent("lab.ping", {"id": random.choice("ab")}, f"e{n}", at_us=random.randint(0, 6) * 20 * M)
        for n in range(random.randint(0, 4))
    )
    return Script(events=events, crashes=crashes, until_us=1000 * H)


def make(
    seed: int,
    crashes: tuple[CrashPoint, ...] = (),
    latency: bool = False,
    sequential: bool = False,
    trouble: float = 0.25,
) -> Run:
    world = FunctionalWorld(seed, trouble, latency)
    script = script_of(seed, crashes)
    return Run(definition(*texts_of(seed, sequential)), world, inputs=INPUTS, script=script, limit=20_000)


@given(SEEDS, st.booleans())
def test_every_run_ends_somewhere_and_is_well_formed(seed: int, latency: bool) -> None:
    run = check(make(seed, latency=latency).finish())
    assert run.over or run.status in ("suspended", "held")
    if not run.over:
        assert run.report()["waiting"], texts_of(seed)
        assert run.status == "held"
        assert run.next_due() is None or run.now == run.start_us + 1000 * H


@given(SEEDS)
def test_the_fold_is_the_live_state_at_every_record(seed: int) -> None:
    run = make(seed, latency=True)
    state = EMPTY
    seen = 0
    while True:
        records = run.step()
        if not records:
            due = run.next_due()
            if due is None or due > run.start_us + 1000 * H:
                break
            run.now = due
            continue
        for record in run.records[seen:]:
            state = evolve(state, record)
        seen = len(run.records)
        assert state == run.state


@given(SEEDS)
def test_single_assignment(seed: int) -> None:
    run = make(seed, latency=True).finish()
    bound: dict[str, int] = {}
    for record in run.records:
        if record.kind in ("step.succeeded", "step.skipped") or (
            record.kind == "step.failed" and record.data["disposition"] == "continue"
        ):
            assert record.id not in bound, (texts_of(seed), record)
            bound[record.id] = record.seq
        elif record.kind == "history.superseded":
            gone = set(record.data["records"])
            bound = {id_: seq for id_, seq in bound.items() if seq not in gone}


@given(SEEDS)
def test_an_action_that_succeeded_is_not_sent_again_in_its_generation(seed: int) -> None:
    run = make(seed, latency=True).finish()
    done: dict[str, int] = {}
    for record in run.records:
        if record.kind == "action.dispatched":
            assert record.id not in done
        elif record.kind == "action.succeeded":
            done[record.id] = record.seq
        elif record.kind == "history.superseded":
            gone = set(record.data["records"])
            done = {id_: seq for id_, seq in done.items() if seq not in gone}
    assert isinstance(run.world, FunctionalWorld)
    assert all(count == 1 for count in run.world.once.values())


def outcome(run: Run) -> tuple[object, ...]:
    report = run.report()
    assert isinstance(run.world, FunctionalWorld)
    return report["status"], report["result"], report["failure"], report["bindings"], report["holds"], run.world.counts


def crash_points(run: Run, random: Random, most: int) -> list[CrashPoint]:
    points = [CrashPoint(when, seq=record.seq) for record in run.records for when in ("before", "after")]
    points = [point for point in points if point.seq is not None]
    return random.sample(points, min(most, len(points)))


def is_safe(run: Run) -> bool:
    """Whether every write that was sent is keyed or inherent."""
    return all(
        each.data["idempotency"] != "none" or each.data["effect"] == "read"
        for each in run.records
        if each.kind in ("action.prepared", "compensation.prepared")
    )


@given(SEEDS, st.booleans())
def test_a_crash_anywhere_changes_nothing_when_every_write_is_safe(seed: int, sequential: bool) -> None:
    """Where nothing fails, or nothing is concurrent: else a crash may change which of two failures is the first."""
    trouble = 0.25 if sequential else 0.0
    plain = make(seed, sequential=sequential, trouble=trouble).finish()
    if not is_safe(plain):
        return
    for point in crash_points(plain, Random(seed), 8):
        crashed = check(make(seed, (point,), sequential=sequential, trouble=trouble).finish())
        if crashed.unfired:
            continue
        assert crashed.crashes == 1
        assert outcome(crashed) == outcome(plain), (texts_of(seed, sequential), point)


def quiet_points(run: Run) -> list[CrashPoint]:
    """After the boundaries at which no write is out: a crash there is no ambiguity."""
    found = []
    effects: dict[str, str] = {}
    out: dict[int, str] = {}
    for record in run.records:
        if record.kind in ("action.prepared", "compensation.prepared"):
            effects[record.id] = record.data["effect"]
        elif record.kind in ("action.dispatched", "compensation.dispatched"):
            if effects[record.id] == "write":
                out[record.seq] = record.id
        elif record.kind == "late_result.recorded":
            out.pop(record.data["dispatch"], None)
        elif record.kind.startswith(("action.", "compensation.")):
            out = {seq: id_ for seq, id_ in out.items() if id_ != record.id}
        if record.boundary and not out:
            found.append(CrashPoint("after", seq=record.seq))
    return found


@given(SEEDS)
def test_a_crash_while_only_reads_are_out_changes_nothing(seed: int) -> None:
    """Whatever is concurrent, fails, is late, waits or races."""
    plain = make(seed, latency=True).finish()
    points = quiet_points(plain)
    for point in Random(seed).sample(points, min(6, len(points))):
        crashed = check(make(seed, (point,), latency=True).finish())
        assert crashed.crashes == 1
        assert outcome(crashed) == outcome(plain), (texts_of(seed), point)


@given(SEEDS)
def test_a_crash_never_makes_an_unsafe_effect_happen_twice(seed: int) -> None:
    plain = make(seed, latency=True).finish()
    for point in crash_points(plain, Random(seed), 6):
        crashed = check(make(seed, (CrashPoint(point.when, seq=point.seq, down_us=30 * M),), latency=True).finish())
        assert isinstance(crashed.world, FunctionalWorld)
        assert all(count == 1 for count in crashed.world.once.values()), (texts_of(seed), point)
        assert crashed.over or crashed.status == "held"


@given(SEEDS)
def test_a_cancellation_anywhere_ends_as_cancelled_without_undo(seed: int) -> None:
    run = make(seed, latency=True)
    random = Random(seed)
    for _ in range(random.randint(0, 40)):
        if not run.step():
            due = run.next_due()
            if due is None:
                break
            run.now = max(run.now, due)
    accepted = run.cancel({"why": "test"}).accepted
    undone = sum(1 for each in run.records if each.kind == "compensation.dispatched")
    assert accepted or run.over, "what was runnable comes first, and may be the end"
    run.finish()
    check(run)
    if accepted:
        assert run.status == "cancelled"
        assert run.report()["cancel"] == {"reason": {"why": "test"}}
        assert undone == sum(1 for each in run.records if each.kind == "compensation.dispatched")


@given(SEEDS)
def test_the_redo_set_is_within_what_the_analyzer_computed(seed: int) -> None:
    run = make(seed, latency=True).finish()
    root = workflow_of(*texts_of(seed))
    child = next((step.callee for step in all_steps(root) if step.callee is not None), root)
    known = {
        (workflow is root, scope.path): {step.path for step in scope.actions.named(scope.found)}
        for workflow in (child, root)
        for scope in redo_of(analyse(workflow, every=True))
    }
    for record in run.records:
        if record.kind == "history.superseded":
            undone = {_static(shown_path(id_)) for id_ in record.data["undo"]}
            gone = (run.records[seq - 1] for seq in record.data["records"])
            done = {_static(each.path) for each in gone if each.kind == "action.succeeded"}
            place = ("/" not in record.id, "" if record.id.endswith("/") else _static(record.path))
            assert undone | done <= known[place], (texts_of(seed), record)


def _static(path: str) -> str:
    """The path in its own Workfile, whatever the iteration."""
    return re.sub(r"\[\d+\]", "[]", path.rpartition("/")[2])


@given(SEEDS)
def test_every_hold_can_be_decided_and_every_run_brought_to_an_end(seed: int) -> None:
    run = make(seed, latency=True).finish()
    for _ in range(10):
        if run.over:
            break
        holds = run.report()["holds"]
        assert holds, texts_of(seed)
        for hold in holds:
            kind = "authorize_recovery" if hold["reason"] == "recovery_limit" else "fail"
            assert run.decide(Decision(hold["path"], "dana", kind, code="given_up")).accepted
        run.finish()
    if not run.over:
        assert run.cancel().accepted
        run.finish()
    assert check(run).over


DIGEST = """
import hashlib, json, sys
from sim_runtime.history.encoding import record_json
from tests.sim.test_properties import make
digest = hashlib.sha256()
for seed in range(60):
    run = make(seed, latency=True).finish()
    digest.update(json.dumps([record_json(each) for each in run.records]).encode())
    digest.update(json.dumps(run.report()).encode())
print(digest.hexdigest())
"""


def test_the_same_bytes_under_two_hash_seeds() -> None:
    def digest(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout

    assert digest("1") == digest("2")


def test_the_generator_reaches_everything() -> None:
    """A generator that made only simple runs would prove nothing."""
    kinds: set[str] = set()
    for seed in range(250):
        kinds.update(each.kind for each in make(seed, latency=True).finish().records)
    missing = {
        "recovery.decided",
        "history.superseded",
        "compensation.succeeded",
        "generation.started",
        "handler.entered",
        "hold.entered",
        "event.accepted",
        "event.refused",
        "timer.released",
        "subscription.released",
        "retry.scheduled",
        "state.entered",
        "action.ambiguous",
        "iterations.planned",
        "step.skipped",
    } - kinds
    assert not missing
    assert json.dumps(record_json(make(3).finish().records[0]))
