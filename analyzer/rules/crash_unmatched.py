"""The rule ``crash-unmatched``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="crash-unmatched",
    code="document.scenario",
    severity="warning",
    summary="A crash point at a record that is never written.",
    documentation="""\
## What it finds

An entry of `crashes` that never acts when the scenario is simulated: no record of that kind is written at that path, or
not so often.

## Why it matters

The scenario does not test what it says. `workfile run` and `workfile test` take it as an error of the scenario.

## Bad

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: wait-for-approval
steps:
  - approval:
      wf.wait_for: messaging.approval
      configuration: { channel: "#ops" }
      match: { request_id: r-1 }
      timeout: 24h
result: "{{ approval.status }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
crashes:
  - { after: { record: action.dispatched, path: approval }, down: 10m }
```

## Good

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: wait-for-approval
steps:
  - approval:
      wf.wait_for: messaging.approval
      configuration: { channel: "#ops" }
      match: { request_id: r-1 }
      timeout: 24h
result: "{{ approval.status }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
crashes:
  - { after: { record: subscription.opened, path: approval }, down: 10m }
```

## How to fix

Look at the records that the run writes, with `workfile run --history` or `history` at the prompt of `workfile step`,
and name one of them.

## Options

None.

## Limits

The scenario is simulated within bounds; where they are hit before the run has ended, nothing is reported. A scenario or
Workfile with errors is not simulated.
""",
)
