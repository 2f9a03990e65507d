"""Helpers of the debug adapter's tests: a folder with Workfiles, and a client in this process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from analyzer.workspace.project import forget_projects

sys.path.insert(0, str(Path(__file__).parent))

from client import Client

CONNECTOR = """\
connector: shop
actions:
  look:
    effect: read
    input: { type: object, properties: { n: { type: integer } }, required: [n] }
    output: { type: object, properties: { found: { type: boolean }, id: { type: string } }, required: [found] }
    errors: { busy: { retryable: true } }
  charge:
    effect: write
    idempotency: none
    input: { type: object, properties: { amount: { type: integer } }, required: [amount] }
    output: { type: object, properties: { charge_id: { type: string } }, required: [charge_id] }
    errors: { busy: { retryable: true }, declined: { retryable: false } }
  refund:
    effect: write
    idempotency: keyed
    input: { type: object, properties: { charge_id: { type: string } }, required: [charge_id] }
    errors: { closed: { retryable: false } }
triggers:
  paid:
    source: external
    payload: { type: object, properties: { order: { type: string }, sum: { type: integer } }, required: [order, sum] }
    correlate_on: [order]
"""

MAIN = """\
workfile: "1.0"
name: main
inputs:
  amount: integer
  names: "list[string]"
  order: string
steps:
  # what it costs
  - price:
      wf.let:
        total: "{{ inputs.amount * 2 }}"
        text: |
          many
          lines
  - each:
      wf.for_each: "{{ inputs.names }}"
      steps:
        - greet: { wf.let: { hello: "{{ item + '!' }}" } }
  - fan:
      wf.parallel:
        left:
          - one: { shop.look: { n: 1 } }
          - two: { shop.look: { n: 2 } }
        right:
          - three: { shop.look: { n: 3 } }

  - charge:
      shop.charge: { amount: "{{ price.total }}" }
      retry: { attempts: 2, delay: 30s }
      on_unknown: halt
  - skipped:
      wf.let: { a: 1 }
      when: "{{ inputs.amount > 1000 }}"
  - paid:
      wf.wait_for: shop.paid
      match: { order: "{{ inputs.order }}" }
      timeout: 2h
  - child:
      wf.call: child
      inputs: { n: 5 }
result:
  paid: "{{ paid.status }}"
"""

CHILD = """\
workfile: "1.0"
name: child
inputs: { n: integer }
steps:
  - inner: { shop.look: { n: "{{ inputs.n }}" } }
  - last: { wf.let: { m: "{{ inputs.n + 1 }}" } }
result: { m: "{{ last.m }}" }
"""

INPUTS = {"amount": 5, "names": ["a", "b"], "order": "o-1"}


class Folder:
    """A folder with Workfiles."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("connectors/shop.connector.yaml", CONNECTOR)
        self.write("child.workfile.yaml", CHILD)
        self.main = self.write("main.workfile.yaml", MAIN)

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def workfile(self, steps: str, head: str = "") -> str:
        """A Workfile with these steps."""
        return self.write("small.workfile.yaml", f'workfile: "1.0"\nname: small\n{head}steps:\n{steps}')

    def scenario(self, text: str, of: str = "main.workfile.yaml") -> str:
        return self.write("test.scenario.yaml", f"workfile: {of}\n{text}")

    def line(self, text: str, path: str | None = None) -> int:
        """The line, from 1, on which a text stands."""
        lines = Path(path or self.main).read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    forget_projects()
    return Folder(tmp_path)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    found = await Client.inside()
    yield found
    await found.close()
