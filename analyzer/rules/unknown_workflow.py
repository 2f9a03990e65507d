"""The rule ``unknown-workflow``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-workflow",
    code="document.reference",
    severity="error",
    summary="A called workflow that no Workfile of the project has.",
    documentation="""\
## What it finds

A `wf.call` of a name that no Workfile under the configuration's root has. Without a configuration the folder of the
file is searched.

## Why it matters

The child workflow is resolved before the run starts; without it the Workfile cannot run at all.

## Bad

```yaml
# file: order.workfile.yaml
workfile: "1.0"
name: order
steps:
  - tell: { wf.call: tell-custmer }
```

```yaml
# file: tell.workfile.yaml
workfile: "1.0"
name: tell-customer
steps:
  - tell:
      messaging.post: { channel: "#orders", text: Your order is on its way }
```

## Good

```yaml
# file: order.workfile.yaml
workfile: "1.0"
name: order
steps:
  - tell: { wf.call: tell-customer }
```

```yaml
# file: tell.workfile.yaml
workfile: "1.0"
name: tell-customer
steps:
  - tell:
      messaging.post: { channel: "#orders", text: Your order is on its way }
```

## How to fix

Call the workflow by its root key `name`, not by its file's name. When it is in another folder, put a `workfile.toml`
into the folder above both.

## Options

None.
""",
    fixable=True,
)
