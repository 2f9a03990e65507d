"""The rule ``event-unmatched``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="event-unmatched",
    code="document.scenario",
    severity="warning",
    summary="An event that no wait of the Workfile can take.",
    documentation="""\
## What it finds

An event in a scenario whose trigger no `wf.wait_for` of the Workfile waits for, whose payload is not one of that
trigger, or whose payload differs from the literal `match` of every wait for it.

## Why it matters

Such an event is refused, and the run goes on as if it had never come.

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
events:
  - { at: 2h, deliver: messaging.approval, payload: { request_id: r-1, approved: true } }
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
events:
  - { at: 2h, deliver: messaging.approval, payload: { request_id: r-1, approved: true, approver: dana } }
```

## How to fix

Deliver the trigger that the Workfile waits for, with all fields that its payload requires. When the refusal is what the
scenario is about, suppress this finding at its line.

## Options

None.

## Limits

Where `match` has expressions, and whether a wait is open at that time, is only known when the scenario is run.
""",
)
