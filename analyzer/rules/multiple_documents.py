"""The rule ``multiple-documents``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="multiple-documents",
    code="document.syntax",
    severity="error",
    summary="A second YAML document in one file.",
    documentation="""\
## What it finds

A second YAML document in the file. The finding is on the `---` that begins it; one `---` at the top of a file is
fine.

## Why it matters

A file is one Workfile, manifest, overlay or scenario. What stands after the second `---` is not read: a workflow that
is believed to be deployed is not.

## Bad

```yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
---
workfile: "1.0"
name: close-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Closed }
```

## Good

```yaml
# file: open-shop.workfile.yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

```yaml
# file: close-shop.workfile.yaml
workfile: "1.0"
name: close-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Closed }
```

## How to fix

Move each document into a file of its own. A `---` meant as a line in text must stand in a quoted or block scalar.

## Options

None.
""",
)
