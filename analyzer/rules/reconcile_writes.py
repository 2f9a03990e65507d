"""The rule ``reconcile-writes``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="reconcile-writes",
    code="document.durable",
    severity="warning",
    summary="A reconcile probe that writes.",
    documentation="""\
## What it finds

A step of `reconcile` that is a write.

## Why it matters

A reconcile is there to look, and it may run several times: after each ambiguous attempt, and again after a crash. A
write in it takes effect each time, and its own answer can be lost too, which holds the run.

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
          - tell:
              messaging.request_approval: { request_id: "{{ inputs.order_id }}" }
          - probe: { payments.find_charge: { reference: "{{ inputs.order_id }}" } }
        outcome: "{{ probe.found }}"
        result: { charge_id: "{{ probe.charge_id }}" }
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
          - settle: { wf.wait: 2m }
          - probe: { payments.find_charge: { reference: "{{ inputs.order_id }}" } }
        outcome: "{{ probe.found }}"
        result: { charge_id: "{{ probe.charge_id }}" }
```

## How to fix

Only read in a reconcile, after a short `wf.wait` when the other side needs time. Where a person has to look, use
`on_unknown: halt`.

## Options

None.
""",
)
