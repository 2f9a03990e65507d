"""The rule ``ambiguous-connection``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="ambiguous-connection",
    code="document.reference",
    severity="error",
    summary="No `connection` where the deployment has several and no default.",
    documentation="""\
## What it finds

A step without `connection` where the configuration lists several connections for its connector and no default.

## Why it matters

It would be open whose account is charged or which region is written to. Executors refuse to guess.

## Bad

```toml
# file: workfile.toml
[connections.payments]
names = ["eu", "us"]
```

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
```

## Good

```toml
# file: workfile.toml
[connections.payments]
names = ["eu", "us"]
```

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      connection: eu
```

## How to fix

Add `connection` to the step, or a `default` to the connector's table in `workfile.toml`.

## Options

The connections of the deployment are those of `[connections.NAME]` in the configuration. Of a connector that it does
not mention nothing is assumed.
""",
)
