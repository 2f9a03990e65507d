"""Faults in the runtime, put there on purpose: exploring the examples finds each of them, and nothing without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim_runtime.core import actions, advance, decide, evolve, looking, recovering, transaction, waits
from sim_runtime.core.frames import EMPTY, Attempt
from sim_runtime.driver import run as driver
from sim_runtime.explore import Bounds, Exploration, explore
from sim_runtime.simulation import prepare
from tests.sim.explore.common import explored as lab_explored
from tests.sim.explore.common import kinds

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
Patch = pytest.MonkeyPatch


def explored(name: str, states: int = 300_000) -> Exploration:
    """An example, explored."""
    return explore(prepare(str(EXAMPLES / f"{name}.workfile.yaml")), Bounds(states=states, budget_s=None))


# ---- the faults ---------------------------------------------------------------------------------


def timers_lost_in_a_crash(patch: Patch) -> None:
    """A timer is not there any more when the executor comes back."""
    real = looking.timers
    patch.setattr(looking, "timers", lambda state: [each for each in real(state) if each.name != "retry"])


def calls_forgotten_in_a_crash(patch: Patch) -> None:
    """Nobody asks after the calls that were out."""
    patch.setattr(looking, "flights", lambda _state: [])


def key_of_the_generation(patch: Patch) -> None:
    """A redo without compensation is sent under another key."""
    real = actions.derived_key
    patch.setattr(actions, "derived_key", lambda tx, *rest: f"{real(tx, *rest)}@{tx.state.generation}")


def key_kept_after_undo(patch: Patch) -> None:
    """A redo after compensation is sent under the key of the call that was undone."""
    patch.setattr(actions, "derived_key", lambda tx, id_, _action, base: base or f"{tx.state.key_run}:{id_}")


def undo_key_kept(patch: Patch) -> None:
    """The second compensation of a step has the key of the first."""
    real = recovering._undo_key
    patch.setattr(recovering, "_undo_key", lambda tx, address, _number: real(tx, address, 1))
    patch.setattr(recovering, "key_clashes", lambda *_: False)  # it would look for a number that is free, for ever


def release_before_selection(patch: Patch) -> None:
    """A wait lets go of its timer and its subscription before the selection is recorded."""
    real = waits._select

    def select(tx: Any, at: Any, subscription: Any) -> bool:
        if subscription.events or subscription.fired:
            waits._let_go(tx, at)
        return real(tx, at, subscription)

    patch.setattr(waits, "_select", select)


def timeout_beats_the_event(patch: Patch) -> None:
    """An event at the deadline does not win."""
    real = waits._select

    def select(tx: Any, at: Any, subscription: Any) -> bool:
        early = tuple(each for each in subscription.events if each.at < subscription.deadline)
        return real(tx, at, subscription._replace(events=early))

    patch.setattr(waits, "_select", select)


def compensation_in_order(patch: Patch) -> None:
    """What was done first is undone first."""
    patch.setattr(recovering, "sorted", lambda entries, reverse=False: sorted(entries), raising=False)


def compensation_left_out(patch: Patch) -> None:
    """Work is redone without compensation."""
    patch.setattr(recovering._Superseded, "_action", lambda *_: None)


def limit_off_by_one(patch: Patch) -> None:
    """A recovery scope acts once too often."""
    real = recovering._activations
    patch.setattr(recovering, "_activations", lambda *given: real(*given) - 1)


def one_attempt_too_many(patch: Patch) -> None:
    """A step is tried once more than its policy says."""
    real = actions.may_retry

    def may_retry(step: Any, failure: Any, attempt: Attempt) -> bool:
        return real(step, failure, attempt._replace(attempt=attempt.attempt - 1))

    patch.setattr(actions, "may_retry", may_retry)


def reissues_without_end(patch: Patch) -> None:
    """An ambiguous call is sent again and again."""
    patch.setattr(actions, "MAX_REISSUES", 6)


def writes_sent_again_after_a_crash(patch: Patch) -> None:
    """An interrupted write is taken for a read."""
    real = decide._HANDLERS[decide.Interrupted]

    def interrupted(tx: Any, given: Any) -> None:
        frame = decide._flying(tx, given)
        if frame is None or given.scope is not None:
            real(tx, given)
            return
        attempt = frame.info
        tx.emit("action.dispatched", given.id, attempt=attempt.attempt, reissue=attempt.reissue + 1)

    patch.setitem(decide._HANDLERS, decide.Interrupted, interrupted)


def late_results_are_used(patch: Patch) -> None:
    """An answer is taken for the dispatch that is out, whichever it belongs to."""

    def flying(tx: Any, given: Any) -> Any:
        frame = looking.live_frame(tx.state, given.id) if given.scope is None else None
        return frame if frame is not None and isinstance(frame.info, Attempt) and frame.phase == "dispatched" else None

    patch.setattr(decide, "_flying", flying)


def state_beside_the_history(patch: Patch) -> None:
    """The executor remembers what no record says."""
    real = transaction.take_in

    def remembered(state: Any, record: Any) -> None:
        real(state, record)
        if record.kind == "action.succeeded":
            state.last_generation += 1

    patch.setattr(transaction, "take_in", remembered)


def duplicates_accepted(patch: Patch) -> None:
    """One delivery is accepted twice."""
    real = decide._HANDLERS[decide.EventArrived]

    def arrived(tx: Any, given: Any) -> None:
        deliveries = tx.state.deliveries
        if given.delivery in deliveries and not given.partly:
            for id_, subscription in looking.subscriptions(tx.state, given.trigger):
                if subscription.events:
                    told = {"trigger": given.trigger, "delivery": given.delivery, "payload": given.payload}
                    tx.emit("event.accepted", id_, **told)
                    return
        real(tx, given)

    patch.setitem(decide._HANDLERS, decide.EventArrived, arrived)


def nobody_is_asked(patch: Patch) -> None:
    """An ambiguous write is sent again where an operator was to decide."""
    patch.setattr(actions, "_hold", lambda tx, at, _step, frame, _reason: actions._dispatch(tx, at, frame.info, 1))


def probes_are_not_asked(patch: Patch) -> None:
    """A lost answer counts as a failure without an effect."""
    real = actions._ambiguous

    def ambiguous(tx: Any, at: Any, step: Any, frame: Any) -> Any:
        if step.on_unknown != "reconcile":
            return real(tx, at, step, frame)
        return actions._reconciled(tx, at, frame.info.reconciles + 1, "no_effect")

    patch.setattr(actions, "_ambiguous", ambiguous)


def nothing_waits_for_the_delay(patch: Patch) -> None:
    """Compensation begins at once, whatever the recovery's delay."""
    real = recovering.advance_recovery

    def at_once(tx: Any, at: Any, recovering_: Any) -> Any:
        return real(tx, at, recovering_._replace(delay=0) if recovering_.stage == "decided" else recovering_)

    patch.setattr(advance, "advance_recovery", at_once)


