"""The rule ``literal-required``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="literal-required",
    code="document.structure",
    severity="error",
    summary="An interpolation where the value must be known before a run starts.",
    documentation="""\
## What it finds

An interpolation where the value must be known before a run starts: the trigger of `wf.wait_for`, the workflow of
`wf.call`, `connection`, `retry`, the `delay` and `stop_after` of `recovery`, the cases of `wf.switch`.

## Why it matters

These are checked and resolved before anything runs: which manifest applies, whether the connection exists, which
workflow belongs to the definition that a run is pinned to. A value that appears only during the run would escape all
of it.

## Bad

```yaml
workfile: "1.0"
name: charge-in-region
inputs:
  region: string
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      connection: "{{ inputs.region }}"
```

## Good

```yaml
workfile: "1.0"
name: charge-in-region
inputs:
  region: 'enum["eu", "us"]'
  customer: string
steps:
  - where:
      wf.switch: "{{ inputs.region }}"
      cases:
        eu:
          - charge:
              payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
              connection: eu
        us:
          - charge_us:
              payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
              connection: us
```

## How to fix

Write the value itself. Where it depends on data, choose between steps with `wf.if` or `wf.switch`.

## Options

None.
""",
)
