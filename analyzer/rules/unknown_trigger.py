"""The rule ``unknown-trigger``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-trigger",
    code="document.reference",
    severity="error",
    summary="A trigger that the connector does not have.",
    documentation="""\
## What it finds

A trigger, of `wf.wait_for` or of the root `trigger`, that the connector's manifest does not have.

## Why it matters

No event of it will ever arrive: the run could not even begin to wait.

## Bad

```yaml
workfile: "1.0"
name: wait-for-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.aproval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
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

Take the suggested name, or one of those that the manifest declares under `triggers`. An action cannot be waited for.

## Options

None.
""",
    fixable=True,
)
