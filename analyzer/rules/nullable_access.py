"""The rule ``nullable-access``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="nullable-access",
    code="document.null",
    severity="error",
    summary="A field of a value that may be null.",
    documentation="""\
## What it finds

A field of a value that may be null: of an optional input, of the event of a wait that may have timed out, of a step
that may have been skipped, of a branch that may not have been taken. The message says why it may be null, and relates
to that place.

## Why it matters

When it is null the step fails as `fault.null_member`, which no retry repairs. It works in every test in which
somebody answered in time.

## Bad

```yaml
workfile: "1.0"
name: thank-approver
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - thank:
      messaging.post: { channel: "#approvals", text: "Thank you, {{ consent.event.approver }}" }
      on_unknown: fail
```

## Good

```yaml
workfile: "1.0"
name: thank-approver
inputs:
  request_id: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - thank:
      messaging.post: { channel: "#approvals", text: "Thank you, {{ consent.event.approver }}" }
      on_unknown: fail
      when: "{{ consent.status == 'received' }}"
```

## How to fix

Test it first (`when`, `wf.if`, `and`), which holds for everything behind the test; or go on with null:
`consent.event?.approver` reads null, and `?? "nobody"` replaces it. Several tests that depend on each other are not
followed: repeat the one that counts.

## Options

None.
""",
    fixable=True,
)
