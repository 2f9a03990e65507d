"""The rule ``not-boolean``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="not-boolean",
    code="document.type",
    severity="error",
    summary="A condition that is neither true nor false.",
    documentation="""\
## What it finds

A condition (`when`, `wf.if`, a route, the `outcome` of `reconcile`) that is not true or false as a whole: a number,
text, a list, or an interpolation with text around it.

## Why it matters

There is no truth of other values: neither an empty string nor zero is false. The step would fail as `fault.kind`
instead of being skipped.

## Bad

```yaml
workfile: "1.0"
name: pass-comment-on
inputs:
  comment: string
steps:
  - tell:
      messaging.post: { channel: "#approvals", text: "{{ inputs.comment }}" }
      when: "{{ inputs.comment }}"
```

## Good

```yaml
workfile: "1.0"
name: pass-comment-on
inputs:
  comment: string
steps:
  - tell:
      messaging.post: { channel: "#approvals", text: "{{ inputs.comment }}" }
      when: "{{ inputs.comment != '' }}"
```

## How to fix

Compare: `!= ''`, `> 0`, `!= null`, `(list | length) > 0`. The whole condition is one `{{ … }}` without text around
it.

## Options

None.
""",
)
