"""The rule ``duplicate-workflow``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="duplicate-workflow",
    code="document.reference",
    severity="error",
    summary="Two Workfiles with the same `name` in one project.",
    documentation="""\
## What it finds

Two Workfiles with the same `name` under one configuration root. Each of them has the finding, and relates to the
other.

## Why it matters

The name is a workflow's identity: history records it, and `wf.call` finds a workflow by it. With two of one name a
call, or a run that is resumed, could get the wrong definition.

## Bad

```yaml
# file: billing.workfile.yaml
workfile: "1.0"
name: remind-customer
steps:
  - tell:
      messaging.post: { channel: "#billing", text: Reminder sent }
```

```yaml
# file: support.workfile.yaml
workfile: "1.0"
name: remind-customer
steps:
  - tell:
      messaging.post: { channel: "#support", text: Reminder sent }
```

## Good

```yaml
# file: billing.workfile.yaml
workfile: "1.0"
name: remind-customer-of-invoice
steps:
  - tell:
      messaging.post: { channel: "#billing", text: Reminder sent }
```

```yaml
# file: support.workfile.yaml
workfile: "1.0"
name: remind-customer-of-ticket
steps:
  - tell:
      messaging.post: { channel: "#support", text: Reminder sent }
```

## How to fix

Rename the one that has no runs under way yet. A copy that is kept for reference can be left out with `exclude` in the
configuration, or moved out of the root.

## Options

None.
""",
)
