"""The rule ``unknown-action``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-action",
    code="document.reference",
    severity="error",
    summary="An action or `wf.` construct that does not exist.",
    documentation="""\
## What it finds

An action that the connector's manifest does not have, or a `wf.` construct that does not exist. The nearest is
suggested.

## Why it matters

The step cannot be run. Manifests change with the connectors: after an update this finding tells which steps still
call what is gone.

## Bad

```yaml
workfile: "1.0"
name: refund-customer
inputs:
  charge_id: string
steps:
  - refund:
      payments.refnd: { charge_id: "{{ inputs.charge_id }}" }
```

## Good

```yaml
workfile: "1.0"
name: refund-customer
inputs:
  charge_id: string
steps:
  - refund:
      payments.refund: { charge_id: "{{ inputs.charge_id }}" }
```

## How to fix

Take the suggested name, or one of those that the manifest declares.

## Options

None.
""",
    fixable=True,
)
