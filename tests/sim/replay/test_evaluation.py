# ruff: noqa: E501, ISC004 - Workfiles stand on the lines that people would write them on.
"""Re-evaluation: deciding anew from recorded inputs, with no effect, up to the first record that is not met."""

from __future__ import annotations

from typing import Any

import pytest

from sim_runtime import replay
from sim_runtime.core.inputs import Proceed, Start
from sim_runtime.history.load import read_history
from sim_runtime.history.records import INVALIDATIONS
from sim_runtime.replay.comparing import same
from sim_runtime.replay.divergence import CAUSES, INVALIDATED
from sim_runtime.replay.inputs import input_of, transactions
from sim_runtime.replay.structure import compare
from tests.sim.lab import (
    H,
    M,
    S,
    after,
    authorize,
    before,
    event,
    fail,
    give_up,
    make,
    never,
    ok,
    run,
    succeed,
    unknown,
    workflow_of,
)
from tests.sim.replay.recorded import chosen_of, history_of, lines_of_run, prefixes, prepared_of, rechained

#: Runs of every kind: each of their prefixes is met by the definition that wrote it.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("steps: [ { a: { lab.put: {} } }, { b: { wf.let: { x: '{{ a.value }}' } } } ]", {}),
    "retries": (
        "steps: [ { a: { lab.pay: {}, retry: { attempts: 4, delay: 1m, jitter: 0.5 } } } ]",
        {"answers": {"a": [fail("busy"), fail("busy", retry_after_us=5 * M), ok()]}},
    ),
    "a result that does not fit": ("steps: [ { a: { lab.put: {}, on_fail: continue } } ]", {"answers": {"a": [ok({"other": 1})]}}),
    "a read over its time": (
        "steps: [ { a: { lab.get: {}, timeout: 1s, retry: { attempts: 2, delay: 1s } } } ]",
        {"answers": {"a": [never(), ok()]}},
    ),
    "unknown made a failure": (
        "steps: [ { a: { lab.send: {}, on_unknown: fail, catch: [ { codes: [lost], result: { value: '{{ error.code }}' } } ] } } ]",
        {"answers": {"a": [unknown()]}},
    ),
    "reconciled": (
        "steps: [ { a: { lab.send: {}, on_unknown: reconcile, retry: { attempts: 3, delay: 1s }, reconcile: "
        "{ steps: [ { p: { lab.look: {} } } ], outcome: '{{ p.found }}', result: { value: '{{ p.value }}' } } } } ]",
        {"answers": {"a": [unknown(), unknown()], "a.(reconcile).p": [ok({"found": False, "value": "x"}), ok({"found": True, "value": "y"})]}},
    ),
    "decided": (
        "steps: [ { a: { lab.send: {}, on_unknown: halt } }, { b: { lab.send: {}, on_unknown: halt, on_fail: continue } } ]",
        {"answers": {"a": [unknown()], "b": [unknown()]}, "decisions": [succeed("a", "v", at=1 * H), give_up("b", at=2 * H)]},
    ),
    "held": ("steps: [ { a: { lab.send: {}, on_unknown: halt } } ]", {"answers": {"a": [unknown()]}}),
    "events": (
        "steps: [ { f: { wf.parallel: { l: [ { w: { wf.wait_for: lab.ping, match: { id: x }, timeout: 1h } } ], "
        "r: [ { v: { wf.wait_for: lab.ping, match: { id: x }, timeout: 1h } } ] } } } ]",
        {"events": [event({"id": "y"}, at=1 * M), event({"id": "x", "at": "2026-01-01T10:00:00+02:00"}, at=2 * M, delivery="e"), event({"id": "x"}, at=3 * M, delivery="e")]},
    ),
    "recovery held and authorized": (
        "steps: [ { g: { wf.group: [ { x: { lab.pay: {}, undo: { lab.refund: {} } } }, { y: { lab.put: {} } } ], "
        "recovery: { redo: whole_group, stop_after: { failures: 1, within: 10h }, then: hold, delay: 1m } } } ]",
        {"answers": {"g.y": [fail(), fail(), ok()]}, "decisions": [authorize("g", at=3 * H)]},
    ),
    "an undo that is not known": (
        "steps: [ { g: { wf.group: [ { x: { lab.put: {}, undo: { lab.scrap: {} } } }, { y: { lab.put: {} } } ], "
        "recovery: { redo: whole_group, stop_after: { failures: 2, within: 10h }, then: fail } } } ]",
        {"answers": {"g.y": [fail(), ok()], "g.x.(undo)": [unknown()]}, "decisions": [succeed("g.x.(undo)", "gone", at=1 * H)]},
    ),
    "states": (
        "initial: a\nstates: { a: { steps: [ { w: { wf.wait: 2h } } ], timers: { t: { after: 1h, to: b } }, routes: [ { to: b } ] }, "
        "b: { steps: [ { z: { lab.put: {} } } ], final: true } }",
        {},
    ),
    "a loop": (
        "steps: [ { l: { wf.for_each: [1, 2, 3], concurrency: 2, on_iteration_fail: continue, steps: [ { a: { lab.pay: { n: '{{ item }}' } } } ] } } ]",
        {"answers": {"l[1].a": [fail()], "l[0].a": [ok(latency=5 * S)]}},
    ),
    "cancelled": ("steps: [ { w: { wf.wait: 2h } } ]", {"cancel_at": 1 * H, "cancel_reason": {"why": "test"}}),
    "stopped": ("steps: [ { s: { wf.stop: { reason: r, result: { a: 1 } } } } ]", {}),
    "failed": ("steps: [ { s: { wf.fail: { code: c, details: { a: 1 } } } } ]", {}),
    "aborted": ("steps: [ { a: { lab.send: {}, on_unknown: abort } } ]", {"answers": {"a": [unknown()]}}),
    "inputs that do not fit": ("inputs: { n: integer }\nsteps: [ { a: { lab.put: {} } } ]", {"inputs": {"n": "x"}}),
    "dry": ("steps: [ { r: { lab.get: {} } }, { a: { lab.pay: { v: '{{ r.value }}' } } }, { b: { lab.get: { v: '{{ a.value }}' } } } ]", {"dry_run": True}),
    "dry and stopped": ("steps: [ { a: { lab.pay: {} } }, { b: { lab.put: {}, when: \"{{ a.value == 'x' }}\" } } ]", {"dry_run": True}),
    "crashes": (
        "steps: [ { r: { lab.get: {} } }, { a: { lab.pay: {} } }, { w: { wf.wait: 1h } } ]",
        {"crashes": [after("action.dispatched", "r"), before("action.succeeded", "a", down=3 * H), after("timer.set", "w", down=9 * H)]},
    ),
    "late": ("steps: [ { a: { lab.send: {}, timeout: 1s, on_unknown: fail, on_fail: continue } }, { w: { wf.wait: 1m } } ]", {"answers": {"a": [ok(latency=5 * S)]}}),
    "faults": ("inputs: { 'n?': integer }\nsteps: [ { a: { wf.let: { x: '{{ 1 / (inputs.n ?? 0) }}' }, catch: [ { steps: [ { b: { lab.put: { m: '{{ error.message }}' } } } ] } ] } } ]", {}),
}  # fmt: skip

