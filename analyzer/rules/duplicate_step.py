"""The rule ``duplicate-step``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="duplicate-step",
    code="document.reference",
    severity="error",
    summary="A step id that appears twice in one list.",
    documentation="""\
## What it finds

A step id that appears twice in one list. `on_enter` and `steps` of a state are one list.

## Why it matters

The id is how a step's result is read, how its failure is reported and how a run that was interrupted finds its place
again. Two steps with one id cannot be told apart.

## Bad

```yaml
workfile: "1.0"
name: ask-twice
steps:
  - ask:
      messaging.request_approval: { request_id: r-1 }
  - ask:
      messaging.request_approval: { request_id: r-2 }
```

## Good

```yaml
workfile: "1.0"
name: ask-twice
steps:
  - ask_lead:
      messaging.request_approval: { request_id: r-1 }
  - ask_finance:
      messaging.request_approval: { request_id: r-2 }
```

## How to fix

Give one of them another id. Runs that are under way know a step by its id: rename the one that is newer.

## Options

None.
""",
)
