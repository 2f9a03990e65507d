"""The rule ``recovery-storm``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="recovery-storm",
    code="document.durable",
    severity="warning",
    summary="A recovery that starts again several times within a second.",
    documentation="""\
## What it finds

A recovery that may start again three times or more with delays that add up to less than a second.

## Why it matters

When another system is down, such a recovery uses up its activations before the other side had time to come back, and
sends it the same calls in a burst. Then the limit is reached and the run fails or waits for an operator.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
recovery:
  redo: this_step
  stop_after: { failures: 5, within: 1h }
  then: hold
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
  stop_after: { failures: 5, within: 1h }
  delay: 2m
  then: hold
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## How to fix

Give `recovery` a `delay` of the time in which the other side usually recovers. Short hiccups are better met by
`retry` on the action.

## Options

None.
""",
)
