"""The rule ``retry-never-used``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="retry-never-used",
    code="document.control",
    severity="warning",
    summary="A `retry` on an action whose failures are never retryable.",
    documentation="""\
## What it finds

`retry` on an action none of whose declared errors is retryable.

## Why it matters

Retries follow retryable failures only. The policy looks like patience with a weak connector, and the first failure is
final all the same.

## Bad

```yaml
workfile: "1.0"
name: refund-customer
inputs:
  charge_id: string
steps:
  - refund:
      payments.refund: { charge_id: "{{ inputs.charge_id }}" }
      retry: { attempts: 5, delay: 10s }
```

## Good

```yaml
workfile: "1.0"
name: refund-customer
inputs:
  charge_id: string
steps:
  - refund:
      payments.refund: { charge_id: "{{ inputs.charge_id }}" }
      catch:
        - codes: [unknown_charge]
          steps:
            - tell:
                messaging.post: { channel: "#payments", text: "There is no charge {{ inputs.charge_id }}" }
```

## How to fix

Remove `retry`, handle the failure with `catch`, or, when the connector does fail in passing, declare that error as
retryable in its manifest.

## Options

None.
""",
    tags=("unused",),
)