CHILD = "name: child\ninputs: { n: integer }\nsteps: [ { a: { lab.pay: { n: '{{ inputs.n }}' } } }, { w: { wf.wait: 1h } } ]\nresult: '{{ a.value }}'\n"
PARENT = "steps: [ { c: { wf.call: child, inputs: { n: 1 } } }, { b: { lab.put: { v: '{{ c }}' } } } ]"


@pytest.mark.requirement("R-REV-01", "R-REV-02")
@pytest.mark.parametrize("name", RUNS)
def test_every_prefix_of_a_run_is_met(name: str) -> None:
    text, options = RUNS[name]
    done = make(text, **options).finish()
    lines = lines_of_run(done, text)
    chosen = chosen_of(text)
    assert prefixes(lines)
    for history in prefixes(lines):
        found = replay.reevaluate(history, chosen)
        assert found.compatible, found.divergence
        assert found.state == replay.reconstruct(history).state
        assert found.records == history.records or options.get("dry_run")  # marks have no equality of their own


def test_child_runs_and_a_run_from_a_trigger() -> None:
    done = make(PARENT, children=[CHILD]).finish()
    for history in prefixes(lines_of_run(done, PARENT, CHILD)):
        assert replay.reevaluate(history).compatible
    text = "trigger: { source: lab.ping }\nsteps: [ { a: { lab.put: { v: '{{ trigger.id }}' } } } ]"
    started = make(text, trigger={"id": "x"}).finish()
    assert replay.reevaluate(history_of(started, text)).compatible


