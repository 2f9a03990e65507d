"""The rule ``wrong-kind``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="wrong-kind",
    code="document.structure",
    severity="error",
    summary="A value of the wrong kind: a map where a list must stand, a number where a string must.",
    documentation="""\
## What it finds

A value of the wrong kind: a map where a list must stand, text where a number must, nothing where a value is required,
`workfile: 1.0` without quotes (a number) instead of `"1.0"`. A step's arguments are a map; `{}` says that there are
none.

## Why it matters

The part cannot be understood, so neither the executor nor this tool knows what it says. Steps written as a map would
lose their order.

## Bad

```yaml
workfile: "1.0"
name: open-shop
steps:
  unlock:
    directory.create_account: { person_id: p-1, system: shop }
  tell:
    messaging.post: { channel: "#shop", text: Open }
```

## Good

```yaml
workfile: "1.0"
name: open-shop
steps:
  - unlock:
      directory.create_account: { person_id: p-1, system: shop }
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

## How to fix

Write what the message asks for. Steps are a list, each `- id:` with its body indented below. Text that looks like a
number, a date or `true` needs quotes.

## Options

None.
""",
    fixable=True,
)
