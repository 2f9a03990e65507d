"""The rule ``not-visible``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="not-visible",
    code="document.reference",
    severity="error",
    summary="A step's result that exists in the file but cannot be read from here.",
    documentation="""\
## What it finds

A result that exists in the file but cannot be read from here: it is bound inside a branch, a loop, a group, a wait, a
reconcile scope or a handler, and read outside of it by its bare id. The related place is where it is bound.

## Why it matters

Whether that step ran depends on the branch taken or the iteration; a bare id cannot say which. Through the
construct's own binding it is clear, and so is that it may be null.

## Bad

```yaml
workfile: "1.0"
name: pay-if-small
inputs:
  amount: { type: integer, minimum: 1 }
  customer: string
steps:
  - decide:
      wf.if: "{{ inputs.amount < 1000 }}"
      then:
        - pay:
            payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
result:
  charge: "{{ pay.charge_id }}"
```

## Good

```yaml
workfile: "1.0"
name: pay-if-small
inputs:
  amount: { type: integer, minimum: 1 }
  customer: string
steps:
  - decide:
      wf.if: "{{ inputs.amount < 1000 }}"
      then:
        - pay:
            payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
result:
  charge: "{{ decide.pay?.charge_id }}"
```

## How to fix

Read it through the construct: `decide.pay` of a branch or group, `fan.left.send` of a parallel branch, `each[0].send`
of an iteration. What a handler or a probe finds out leaves its scope by their `result`.

## Options

None.
""",
)
