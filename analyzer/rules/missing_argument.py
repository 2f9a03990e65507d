"""The rule ``missing-argument``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="missing-argument",
    code="document.type",
    severity="error",
    summary="An argument that the action, child workflow or trigger requires.",
    documentation="""\
## What it finds

A required argument that is not there: of an action's input, of a child workflow's inputs, of a trigger's
configuration.

## Why it matters

The call would be refused as `input.invalid` when the step is reached, and a retry cannot help.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { customer: "{{ inputs.customer }}" }
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
```

## How to fix

Add the argument; the message names its type.

## Options

None.
""",
)
