"""Begins a rule: ``python -m analyzer.rules.scaffold NAME --code FAMILY --severity SEVERITY``.

Writes the rule's module with the sections of its page, and a conformance file that expects the finding. Both fail their
tests until the rule is there, which is how a rule begins.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from analyzer.findings import SEVERITIES
from analyzer.language.suggest import hint
from analyzer.rules.registry import families, names

ROOT: Final = Path(__file__).resolve().parents[2]
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_MODULE: Final = '''\
"""The rule ``{name}``."""

from __future__ import annotations

from analyzer.rules.base import Rule

RULE = Rule(
    name="{name}",
    code="{code}",
    severity="{severity}",
    summary="What is wrong, in one line.",
    documentation="""\\
## What it finds

In which text, and when exactly; what is not reported because it is not known.

## Why it matters

What happens at run time.

## Bad

```yaml
workfile: "1.0"
name: bad
steps:
  - greeting: {{ wf.let: {{ text: "the smallest file that has the fault" }} }}
```

## Good

```yaml
workfile: "1.0"
name: good
steps:
  - greeting: {{ wf.let: {{ text: "the same, mended" }} }}
```

## How to fix

What the author does.

## Options

None.
""",
)
'''
_CASE: Final = """\
# One fault, one finding: the line that has it says which, at which column.
workfile: "1.0"
name: {name}
steps:
  - greeting: {{ wf.let: {{ text: "the fault" }} }} # expect: {name}@15
"""
_NEXT: Final = """\
wrote {module}
wrote {case}

1. Make both say what the rule finds: the smallest file with the fault, and the same one mended.
2. Report it where the facts are, with `problems.report("{name}", node, "What is wrong and what to do.")`:
   structure in analyzer/model/steps.py or build.py, names in resolve.py, types and null in analyzer/expressions/,
   policies in durable.py, what depends on paths in analyzer/flow/control.py.
3. Run `pytest -q tests/rules tests/conformance -k {name}`, then `python -m analyzer.rules.docs`.
"""


def begin(name: str, code: str, severity: str, root: Path = ROOT) -> tuple[Path, Path]:
    """Write the files of a new rule and give their paths.

    Raises ``ValueError``, in words for the user, for a name that is taken or no kebab-case, and an unknown family.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"`{name}` is not a name of a rule: write words with hyphens, such as `duplicate-step`.")
    if name in names():
        raise ValueError(f"There is a rule `{name}` already.")
    if code not in families():
        raise ValueError(f"There is no family `{code}`.{hint(code, families())} Known: {', '.join(families())}.")
    module = root / "analyzer" / "rules" / f"{name.replace('-', '_')}.py"
    case = root / "tests" / "conformance" / "err" / f"{name}.workfile.yaml"
    for path in (module, case):
        if path.exists():
            raise ValueError(f"`{path.relative_to(root)}` is there already.")
    module.write_text(_MODULE.format(name=name, code=code, severity=severity), encoding="utf-8")
    case.write_text(_CASE.format(name=name), encoding="utf-8")
    return module, case


def main(arguments: Sequence[str] | None = None) -> int:
    """Begin a rule; 2 with one line for what cannot be carried out."""
    parser = argparse.ArgumentParser(prog="python -m analyzer.rules.scaffold", description="Begin a rule.")
    parser.add_argument("name", help="lower-case words with hyphens")
    parser.add_argument("--code", required=True, help="the family, such as document.control")
    parser.add_argument("--severity", choices=SEVERITIES, default="warning")
    given = parser.parse_args(arguments)
    try:
        module, case = begin(given.name, given.code, given.severity)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{parser.prog}: error: {error}\n")
        return 2
    shown = {"module": module.relative_to(ROOT), "case": case.relative_to(ROOT)}
    sys.stdout.write(_NEXT.format(name=given.name, **shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
