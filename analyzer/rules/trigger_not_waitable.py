"""The rule ``trigger-not-waitable``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="trigger-not-waitable",
    code="document.durable",
    severity="error",
    summary="A wait for a trigger that cannot be waited for.",
    documentation="""\
## What it finds

A `wf.wait_for` of a trigger that cannot be waited for: its source is neither `external` nor `poll`, or it declares no
`correlate_on`.

## Why it matters

Schedules and manual starts begin new runs and belong to nobody's waiting one; without correlation no event can be
assigned to this run. The wait would always end with its timeout.

## Bad

```yaml
workfile: "1.0"
name: wait-for-digest
steps:
  - digest:
      wf.wait_for: messaging.daily_digest
      match: { day: monday }
      timeout: 24h
result: "{{ digest.status }}"
```

## Good

```yaml
workfile: "1.0"
name: wait-for-digest
trigger: { source: messaging.daily_digest }
steps:
  - tell:
      messaging.post: { channel: "#news", text: "The digest of {{ trigger.day }} is there" }
```

## How to fix

Start the workflow by the trigger, wait for the time with `wf.wait`, or declare `correlate_on` in the manifest when
the events do carry a reference.

## Options

None.
""",
)
