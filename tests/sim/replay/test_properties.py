"""What holds for the histories of all runs, on Workfiles made at random."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_runtime import replay
from sim_runtime.core.frames import State
from sim_runtime.driver.protocol import Answer, Call, CrashPoint, Script
from sim_runtime.driver.run import Run
from sim_runtime.history.load import read_history
from sim_runtime.replay.calls import effects_of
from sim_runtime.replay.continued import ContinuedRun
from sim_runtime.replay.evaluation import evaluate
from sim_runtime.replay.plan import Plan
from tests.sim.generated import FunctionalWorld
from tests.sim.lab import H, check
from tests.sim.replay.recorded import chosen_of, lines_of_run, prefixes, prepared_of
from tests.sim.test_properties import crash_points, is_safe, make, outcome, texts_of

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=20)


class Afresh(FunctionalWorld):
    """An outside that did not see the calls before it was made."""

    def read(self, call: Call, latency: int) -> Answer:
        known = call.id in self.reads
        return super().read(call if known else replace(call, interrupted=False), latency)


def followed(run: Run) -> dict[int, State]:
    """Run to the end; the live state at every boundary."""
    states = {}
    while True:
        if run.step():
            states[run.state.seq] = run.state
            continue
        due = run.next_due()
        if due is None or due > run.start_us + 1000 * H:
            return states
        run.now = max(run.now, due)


@pytest.mark.requirement("R-RCN-01")
@FEW
@given(SEEDS)
def test_reconstruction_is_the_live_state_of_that_moment(seed: int) -> None:
    run = make(seed, latency=True)
    states = followed(run)
    lines = lines_of_run(run, *texts_of(seed))
    history = read_history(lines)
    for seq in Random(seed).sample(sorted(states), min(12, len(states))):
        found = replay.reconstruct(history, seq)
        assert found.state == states[seq]
        assert found.at.seq == seq
    last = replay.reconstruct(history).json()
    live = run.report()
    for name in ("status", "result", "stop", "cancel", "failure", "bindings", "waiting", "holds", "generation"):
        assert last[name] == live[name], (name, texts_of(seed))


@pytest.mark.requirement("R-REV-01")
@FEW
@given(SEEDS, st.booleans())
def test_every_prefix_is_compatible_with_the_definition_that_wrote_it(seed: int, crash: bool) -> None:
    random = Random(seed)
    run = make(seed, latency=True).finish()
    if crash:
        point = crash_points(run, random, 1)[0]
        crash_point = CrashPoint(point.when, seq=point.seq, down_us=random.choice([0, 3 * H]))
        run = make(seed, (crash_point,), latency=True).finish()
    chosen = chosen_of(*texts_of(seed))
    for history in prefixes(lines_of_run(run, *texts_of(seed)), random, 12):
        found = replay.reevaluate(history, chosen)
        assert found.compatible, (texts_of(seed), found.divergence)
        assert found.state == replay.reconstruct(history).state


@pytest.mark.requirement("R-CON-01")
@FEW
@given(SEEDS)
def test_every_prefix_continues_to_the_same_outcome(seed: int) -> None:
    """Where nothing fails, every write is safe and no event comes: else an interruption may change what is first."""
    run = make(seed, trouble=0.0, sequential=True)
    run._outside.events.clear()
    check(run.finish())
    if not is_safe(run):
        return
    chosen = chosen_of(*texts_of(seed, True))
    for history in prefixes(lines_of_run(run, *texts_of(seed, True)), Random(seed), 6):
        evaluation = evaluate(history, chosen)
        assert evaluation.compatible
        world = Afresh(seed, 0.0)
        done = make(seed, trouble=0.0, sequential=True)  # what the outside had seen by then
        done._outside.events.clear()
        while len(done.records) < len(history.records):
            if not done.step():
                due = done.next_due()
                assert due is not None
                done.now = max(done.now, due)
        assert isinstance(done.world, FunctionalWorld)
        world.counts, world.done = dict(done.world.counts), dict(done.world.done)
        world.reads = dict(done.world.reads)
        script = Script(until_us=1000 * H)
        again = ContinuedRun(chosen.definition, world, history.records, script, Plan([]), run.run_id)
        check(again.finish())
        assert outcome(again)[:5] == outcome(run)[:5], texts_of(seed, True)
        before = [each["key"] for each in done.calls if each["answer"] == "success"]
        assert not [key for key in before if key is not None and key in [each["key"] for each in again.calls]]


@pytest.mark.requirement("R-CON-11")
@FEW
@given(SEEDS)
def test_a_successor_is_a_sound_history_of_its_own(seed: int) -> None:
    """Continued on the definition of another seed's child: whatever is invalidated, what is written can be judged."""
    text, child = texts_of(seed)
    other_child = texts_of(seed + 1)[1]
    run = make(seed, latency=True).finish()
    lines = lines_of_run(run, text, child)
    other = prepared_of(text, other_child)
    for history in prefixes(lines, Random(seed), 3):
        found = replay.continue_(history, other)
        found.run.limit = 5_000
        found.run.world = Afresh(seed, 0.25, True)
        found.finish()
        again = read_history([line.encode() for line in found.lines()])
        assert replay.reconstruct(again).state == found.run.state
        judged = replay.reevaluate(again)
        assert judged.compatible, (texts_of(seed), other_child, judged.divergence)
        assert again.header.lineage is not None
        assert again.header.lineage["run"] == run.run_id
        reused = {each["seq"] for each in found.json()["reused"]}
        assert not reused & set(found.discarded)


