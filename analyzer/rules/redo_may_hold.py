"""The rule ``redo-may-hold``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="redo-may-hold",
    code="document.durable",
    severity="information",
    summary="A redo that may have to hold because an earlier attempt may have taken effect.",
    documentation="""\
## What it finds

A redo that may send an action again whose earlier attempt may have taken effect without a success: an ambiguous
attempt that `on_unknown: fail` made a failure, or an answer that broke the action's output; or an attempt that was left
without an answer, as its called run was aborted or over its `timeout`, or as a state's timer led elsewhere.

## Why it matters

Nothing is wrong, but the recovery may not run through by itself: to send the action again could double its effect, so
the run is held with reason `reissue` until an operator decides. `undo` does not help, since it takes back successes
only.

## Bad

```yaml
workfile: "1.0"
name: charge-and-ask
inputs:
  request_id: string
  customer: string
recovery:
  redo: whole_group
  stop_after: { failures: 2, within: 1h }
  delay: 5m
  then: hold
steps:
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      on_unknown: fail
      undo: { payments.refund: { charge_id: "{{ charge.charge_id }}" } }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-and-ask
inputs:
  request_id: string
  customer: string
recovery:
  redo: whole_group
  stop_after: { failures: 2, within: 1h }
  delay: 5m
  then: hold
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      undo: { payments.refund: { charge_id: "{{ charge.charge_id }}" } }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
```

## How to fix

Use an action that is `keyed` or `inherent`, whose repetition is recognised. Otherwise be prepared to decide such
holds.

## Options

None.
""",
)
