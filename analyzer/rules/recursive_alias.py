"""The rule ``recursive-alias``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="recursive-alias",
    code="document.syntax",
    severity="error",
    summary="An alias inside the value that its anchor names.",
    documentation="""\
## What it finds

An alias (`*name`) inside the very value that its anchor (`&name`) names.

## Why it matters

Such a value contains itself and has no end. No argument, input or result can be built from it.

## Bad

```yaml
workfile: "1.0"
name: build-tree
steps:
  - tree:
      wf.let: { root: &root { name: top, parent: *root } }
result: "{{ tree.root.name }}"
```

## Good

```yaml
workfile: "1.0"
name: build-tree
steps:
  - tree:
      wf.let: { root: { name: top, parent: null } }
result: "{{ tree.root.name }}"
```

## How to fix

Write out what is meant, and refer to other values by name in expressions.

## Options

None.
""",
)
