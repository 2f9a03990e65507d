"""The rule ``unknown-name``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-name",
    code="document.reference",
    severity="error",
    summary="A name in an expression that nothing binds.",
    documentation="""\
## What it finds

A name at the start of an expression that nothing binds: neither a root (`inputs`, `trigger`, `run`), nor a step, nor
the name of a loop or handler. The nearest visible name is suggested.

## Why it matters

The expression has no value. At run time the step would fail the first time it is reached, which may be days after the
run began.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ input.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## How to fix

Correct the name. Inputs are read as `inputs.NAME`, results by the step's id, and what several states have as
`STATE.id`.

## Options

None.
""",
    fixable=True,
)
