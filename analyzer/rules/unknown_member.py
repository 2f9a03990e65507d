"""The rule ``unknown-member``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-member",
    code="document.reference",
    severity="error",
    summary="A field that the value does not have.",
    documentation="""\
## What it finds

A field that the value does not have: not an input, not declared in the action's output or the trigger's payload, not
a step of the construct. Also one that only some forms of the value have (`oneOf`, `anyOf`), where no test tells which
form it is.

## Why it matters

Reading a field that is not there is a fault and fails the step. The manifest is the only place that says what an
action gives back, so a field that it does not declare cannot be relied on even if it happens to arrive.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
result:
  reference: "{{ charge.id }}"
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
result:
  reference: "{{ charge.charge_id }}"
```

## How to fix

Use one of the fields in the message. When the connector really gives more than its manifest declares, complete the
manifest.

## Options

None.
""",
    fixable=True,
)
