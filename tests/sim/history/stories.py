"""Small projects whose runs give histories to look at."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_runtime.history.canonical import canonical_bytes, chained, digest_of
from sim_runtime.history.load import History, read_history
from sim_runtime.simulation import Changes, Simulation, simulate

Json = dict[str, Any]

FILES = {
    "workfile.toml": '[connections.shop]\nnames = ["eu"]\n',
    "connectors/shop.connector.yaml": """
connector: shop
version: 1.0.0
actions:
  look:
    effect: read
    input: { card: { type: string, sensitive: true }, "n?": integer }
    output: { token: { type: string, sensitive: true }, ok: boolean }
  charge:
    effect: write
    idempotency: keyed
    input: { token: string, note: string }
    output: { id: string, at: timestamp }
triggers:
  paid:
    source: external
    payload: { id: string, pin: { type: integer, sensitive: true } }
    correlate_on: [id]
""",
    "shop.overlay.yaml": "overlay: shop\nactions:\n  charge: { description: tightened }\n",
    "order.workfile.yaml": """
workfile: "1.0"
name: order
connectors:
  shop: { manifest: connectors/shop.connector.yaml, overlay: shop.overlay.yaml }
inputs:
  card: { type: string, sensitive: true }
  customer: string
steps:
  - seen: { shop.look: { card: "{{ inputs.card }}", n: 1 } }
  - charge:
      shop.charge: { token: "{{ seen.token }}", note: "card {{ inputs.card }}" }
  - paid:
      wf.wait_for: shop.paid
      match: { id: "{{ charge.id }}" }
      timeout: 1h
  - thank: { wf.call: tell, inputs: { whom: "{{ inputs.card }}" } }
result:
  token: "{{ seen.token }}"
  customer: "{{ inputs.customer }}"
  pin: "{{ paid.event?.pin }}"
""",
    "tell.workfile.yaml": """
workfile: "1.0"
name: tell
inputs: { whom: string }
steps:
  - look: { shop.look: { card: "{{ inputs.whom }}" } }
result: { ok: "{{ look.ok }}" }
""",
    "paid.scenario.yaml": """
workfile: order.workfile.yaml
inputs: { card: "4111-1111", customer: kim }
actions:
  shop.look:
    - succeed: { token: tok-77, ok: true }
  shop.charge:
    - succeed: { id: c-1, at: 2026-01-01T00:00:00Z }
events:
  - { at: 10m, deliver: shop.paid, id: e-1, payload: { id: c-1, pin: 4821 } }
""",
}


def write(folder: Path, files: dict[str, str] | None = None) -> Path:
    """The project's files in a folder."""
    for name, text in (files or FILES).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
    return folder


def played(folder: Path, **changes: Any) -> Simulation:
    """The story, run to its end."""
    return simulate(str(folder / "order.workfile.yaml"), str(folder / "paid.scenario.yaml"), Changes(**changes))


def lines(simulation: Simulation) -> list[Json]:
    """The exported history, parsed."""
    return [json.loads(line) for line in simulation.history_lines()]


def load(parsed: list[Json]) -> History:
    """The history of parsed lines."""
    return read_history([json.dumps(each).encode() + b"\n" for each in parsed])


def rechained(parsed: list[Json], change: Callable[[list[Json]], None]) -> list[Json]:
    """The lines after a change, with digests that fit again."""
    changed: list[Json] = json.loads(json.dumps(parsed))
    change(changed)
    digest = ""
    for number, each in enumerate(changed):
        bare = {key: value for key, value in each.items() if key != "digest"}
        digest = chained(digest, canonical_bytes(bare)) if number else digest_of(bare)
        each["digest"] = digest
    return changed
