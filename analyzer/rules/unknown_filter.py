"""The rule ``unknown-filter``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-filter",
    code="document.reference",
    severity="error",
    summary="A filter that does not exist.",
    documentation="""\
## What it finds

A filter, after `|` in an expression, that does not exist. The nearest is suggested.

## Why it matters

The expression cannot be evaluated, so the step would fail whenever it is reached.

## Bad

```yaml
workfile: "1.0"
name: announce
inputs:
  title: string
steps:
  - tell:
      messaging.post: { channel: "#news", text: "{{ inputs.title | uppercase }}" }
```

## Good

```yaml
workfile: "1.0"
name: announce
inputs:
  title: string
steps:
  - tell:
      messaging.post: { channel: "#news", text: "{{ inputs.title | upper }}" }
```

## How to fix

The filters are `default`, `upper`, `lower`, `trim`, `replace`, `split`, `join`, `length`, `contains`, `first`,
`last`, `min`, `max`, `sort`, `unique`, `sum`, `keys`, `values`, `round`, `json`, `string`, `number`, `duration`,
`timestamp` and `format_time`.

## Options

None.
""",
    fixable=True,
)
