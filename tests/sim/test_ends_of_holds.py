"""The run's end ends every hold, whatever it was about (language page, section 6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_runtime import simulate

MANIFEST = """connector: c
actions:
  key: { effect: write, idempotency: keyed, input: { x: integer }, output: { id: string } }
  undon: { effect: write, idempotency: none, input: { x: string }, errors: { bad: { retryable: false } } }
  rd: { effect: read, input: {}, output: { v: integer }, errors: { bad: { retryable: false } } }
"""

LIMIT = """workfile: "1.0"
name: t
recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: hold }
steps:
  - x: { c.key: { x: 1 } }
  - r: { c.rd: {} }
"""

UNDO = """workfile: "1.0"
name: t
recovery: { redo: whole_group, stop_after: { failures: 1, within: 1h }, then: hold }
steps:
  - x: { c.key: { x: 1 }, undo: { c.undon: { x: "{{ x.id }}" } } }
  - r: { c.rd: {} }
"""

BAD = [{"fail": {"code": "bad", "retryable": False}}]


@pytest.mark.parametrize(
    ("workfile", "held_at"), [pytest.param(LIMIT, "", id="limit"), pytest.param(UNDO, "x.(undo)", id="undo")]
)
@pytest.mark.requirement("D-CAN-02")
def test_a_cancelled_run_holds_nothing(tmp_path: Path, workfile: str, held_at: str) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "c.connector.yaml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "t.workfile.yaml").write_text(workfile, encoding="utf-8")
    actions = {"c.rd": BAD, "c.undon": BAD}
    held = simulate(str(tmp_path / "t.workfile.yaml"), actions=actions)
    assert (held.status, [each["path"] for each in held.report["holds"]]) == ("held", [held_at])
    ended = simulate(str(tmp_path / "t.workfile.yaml"), actions=actions, cancel={"at": "1h", "reason": "z"})
    assert (ended.status, ended.report["holds"]) == ("cancelled", [])
