"""The rule ``expression-syntax``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="expression-syntax",
    code="document.syntax",
    severity="error",
    summary="Text inside `{{ }}` that does not read as an expression.",
    documentation="""\
## What it finds

Text inside `{{ }}` that does not read as an expression: an operator of another language (`&&`, `||`, `!`, `=`), a
missing operand or bracket, an unclosed string, an interpolation that is never closed. The range is the place inside
the expression.

## Why it matters

The step cannot be evaluated, so the Workfile is invalid. Text that only looks like an expression would otherwise be
sent to the action as it stands.

## Bad

```yaml
workfile: "1.0"
name: large-payment
inputs:
  amount: integer
  urgent: boolean
steps:
  - tell:
      messaging.post: { channel: "#payments", text: "{{ inputs.amount }} is on its way" }
      when: "{{ inputs.amount > 1000 && inputs.urgent }}"
```

## Good

```yaml
workfile: "1.0"
name: large-payment
inputs:
  amount: integer
  urgent: boolean
steps:
  - tell:
      messaging.post: { channel: "#payments", text: "{{ inputs.amount }} is on its way" }
      when: "{{ inputs.amount > 1000 and inputs.urgent }}"
```

## How to fix

Use the language's operators: `and`, `or`, `not`, `==`, `!=`, `in`, `??`, `?.` and `|` for filters. To write two
braces as text use `{{ "{{" }}`.

## Options

None.
""",
)
