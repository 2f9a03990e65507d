"""The rule ``unused-suppression``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unused-suppression",
    code="document.suppression",
    severity="information",
    summary="A suppression comment that suppresses nothing.",
    documentation="""\
## What it finds

A comment `# workfile: ignore[rule]` that suppresses nothing: the finding is gone, stands on another line, or the name
is not that of a rule. Also a comment that looks like one and is none: `# workfile: disable[rule]`,
`# Workfile: Ignore[rule]`.

## Why it matters

It hides the next finding of that rule on its line, one that nobody has looked at.

## Bad

```yaml
workfile: "1.0"
name: announce
inputs:
  title: string
steps:
  - tell:
      messaging.post: { channel: "#news", text: "{{ inputs.title }}" }  # workfile: ignore[needless-guard]
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

Remove the comment, or the names in it that are not needed. A suppression works at the end of the line of the finding,
or alone on the line above it.

## Options

None.
""",
    fixable=True,
    tags=("unused",),
)
