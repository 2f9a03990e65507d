"""The rule ``wait-deadline-past``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="wait-deadline-past",
    code="document.durable",
    severity="warning",
    summary="A deadline that has passed before the wait begins.",
    documentation="""\
## What it finds

A deadline that has passed before the wait begins: a literal timestamp that is not after an earlier one which the run
has to wait for first, or a timeout of zero.

## Why it matters

The wait ends at once, and for `wf.wait_for` with `timeout`, so that the branch for a missing answer is taken every
time.

## Bad

```yaml
workfile: "1.0"
name: early-bird
inputs:
  request_id: string
steps:
  - opening: { wf.wait: "2027-03-01T09:00:00Z" }
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: "2027-02-01T09:00:00Z"
result: "{{ consent.status }}"
```

## Good

```yaml
workfile: "1.0"
name: early-bird
inputs:
  request_id: string
steps:
  - opening: { wf.wait: "2027-03-01T09:00:00Z" }
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: "2027-04-01T09:00:00Z"
result: "{{ consent.status }}"
```

## How to fix

Correct the date, or use a duration, which counts from the moment the step begins.

## Options

None.
""",
)
