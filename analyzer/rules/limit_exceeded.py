"""The rule ``limit-exceeded``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="limit-exceeded",
    code="document.limit",
    severity="error",
    summary="A file that goes past a bound of the tool.",
    documentation="""\
## What it finds

A file that goes past a bound of this tool: its size, its nesting, what its aliases stand for, the number of its
faults. The message says which bound, and what was not analysed because of it.

## Why it matters

What was not analysed may hold faults that nobody sees, so the file does not count as checked. The bounds are far
above what a workflow that people can read needs; they keep a hostile or generated file from exhausting the machine.

## Bad

```yaml
workfile: "1.0"
name: many-values
steps:
  - pause: { wf.wait: 1m }
result:
  a: &a [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
  d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
  e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
```

## Good

```yaml
workfile: "1.0"
name: many-values
steps:
  - pause: { wf.wait: 1m }
result:
  a: &a [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  b: [*a, *a]
```

## How to fix

Make the file smaller or flatter: split the workflow with `wf.call`, keep data out of it and pass it as an input.

## Options

None.
""",
)
