"""The rule ``overlay-widens``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="overlay-widens",
    code="document.type",
    severity="error",
    summary="An overlay that loosens the manifest it stands over.",
    documentation="""\
## What it finds

An overlay that loosens the manifest it stands over: it allows more arguments or values, promises less of the output,
or claims a stronger idempotency.

## Why it matters

Workflows are checked against the manifest, which is what the connector really does. An overlay may only restrict that
for one deployment. One that claims more would let a call through that the connector refuses, or let a payment be
repeated that it does not recognise.

## Bad

```yaml
# file: connectors/messaging.overlay.yaml
overlay: messaging
actions:
  post:
    idempotency: keyed
```

```yaml
# file: open-shop.workfile.yaml
workfile: "1.0"
name: open-shop
connectors:
  messaging: { manifest: connectors/messaging.connector.yaml, overlay: connectors/messaging.overlay.yaml }
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

## Good

```yaml
# file: connectors/messaging.overlay.yaml
overlay: messaging
actions:
  post:
    input:
      properties:
        text: { maxLength: 500 }
```

```yaml
# file: open-shop.workfile.yaml
workfile: "1.0"
name: open-shop
connectors:
  messaging: { manifest: connectors/messaging.connector.yaml, overlay: connectors/messaging.overlay.yaml }
steps:
  - tell:
      messaging.post: { channel: "#shop", text: Open }
```

## How to fix

Take the change out of the overlay. When the connector really gives more, its manifest must say so.

## Options

None.
""",
)
