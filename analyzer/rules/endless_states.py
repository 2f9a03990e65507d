"""The rule ``endless-states``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="endless-states",
    code="document.control",
    severity="warning",
    summary="States that lead to each other forever without waiting.",
    documentation="""\
## What it finds

States that lead to each other in a ring, without a wait, an event or a way out.

## Why it matters

A run that enters the ring goes round it as fast as the machine allows, repeats every effect in it and fills its
history until somebody cancels it.

## Bad

```yaml
workfile: "1.0"
name: watch-accounts
initial: look
states:
  look:
    steps:
      - accounts:
          directory.list_accounts: { system: shop }
      - tell:
          messaging.post: { channel: "#shop", text: "{{ accounts.accounts | length }} accounts" }
    routes:
      - { to: look }
```

## Good

```yaml
workfile: "1.0"
name: watch-accounts
initial: look
states:
  look:
    steps:
      - accounts:
          directory.list_accounts: { system: shop }
      - tell:
          messaging.post: { channel: "#shop", text: "{{ accounts.accounts | length }} accounts" }
      - a_day: { wf.wait: 24h }
    routes:
      - { to: look }
```

## How to fix

Add a `wf.wait` or `wf.wait_for` to one of the states, or a route that leads out of the ring.

## Options

None.
""",
)
