"""A project with a recorded run, for the commands: an order that calls another workflow and waits to be paid."""

from __future__ import annotations

from pathlib import Path

from sim_runtime.simulation import Changes, simulate

MANIFEST = """
connector: shop
version: 1.0.0
actions:
  look: { effect: read, input: { n: integer }, output: { ok: boolean } }
  charge: { effect: write, idempotency: keyed, input: { n: integer }, output: { id: string } }
  send: { effect: write, idempotency: none, input: { n: integer }, output: { id: string } }
triggers:
  paid: { source: external, payload: { id: string }, correlate_on: [id] }
"""
ORDER = """workfile: "1.0"
name: order
inputs: { n: integer }
steps:
  - look: { shop.look: { n: "{{ inputs.n }}" } }
  - charge: { shop.charge: { n: "{{ inputs.n }}" } }
  - tell: { wf.call: tell, inputs: { n: "{{ inputs.n }}" } }
  - paid: { wf.wait_for: shop.paid, match: { id: x }, timeout: 1h }
result: "{{ charge.id }}"
"""
TELL = """workfile: "1.0"
name: tell
inputs: { n: integer }
steps:
  - send: { shop.send: { n: "{{ inputs.n }}" }, on_unknown: halt }
"""
HISTORY = "histories/run1.history.jsonl"


def record(folder: Path, number: int) -> Path:
    simulation = simulate(str(folder / "order.workfile.yaml"), changes=Changes(inputs={"n": number}))
    path = folder / "histories" / f"run{number}.history.jsonl"
    path.write_text("".join(simulation.history_lines()), encoding="utf-8")
    return path
