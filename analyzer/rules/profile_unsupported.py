"""The rule ``profile-unsupported``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="profile-unsupported",
    code="document.profile",
    severity="error",
    summary="A Workfile that needs what the checked target does not have.",
    documentation="""\
## What it finds

A Workfile that needs what the checked target does not have: the Durable Execution Profile (`wf.wait_for`, `recovery`,
`undo`, `reconcile`, `on_unknown: reconcile` or `halt`), or a kind of trigger. The finding is on the first place that
needs it, and relates to all others.

## Why it matters

An executor must refuse such a Workfile before it runs. Found here, it is refused before it is deployed.

## Bad

```toml
# file: workfile.toml
[target]
profiles = ["core"]
```

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      on_unknown: halt
```

## Good

```toml
# file: workfile.toml
[target]
profiles = ["core"]
```

```yaml
# file: charge.workfile.yaml
workfile: "1.0"
name: charge-customer
inputs:
  customer: string
steps:
  - charge:
      payments.charge_once: { amount: 500, customer: "{{ inputs.customer }}" }
      retry: { attempts: 3, delay: 10s }
```

## How to fix

Do without it, run the Workfile on a target that has it, or claim what the target has in `workfile.toml`.

## Options

`[target] profiles` and `[target] triggers` of the configuration, or `--profiles` of the call, say what the target
has. Without them it has everything.
""",
)
