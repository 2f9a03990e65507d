"""The rule ``custom-tag``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="custom-tag",
    code="document.syntax",
    severity="error",
    summary="A YAML tag outside the core schema, such as `!env`.",
    documentation="""\
## What it finds

A YAML tag that the core schema does not have, such as `!env`, `!include` or `!secret`.

## Why it matters

Tags are instructions for one program's YAML reader. Every other tool that reads the Workfile, the executor first of
all, ignores or refuses them, so the value would not be what it is believed to be.

## Bad

```yaml
workfile: "1.0"
name: send-greeting
steps:
  - send:
      messaging.post: { channel: !env GREETING_CHANNEL, text: Good morning }
```

## Good

```yaml
workfile: "1.0"
name: send-greeting
inputs:
  channel: string
steps:
  - send:
      messaging.post: { channel: "{{ inputs.channel }}", text: Good morning }
```

## How to fix

Pass what differs between deployments as an input. Secrets belong into the connection, never into a Workfile. A value
that only looks like a tag, because it begins with `!`, must be quoted.

## Options

None.
""",
)
