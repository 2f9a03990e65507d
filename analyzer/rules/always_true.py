"""The rule ``always-true``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="always-true",
    code="document.type",
    severity="warning",
    fixable=True,
    summary="A comparison or case that always holds.",
    documentation="""\
## What it finds

A comparison that its types or enum members settle as true, or a case of `wf.switch` that is the only one its value
can take.

## Why it matters

The test does not test anything: the step runs every time, also in the case that it was meant to leave out.

## Bad

```yaml
workfile: "1.0"
name: remind-of-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - remind:
      messaging.post: { channel: "#approvals", text: Nobody answered }
      on_unknown: fail
      when: "{{ consent.status != 'answered' }}"
```

## Good

```yaml
workfile: "1.0"
name: remind-of-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - remind:
      messaging.post: { channel: "#approvals", text: Nobody answered }
      on_unknown: fail
      when: "{{ consent.status != 'received' }}"
```

## How to fix

Use one of the words that the message lists, or remove the condition when the step is to run every time.

## Options

None.
""",
)
