"""The rule ``unknown-connector``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-connector",
    code="document.reference",
    severity="error",
    summary="A connector whose manifest cannot be found.",
    documentation="""\
## What it finds

A connector whose manifest cannot be found: neither in `connectors` of the Workfile, nor in the `connectors/` folder
beside the file, nor in the folders of the configuration. A path in `connectors` that leads nowhere is reported there.

## Why it matters

Without the manifest nothing is known of the actions: not their arguments, not whether they may be repeated. An
executor refuses the Workfile before it runs.

## Bad

```yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      mesaging.post: { channel: "#shop", text: Open }
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

Correct the name, or put the manifest where it is looked for: `connectors/NAME.connector.yaml`, or a path in the root
key `connectors`.

## Options

None.
""",
    fixable=True,
)
