"""A call that gets an earlier answer again takes no call number: a crash changes no default answer after it."""

from __future__ import annotations

from pathlib import Path

from sim_runtime import simulate

MANIFEST = """connector: c
actions:
  key: { effect: write, idempotency: keyed, input: { x: integer }, output: { id: string } }
  rd: { effect: read, input: {}, output: { v: string }, errors: { bad: { retryable: false } } }
"""

WORKFILE = """workfile: "1.0"
name: t
recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: hold }
steps:
  - b: { c.key: { x: 1 } }
  - r: { c.rd: {} }
  - n: { c.rd: {} }
result: { b: "{{ b.id }}", n: "{{ n.v }}" }
"""


def test_a_crash_changes_no_default_answer(tmp_path: Path) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "c.connector.yaml").write_text(MANIFEST, encoding="utf-8")
    path = tmp_path / "t.workfile.yaml"
    path.write_text(WORKFILE, encoding="utf-8")
    actions = {"r": [{"fail": {"code": "bad", "retryable": False}}, {"succeed": {"v": "x"}}]}
    calm = simulate(str(path), actions=actions)
    assert calm.status == "succeeded"
    for seq in range(2, calm.report["history"]["records"]):
        crashed = simulate(str(path), actions=actions, crashes=[{"after": {"seq": seq}}])
        assert (crashed.status, crashed.report["result"]) == ("succeeded", calm.report["result"]), seq
