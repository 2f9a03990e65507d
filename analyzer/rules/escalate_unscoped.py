"""The rule ``escalate-unscoped``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="escalate-unscoped",
    code="document.control",
    severity="error",
    summary="`then: escalate` with no recovery scope around it to go to.",
    documentation="""\
## What it finds

`then: escalate` of a recovery that has no recovery scope around it. The workflow's root, a construct or a state with
`recovery` would be one. A workflow that calls this one is none: escalation stays within the workflow.

## Why it matters

At the limit the failure is handed to a scope that does not exist. The Standard makes such a Workfile invalid
(`document.control`), so it is refused before it runs.

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
  then: escalate
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

Choose `hold` to keep the run for an operator or `fail` to let the failure go on, or put `recovery` on something
around it.

## Options

None.
""",
)
