"""The rule ``unused-step-result``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unused-step-result",
    code="document.reference",
    severity="information",
    summary="A read whose result nothing uses.",
    documentation="""\
## What it finds

A read whose result nothing uses.

## Why it matters

A read has no effect, so a step whose result is not read does nothing but take time, and can fail the run all the
same.

## Bad

```yaml
workfile: "1.0"
name: disable-account
inputs:
  account_id: string
steps:
  - accounts:
      directory.list_accounts: { system: shop }
  - disable:
      directory.disable_account: { account_id: "{{ inputs.account_id }}" }
```

## Good

```yaml
workfile: "1.0"
name: disable-account
inputs:
  account_id: string
steps:
  - disable:
      directory.disable_account: { account_id: "{{ inputs.account_id }}" }
```

## How to fix

Remove the step, or use what it finds out. A read that is there only to fail when the other side is down may stay:
suppress the finding and say so.

## Options

None.
""",
    tags=("unused",),
)
