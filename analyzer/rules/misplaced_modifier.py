"""The rule ``misplaced-modifier``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="misplaced-modifier",
    code="document.structure",
    severity="error",
    summary="A modifier that this kind of step does not allow.",
    documentation="""\
## What it finds

A modifier on a step that does not allow it: `retry` on a construct, `recovery` on an action or on `wf.wait_for`,
`idempotency_key` on an action that is not declared `keyed`, `catch` on `wf.stop`.

## Why it matters

It would have no effect there, and the step would run without the protection that it seems to have.

## Bad

```yaml
workfile: "1.0"
name: pay-and-ask
inputs:
  customer: string
steps:
  - both:
      wf.group:
        - pay:
            payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
        - ask:
            messaging.request_approval: { request_id: r-1 }
      retry: { attempts: 3, delay: 10s }
```

## Good

```yaml
workfile: "1.0"
name: pay-and-ask
inputs:
  customer: string
steps:
  - both:
      wf.group:
        - pay:
            payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
            retry: { attempts: 3, delay: 10s }
        - ask:
            messaging.request_approval: { request_id: r-1 }
            retry: { attempts: 3, delay: 10s }
```

## How to fix

Move the modifier to a step that allows it. To try several steps again together, use `recovery` on the construct
around them; to handle a failure of a wait, use `catch` or a `wf.group` with `recovery` around it.

## Options

None.
""",
)
