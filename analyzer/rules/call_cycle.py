"""The rule ``call-cycle``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="call-cycle",
    code="document.reference",
    severity="error",
    summary="A call that leads back to its own workflow.",
    documentation="""\
## What it finds

A `wf.call` that is part of a ring: the called workflow calls, itself or through others, this one again.

## Why it matters

Each run would start the next one without end. None of them ever finishes, and every round repeats the effects of the
one before.

## Bad

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge
steps:
  - ask: { wf.call: remind }
```

```yaml
# file: remind.workfile.yaml
workfile: "1.0"
name: remind
steps:
  - tell:
      messaging.post: { channel: "#billing", text: Please pay }
  - again: { wf.call: charge }
```

## Good

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge
steps:
  - ask: { wf.call: remind }
  - wait_a_week: { wf.wait: 7d }
  - ask_again: { wf.call: remind }
```

```yaml
# file: remind.workfile.yaml
workfile: "1.0"
name: remind
steps:
  - tell:
      messaging.post: { channel: "#billing", text: Please pay }
```

## How to fix

Break the ring. Repetition is `wf.for_each` over a list, states that route back to each other around a wait, or
`recovery`.

## Options

None.
""",
)
