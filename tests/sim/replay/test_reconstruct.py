# ruff: noqa: E501 - Workfiles stand on the lines that people would write them on.
"""Reconstruction: the state at a boundary from the records alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sim_runtime import replay
from sim_runtime.core.evolve import fold
from sim_runtime.driver.run import Run
from sim_runtime.history.load import read_history
from sim_runtime.replay.reading import NoBoundary, boundary_at
from sim_runtime.replay.reconstruction import changes
from tests.sim.lab import H, M, S, after, event, fail, make, ok, run, unknown
from tests.sim.replay.recorded import Json, history_of, lines_of_run, rechained

TEXT = """
steps:
  - a: { lab.when: {} }
  - g:
      wf.group:
        - x: { lab.send: { step: x }, on_unknown: halt, undo: { lab.drop: { v: "{{ x.value }}" } } }
        - y: { lab.put: { step: y } }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, delay: 5m, then: fail }
  - n: { lab.void: {}, when: "{{ g.x.value == 'no' }}" }
  - v: { lab.void: {}, on_unknown: fail }
  - w: { wf.wait_for: lab.ping, match: { id: x }, timeout: 1h }
  - each: { wf.for_each: [1, 2], steps: [ { z: { lab.put: { step: "{{ item }}" } } } ] }
"""
ANSWERS = {"g.y": [fail(), ok()], "g.x": [ok("one"), ok("two")]}


def recovered() -> Run:
    return run(TEXT, ANSWERS, events=[event({"id": "x", "note": "hi"}, at=30 * M)])


def at(seq: int, done: Run | None = None) -> Json:
    return replay.reconstruct(history_of(done or recovered(), TEXT), seq).json()


def seq_of(done: Run, kind: str, path: str) -> int:
    return next(each.seq for each in done.records if (each.kind, each.path) == (kind, path))


@pytest.mark.requirement("R-RCN-01", "R-RCN-04")
def test_the_state_at_the_end_and_in_the_middle() -> None:
    done = recovered()
    last = at(done.records[-1].seq, done)
    live = done.report()
    for name in live.keys() - {"effects", "calls", "crashes"}:
        assert last[name] == live[name], name
    assert last["operation"] == "reconstruct"
    assert last["at"] == {"seq": done.records[-1].seq, "kind": "run.finished", "path": ""}
    assert {"effects", "calls"}.isdisjoint(last)
    waiting = at(seq_of(done, "timer.fired", "g") - 1, done)
    assert waiting["status"] == "suspended"
    assert waiting["waiting"] == [{"kind": "recovery_delay", "path": "g", "deadline": "2026-01-01T00:05:00Z"}]
    assert waiting["bindings"]["g"] == {"x": {"value": "one"}}
    assert waiting["active"] == ["g"]


@pytest.mark.requirement("R-RCN-04")
def test_kinds_nulls_and_what_was_superseded() -> None:
    last = at(10_000)
    assert last["bindings"]["a"] == {"at": "2026-01-01T10:00:00Z"}
    assert "n" not in last["bindings"]
    assert last["bindings"]["v"] is None
    old = [each for each in last["superseded"] if each["kind"] == "action.succeeded"]
    assert [(each["path"], each["generation"], each["result"], each["compensated"]) for each in old] == [
        ("g.x", 0, {"value": "one"}, True)
    ]
    assert last["bindings"]["g"]["x"] == {"value": "two"}


@pytest.mark.requirement("R-RCN-04")
def test_unresolved_ambiguity_is_shown_until_it_is_decided() -> None:
    done = run(TEXT, {**ANSWERS, "g.x": [unknown()]})
    found = at(done.records[-1].seq, done)
    ambiguous = seq_of(done, "action.ambiguous", "g.x")
    assert found["status"] == "held"
    assert found["ambiguous"] == [{"path": "g.x", "attempt": 1, "seq": ambiguous}]
    assert found["holds"] == [{"path": "g.x", "reason": "ambiguous"}]
    assert at(ambiguous - 1, done)["ambiguous"] == []
    assert at(ambiguous - 1, done)["waiting"] == [{"kind": "answer", "path": "g.x"}]


@pytest.mark.requirement("R-RCN-01")
def test_the_stop_result_and_state_entries() -> None:
    text = """
    initial: one
    states:
      one: { steps: [ { a: { lab.get: {} } } ], timers: { late: { after: 1h, to: two } }, routes: [ { when: "{{ a.value == 'again' }}", to: one }, { to: two } ] }
      two: { steps: [ { end: { wf.stop: { reason: enough, result: { n: 1 } } } } ] }
    """
    done = run(text, {"one.a": [ok("again"), ok("done")]})
    found = replay.reconstruct(history_of(done, text)).json()
    assert (found["status"], found["stop"], found["result"]) == (
        "stopped",
        {"path": "two.end", "reason": "enough"},
        {"n": 1},
    )
    middle = replay.reconstruct(history_of(done, text), seq_of(done, "route.selected", "one") + 3).json()
    assert middle["entries"][0] == {"path": "", "state": "one", "entry": 1, "current": False}
    assert middle["entries"][-1]["entry"] == 2
    assert middle["entries"][-1]["current"] is True


def test_a_seq_that_is_no_boundary_is_answered_for_the_one_before() -> None:
    done = recovered()
    for record in done.records:
        before = max((each.seq for each in done.records[: record.seq] if each.boundary), default=None)
        if before is not None:
            assert at(record.seq, done)["at"]["seq"] == before
    with pytest.raises(NoBoundary):
        at(0, done)
    with pytest.raises(replay.Refused):
        at(1, done)


def test_a_boundary_by_time_and_by_step() -> None:
    done = recovered()
    history = history_of(done, TEXT)
    assert boundary_at(history, "2026-01-01T00:05:00Z").seq == boundary_at(history, "5m").seq
    assert boundary_at(history, "4m59s").at == done.start_us
    assert boundary_at(history, "g.y").seq >= seq_of(done, "step.succeeded", "g.y")
    assert boundary_at(history, str(len(history.records))) is history.records[-1]
    assert boundary_at(history, None) is history.records[-1]
    for text in ("nowhere", "1.5", "2025-01-01T00:00:00Z"):
        with pytest.raises(NoBoundary):
            boundary_at(history, text)


def test_what_changed_between_two_boundaries() -> None:
    done = recovered()
    early, late = at(seq_of(done, "action.succeeded", "g.x"), done), at(10_000, done)
    found = {each["at"]: (each["before"], each["after"]) for each in changes(early, late)}
    assert found["status"] == ("running", "succeeded")
    assert found["generation"] == (0, 1)
    assert found["bindings.each[1].z" if "bindings.each[1].z" in found else "bindings.each"][0] is None
    assert changes(late, late) == []


@pytest.mark.requirement("R-RCN-02", "R-RCN-05")
def test_nothing_is_evaluated_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    history = history_of(recovered(), TEXT)
    before = [each.__repr__() for each in history.records], history.digest

    def never(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("reconstruction evaluates nothing")

    import sim_runtime.core.decide as decide
    import sim_runtime.core.programs as programs

    monkeypatch.setattr(decide, "transact", never)
    monkeypatch.setattr(programs, "evaluate", never)
    monkeypatch.setattr(programs, "compile_value", never)
    monkeypatch.setattr("time.time", never)
    for record in history.records[2:]:
        found = replay.reconstruct(history, record.seq)
        assert found.state == fold(history.records[: found.at.seq])
        assert found.json()["run"] == history.header.run
    assert before == ([each.__repr__() for each in history.records], history.digest)


PROGRAM = """
import json, sys
from sim_runtime import replay
history = replay.read(sys.argv[1])
print(json.dumps(replay.reconstruct(history).json()["status"]))
wrong = [name for name in sys.modules if name.startswith(("analyzer.model", "analyzer.workspace", "sim_runtime.simulation"))]
assert not wrong, wrong
"""


@pytest.mark.requirement("R-RCN-03")
def test_neither_definition_nor_connectors_are_needed(tmp_path: Any) -> None:
    def forget(parsed: list[Json]) -> None:
        parsed[0]["pins"]["content"] = {}

    path = tmp_path / "gone.history.jsonl"
    path.write_bytes(b"".join(rechained(lines_of_run(recovered(), TEXT), forget)))
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == "succeeded"


def test_interrupted_calls_tell_of_crashes() -> None:
    text = "steps: [ { a: { lab.pay: { step: a } } }, { b: { lab.pay: { step: b } } } ]"
    crashes = [after("action.dispatched", path, down=10 * S) for path in ("a", "b")]
    done = make(text, crashes=crashes).finish()
    found = replay.reconstruct(history_of(done, text)).json()
    assert found["crashes"] == done.crashes == 2
    assert found["clock"] == {"start": "2026-01-01T00:00:00Z", "now": "2026-01-01T00:00:20Z"}
    assert H > M


def test_a_history_cut_in_a_transaction_is_that_of_the_boundary_before() -> None:
    lines = lines_of_run(recovered(), TEXT)
    for count in range(3, len(lines) + 1):
        history = read_history(lines[:count])
        assert history.records[-1].boundary
        assert replay.reconstruct(history).at is history.records[-1]
