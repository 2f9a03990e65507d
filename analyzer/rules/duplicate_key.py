"""The rule ``duplicate-key``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="duplicate-key",
    code="document.syntax",
    severity="error",
    summary="A key that appears twice in one map.",
    documentation="""\
## What it finds

A key that appears twice in one map. The finding is on the second, and relates to the first.

## Why it matters

YAML readers disagree on what happens: some keep the first, some the last, some refuse the file. A `retry` added at
the bottom of a long step can so silently undo the one above it, or be undone by it.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      retry: { attempts: 3, delay: 2s }
      timeout: 30s
      retry: { attempts: 8, delay: 1m }
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
      retry: { attempts: 8, delay: 1m }
      timeout: 30s
```

## How to fix

Keep the one that is meant. When both are meant, join their values in one.

## Options

None.
""",
)
