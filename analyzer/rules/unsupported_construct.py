"""The rule ``unsupported-construct``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unsupported-construct",
    code="document.structure",
    severity="error",
    summary="A construct that is reserved and not supported.",
    documentation="""\
## What it finds

A construct that the Standard reserves, `wf.agent` or `wf.program`, and that this project does not support.

## Why it matters

The name is correct, so this is no typing error, but an executor of the supported profiles refuses the Workfile before
it runs.

## Bad

```yaml
workfile: "1.0"
name: sort-mail
steps:
  - sort:
      wf.agent: { task: Sort the incoming mail }
```

## Good

```yaml
# file: sort-mail.workfile.yaml
workfile: "1.0"
name: sort-mail
inputs:
  folder: string
steps:
  - sort:
      mailroom.sort: { folder: "{{ inputs.folder }}" }
```

```yaml
# file: connectors/mailroom.connector.yaml
connector: mailroom
version: 1.0.0
actions:
  sort:
    effect: write
    idempotency: keyed
    input:
      type: object
      properties: { folder: { type: string } }
      required: [folder]
```

## How to fix

Call the work through an action of a connector, which also says whether it may be repeated.

## Options

None.
""",
)
