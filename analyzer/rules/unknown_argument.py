"""The rule ``unknown-argument``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-argument",
    code="document.type",
    severity="error",
    summary="An argument that the action, child workflow or trigger does not take.",
    documentation="""\
## What it finds

An argument that is not taken: the action's input, the child's inputs or the trigger's configuration do not have it.
When it looks like a required one that is missing, this is the only finding.

## Why it matters

A closed input refuses the whole call as `input.invalid`. In the best case the argument is a mistyped one, whose value
never arrives.

## Bad

```yaml
workfile: "1.0"
name: ask-for-consent
inputs:
  request_id: string
steps:
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}", chanel: "#approvals" }
```

## Good

```yaml
workfile: "1.0"
name: ask-for-consent
inputs:
  request_id: string
steps:
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}", channel: "#approvals" }
```

## How to fix

Take the suggested name, or remove the argument. What belongs to the step and not to the call (`timeout`, `retry`)
stands one level further out.

## Options

None.
""",
    fixable=True,
)
