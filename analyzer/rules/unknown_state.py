"""The rule ``unknown-state``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-state",
    code="document.reference",
    severity="error",
    summary="A state that the Workfile does not have.",
    documentation="""\
## What it finds

A state in `initial`, in a route's `to` or in a timer's `to` that the Workfile does not have.

## Why it matters

A run that takes the route has nowhere to go.

## Bad

```yaml
workfile: "1.0"
name: shop-day
initial: open
states:
  open:
    steps:
      - tell:
          messaging.post: { channel: "#shop", text: Open }
    routes:
      - { to: close }
  closed:
    steps:
      - tell:
          messaging.post: { channel: "#shop", text: Closed }
    final: true
```

## Good

```yaml
workfile: "1.0"
name: shop-day
initial: open
states:
  open:
    steps:
      - tell:
          messaging.post: { channel: "#shop", text: Open }
    routes:
      - { to: closed }
  closed:
    steps:
      - tell:
          messaging.post: { channel: "#shop", text: Closed }
    final: true
```

## How to fix

Take the suggested state, or add the one that is missing.

## Options

None.
""",
    fixable=True,
)
