"""Realistic, valid, clean Workfiles of any size, the same for the same arguments.

    python benchmarks/generate.py DIR --files 200 --steps 100

writes the Workfiles and the connectors that they use. Steps of every kind are counted, nested ones too; a step is about
158 bytes. Hostile inputs are made here as well, see ``HOSTILE``.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

CONNECTORS = Path(__file__).resolve().parent.parent / "examples" / "connectors"

_HEAD = """\
# A generated Workfile of <steps> steps.
workfile: "1.0"
name: <name>
inputs:
  order_id: string
  customer: string
  address: string
  channel: string
  amount: integer
  lines:
    type: array
    items:
      type: object
      properties: { sku: { type: string }, quantity: { type: integer, minimum: 1 } }
      required: [sku, quantity]
steps:
"""

# Blocks of steps; ``<n>`` makes the ids of one unique.
_CHARGE = """\
  - charge_<n>:
      payments.charge_once: { amount: "{{ inputs.amount + <n> }}", customer: "{{ inputs.customer }}" }
      retry: { attempts: 4, delay: 2s, backoff: 2 }
"""
_DECIDE = """\
  - find_<n>:
      payments.find_charge: { reference: "{{ inputs.order_id }}/<n>" }
  - decide_<n>:
      wf.if: "{{ find_<n>.found and inputs.amount > <n> }}"
      then:
        - repay:
            payments.refund: { charge_id: "{{ find_<n>.charge_id }}" }
            timeout: 30s
      else:
        - pay:
            payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer | trim }}" }
            retry: { attempts: 4, delay: 2s, backoff: 2, max_delay: 1m }
"""
_FULFIL = """\
  - fulfil_<n>:
      wf.group:
        - reserve:
            wf.for_each: "{{ inputs.lines }}"
            as: line
            concurrency: 4
            steps:
              - hold:
                  warehouse.reserve: { sku: "{{ line.sku }}", quantity: "{{ line.quantity * 2 }}" }
                  undo: { warehouse.release: { reservation_id: "{{ hold.reservation_id }}" } }
        - charge:
            payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
            undo: { payments.refund: { charge_id: "{{ charge.charge_id }}" } }
        - ask:
            messaging.request_approval: { request_id: "{{ inputs.order_id }}-<n>", channel: "{{ inputs.channel }}" }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, delay: 5m, then: hold }
"""
_APPROVE = """\
  - approval_<n>:
      wf.wait_for: messaging.approval
      configuration: { channel: "{{ inputs.channel }}" }
      match: { request_id: "{{ inputs.order_id }}-<n>" }
      timeout: 24h
      steps:
        - ask:
            messaging.request_approval: { request_id: "{{ inputs.order_id }}-<n>", channel: "{{ inputs.channel }}" }
  - tell_<n>:
      messaging.post:
        channel: "{{ inputs.channel }}"
        text: "{{ inputs.order_id }}: {{ approval_<n>.event.approver | trim }} has approved it"
      when: "{{ approval_<n>.status == 'received' and approval_<n>.event.approved }}"
      on_unknown: fail
"""
_SPREAD = """\
  - spread_<n>:
      wf.parallel:
        left:
          - pay:
              payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
        right:
          - hold:
              warehouse.reserve: { sku: sku-<n>, quantity: <n> }
              retry: { attempts: 3, delay: 30s }
      on_branch_fail: continue
  - note_<n>:
      wf.let:
        charge: "{{ spread_<n>.left?.pay.charge_id ?? 'none' }}"
        total: "{{ (inputs.amount * <n> + 1) % 1000 }}"
  - pause_<n>: { wf.wait: 10m }
"""
_SHIP = """\
  - ship_<n>:
      warehouse.ship: { reservation_ids: ["r-<n>"], address: "{{ inputs.address }}" }
      retry: { attempts: 3, delay: 30s }
      on_unknown: halt
  - size_<n>:
      wf.switch: "{{ (inputs.lines | length) % 3 }}"
      cases:
        0:
          - small:
              warehouse.reserve: { sku: small-<n>, quantity: "{{ inputs.lines | length }}" }
              retry: { attempts: 3, delay: 30s, max_delay: 5m }
        1:
          - middle:
              warehouse.reserve: { sku: middle-<n>, quantity: "{{ (inputs.lines | length) * 2 }}" }
              timeout: 10m
      default:
        - large:
            warehouse.reserve: { sku: large-<n>, quantity: "{{ inputs.amount % 10 + 1 }}" }
            catch:
              - codes: [out_of_stock]
                result: { reservation_id: none }
"""
_RESULT = """\
result:
  order: "{{ inputs.order_id }}"
  first: "{{ charge_1.charge_id }}"
