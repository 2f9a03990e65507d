"""The rule ``invalid-value``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="invalid-value",
    code="document.structure",
    severity="error",
    summary="A literal outside its domain: an unknown word, a bad duration, a number too small.",
    documentation="""\
## What it finds

A literal outside its domain: a word that the key does not know, a duration that does not read as one, a number that
is too small, a name with characters that names do not have.

## Why it matters

There is no sensible reading of such a value. Taking the default instead would run the workflow by a policy that
nobody chose.

## Bad

```yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
      on_fail: ignore
```

## Good

```yaml
workfile: "1.0"
name: open-shop
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
      on_fail: continue
```

## How to fix

Use one of the values in the message. Durations are written `250ms`, `30s`, `5m`, `24h`, `7d`, `1h30m` or `PT24H`;
step ids, inputs, states and branches in lower-case letters, digits and `_`, a letter first.

## Options

None.
""",
    fixable=True,
)