#: Small edits of texts that the generator makes.
EDITS = (
    ("attempts: 2", "attempts: 3"),
    ("delay: 1m", "delay: 30m"),
    ("redo: this_step", "redo: whole_group"),
    ("inputs.n + 1", "inputs.n + 2"),
    ("inputs.yes", "inputs.no"),
    ("wf.wait: 1h", "wf.wait: 2h"),
    ("failures: 1", "failures: 2"),
    *((f"{{ step: s{n} }}", f"{{ step: s{n}0 }}") for n in range(1, 9)),
    *((f"{{ s{n}:", f"{{ s{n}x:") for n in range(1, 9)),
)


@pytest.mark.requirement("R-CON-09", "R-CON-10")
@FEW
@given(SEEDS)
def test_an_edit_never_makes_an_unsafe_effect_happen_twice(seed: int) -> None:
    """Nor does it send again what was taken over: whatever is changed, wherever the history ends."""
    random = Random(seed)
    text, child = texts_of(seed)
    fitting = [each for each in EDITS if each[0] in text]
    lines = lines_of_run(make(seed, latency=True).finish(), text, child)
    for old, new in random.sample(fitting, min(3, len(fitting))):
        try:
            other = prepared_of(text.replace(old, new, 1), child)
        except AssertionError:
            continue  # the edited Workfile has errors
        history = (prefixes(lines, random, 1) or [read_history(lines)])[0]
        found = replay.continue_(history, other)
        found.run.limit = 5_000
        found.run.world = Afresh(seed, 0.25, latency=True)
        found.finish()
        judge_effects(history, found)
        again = read_history([line.encode() for line in found.lines()])
        assert replay.reconstruct(again).state == found.run.state
        assert replay.reevaluate(again).compatible


def judge_effects(history: replay.History, found: replay.Continuation) -> None:
    """No call of this continuation repeats an effect of the history that may stand and that nobody decided on."""
    standing = {id_: each.prepared.data for id_, each in effects_of(history.records, 1).items()}
    decided = {each.id for each in found.run.records if each.kind == "operator.decided"}
    taken = {each.id for each in found.reused if each.kind in ("action.succeeded", "action.dispatched")}
    prepared = {}
    for record in found.run.records[found.run.given :]:
        if record.kind == "action.prepared":
            prepared[record.id] = record
        if record.kind != "action.dispatched" or record.generation or record.id not in prepared:
            continue
        data = prepared[record.id].data
        if data["effect"] == "write" and data["idempotency"] == "none" and record.id not in decided | taken:
            assert record.id not in standing, (record, found.plan.divergence)
