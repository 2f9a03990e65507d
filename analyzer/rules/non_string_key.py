"""The rule ``non-string-key``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="non-string-key",
    code="document.syntax",
    severity="error",
    summary="A key that is not a string.",
    documentation="""\
## What it finds

A key that is not text: a number, `true`, `null`, a date, a list or a map. The usual cause is an interpolation without
quotes, `text: {{ inputs.greeting }}`, which YAML reads as a map whose key is a map. Only `cases` of `wf.switch` may
have integer and boolean keys.

## Why it matters

Nothing in a Workfile can refer to such a key, so what stands under it never takes effect. Of an unquoted
interpolation the expression is lost altogether.

## Bad

```yaml
workfile: "1.0"
name: send-greeting
inputs:
  greeting: string
steps:
  - send:
      messaging.post: { channel: "#all", text: {{ inputs.greeting }} }
```

## Good

```yaml
workfile: "1.0"
name: send-greeting
inputs:
  greeting: string
steps:
  - send:
      messaging.post: { channel: "#all", text: "{{ inputs.greeting }}" }
```

## How to fix

Put quotes around the interpolation, or around the key: `"404": …` instead of `404: …`.

## Options

None.
""",
    fixable=True,
)
