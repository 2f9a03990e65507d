# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""What cannot be used is refused, with the first record that cannot, and nothing is called instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim_runtime import replay
from sim_runtime.driver.protocol import Answer, Call
from sim_runtime.history.chain import lines_of
from sim_runtime.history.encoding import record_json
from sim_runtime.history.header import Header
from sim_runtime.history.load import read_history
from sim_runtime.history.redact import redacted
from sim_runtime.history.refusal import Refused
from sim_runtime.world.connectors import SimulatedWorld
from tests.sim.lab import fail, give_up, make, never, ok, run, unknown
from tests.sim.replay.recorded import Json, history_of, lines_of_run, prepared_of, rechained

TEXT = """
inputs: { "secret?": { type: string, sensitive: true } }
steps:
  - a: { lab.put: { step: "{{ inputs.secret ?? 'none' }}" } }
  - g:
      wf.group:
        - x: { lab.pay: { step: x } }
        - y: { lab.get: {} }
      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, delay: 1m, then: fail }
  - w: { wf.wait_for: lab.ping, match: { id: x }, timeout: 1h }
  - each: { wf.for_each: [1, 2], steps: [ { z: { wf.let: { v: "{{ item }}" } } } ] }
"""


def lines() -> list[bytes]:
    done = run(TEXT, {"g.y": [fail(), ok()]})
    assert done.status == "succeeded"
    return lines_of_run(done, TEXT)


def refusal(lines: list[bytes]) -> Json:
    with pytest.raises(Refused) as caught:
        replay.reconstruct(read_history(lines))
    return caught.value.refusal.json()


def at(parsed: list[Json], kind: str, path: str | None = None) -> int:
    return next(n for n, each in enumerate(parsed) if each.get("kind") == kind and path in (None, each["path"]))


def without(kind: str, path: str | None = None) -> Callable[[list[Json]], None]:
    """Take the first record of a kind out and number the rest again."""

    def change(parsed: list[Json]) -> None:
        del parsed[at(parsed, kind, path)]
        for number, each in enumerate(parsed[1:], 1):
            each["seq"] = number

    return change


def twice(kind: str, path: str | None = None) -> Callable[[list[Json]], None]:
    """Repeat the first record of a kind."""

    def change(parsed: list[Json]) -> None:
        place = at(parsed, kind, path)
        parsed.insert(place + 1, json.loads(json.dumps(parsed[place])))
        for number, each in enumerate(parsed[1:], 1):
            each["seq"] = number
            each["at"] = max(each["at"], parsed[number - 1].get("at", ""))

    return change


def with_data(kind: str, path: str | None = None, **data: Any) -> Callable[[list[Json]], None]:
    """Change the data of the first record of a kind."""
    return lambda parsed: parsed[at(parsed, kind, path)]["data"].update(data)


def with_field(kind: str, path: str | None = None, /, **fields: Any) -> Callable[[list[Json]], None]:
    return lambda parsed: parsed[at(parsed, kind, path)].update(fields)


#: What is done to a sound history, and the record that is refused then.
ILLEGAL: dict[str, tuple[Callable[[list[Json]], None], str]] = {
    "a result without a call": (without("action.dispatched", "a"), "action.succeeded"),
    "a call that was not prepared": (without("action.prepared", "a"), "action.dispatched"),
    "a result that comes twice": (twice("action.succeeded", "a"), "action.succeeded"),
    "a step that ends twice": (twice("step.succeeded", "a"), "step.succeeded"),
    "a step that begins twice": (twice("step.started", "a"), "step.started"),
    "an end without a beginning": (without("step.started", "a"), "action.prepared"),
    "a step inside another one's time": (without("step.succeeded", "g.x"), "step.started"),
    "an action without a result": (without("action.succeeded", "a"), "step.succeeded"),
    "a group that never began": (without("step.started", "g"), "step.started"),
    "a timer that was never set": (without("timer.set", "g"), "timer.fired"),
    "a timer that fires early": (with_data("timer.fired", "g", deadline="2026-01-01T00:00:30Z"), "timer.fired"),
    "a timer that fires twice": (twice("timer.fired", "w"), "timer.fired"),
    "a redo that was never decided": (without("recovery.decided", "g"), "timer.set"),
    "a generation that comes from nowhere": (with_data("generation.started", "g", started=7), "generation.started"),
    "a record of another generation": (with_field("action.prepared", "a", generation=3), "action.prepared"),
    "a wait without a subscription": (without("subscription.opened", "w"), "wait.selected"),
    "a wait that two things complete": (twice("wait.selected", "w"), "wait.selected"),
    "a wait that an event completes which never came": (
        with_data("wait.selected", "w", status="received", delivery="e"),
        "wait.selected",
    ),
    "an iteration past the list": (with_data("step.started", "each[1]", index=9), "step.started"),
    "an attempt out of order": (with_data("action.prepared", "a", attempt=2), "action.prepared"),
    "an outcome that there is not": (with_data("run.finished", "", outcome="fine"), "run.finished"),
    "a run that starts twice": (twice("run.started"), "run.started"),
    "a run that resumes while it runs": (without("run.suspended"), "run.resumed"),
    "superseded records that are to come": (with_data("history.superseded", "g", records=[9999]), "history.superseded"),
}


