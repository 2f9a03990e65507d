"""The rule ``unknown-key``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-key",
    code="document.structure",
    severity="error",
    summary="A key that this place does not allow.",
    documentation="""\
## What it finds

A key that this place does not allow. The nearest allowed key is suggested, and when that key is the required one that
seems to be missing, this is the only finding.

## Why it matters

A mistyped key has no effect. `time_out: 30s` leaves the call without any limit, and nobody notices before the day the
other side stops answering.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      time_out: 30s
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
      timeout: 30s
```

## How to fix

Take the suggested key, or remove the line. A key that belongs to the action itself goes into its argument map, one
level deeper.

## Options

None.
""",
    fixable=True,
)
