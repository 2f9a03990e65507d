"""The rule ``answer-invalid``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="answer-invalid",
    code="document.scenario",
    severity="error",
    summary="An answer that its action cannot give: an undeclared error code, ambiguity on a read.",
    documentation="""\
## What it finds

A scripted failure with a code that the manifest does not declare for the action, and a scripted ambiguity of an action
that only reads.

## Why it matters

The simulation would show what the connector never does. A read is never ambiguous: it is sent again, or it fails.

## Bad

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-once
steps:
  - charge: { payments.charge_once: { amount: 5, customer: c-1 } }
  - found: { payments.find_charge: { reference: "{{ charge.charge_id }}" } }
result: "{{ found.found }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
actions:
  payments.charge_once:
    - fail: { code: no_money }
  payments.find_charge:
    - ambiguous: { code: timeout, effect: lost }
```

## Good

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-once
steps:
  - charge: { payments.charge_once: { amount: 5, customer: c-1 } }
  - found: { payments.find_charge: { reference: "{{ charge.charge_id }}" } }
result: "{{ found.found }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
actions:
  payments.charge_once:
    - fail: { code: card_declined }
  payments.find_charge:
    - succeed: { found: false, charge_id: "" }
      latency: 2m
```

## How to fix

Write a code that the action declares under `errors`, or add the code to the manifest when the connector does answer
with it. For a read that takes too long write a `latency` past its `timeout`.

## Options

None.

## Limits

The codes of ambiguous answers and of an operator's decisions need no declaration.
""",
)