def test_the_history_itself_is_sound() -> None:
    assert replay.reconstruct(read_history(lines())).state.status == "succeeded"
    assert replay.reevaluate(read_history(lines())).compatible


@pytest.mark.requirement("R-GEN-02", "R-GEN-03", "R-GEN-04")
@pytest.mark.parametrize("name", ILLEGAL)
def test_a_transition_that_cannot_be(name: str) -> None:
    change, kind = ILLEGAL[name]
    told = refusal(rechained(lines(), change))
    assert told["reason"] == "inconsistent", told
    assert told["boundary"]["kind"] == kind
    assert str(told["boundary"]["seq"]) in told["message"]


UNDONE = """
steps:
  - g:
      wf.group:
        - a: { lab.pay: { step: a }, undo: { lab.refund: { v: "{{ a.value }}" } } }
        - x: { lab.pay: { step: x }, timeout: 1m, retry: { attempts: 2 }, undo: { lab.refund: { v: "{{ x.value }}" } } }
        - y: { lab.get: {}, catch: [ { codes: [busy] } ] }
      recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: hold }
"""
#: As ``ILLEGAL``, of a run that compensated and is held, and which reason the refusal has.
ILLEGAL_UNDONE: dict[str, tuple[Callable[[list[Json]], None], str, str]] = {
    "an undo that another one's intent was for": (
        with_field("compensation.dispatched", "g.x.(undo)", path="g.a.(undo)"),
        "compensation.dispatched",
        "inconsistent",
    ),
    "an undo of another step": (
        with_data("compensation.prepared", "g.x.(undo)", of="g.a"),
        "compensation.prepared",
        "inconsistent",
    ),
    "an undo that was counted before": (
        with_data("compensation.prepared", "g.x.(undo)", number=0),
        "compensation.prepared",
        "inconsistent",
    ),
    "a keyed call without a key": (with_data("action.prepared", "g.a", key=None), "action.prepared", "inconsistent"),
    "a recovery from nothing": (with_data("recovery.decided", "g", code=None), "recovery.decided", "inconsistent"),
    "a failure without a code": (with_data("action.failed", "g.y", code=None), "action.failed", "inconsistent"),
    "a redo that there is not": (with_data("recovery.decided", "g", redo="some"), "recovery.decided", "inconsistent"),
    "a recovery that nobody authorized": (
        with_data("recovery.decided", "g", authorized_by="dana"),
        "recovery.decided",
        "inconsistent",
    ),
    "compensations in another order": (
        with_data("history.superseded", "g", undo=["g.a", "g.x"]),
        "history.superseded",
        "inconsistent",
    ),
    "another call in the second attempt": (
        lambda parsed: parsed[
            [n for n, each in enumerate(parsed) if each.get("kind") == "action.prepared" and each["path"] == "g.x"][1]
        ]["data"].update(arguments={"step": "z"}),
        "action.prepared",
        "inconsistent",
    ),
    "a deadline that was not prepared": (
        with_data("action.dispatched", "g.x", deadline="2026-01-01T09:00:00Z"),
        "action.dispatched",
        "inconsistent",
    ),
    "a retry for no reason": (with_data("retry.scheduled", "g.x", source="luck"), "retry.scheduled", "inconsistent"),
    "a failure of another step": (with_data("step.failed", "g.y", failed="g.a"), "step.failed", "inconsistent"),
    "a hold that is elsewhere": (with_data("run.held", "", holds=["g.x"]), "run.held", "inconsistent"),
    "a decision that there is not": (with_data("hold.entered", "g", allowed=["wait"]), "hold.entered", "inconsistent"),
    "a lineage that is not told of": (with_data("run.accepted", "", key_run="run-1"), "run.accepted", "inconsistent"),
    "another start": (
        with_data("run.started", "", started_at="2026-01-01T09:00:00Z"),
        "run.started",
        "inconsistent",
    ),
}


