"""The rule ``type-mismatch``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="type-mismatch",
    code="document.type",
    severity="error",
    summary="A value that cannot fit where it stands.",
    documentation="""\
## What it finds

A value that cannot fit where it stands: text for a number, a list for a map, a word that is not one of an enum, a
literal that breaks a constraint of the schema such as `minimum`, an operand that an operator does not take. The
message says both types.

## Why it matters

The executor validates arguments before it dispatches a call, and fails the step with `input.invalid`. That failure is
not retryable, and it comes at the moment the step is reached, after everything before it has taken effect.

## Bad

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  amount: string
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
```

## Good

```yaml
workfile: "1.0"
name: charge-customer
inputs:
  amount: { type: integer, minimum: 1 }
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }
```

## How to fix

Declare the input with the type that is needed, or convert: `| string`, `| number`, `| round`, `| duration`,
`| timestamp`. An interpolation keeps its type only when the string holds nothing else.

## Options

None.
""",
)
