"""The rule ``history-unusable``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="history-unusable",
    code="document.replay",
    severity="error",
    summary="A recorded history that must be refused, with the first record that cannot be used.",
    documentation="""\
## What it finds

With `workfile check --histories DIR`, a history that cannot be held against anything: a record or its digest is
corrupt, something is missing, records contradict each other, a value that is needed was withheld, or it is of a version
that this release does not know. It stands at the Workfile that the history is of, or at the history where that cannot
be told.

## Why it matters

A check that passes over such a history says that a change is safe for runs that nobody looked at.

## Bad

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-customer
steps:
  - charge: { payments.charge: { amount: 5, customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: histories/lost.history.jsonl
{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"run.accepted"}
```

## Good

```yaml
# file: before/example.workfile.yaml
workfile: "1.0"
name: charge-customer
steps:
  - charge: { payments.charge: { amount: 5, customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-customer
steps:
  - charge: { payments.charge: { amount: 5, customer: c-1 } }
result: "{{ charge.charge_id }}"
```

## How to fix

Export the history again from where it was recorded. One that was redacted can be reconstructed, and not decided anew:
keep it in another folder.

## Options

`--histories DIR` of `workfile check`; without it the rule finds nothing.

## Limits

A history that ends anywhere, also inside a transaction, is not faulty: it is that of an executor that died there.
""",
)
