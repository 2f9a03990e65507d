"""The rule ``no-route``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="no-route",
    code="document.control",
    severity="warning",
    fixable=True,
    summary="A state whose routes can all be false.",
    documentation="""\
## What it finds

A state that is not final and whose routes can all be false, or that has none.

## Why it matters

When no route holds the state fails as `route.none`, which ends the run unless something around handles it. It happens
for the one answer that nobody thought of.

## Bad

```yaml
workfile: "1.0"
name: check-charge
inputs:
  amount: { type: integer, minimum: 1 }
initial: judge
states:
  judge:
    steps:
      - limit:
          wf.let: { small: 100, large: 1000 }
    routes:
      - { when: "{{ inputs.amount < limit.small }}", to: done }
      - { when: "{{ inputs.amount > limit.large }}", to: refused }
  done:
    final: true
  refused:
    final: true
```

## Good

```yaml
workfile: "1.0"
name: check-charge
inputs:
  amount: { type: integer, minimum: 1 }
initial: judge
states:
  judge:
    steps:
      - limit:
          wf.let: { small: 100, large: 1000 }
    routes:
      - { when: "{{ inputs.amount < limit.small }}", to: done }
      - { when: "{{ inputs.amount > limit.large }}", to: refused }
      - { to: done }
  done:
    final: true
  refused:
    final: true
```

## How to fix

Let the last route have no `when`: it is taken when no other holds.

## Options

None.
""",
)
