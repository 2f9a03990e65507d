"""The rule ``merge-key``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="merge-key",
    code="document.syntax",
    severity="error",
    summary="The YAML merge key `<<`.",
    documentation="""\
## What it finds

The merge key `<<`, with which YAML 1.1 copies one map into another.

## Why it matters

YAML 1.2 does not have it: a reader that follows the language sees a key named `<<` and none of the merged ones. The
retry policy that seems to be there is not.

## Bad

```yaml
workfile: "1.0"
name: ask-twice
steps:
  - first:
      messaging.request_approval: { request_id: r-1 }
      retry: &patient { attempts: 5, delay: 10s }
  - second:
      messaging.request_approval: { request_id: r-2 }
      retry:
        <<: *patient
        backoff: 2
```

## Good

```yaml
workfile: "1.0"
name: ask-twice
steps:
  - first:
      messaging.request_approval: { request_id: r-1 }
      retry: &patient { attempts: 5, delay: 10s }
  - second:
      messaging.request_approval: { request_id: r-2 }
      retry: { attempts: 5, delay: 10s, backoff: 2 }
  - third:
      messaging.request_approval: { request_id: r-3 }
      retry: *patient
```

## How to fix

Write the keys out. A map that is used as it is can be shared with a plain alias, `retry: *patient`.

## Options

None.
""",
)
