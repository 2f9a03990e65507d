"""The rule ``not-whole-value``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="not-whole-value",
    code="document.type",
    severity="error",
    summary="Text around an interpolation whose value must keep its type.",
    documentation="""\
## What it finds

Text around an interpolation at a place that needs a value of its own type: `timeout`, `wf.wait`, the list of
`wf.for_each`.

## Why it matters

With text around it the result is a string, not a duration, timestamp or list, so the step would fail when it is
reached.

## Bad

```yaml
workfile: "1.0"
name: greet-in-the-morning
inputs:
  starts_at: timestamp
steps:
  - morning: { wf.wait: "until {{ inputs.starts_at }}" }
  - greet:
      messaging.post: { channel: "#all", text: Good morning }
```

## Good

```yaml
workfile: "1.0"
name: greet-in-the-morning
inputs:
  starts_at: timestamp
steps:
  - morning: { wf.wait: "{{ inputs.starts_at }}" }
  - greet:
      messaging.post: { channel: "#all", text: Good morning }
```

## How to fix

Let the string be the one interpolation. A duration is made inside it:
`{{ ((inputs.days | string) + "d") | duration }}`.

## Options

None.
""",
)
