"""The rule ``yaml-syntax``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="yaml-syntax",
    code="document.syntax",
    severity="error",
    summary="Text that is not YAML.",
    documentation="""\
## What it finds

Text that is not YAML: a quote or bracket that is never closed, a line indented by a tab or to a column where nothing
begins, a `key: value` or a `key: {…}` without the colon or the blank after it, a type such as `list[string]` without
quotes inside braces, bytes that are not UTF-8. An unclosed quote or bracket is shown at its opener, and each broken
region is one finding. Everything around it is still read and checked.

## Why it matters

A file that cannot be read cannot be deployed, and a broken region hides whatever stands in it: its steps are neither
run nor checked. It comes first, because other findings may appear once the region reads again.

## Bad

```yaml
workfile: "1.0"
name: morning-greeting
inputs:
  channel: string
steps:
  - hello:
      messaging.post: { channel: "{{ inputs.channel }}", text: "Good morning"
      on_fail: continue
```

## Good

```yaml
workfile: "1.0"
name: morning-greeting
inputs:
  channel: string
steps:
  - hello:
      messaging.post: { channel: "{{ inputs.channel }}", text: "Good morning" }
      on_fail: continue
```

## How to fix

Close what the finding points at, or give the line the indentation of the keys beside it. Text with `: `, ` #`, `{`,
`[` or a leading `*`, `&`, `!`, `%`, `@` must be quoted.

## Options

None.
""",
    fixable=True,
)
