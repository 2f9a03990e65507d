"""The rule ``subject-count``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="subject-count",
    code="document.structure",
    severity="error",
    summary="A step body with no subject key, or with more than one.",
    documentation="""\
## What it finds

A step body that says nothing to do, or two things. A step has exactly one subject, the key with a dot in it:
`connector.action` or `wf.NAME`. The same holds for `undo`.

## Why it matters

With two subjects it would be open which one runs first, which one `retry` repeats and what the step binds.

## Bad

```yaml
workfile: "1.0"
name: pay-and-tell
inputs:
  customer: string
steps:
  - pay:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      messaging.post: { channel: "#payments", text: Paid }
```

## Good

```yaml
workfile: "1.0"
name: pay-and-tell
inputs:
  customer: string
steps:
  - pay:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
  - tell:
      messaging.post: { channel: "#payments", text: Paid }
```

## How to fix

Give the second subject a step of its own, and add a subject where none is. Constructs are written with their prefix:
`wf.group`, not `group`.

## Options

None.
""",
    fixable=True,
)
