"""The rule ``scenario-invalid``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="scenario-invalid",
    code="document.scenario",
    severity="error",
    summary="A part of a scenario that cannot be: a shape, key, path, action or trigger.",
    documentation="""\
## What it finds

A scenario file with an unknown key, a value of the wrong kind, or a name that does not exist: an action or trigger that
no manifest declares, a step path or binding path that the Workfile does not have, a kind of record that there is not.
The nearest is suggested.

## Why it matters

A misspelled action would never be answered as the scenario says, and a misspelled path would never be met, so that the
simulation would show something else than what was meant. Such a scenario is not run.

## Bad

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: pay-when-due
inputs:
  due: boolean
steps:
  - decide:
      wf.if: "{{ inputs.due }}"
      then:
        - pay: { payments.charge_once: { amount: 5, customer: c-1 } }
result: "{{ decide.pay?.charge_id }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
inputs: { due: true }
actions:
  payments.chagre_once:
    - succeed: { charge_id: ch_1 }
crashes:
  - { after: { record: action.dispatched, path: decide.pay }, down: 10m }
```

## Good

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: pay-when-due
inputs:
  due: boolean
steps:
  - decide:
      wf.if: "{{ inputs.due }}"
      then:
        - pay: { payments.charge_once: { amount: 5, customer: c-1 } }
result: "{{ decide.pay?.charge_id }}"
```

```yaml
# file: example.scenario.yaml
workfile: example.workfile.yaml
inputs: { due: true }
actions:
  payments.charge_once:
    - succeed: { charge_id: ch_1 }
crashes:
  - { after: { record: action.dispatched, path: decide.(then).pay }, down: 10m }
```

## How to fix

Take the suggested name. Step paths are written in full: branches as `(then)`, `(else)`, `(case:VALUE)` or `(default)`,
iterations with their position as `each[0].send`, a child run's steps as `call/step`. Binding paths, in `bindings` and
`absent`, leave the parts in parentheses out.

## Options

None.

## Limits

Inputs and the payload of the root trigger are not checked here: a run with invalid ones fails as `input.invalid`, which
a scenario may expect.
""",
    fixable=True,
)
