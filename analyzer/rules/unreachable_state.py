"""The rule ``unreachable-state``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unreachable-state",
    code="document.control",
    severity="warning",
    summary="A state that no route or timer leads to.",
    documentation="""\
## What it finds

A state that no route and no timer leads to, seen from `initial`.

## Why it matters

No run ever enters it, so its steps never run. Often a route still names the state that this one was meant to replace.

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
      - { to: closed }
  pause:
    steps:
      - lunch: { wf.wait: 1h }
    routes:
      - { to: closed }
  closed:
    steps:
      - tell_all:
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
      - { to: pause }
  pause:
    steps:
      - lunch: { wf.wait: 1h }
    routes:
      - { to: closed }
  closed:
    steps:
      - tell_all:
          messaging.post: { channel: "#shop", text: Closed }
    final: true
```

## How to fix

Add the route or timer that leads to it, or remove the state.

## Options

None.
""",
    tags=("unreachable",),
)
