"""Runs the commands that simulate, in this process and with the real engine, in a folder with a small project."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

CONNECTOR = """\
connector: shop
version: 1.0.0
actions:
  look: { effect: read, input: { name: string }, output: { found: boolean } }
  charge:
    effect: write
    idempotency: keyed
    input: { amount: integer }
    output: { id: string }
    errors: { busy: { retryable: true }, declined: { retryable: false } }
  print: { effect: write, idempotency: none, input: { text: string }, output: { page: string } }
triggers:
  paid:
    source: external
    payload: { id: string, amount: { type: integer, sensitive: true } }
    correlate_on: [id]
  opened: { source: external, payload: { amount: integer } }
"""
WORKFILE = """\
workfile: "1.0"
name: sell
inputs: { amount: integer, "note?": string }
steps:
  - charge:
      shop.charge: { amount: "{{ inputs.amount }}" }
      retry: { attempts: 3, delay: 30s }
  - paid:
      wf.wait_for: shop.paid
      match: { id: "{{ charge.id }}" }
      timeout: 1h
  - receipt:
      shop.print: { text: "{{ inputs.note ?? 'thank you' }}" }
      on_unknown: halt
result:
  status: "{{ paid.status }}"
  page: "{{ receipt.page }}"
"""
SCENARIO = """\
workfile: sell.workfile.yaml
inputs: { amount: 5 }
actions:
  shop.charge:
    - fail: { code: busy, retry_after: 1m }
    - succeed: { id: c-1 }
  shop.print:
    - ambiguous: { code: timeout, effect: happened }
events:
  - { at: 10m, deliver: shop.paid, id: e-1, payload: { id: c-1, amount: 5000 } }
crashes:
  - { after: { record: event.accepted, path: paid }, down: 5m }
expect:
  status: held
  holds: [receipt]
  effects: { shop.charge: 1, shop.print: 1 }
  clock: 15m
"""
ROUND = """\
workfile: "1.0"
name: round
initial: a
states:
  a: { steps: [ { s: { shop.look: { name: x } } } ], routes: [ { when: "{{ s.found }}", to: b }, { to: a } ] }
  b: { steps: [ { t: { wf.let: { n: 1 } } } ], final: true }
"""
FILES = {
    "workfile.toml": "",
    "connectors/shop.connector.yaml": CONNECTOR,
    "sell.workfile.yaml": WORKFILE,
    "sell.scenario.yaml": SCENARIO,
}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]
Put = Callable[[str, str], Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Write a file into the working directory, which has the small project already."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    for name, text in FILES.items():
        write(name, text)
    monkeypatch.chdir(tmp_path)
    return write


@pytest.fixture
def workfile(put: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command line."""
    from workfile_cli.main import main

    def call(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call
