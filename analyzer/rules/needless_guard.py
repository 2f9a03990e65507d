"""The rule ``needless-guard``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="needless-guard",
    code="document.null",
    severity="information",
    summary="A guard against null on a value that is never null.",
    documentation="""\
## What it finds

A guard against null on a value that is never null: `?.`, `??`, `| default(…)` or a comparison with null.

## Why it matters

The guard suggests a case that cannot happen, and its other branch is code that is never tested because it never runs.

## Bad

```yaml
workfile: "1.0"
name: announce
inputs:
  title: string
steps:
  - tell:
      messaging.post: { channel: "#news", text: "{{ inputs.title ?? 'News' }}" }
```

## Good

```yaml
workfile: "1.0"
name: announce
inputs:
  title: string
steps:
  - tell:
      messaging.post: { channel: "#news", text: "{{ inputs.title }}" }
```

## How to fix

Remove the guard. When the value was meant to be optional, say so where it is declared: `title?: string`.

## Options

None.
""",
    fixable=True,
    tags=("unused",),
)