@pytest.mark.requirement("R-REV-03", "R-REV-06")
def test_nothing_is_called_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    text, options = RUNS["crashes"]
    history = history_of(make(text, **options).finish(), text)
    before_ = [repr(each) for each in history.records]

    def called(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("re-evaluation has no effect")

    import sim_runtime.driver.run as driver
    import sim_runtime.world.connectors as connectors

    monkeypatch.setattr(connectors.SimulatedWorld, "dispatch", called)
    monkeypatch.setattr(driver.Run, "__init__", called)
    monkeypatch.setattr("time.time", called)
    assert replay.reevaluate(history).compatible
    assert before_ == [repr(each) for each in history.records]


@pytest.mark.requirement("R-REV-04", "R-REV-05")
def test_two_steps_of_one_kind_that_were_swapped() -> None:
    text = "steps: [ { a: { lab.pay: {} } }, { b: { lab.pay: {} } } ]"
    other = "steps: [ { b: { lab.pay: {} } }, { a: { lab.pay: {} } } ]"
    found = replay.reevaluate(history_of(run(text), text), chosen_of(other)).divergence
    assert found is not None
    assert (found.recorded.seq, found.cause) == (3, "path")
    json = found.json()
    assert json["recorded"]["path"] == "a"
    assert json["evaluated"]["path"] == "b"
    assert set(json) == {"seq", "kind", "path", "generation", "cause", "recorded", "evaluated"}
    assert found.cause in CAUSES


def test_more_before_a_boundary_than_was_recorded() -> None:
    text = "steps: [ { f: { wf.parallel: { l: [ { a: { wf.let: { x: 1 } } } ] } } }, { w: { wf.wait: 1h } } ]"
    other = text.replace("] } } }", "], r: [ { b: { wf.let: { x: 1 } } } ] } } }")
    found = replay.reevaluate(history_of(run(text), text), chosen_of(other)).divergence
    assert found is not None
    assert found.cause in ("unrecorded", "path")


@pytest.mark.requirement("R-REV-05")
def test_a_decision_that_would_not_be_taken_any_more() -> None:
    text, options = RUNS["decided"]
    done = make(text, **options).finish()

    def change(parsed: list[Any]) -> None:
        record = next(each for each in parsed[1:] if each["kind"] == "operator.decided")
        record["data"]["result"] = {"value": 5}

    found = replay.reevaluate(read_history(rechained(lines_of_run(done, text), change))).divergence
    assert found is not None
    assert (found.recorded.kind, found.cause) == ("operator.decided", "decision")
    assert found.json()["evaluated"] is None


@pytest.mark.requirement("R-REV-05")
def test_records_that_say_what_the_definition_does_not() -> None:
    """A history that is sound in itself and was not written by its definition."""
    text = "steps: [ { a: { lab.put: { n: 1 } } }, { b: { wf.let: { x: '{{ 1 + 1 }}' } } } ]\nresult: '{{ b.x }}'"
    lines = lines_of_run(run(text), text)

    def change(kind: str, **data: Any) -> Any:
        return lambda parsed: next(each for each in parsed[1:] if each["kind"] == kind)["data"].update(data)

    for kind, data, cause in (
        ("action.prepared", {"arguments": {"n": 2}}, "arguments"),
        ("action.prepared", {"arguments": {"n": "1"}}, "arguments"),
        ("action.prepared", {"connection": "spare"}, "arguments"),
        ("run.finished", {"result": 3}, "result"),
        ("run.finished", {"result": 2.5}, "result"),
    ):
        history = read_history(rechained(lines, change(kind, **data)))
        found = replay.reevaluate(history).divergence
        assert found is not None
        assert (found.recorded.kind, found.cause) == (kind, cause)
        with pytest.raises(replay.Refused) as caught:
            replay.continue_(history)
        assert caught.value.refusal.reason == "inconsistent"
        assert caught.value.refusal.boundary["seq"] == found.recorded.seq  # type: ignore[index]


def test_a_file_that_is_of_another_workflow() -> None:
    text = RUNS["plain"][0]
    history = history_of(run(text), text)
    prepared = prepared_of("steps: [ { other: { lab.put: {} } } ]")
    prepared.workflow.name = "someone"
    with pytest.raises(replay.Refused) as caught:
        replay.Definitions(prepared).of(history.header)
    assert caught.value.refusal.reason == "unsupported_definition"


def test_time_zone_data_counts_where_it_is_read() -> None:
    zoned = "steps: [ { a: { lab.when: {} } }, { b: { wf.let: { x: \"{{ a.at | format_time('%H:%M', 'Europe/Berlin') }}\" } } } ]"
    plain = RUNS["plain"][0]

    def of(text: str) -> Any:
        lines = lines_of_run(run(text), text)
        return read_history(rechained(lines, lambda parsed: parsed[0]["pins"].update(timezone="1999a")))

    assert replay.reevaluate(of(plain)).compatible
    with pytest.raises(replay.Refused) as caught:
        replay.reevaluate(of(zoned))
    assert caught.value.refusal.missing == ("timezone",)


def test_values_are_the_same_by_kind() -> None:
    assert same({"a": [1, None, "x"]}, {"a": [1.0, None, "x"]})
    for left, right in (
        (1, True),
        (1, "1"),
        (0, False),
        (None, 0),
        ({"a": 1}, {}),
        ([1], [1, 2]),
        ("", None),
        ([], {}),
    ):
        assert not same(left, right)
        assert not same(right, left)


def test_inputs_are_taken_from_the_first_record_of_a_transaction() -> None:
    text = RUNS["plain"][0]
    done = run(text)
    parts = list(transactions(done.records))
    assert [each for part in parts for each in part] == done.records
    state = replay.reconstruct(history_of(done, text), 2).state
    assert isinstance(input_of(state, parts[0][0]), Start)
    assert isinstance(input_of(state, parts[1][0]), Proceed)


def test_what_changed_in_a_file_is_told_step_by_step() -> None:
    old = workflow_of(
        "description: x\nsteps: [ { a: { lab.put: {} } }, { b: { lab.pay: {} } }, { c: { lab.get: {} } } ]"
    )
    new = workflow_of(
        "description: y\nsteps: [ { c: { lab.get: {} } }, { aa: { lab.put: {} } }, { b: { lab.pay: { n: 1 } } }, { d: { lab.look: {} } } ]"
    )
    words = [each.words for each in compare(old, new)]
    assert "the step `a` is `aa` now" in words
    assert "the step `d` is new" in words
    assert '`lab.pay` of the step `b` was `{}` and is `{"n": 1}`' in words
    assert "the step `c` stands in another place" in words or "the step `b` stands in another place" in words
    assert compare(old, old) == []


def test_causes_have_the_same_names_in_records_and_reports() -> None:
    assert tuple(INVALIDATED) == INVALIDATIONS
