"""The rule ``nullable-value``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="nullable-value",
    code="document.null",
    severity="error",
    summary="A value that may be null where null does not fit.",
    documentation="""\
## What it finds

A value that may be null where null does not fit: an argument, text around an interpolation, an operand, a condition,
the list of a loop. The message says why it may be null, and relates to that place.

## Why it matters

The step would fail as `input.invalid` or with a fault exactly in the case that the optional input was left out or the
earlier step was skipped.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  amount?: { type: integer, minimum: 1 }
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  amount?: { type: integer, minimum: 1 }
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount ?? 500 }}", customer: "{{ inputs.customer }}" }
```

## How to fix

Give a default with `??`, guard the step with a test such as `when: "{{ inputs.amount != null }}"`, or declare the
input as required.

## Options

None.
""",
)