@pytest.mark.requirement("R-GEN-02", "R-GEN-03")
@pytest.mark.parametrize("name", ILLEGAL_UNDONE)
def test_a_compensation_that_cannot_be(name: str) -> None:
    done = run(UNDONE, {"g.x": [fail("busy"), ok()], "g.y": [fail("broken")]})
    assert done.status == "held"
    sound = lines_of_run(done, UNDONE)
    assert replay.reconstruct(read_history(sound)).state == done.state
    change, kind, reason = ILLEGAL_UNDONE[name]
    told = refusal(rechained(sound, change))
    assert (told["reason"], told["boundary"]["kind"]) == (reason, kind), told


def test_the_run_itself_has_no_path_in_a_refusal() -> None:
    message = refusal(rechained(lines(), twice("run.started")))["message"]
    assert "from record 3 (`run.started` of the run) on: " in message
    message = refusal(rechained(lines(), with_data("run.accepted", "", seed="x")))["message"]
    assert "from record 1 (`run.accepted` of the run) on: " in message


def test_a_path_that_is_not_that_of_its_identity() -> None:
    text = "initial: s\nstates: { s: { final: true, steps: [ { a: { lab.put: {} } } ] } }"
    told = refusal(rechained(lines_of_run(run(text), text), with_field("action.prepared", "s.a", path="s.b")))
    assert (told["reason"], told["boundary"]["path"]) == ("inconsistent", "s.b")


def test_a_late_result_of_a_call_that_never_left() -> None:
    text = (
        "steps: [ { a: { lab.send: {}, timeout: 1s, on_unknown: fail, on_fail: continue } }, { w: { wf.wait: 1h } } ]"
    )
    sound = lines_of_run(run(text, {"a": [ok(latency=5_000_000)]}), text)
    told = refusal(rechained(sound, with_data("late_result.recorded", "a", dispatch=2)))
    assert (told["reason"], told["boundary"]["kind"]) == ("inconsistent", "late_result.recorded")


def test_a_recovery_from_a_state_that_no_route_leads_out_of() -> None:
    """The failed step is then the state's entry, which fails as a list does."""
    text = """
recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }
initial: s
states: { s: { steps: [ { a: { lab.put: {} } } ], routes: [ { when: "{{ a.value == 'never' }}", to: t } ] }, t: { final: true, steps: [ { b: { lab.put: {} } } ] } }
"""
    done = run(text)
    assert "recovery.decided" in {each.kind for each in done.records}
    assert replay.reconstruct(history_of(done, text)).state == done.state


@pytest.mark.requirement("R-GEN-03")
def test_a_changed_byte_a_missing_record_and_another_version() -> None:
    sound = lines()
    changed = [line.replace(b'"attempt":1', b'"attempt":2') for line in sound]
    told = refusal(changed)
    assert (told["reason"], told["boundary"]["kind"], told["boundary"]["path"]) == ("corrupt", "action.prepared", "a")
    assert refusal(sound[:5] + sound[6:])["boundary"]["seq"] == 6
    assert refusal(rechained(sound, lambda parsed: parsed[0].update(standard_version="2.0"))) == {
        "reason": "unsupported_version",
        "boundary": "header",
        "missing": [],
        "message": "The history cannot be used: it is of the Standard version `2.0`, and only `1.0` is supported.",
    }
    assert refusal([])["reason"] == "absent"
    assert refusal([b"\xff\xfe\n"])["reason"] == "corrupt"


@pytest.mark.requirement("R-GEN-02")
def test_pinned_content_is_needed_to_evaluate_and_not_to_reconstruct() -> None:
    def drop(parsed: list[Json]) -> None:
        pins = parsed[0]["pins"]
        del pins["content"][pins["definition"]]

    history = read_history(rechained(lines(), drop))
    assert replay.reconstruct(history).json()["status"] == "succeeded"
    for operation in (lambda: replay.reevaluate(history), lambda: replay.continue_(history)):
        with pytest.raises(Refused) as caught:
            operation()
        assert caught.value.refusal.json()["reason"] == "absent"
        assert caught.value.refusal.missing == ("definition",)


