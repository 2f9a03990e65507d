"""The rule ``recovery-unreachable``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="recovery-unreachable",
    code="document.control",
    severity="warning",
    summary="A `recovery` that no failure can reach.",
    documentation="""\
## What it finds

A recovery scope that no failure can reach: nothing in it can fail, or every failure is used up before, by `catch`,
`on_fail: continue`, `on_fail: abort` or an inner scope with `then: hold`. Bounds of evaluation do not count, although a
text that grows past 1 MiB is a fault.

## Why it matters

The scope looks like protection and is none. Whoever relies on it to try a group again will wait in vain.

## Bad

```yaml
workfile: "1.0"
name: tell-everybody
steps:
  - tell:
      wf.group:
        - sales:
            messaging.request_approval: { request_id: r-1, channel: "#sales" }
            on_fail: continue
        - support:
            messaging.request_approval: { request_id: r-2, channel: "#support" }
            on_fail: continue
      recovery:
        redo: whole_group
        stop_after: { failures: 2, within: 1h }
        delay: 1m
        then: fail
```

## Good

```yaml
workfile: "1.0"
name: tell-everybody
steps:
  - tell:
      wf.group:
        - sales:
            messaging.request_approval: { request_id: r-1, channel: "#sales" }
        - support:
            messaging.request_approval: { request_id: r-2, channel: "#support" }
            on_fail: continue
      recovery:
        redo: whole_group
        stop_after: { failures: 2, within: 1h }
        delay: 1m
        then: fail
```

## How to fix

Remove the scope, or let the failures that it is meant for through to it.

## Options

None.
""",
    tags=("unreachable",),
)
