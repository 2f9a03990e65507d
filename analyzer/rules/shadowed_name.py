"""The rule ``shadowed-name``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="shadowed-name",
    code="document.reference",
    severity="error",
    summary="A step id that hides a result or name which can be read there.",
    documentation="""\
## What it finds

A step id, or the name in `as`, that hides a name which can be read at that place: an earlier step of a list around
it, a loop's name, a state.

## Why it matters

From there on the same word would mean two things, and an expression moved by one line would silently read the other
one.

## Bad

```yaml
workfile: "1.0"
name: charge-twice
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
  - extras:
      wf.group:
        - charge:
            payments.charge_once: { amount: 20, customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-twice
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
  - extras:
      wf.group:
        - charge_fee:
            payments.charge_once: { amount: 20, customer: "{{ inputs.customer }}" }
```

## How to fix

Give the inner one an id of its own. Sibling branches may use the same ids, since neither sees the other.

## Options

None.
""",
)
