"""The rule ``redo-unsafe``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="redo-unsafe",
    code="document.control",
    severity="error",
    summary="A redo that would repeat an effect which cannot be repeated safely.",
    documentation="""\
## What it finds

A recovery whose redo could repeat an action that must not be repeated: it may have succeeded before the failure, and
it is neither `inherent` nor `keyed` nor has an `undo`. There is one finding for each such action, on `recovery`; it
relates to the action and to a step whose failure brings the redo about, and the message tells one path.

## Why it matters

When the recovery starts again, the action is sent a second time and takes effect a second time: the customer is
charged twice, the parcel is sent twice. Nothing in the run's history looks wrong.

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
      on_unknown: halt
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
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      on_unknown: halt
      undo: { payments.refund: { charge_id: "{{ charge.charge_id }}" } }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
```

## How to fix

Add an `undo` that takes the effect back before the redo, use an action that is `keyed` or `inherent`, or make the
redo smaller: `this_step` repeats only the step that failed, and a scope around the later steps alone leaves the
action outside.

## Options

None.

## Limits

Guards are not followed together: two steps with opposite `when` count as if both could run.
""",
    fixable=True,
)
