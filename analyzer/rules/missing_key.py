"""The rule ``missing-key``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="missing-key",
    code="document.structure",
    severity="error",
    summary="A required key that is not there.",
    documentation="""\
## What it finds

A required key that is not there: `workfile`, `name` and `steps` of a Workfile, `match` and `timeout` of
`wf.wait_for`, `then` of `wf.if`, `stop_after` and `then` of `recovery`, and so on. The finding is on the key of the
map that lacks it.

## Why it matters

The missing part has no default that would be safe to assume. Without `then`, nothing says what happens when a
recovery has been tried often enough.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
recovery:
  redo: this_step
  stop_after: { failures: 3, within: 1h }
  delay: 1m
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
recovery:
  redo: this_step
  stop_after: { failures: 3, within: 1h }
  delay: 1m
  then: hold
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## How to fix

Add the key; the message says what it is for.

## Options

None.
""",
)
