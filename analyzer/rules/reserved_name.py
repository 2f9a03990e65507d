"""The rule ``reserved-name``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="reserved-name",
    code="document.reference",
    severity="error",
    summary="A step id, loop name or state name that the language keeps for itself.",
    documentation="""\
## What it finds

A step id, the name of a state, or the name in `as` of a loop, that is a word of the language (`inputs`, `trigger`,
`run`, `error`, `item`, `index`, `null`, `true`, `false`, `and`, `or`, `not`, `in`); or a step id `status` or `event`
in the steps of `wf.wait_for`, whose binding already has those two fields.

## Why it matters

The word has a meaning in expressions, so what the name stands for could never be read.

## Bad

```yaml
workfile: "1.0"
name: nightly-charge
inputs:
  customer: string
steps:
  - run:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: nightly-charge
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## How to fix

Choose another name.

## Options

None.
""",
)