"""

_BLOCKS: tuple[tuple[int, str], ...] = ((4, _DECIDE), (5, _FULFIL), (3, _APPROVE), (5, _SPREAD), (5, _SHIP))
# One of each, so that every input is read; smaller files than this are not made.
STEPS_MIN = 1 + sum(count for count, _ in _BLOCKS if count == 5)


def workfile_text(steps: int, name: str = "generated") -> str:
    """A Workfile of exactly ``steps`` steps, at least ``STEPS_MIN``."""
    if steps < STEPS_MIN:
        raise ValueError(f"at least {STEPS_MIN} steps are needed to use every input, not {steps}")
    parts = [_HEAD.replace("<steps>", str(steps)).replace("<name>", name), _CHARGE.replace("<n>", "1")]
    left = steps - 1
    number = 1
    order = [block for block in _BLOCKS if block[0] == 5] + [block for block in _BLOCKS if block[0] != 5]
    while left:
        number += 1
        count, text = order[number % len(order)]
        if number % 3 == 0 or count > left:
            count, text = 1, _CHARGE
        parts.append(text.replace("<n>", str(number)))
        left -= count
    return "".join(parts) + _RESULT


def write_project(folder: Path, files: int, steps: int) -> list[Path]:
    """Write ``files`` Workfiles of ``steps`` steps each and the connectors beside them; the Workfiles' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(CONNECTORS, folder / "connectors", dirs_exist_ok=True)
    paths: list[Path] = []
    for number in range(files):
        name = f"generated-{number}"
        path = folder / f"{name}.workfile.yaml"
        path.write_text(workfile_text(steps, name), encoding="utf-8")
        paths.append(path)
    return paths


def _alias_bomb() -> str:
    levels = ["  a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return 'workfile: "1.0"\nname: bomb\ninputs:\n' + "\n".join(levels) + "\nsteps: []\n"


def _nested_groups() -> str:
    depth = 400
    lines = ['workfile: "1.0"', "name: deep", "steps:"]
    for level in range(depth):
        lines.append(f"{'    ' * level}  - g{level}:")
        lines.append(f"{'    ' * level}      wf.group:")
    return "\n".join(lines) + "\n" + "    " * depth + "  - last: { wf.wait: 1s }\n"


def _wide_groups() -> str:
    """Scopes of recovery in each other, around many steps that can fail: what makes redo sets expensive."""
    depth, width = 30, 60
    recovery = "{ redo: whole_group, stop_after: { failures: 1, within: 1h }, then: fail }"
    lines = ['workfile: "1.0"', "name: storm", "inputs: { amount: integer, customer: string }", "steps:"]
    for level in range(depth):
        pad = "      " * level
        lines.append(f"{pad}  - g{level}:")
        lines.append(f"{pad}      recovery: {recovery}")
        lines.append(f"{pad}      wf.group:")
        for step in range(width):
            lines.append(f"{pad}        - s{level}_{step}:")
            call = 'payments.charge: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }'
            lines.append(f"{pad}            {call}")
    return "\n".join(lines) + "\n"


def _one_expression(text: str) -> str:
    head = 'workfile: "1.0"\nname: expression\ninputs: { amount: integer }\nsteps:\n'
    return f'{head}  - s: {{ wf.let: {{ a: "{{{{ {text} }}}}" }} }}\n'


def _long_expression() -> str:
    return _one_expression(" + ".join(["inputs.amount"] * 20_000))


def _nested_expression() -> str:
    return _one_expression("(" * 5_000 + "inputs.amount" + ")" * 5_000)


HOSTILE: dict[str, Callable[[], str]] = {
    "alias bomb, nine in nine levels": _alias_bomb,
    "200,000 open brackets": lambda: "steps: " + "[" * 200_000,
    "400 groups in each other": _nested_groups,
    "30 recovery scopes in each other, 1,800 writes": _wide_groups,
    "an expression of 20,000 terms": _long_expression,
    "an expression of 5,000 parentheses": _nested_expression,
    "an unclosed quote before 1,000 steps": lambda: 'description: "open\n' + workfile_text(1_000),
    "10,000 duplicate keys": lambda: 'workfile: "1.0"\nname: twice\n' + "version: a\n" * 10_000,
    "a line of 1,000,000 characters": lambda: f'workfile: "1.0"\nname: long\ndescription: {"x" * 1_000_000}\n',
}
"""Name of a hostile input and what makes its text."""


def main() -> None:
    """Write a folder of Workfiles."""
    parser = argparse.ArgumentParser(description="Write realistic, valid Workfiles and their connectors.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    paths = write_project(options.folder, options.files, options.steps)
    size = sum(path.stat().st_size for path in paths)
    print(f"{len(paths)} files, {size} bytes, {size / (options.files * options.steps):.0f} bytes a step")


if __name__ == "__main__":
    main()
