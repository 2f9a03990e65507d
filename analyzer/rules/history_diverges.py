"""The rule ``history-diverges``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="history-diverges",
    code="document.replay",
    severity="error",
    summary="A recorded run comes out differently when it is decided anew on this file.",
    documentation="""\
## What it finds

With `workfile check --histories DIR` every recorded history (`*.history.jsonl`) of this Workfile, or of one that calls
it, is decided anew on the file as it is now, from what was recorded: inputs, answers, events, decisions, elapsed
timers. The finding tells the first record that does not come out as it was, at the step that it is about. A record that
was made under another version of its connector, of an overlay or of time zone data is such a one too: a run does not go
on with it, whatever comes out. Only files without errors are held against histories.

## Why it matters

A run that is under way cannot go on under the changed file: what it has done does not fit what the file says. It stays
on the definition that it was started with, or needs a successor run.

## Bad

The file as it was when a run of it was recorded, and as it is now:

```yaml
# file: before/example.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs: { amount: integer }
steps:
  - charge: { payments.charge: { amount: "{{ inputs.amount }}", customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs: { amount: integer }
steps:
  - charge: { payments.charge: { amount: "{{ inputs.amount + 1 }}", customer: c-1 } }
result: "{{ charge.charge_id }}"
```

## Good

```yaml
# file: before/example.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs: { amount: integer }
steps:
  - charge: { payments.charge: { amount: "{{ inputs.amount }}", customer: c-1 } }
result: "{{ charge.charge_id }}"
```

```yaml
# file: example.workfile.yaml
workfile: "1.0"
name: charge-customer
description: Charges once; the words may change, what is called may not.
inputs: { amount: integer }
steps:
  - charge: { payments.charge: { amount: "{{ inputs.amount }}", customer: c-1 } }
result: "{{ charge.charge_id }}"
```

## How to fix

When no run should be touched, take the change back, or make it where no recorded run has come yet. When it is meant,
let the runs under way end on the definition that they pinned, or start successor runs: `workfile history continue
HISTORY --definition FILE` shows what becomes of one, and `workfile history impact OLD NEW --histories DIR` of all.

## Options

`--histories DIR` of `workfile check`; without it the rule finds nothing.

## Limits

A history that ends before the changed step is compatible: its run has not come there.
""",
)
