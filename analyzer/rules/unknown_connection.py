"""The rule ``unknown-connection``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-connection",
    code="document.reference",
    severity="error",
    summary="A connection that the deployment does not have.",
    documentation="""\
## What it finds

A `connection` that the configuration does not list for the connector.

## Why it matters

The step would be refused when the Workfile is deployed, or reach an account that nobody meant.

## Bad

```toml
# file: workfile.toml
[connections.payments]
names = ["eu", "us"]
default = "eu"
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
      connection: usa
```

## Good

```toml
# file: workfile.toml
[connections.payments]
names = ["eu", "us"]
default = "eu"
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
      connection: us
```

## How to fix

Use one of the names in the message, or add the connection to `workfile.toml` when the deployment has it.

## Options

The connections of the deployment are those of `[connections.NAME]` in the configuration. Of a connector that it does
not mention nothing is assumed.
""",
    fixable=True,
)
