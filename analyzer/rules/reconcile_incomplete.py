"""The rule ``reconcile-incomplete``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="reconcile-incomplete",
    code="document.durable",
    severity="error",
    summary="`on_unknown: reconcile` and a `reconcile` map that do not go together.",
    documentation="""\
## What it finds

`on_unknown: reconcile` and the `reconcile` map do not go together: one without the other, or the map without `steps`,
`outcome` or, for an action with an output, `result`.

## Why it matters

When the answer of the call is lost there is no way to find out what happened, or no value that the step could bind.
The run would be held for an operator, which `reconcile` is there to avoid.

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

Give all three: `steps` that look, `outcome` that is true when the action took effect, and the `result` that the
action would have given. Where nothing can be looked up, `on_unknown: halt` asks an operator.

## Options

None.
""",
    fixable=True,
)
