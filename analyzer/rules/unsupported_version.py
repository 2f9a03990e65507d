"""The rule ``unsupported-version``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unsupported-version",
    code="document.structure",
    severity="error",
    summary="A version of the Standard that is not supported.",
    documentation="""\
## What it finds

A version of the Standard in `workfile` that is not supported.

## Why it matters

Another version may give the same keys another meaning. Reading it as this one could run it wrongly.

## Bad

```yaml
workfile: "2.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

## Good

```yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

## How to fix

Write `workfile: "1.0"`, with quotes. The version of your own definition goes into the root key `version`.

## Options

None.
""",
)
