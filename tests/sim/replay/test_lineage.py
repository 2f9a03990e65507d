"""Successors of successors: what was sent at the beginning of a lineage is not forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim_runtime import replay
from sim_runtime.history.load import History, read_history
from tests.sim.lab import run
from tests.sim.replay.recorded import history_of, prepared_of

FIRST = "steps: [ { a: { lab.put: {} } }, { one: { lab.send: {}, on_unknown: halt } }, { b: { lab.put: { n: 1 } } } ]"
GONE = "steps: [ { a: { lab.put: {} } }, { b: { lab.put: { n: 1 } } } ]"
SUCCEED = {"operator": [{"on": "one", "actor": "dana", "decide": {"succeed": None}}]}


def scenario(folder: Path, content: dict[str, Any]) -> str:
    path = folder / "live.scenario.yaml"
    path.write_text(json.dumps({"workfile": "x", **content}), encoding="utf-8")
    return str(path)


def again(found: replay.Continuation) -> History:
    return read_history([line.encode() for line in found.lines()])


@pytest.mark.requirement("R-CON-10")
def test_an_effect_that_an_operator_let_stand_is_not_repeated_later(tmp_path: Path) -> None:
    first = history_of(run(FIRST), FIRST)
    gone = replay.continue_(first, prepared_of(GONE), scenario(tmp_path, SUCCEED)).finish()
    assert gone.run.status == "succeeded"
    back = replay.continue_(again(gone), prepared_of(FIRST)).finish()
    assert (back.run.status, back.run.report()["holds"]) == ("held", [{"path": "one", "reason": "unsafe_continuation"}])
    assert "one" not in [each["path"] for each in back.run.calls]
    # Also where the records that told of it are not taken over themselves.
    other = replay.continue_(
        again(gone), prepared_of(FIRST.replace("{ a: { lab.put: {} } }", "{ a: { lab.put: { n: 2 } } }"))
    )
    assert other.finish().run.report()["holds"] == [{"path": "one", "reason": "unsafe_continuation"}]


def test_a_hold_for_an_action_that_is_gone_can_be_decided_later(tmp_path: Path) -> None:
    first = history_of(run(FIRST), FIRST)
    held = replay.continue_(first, prepared_of(GONE)).finish()
    assert held.run.status == "held"
    for other in (None, prepared_of(GONE)):
        done = replay.continue_(again(held), other, scenario(tmp_path, SUCCEED)).finish()
        assert done.run.status == "succeeded"
        assert replay.reevaluate(again(done)).compatible
