"""The rule ``match-uses-own-steps``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="match-uses-own-steps",
    code="document.durable",
    severity="error",
    summary="A wait's settings that read the result of the wait's own steps.",
    documentation="""\
## What it finds

`match`, `configuration` or `timeout` of a wait that reads a result of the wait's own `steps`.

## Why it matters

They are fixed, and the subscription is active, before these steps run: that is what makes sure that an answer cannot
arrive too early. The result does not exist yet.

## Bad

```yaml
workfile: "1.0"
name: ask-and-wait
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ ask.message_id }}" }
      timeout: 24h
      steps:
        - ask:
            messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
result: "{{ consent.status }}"
```

## Good

```yaml
workfile: "1.0"
name: ask-and-wait
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
      steps:
        - ask:
            messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
result: "{{ consent.status }}"
```

## How to fix

Match by something that is known before, an input or `run.id`, and pass it to the other side in the request. When the
other side gives the reference, make the call a step before the wait: an event that comes in between is not seen.

## Options

None.
""",
)
