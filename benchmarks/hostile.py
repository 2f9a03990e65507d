"""Inputs made to be slow, deep or large: texts for one Workfile, and a folder of many.

    python -m benchmarks.hostile "alias bomb, nine in nine levels" FILE

writes one of ``TEXTS``. They are written by a process of their own, so that what measures stays small: a process begins
with the memory of the one that started it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.generate import HOSTILE, workfile_text

_HEAD = 'workfile: "1.0"\nname: hostile\n'
_INPUTS = "inputs: { amount: integer, customer: string }\n"
_CHARGE = 'payments.charge: { amount: "{{ inputs.amount }}", customer: "{{ inputs.customer }}" }'
_KEYED = _CHARGE.replace("charge:", "charge_once:", 1)
_RECOVERY = "recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, delay: 5m, then: fail }"

FOLDER_FILES = 20_000


def _steps(lines: Iterable[str], before: str = "") -> str:
    return f"{_HEAD}{before}steps:\n" + "".join(f"  {line}\n" for line in lines)


def _nested_scopes(depth: int, call: str) -> str:
    lines: list[str] = []
    for level in range(depth):
        pad = "      " * level
        lines += [f"{pad}- g{level}:", f"{pad}    {_RECOVERY}", f"{pad}    wf.group:"]
        lines.append(f"{pad}      - s{level}: {{ {call} }}")
    return _steps(lines, _INPUTS)


def _branches(count: int) -> str:
    lines = ["- all:", f"    {_RECOVERY}", "    wf.parallel:"]
    lines += [f"      b{number}: [{{ charge: {{ {_CHARGE} }} }}]" for number in range(count)]
    return _steps(lines, _INPUTS)


def _states(count: int) -> str:
    lines = [
        f"  a{n}: {{ steps: [{{ s{n}: {{ wf.let: {{ v: 1 }} }} }}], routes: [{{ to: a{n + 1} }}] }}\n"
        for n in range(count)
    ]
    return f"{_HEAD}initial: a0\nstates:\n{''.join(lines)}  a{count}: {{ final: true }}\n"


def _large_state(count: int) -> str:
    steps = "".join(f"      - s{n}: {{ wf.let: {{ v: 1 }} }}\n" for n in range(count))
    return f"{_HEAD}initial: a\nstates:\n  a:\n    final: true\n    steps:\n{steps}"


def _deep_flow(depth: int) -> str:
    opened = "".join(f"[{{ g{level}: {{ wf.group: " for level in range(depth))
    return f"{_HEAD}steps: {opened}[]{'} }]' * depth}\n"


TEXTS: dict[str, Callable[[], str]] = {
    **HOSTILE,
    "100,000 nested brackets": lambda: f"{_HEAD}steps: {'[' * 100_000}{']' * 100_000}\n",
    "a file of 50 MB": lambda: workfile_text(1_000) + "# text\n" * 7_000_000,
    "the largest file that is read": lambda: workfile_text(32_000),
    "100,000 duplicate keys": lambda: _HEAD + "version: a\n" * 100_000,
    "5,000 findings: unknown names": lambda: _steps(
        f'- s{n}: {{ wf.let: {{ a: "{{{{ nothing{n} }}}}" }} }}' for n in range(5_000)
    ),
    "5,000 findings: unknown actions": lambda: _steps(f"- s{n}: {{ payments.pay{n}: {{}} }}" for n in range(5_000)),
    "2,000 groups in each other": lambda: _deep_flow(2_000),
    "a literal list of 20,000 elements": lambda: _steps([f"- l: {{ wf.let: {{ a: {list(range(20_000))} }} }}"]),
    "50,000 suppressions": lambda: workfile_text(20) + "# workfile: ignore[unused-input]\n" * 50_000,
    "100,000 lines that begin with a tab": lambda: _HEAD + "steps:\n" + "\t- a:\n" * 100_000,
    "a state of 5,000 steps": lambda: _large_state(5_000),
    "1,000 states": lambda: _states(1_000),
}
"""Name of a hostile text and what makes it; each must end within 10 seconds and 1 GB, with what is wrong or a limit."""

SHAPES: dict[str, Callable[[], str]] = {
    "200 recovery scopes in each other": lambda: _nested_scopes(200, _KEYED),
    "the same with an unsafe write in each": lambda: _nested_scopes(200, _CHARGE),
    "500 parallel branches in a recovery scope": lambda: _branches(500),
}
"""Shapes that are hard for the flow analysis; each must end within a second."""


def write_folder(folder: Path) -> None:
    """``FOLDER_FILES`` small Workfiles, 200 in a folder."""
    for number in range(FOLDER_FILES):
        place = folder / f"part-{number // 200}"
        place.mkdir(parents=True, exist_ok=True)
        text = f'workfile: "1.0"\nname: small-{number}\nsteps:\n  - pause: {{ wf.wait: 10m }}\n'
        (place / f"{number}.workfile.yaml").write_text(text, encoding="utf-8")


def main() -> None:
    """Write one text."""
    parser = argparse.ArgumentParser(description="Write a Workfile that is made to be slow, deep or large.")
    parser.add_argument("name", choices=[*TEXTS, *SHAPES], metavar="NAME", help="one of TEXTS or SHAPES")
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    options.file.write_text({**TEXTS, **SHAPES}[options.name](), encoding="utf-8")


if __name__ == "__main__":
    main()
