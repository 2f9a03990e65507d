"""The rule ``reconcile-uses-own-result``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="reconcile-uses-own-result",
    code="document.durable",
    severity="error",
    summary="A reconcile that reads the result which it is there to find out.",
    documentation="""\
## What it finds

A probe, the `outcome` or the `result` of `reconcile` that reads the result of the very action it is about.

## Why it matters

The reconcile runs because that result was lost. It does not exist.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  order_id: string
  customer: string
steps:
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      on_unknown: reconcile
      reconcile:
        steps:
          - probe: { payments.find_charge: { reference: "{{ inputs.order_id }}" } }
        outcome: "{{ probe.found }}"
        result: { charge_id: "{{ charge.charge_id }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  order_id: string
  customer: string
steps:
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      on_unknown: reconcile
      reconcile:
        steps:
          - probe: { payments.find_charge: { reference: "{{ inputs.order_id }}" } }
        outcome: "{{ probe.found }}"
        result: { charge_id: "{{ probe.charge_id }}" }
```

## How to fix

Take the value from a probe. The reference to look for must be known before the call: an input, or `run.id`.

## Options

None.
""",
)
