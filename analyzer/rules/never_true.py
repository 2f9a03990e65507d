"""The rule ``never-true``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="never-true",
    code="document.type",
    severity="warning",
    fixable=True,
    summary="A comparison or case that can never hold.",
    documentation="""\
## What it finds

A comparison, or a case of `wf.switch`, that its types or enum members settle as false: a word that the enum does not
have, a string compared with a number.

## Why it matters

What it guards never happens, and nothing fails, so it goes unnoticed. The usual cause is a mistyped word.

## Bad

```yaml
workfile: "1.0"
name: tell-about-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - tell:
      messaging.post: { channel: "#approvals", text: Somebody answered }
      on_unknown: fail
      when: "{{ consent.status == 'recieved' }}"
```

## Good

```yaml
workfile: "1.0"
name: tell-about-consent
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - tell:
      messaging.post: { channel: "#approvals", text: Somebody answered }
      on_unknown: fail
      when: "{{ consent.status == 'received' }}"
```

## How to fix

Use one of the words that the message lists, or compare values of the same kind.

## Options

None.
""",
)
