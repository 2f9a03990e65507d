"""The rule ``unknown-outcome-unhandled``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="unknown-outcome-unhandled",
    code="document.durable",
    severity="warning",
    summary="A write that cannot be repeated safely, and nothing said about a lost answer.",
    documentation="""\
## What it finds

A write with `idempotency: none`, declared or by omission, and no `on_unknown`, in a Workfile that needs the Durable
Execution Profile.

## Why it matters

When the answer of such a call is lost, to a crash or to a timeout, nobody knows whether it took effect, and it must
not be sent again. Without `on_unknown` that ambiguity ends the run as aborted: the order is neither paid nor not
paid, and no step after it runs.

## Bad

```yaml
workfile: "1.0"
name: charge-after-consent
inputs:
  request_id: string
  customer: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      when: "{{ consent.status == 'received' and consent.event.approved }}"
```

## Good

```yaml
workfile: "1.0"
name: charge-after-consent
inputs:
  request_id: string
  customer: string
steps:
  - consent:
      wf.wait_for: messaging.approval
      configuration: { channel: "#approvals" }
      match: { request_id: "{{ inputs.request_id }}" }
      timeout: 24h
  - charge:
      payments.charge: { amount: 500, customer: "{{ inputs.customer }}" }
      when: "{{ consent.status == 'received' and consent.event.approved }}"
      on_unknown: halt
```

## How to fix

Say what is to happen: `halt` keeps the run for an operator's decision, `reconcile` looks it up, `fail` makes it an
ordinary failure (for calls that may be missed), `abort` says that the default is meant. Better still, use an action
that is `keyed`.

## Options

None.
""",
    fixable=True,
)
