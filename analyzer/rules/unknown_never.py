"""The rule ``unknown-never``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-never",
    code="document.durable",
    severity="information",
    summary="`on_unknown` on a read, whose outcome is never unknown.",
    documentation="""\
## What it finds

`on_unknown` on a read.

## Why it matters

A read has no effect that could be unknown: after a crash it is simply sent again, and one that takes too long fails
as `timeout`. The policy never applies; `reconcile` and `halt` still make the Workfile need the Durable Execution
Profile.

## Bad

```yaml
workfile: "1.0"
name: count-accounts
steps:
  - accounts:
      directory.list_accounts: { system: shop }
      on_unknown: fail
result: "{{ accounts.accounts | length }}"
```

## Good

```yaml
workfile: "1.0"
name: count-accounts
steps:
  - accounts:
      directory.list_accounts: { system: shop }
      retry: { attempts: 3, delay: 10s }
result: "{{ accounts.accounts | length }}"
```

## How to fix

Remove `on_unknown`. For a read that fails now and then use `retry`.

## Options

None.
""",
    fixable=True,
    tags=("unused",),
)
