"""The rule ``match-not-correlated``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="match-not-correlated",
    code="document.durable",
    severity="error",
    summary="A match on a field that the trigger is not correlated by.",
    documentation="""\
## What it finds

A field in `match` that the trigger's manifest does not list in `correlate_on`.

## Why it matters

The source of the events can only find the waiting run by the fields that it correlates on, so the Standard allows no
other in `match`.

## Bad

```yaml
workfile: "1.0"
name: wait-for-consent
inputs:
  request_id: string
  approver: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}", approver: "{{ inputs.approver }}" }
      timeout: 24h
result: "{{ consent.status }}"
```

## Good

```yaml
workfile: "1.0"
name: wait-for-consent
inputs:
  request_id: string
  approver: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
result:
  by_the_right_person: "{{ consent.event?.approver == inputs.approver }}"
```

## How to fix

Match by the fields in the message, and test the others on the event when it has arrived.

## Options

None.
""",
)