def test_a_pinned_definition_that_this_release_does_not_run() -> None:
    from sim_runtime.history.canonical import digest_of

    def change(parsed: list[Json]) -> None:
        pins = parsed[0]["pins"]
        definition = json.loads(json.dumps(pins["content"].pop(pins["definition"])))
        definition["steps"][0]["a"] = {"wf.agent": {}}
        pins["definition"] = digest_of(definition)
        pins["content"][pins["definition"]] = definition

    history = read_history(rechained(lines(), change))
    with pytest.raises(Refused) as caught:
        replay.reevaluate(history)
    assert caught.value.refusal.reason == "unsupported_definition"
    assert replay.reconstruct(history).state.status == "succeeded"


@pytest.mark.requirement("D-HIST-10", "R-GEN-03", "R-RCN-03")
def test_withheld_values_are_named_and_never_taken_for_null() -> None:
    done = run(TEXT, {"g.y": [fail(), ok()]}, inputs={"secret": "hunter22"})
    history = history_of(done, TEXT)
    kept = [
        line.encode() for line in lines_of(history.header, redacted(history.header, map(record_json, done.records)))
    ]
    assert b"hunter22" not in b"".join(kept)
    shorter = read_history(kept)
    found = replay.reconstruct(shorter).json()
    assert found["status"] == "succeeded"
    assert {each["class"] for each in found["withheld"]} == {"inputs", "arguments"}
    for operation in (replay.reevaluate, replay.continue_):
        with pytest.raises(Refused) as caught:
            operation(shorter)
        told = caught.value.refusal.json()
        assert told["reason"] == "withheld"
        assert told["boundary"] == {"seq": 1, "kind": "run.accepted", "path": ""}
        assert told["missing"] == ["inputs", "arguments"]


def test_effects_that_a_successor_did_not_take_over_are_redacted_too() -> None:
    """Their arguments stand in no other record of it: a number too small to be followed shows that they are marked."""
    manifest = "input: { type: object, properties: { pin: { type: integer, sensitive: true } } }"
    text = "steps: [ { a: { lab.put: {} } }, { s: { lab.secret: { pin: 7 } } } ]"
    other = "steps: [ { a: { lab.put: { n: 1 } } }, { s: { lab.secret: { pin: 7 } } } ]"
    from tests.sim import lab

    before = lab.MANIFEST
    try:
        lab.MANIFEST = before.replace(
            "  void:", f"  secret: {{ effect: write, idempotency: none, {manifest} }}\n  void:"
        )
        history = history_of(run(text), text)
        found = replay.continue_(history, prepared_of(other)).finish()
        kept = redacted(found.header, map(record_json, found.run.records))
    finally:
        lab.MANIFEST = before
    told = next(each["data"] for each in kept if each["kind"] == "boundary.invalidated")
    assert told["effects"][0]["arguments"] == {"pin": {"$withheld": "arguments"}}
    assert "keys" not in told  # nothing was keyed
    again = read_history([line.encode() for line in lines_of(found.header, kept)])
    assert replay.reconstruct(again).json()["status"] == "held"


def test_arguments_under_keys_of_a_run_before_are_redacted_too() -> None:
    """Also where the connector that says what is sensitive is not used any more: then nothing of them is shown."""
    manifest = "input: { type: object, properties: { pin: { type: integer, sensitive: true }, n: { type: integer } } }"
    text = "steps: [ { a: { lab.put: {} } }, { s: { lab.secret: { pin: 7, n: 3 } } } ]"
    other = "steps: [ { a: { lab.put: { n: 1 } } }, { s: { lab.secret: { pin: 7, n: 3 } } } ]"
    from tests.sim import lab

    before = lab.MANIFEST
    try:
        lab.MANIFEST = before.replace(
            "  void:", f"  secret: {{ effect: write, idempotency: keyed, {manifest} }}\n  void:"
        )
        history = history_of(run(text), text)
        found = replay.continue_(history, prepared_of(other))
        kept = redacted(found.header, map(record_json, found.run.records))
        told = next(each["data"]["keys"] for each in kept if each["kind"] == "boundary.invalidated")
        assert [each["arguments"] for each in told] == [{"pin": {"$withheld": "arguments"}, "n": 3}]
        pins = {**found.header.pins, "manifests": {}}
        kept = redacted(
            Header(found.header.run, "test", pins, found.header.lineage), map(record_json, found.run.records)
        )
    finally:
        lab.MANIFEST = before
    told = next(each["data"]["keys"] for each in kept if each["kind"] == "boundary.invalidated")
    assert [each["arguments"] for each in told] == [{"$withheld": "arguments"}]


