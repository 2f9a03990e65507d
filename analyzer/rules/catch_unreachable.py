"""The rule ``catch-unreachable``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="catch-unreachable",
    code="document.control",
    severity="warning",
    fixable=True,
    summary="A handler after one that takes every failure.",
    documentation="""\
## What it finds

A handler of `catch` that stands after one which takes everything (without `codes`), or all of whose codes an earlier
one takes.

## Why it matters

Handlers are tried in order and the first that fits is used, so this one never runs: the special treatment of its
codes does not happen.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      catch:
        - steps:
            - tell:
                messaging.post: { channel: "#payments", text: "Charging failed: {{ error.code }}" }
        - codes: [card_declined]
          steps:
            - ask:
                messaging.request_approval: { request_id: "{{ inputs.customer }}" }
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
      catch:
        - codes: [card_declined]
          steps:
            - ask:
                messaging.request_approval: { request_id: "{{ inputs.customer }}" }
        - steps:
            - tell:
                messaging.post: { channel: "#payments", text: "Charging failed: {{ error.code }}" }
```

## How to fix

Move the handler for everything to the end.

## Options

None.
""",
    tags=("unreachable",),
)
