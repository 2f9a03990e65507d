"""The rule ``undo-unreachable``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="undo-unreachable",
    code="document.control",
    severity="warning",
    summary="An `undo` that no recovery can ever need.",
    documentation="""\
## What it finds

An `undo` that no redo can ever need: no recovery scope around the step redoes it after it has succeeded.

## Why it matters

An `undo` runs only when a recovery is about to repeat the step. It does not run when the run fails, is stopped or
cancelled, so one that is there "to clean up" never does.

## Bad

```yaml
workfile: "1.0"
name: reserve-and-ask
inputs:
  sku: string
  request_id: string
steps:
  - reserve:
      warehouse.reserve: { sku: "{{ inputs.sku }}", quantity: 1 }
      undo: { warehouse.release: { reservation_id: "{{ reserve.reservation_id }}" } }
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
steps:
  - reserve:
      warehouse.reserve: { sku: "{{ inputs.sku }}", quantity: 1 }
  - ask:
      messaging.request_approval: { request_id: "{{ inputs.request_id }}" }
      catch:
        - steps:
            - release:
                warehouse.release: { reservation_id: "{{ reserve.reservation_id }}" }
            - give_up:
                wf.fail: { code: no_approval, message: "The request could not be sent: {{ error.message }}" }
```

## How to fix

To take the effect back when a later step fails, do it in that step's `catch`. To try both again, put `recovery`
around them.

## Options

None.
""",
    tags=("unreachable",),
)
