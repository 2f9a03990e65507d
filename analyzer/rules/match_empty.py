"""The rule ``match-empty``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="match-empty",
    code="document.durable",
    severity="error",
    summary="A wait that matches no field, so any event would do.",
    documentation="""\
## What it finds

A `match` of `wf.wait_for` without a field.

## Why it matters

Every event of the trigger would fit, whoever it is about: the first answer to any request would complete every
waiting run.

## Bad

```yaml
workfile: "1.0"
name: wait-for-consent
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: {}
      timeout: 24h
result: "{{ consent.status }}"
```

## Good

```yaml
workfile: "1.0"
name: wait-for-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
result: "{{ consent.status }}"
```

## How to fix

Match at least one field of the trigger's `correlate_on` by a value that belongs to this run alone.

## Options

None.
""",
)