def test_a_late_result_is_never_used_and_may_be_withheld() -> None:
    text = "steps: [ { a: { lab.send: { step: a }, timeout: 1s, on_unknown: fail, on_fail: continue } }, { w: { wf.wait: 1h } } ]"
    done = run(text, {"a": [ok(latency=5_000_000)]})
    history = history_of(done, text)
    late = next(each for each in done.records if each.kind == "late_result.recorded")
    json_ = [record_json(each) for each in done.records]
    json_[late.seq - 1]["data"]["result"] = {"$withheld": "result"}
    again = read_history([line.encode() for line in lines_of(history.header, json_)])
    assert [each.class_ for each in again.withheld] == ["result"]
    assert replay.reevaluate(again).compatible


def test_hostile_lines_never_come_through_as_an_exception() -> None:
    from random import Random

    sound = lines()
    random = Random(7)
    values: list[Any] = [None, -1, "", [], {}, True, 10**400, "x" * 100, {"$withheld": "result"}, [{}], 1.5]
    for _ in range(400):

        def change(parsed: list[Json]) -> None:
            record = random.choice(parsed[1:])
            where = record if random.random() < 0.3 else record["data"]
            name = random.choice(list(where) or ["x"])
            where[name] = random.choice(values)

        try:
            history = read_history(rechained(sound, change))
            replay.reconstruct(history).json()
            replay.reevaluate(history)
            replay.continue_(history)
        except Refused as error:
            message = error.refusal.message
            if not message.endswith("."):
                raise


@pytest.mark.requirement("R-GEN-04")
def test_a_refused_history_calls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    dispatch = SimulatedWorld.dispatch

    def watched(world: SimulatedWorld, call: Call) -> Answer:
        called.append(call.path)
        return dispatch(world, call)

    monkeypatch.setattr(SimulatedWorld, "dispatch", watched)
    with pytest.raises(Refused):
        replay.continue_(read_history(rechained(lines()[:12], without("action.succeeded", "a")))).finish()
    assert called == []
    replay.continue_(read_history(lines()[:12])).finish()
    assert called


def test_runs_of_every_kind_are_usable() -> None:
    """Held, ambiguous, decided, cancelled, dry, failed: none of these is refused."""
    text = "steps: [ { a: { lab.send: { step: a }, on_unknown: halt } }, { w: { wf.wait: 1h } } ]"
    runs = [
        make(text, {"a": [unknown()]}).finish(),
        make(text, {"a": [unknown()]}, decisions=[give_up("a")]).finish(),
        make(text, {"a": [never()]}).finish(),
        make(text, cancel_at=60_000_000, cancel_reason={"why": 1}).finish(),
        make(text, dry_run=True).finish(),
        make(text, {"a": [fail()]}).finish(),
    ]
    for each in runs:
        history = history_of(each, text)
        assert replay.reevaluate(history).compatible
        assert replay.reconstruct(history).state == each.state
        assert replay.continue_(history).finish().run.status in ("held", "succeeded", "cancelled", "failed", "stopped")


def test_a_history_that_ends_before_its_first_boundary(tmp_path: Path) -> None:
    """Its run decided nothing that was durable: there is nothing to show or to go on from, and nothing that differs."""
    path = tmp_path / "short.history.jsonl"
    path.write_bytes(b"".join(lines()[:2]))
    history = replay.read(str(path))
    assert replay.reevaluate(history).compatible
    for operation in (replay.reconstruct, replay.continue_):
        with pytest.raises(Refused) as caught:
            operation(history)  # type: ignore[operator]
        assert caught.value.refusal.json()["reason"] == "absent"
    path.write_bytes(lines()[0])
    with pytest.raises(Refused):
        replay.read(str(path))
