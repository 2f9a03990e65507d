"""The rule ``answer-breaks-output``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="answer-breaks-output",
    code="document.scenario",
    severity="warning",
    summary="A scripted answer that does not fit the output of its action.",
    documentation="""\
## What it finds

A `succeed` in a scenario whose value breaks the action's `output`: a missing field, a wrong kind, a bound that is not
kept.

## Why it matters

The simulated run takes such an answer as a real one would be taken: the call fails as `output.invalid`, although its
effect took place. That is rarely what the scenario is about.

## Bad

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge
steps:
  - charge: { payments.charge_once: { amount: 5, customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
actions:
  payments.charge_once:
    - succeed: { id: ch_1 }
```

## Good

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge
steps:
  - charge: { payments.charge_once: { amount: 5, customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
actions:
  payments.charge_once:
    - succeed: { charge_id: ch_1 }
```

## How to fix

Write a value that fits the output, or leave the entry out: an action without one succeeds with a small value that fits.
When the broken answer is meant, suppress this finding at its line.

## Options

None.
""",
)