#: Each fault, the example in which it shows, and the rules that it breaks there.
FAULTS: list[tuple[Callable[[Patch], None], str, set[str]]] = [
    (timers_lost_in_a_crash, "account-setup", {"stuck"}),
    (calls_forgotten_in_a_crash, "approval", {"stuck"}),
    (key_of_the_generation, "rollout", {"key-changed", "effect-twice"}),
    (key_kept_after_undo, "order", {"key-kept"}),
    (undo_key_kept, "order", {"key-kept"}),
    (release_before_selection, "approval", {"released-before-selection"}),
    (timeout_beats_the_event, "approval", {"wrong-selection"}),
    (compensation_in_order, "order", {"compensation-order"}),
    (compensation_left_out, "order", {"compensation-order"}),
    (limit_off_by_one, "account-setup", {"recovery-limit"}),
    (one_attempt_too_many, "payout", {"too-many-attempts"}),
    (reissues_without_end, "approval", {"too-many-attempts"}),
    (writes_sent_again_after_a_crash, "payout", {"effect-twice"}),
    (state_beside_the_history, "approval", {"fold-differs"}),
    (nobody_is_asked, "payout", {"effect-twice"}),
    (probes_are_not_asked, "payout", {"effect-twice"}),
    (nothing_waits_for_the_delay, "order", {"recovery-early"}),
]


@pytest.mark.parametrize(("fault", "example", "rules"), FAULTS, ids=[each[0].__name__ for each in FAULTS])
def test_each_fault_is_found(fault: Callable[[Patch], None], example: str, rules: set[str], monkeypatch: Patch) -> None:
    fault(monkeypatch)
    found = explored(example, states=4_000)
    broken = {each.violation.kind for each in found.findings}
    assert rules & broken, broken
    # The shortest way comes first, and playing its scenario with the same fault gives the same history.
    assert [len(each.chain) for each in found.findings] == sorted(len(each.chain) for each in found.findings)


IMPATIENT = """
steps:
  - look: { lab.get: { n: 1 }, timeout: 5s, retry: { attempts: 3, delay: 0s } }
"""
TWICE = """
steps:
  - wait:
      wf.wait_for: lab.ping
      match: { id: a }
      timeout: 1h
      steps: [ { ask: { lab.pay: { n: 1 } } } ]
"""


def test_a_late_result_that_is_used_is_found(monkeypatch: Patch) -> None:
    """None of the examples is so impatient that a late answer meets the next attempt."""
    assert lab_explored(IMPATIENT).findings == []
    late_results_are_used(monkeypatch)
    assert "late-result-used" in kinds(lab_explored(IMPATIENT))


def test_a_delivery_that_is_accepted_twice_is_found(monkeypatch: Patch) -> None:
    """That takes two deviations: the event comes twice while the wait's own steps take their time."""
    assert lab_explored(TWICE, deviations=2, crashes=0).findings == []
    duplicates_accepted(monkeypatch)
    assert "event-twice" in kinds(lab_explored(TWICE, deviations=2, crashes=0))


NAMES = sorted(path.name.partition(".")[0] for path in EXAMPLES.glob("*.workfile.yaml"))
LONG = {"rollout": pytest.mark.slow}


@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, ())) for name in NAMES])
def test_the_examples_break_no_rule(name: str) -> None:
    found = explored(name)
    assert [each.violation for each in found.findings] == []
    assert found.never == []
    assert found.complete


def test_the_runtime_is_whole_again() -> None:
    """The faults above were taken out again."""
    assert driver.Run.__init__ is not None
    assert evolve.fold([]) == EMPTY
