"""The rule ``unused-input``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unused-input",
    code="document.reference",
    severity="information",
    summary="An input that nothing reads.",
    documentation="""\
## What it finds

An input that nothing in the Workfile reads.

## Why it matters

Whoever starts a run has to provide a value that changes nothing. Often it is the trace of an expression that reads
the wrong name.

## Bad

```yaml
workfile: "1.0"
name: open-shop
inputs:
  channel: string
  opening_time: timestamp
steps:
  - tell:
      messaging.post: { channel: "{{ inputs.channel }}", text: Open }
```

## Good

```yaml
workfile: "1.0"
name: open-shop
inputs:
  channel: string
  opening_time: timestamp
steps:
  - tell:
      messaging.post:
        channel: "{{ inputs.channel }}"
        text: "Open since {{ inputs.opening_time | format_time('%H:%M') }}"
```

## How to fix

Read it, or remove it. Callers that still pass it need the change too.

## Options

None.
""",
    fixable=True,
    tags=("unused",),
)
