"""The rule ``unreachable-step``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unreachable-step",
    code="document.control",
    severity="warning",
    summary="A step that can never run.",
    documentation="""\
## What it finds

A step that can never run, because the steps before it always end the run with `wf.stop` or `wf.fail`.

## Why it matters

What it does never happens. The usual cause is a missing `when` on the step that ends the run.

## Bad

```yaml
workfile: "1.0"
name: charge-large-order
inputs:
  amount: { type: integer, minimum: 1 }
  customer: string
steps:
  - too_small:
      wf.stop: { reason: nothing to charge }
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-large-order
inputs:
  amount: { type: integer, minimum: 1 }
  customer: string
steps:
  - too_small:
      wf.stop: { reason: nothing to charge }
      when: "{{ inputs.amount < 100 }}"
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
```

## How to fix

Guard the step that ends the run, move it to the end, or remove what follows it.

## Options

None.
""",
    tags=("unreachable",),
)
