"""The rule ``undo-may-hold``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="undo-may-hold",
    code="document.durable",
    severity="information",
    summary="An `undo` that holds the run when it is interrupted.",
    documentation="""\
## What it finds

An `undo` whose action is neither `inherent` nor `keyed`.

## Why it matters

An undo that is interrupted by a crash may or may not have happened, and this one must not be sent again. The run is
then held in the middle of its recovery until an operator says what took place.

## Bad

```yaml
workfile: "1.0"
name: reserve-and-ask
inputs:
  sku: string
  request_id: string
recovery:
  redo: whole_group
  stop_after: { failures: 2, within: 1h }
  delay: 5m
  then: fail
steps:
  - reserve:
      warehouse.reserve: { sku: "{{ inputs.sku }}", quantity: 1 }
      undo: { messaging.post: { channel: "#stock", text: "Put {{ inputs.sku }} back" } }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
```

## Good

```yaml
workfile: "1.0"
name: reserve-and-ask
inputs:
  sku: string
  request_id: string
recovery:
  redo: whole_group
  stop_after: { failures: 2, within: 1h }
  delay: 5m
  then: fail
steps:
  - reserve:
      warehouse.reserve: { sku: "{{ inputs.sku }}", quantity: 1 }
      undo: { warehouse.release: { reservation_id: "{{ reserve.reservation_id }}" } }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
```

## How to fix

Undo with an action that may be repeated. Where there is none, be prepared to decide such holds.

## Options

None.
""",
)
