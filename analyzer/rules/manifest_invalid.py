"""The rule ``manifest-invalid``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="manifest-invalid",
    code="document.type",
    severity="error",
    summary="A connector manifest that breaks its own rules.",
    documentation="""\
## What it finds

A fault of a connector manifest: a key that does not exist, a missing `effect` or `source`, a word outside its domain,
a type that does not read as one, a field in `correlate_on` that the payload does not declare. It is reported in the
manifest only; its sound parts are used.

## Why it matters

The manifest is what every promise about repeating a call rests on. A declaration that cannot be used is a promise
that nobody can check.

## Bad

```yaml
# file: connectors/ticketing.connector.yaml
connector: ticketing
version: 1.0.0
actions:
  open_ticket:
    effect: writes
    idempotency: keyed
    input:
      type: object
      properties: { title: { type: string } }
      required: [title]
```

## Good

```yaml
# file: connectors/ticketing.connector.yaml
connector: ticketing
version: 1.0.0
actions:
  open_ticket:
    effect: write
    idempotency: keyed
    input:
      type: object
      properties: { title: { type: string } }
      required: [title]
```

## How to fix

Correct the declaration in the manifest. An action says `effect: read` or `write` and, when it writes, its
`idempotency`; a trigger says its `source`, and lists in `correlate_on` fields of its `payload`.

## Options

None.
""",
    fixable=True,
)
