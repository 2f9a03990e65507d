"""The rule ``used-before-bound``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="used-before-bound",
    code="document.reference",
    severity="error",
    summary="A step's result that is read before the step, or by the step itself.",
    documentation="""\
## What it finds

A step's result that is read before that step, or by the step itself. Only `undo` reads its own step's result.

## Why it matters

Steps run in the order of the list and bind their result once they have succeeded. Before that there is nothing to
read.

## Bad

```yaml
workfile: "1.0"
name: charge-and-tell
inputs:
  customer: string
steps:
  - tell:
      messaging.post: { channel: "#payments", text: "Charge {{ charge.charge_id }}" }
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-and-tell
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
  - tell:
      messaging.post: { channel: "#payments", text: "Charge {{ charge.charge_id }}" }
```

## How to fix

Move the step that gives the value up, or the one that reads it down.

## Options

None.
""",
)
