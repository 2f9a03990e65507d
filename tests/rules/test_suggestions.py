"""What a message asks about ("Did you mean …?") can be done by a fix, wherever the word stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.findings import Finding
from tests.rules.examples import SINGLE, Example, check_folder, write_example

HEAD = 'workfile: "1.0"\nname: case\n'
MANIFEST = "connector: lamp\nactions:\n  do:\n    effect: write\n"
SCENARIO = f"workfile: {SINGLE}\n"
WORKFILE = f"""{HEAD}\
steps:
  - ask:
      wf.wait_for: messaging.approval
      match: {{ request_id: r }}
      timeout: 1h
"""

#: File, text with the slip in ⟦ ⟧, and what stands there after the fix.
CASES = [
    (SINGLE, f"{HEAD}inputs: {{ a: ⟦float⟧ }}\nsteps: []\n", "number"),
    (SINGLE, f"{HEAD}inputs: {{ a: '⟦list<string>⟧' }}\nsteps: []\n", "list[string]"),
    (SINGLE, f"{HEAD}inputs:\n  a: ⟦list<string>⟧\nsteps: []\n", '"list[string]"'),
    (SINGLE, f'{HEAD}inputs: {{ a: "⟦list[strng]⟧" }}\nsteps: []\n', "list[string]"),
    (SINGLE, f"{HEAD}inputs: {{ a: {{ type: ⟦strng⟧ }} }}\nsteps: []\n", "string"),
    (SINGLE, f"{HEAD}inputs: {{ a: {{ type: ⟦nul⟧ }} }}\nsteps: []\n", '"null"'),
    (SINGLE, f"{HEAD}inputs: {{ a: {{ type: string, ⟦maxLenth⟧: 3 }} }}\nsteps: []\n", "maxLength"),
    (
        SINGLE,
        f"{HEAD}inputs: {{ a: {{ $ref: '⟦#/$defs/addres⟧', $defs: {{ address: {{ type: string }} }} }} }}\nsteps: []\n",
        "#/$defs/address",
    ),
    (SINGLE, WORKFILE.replace("request_id:", "⟦requst_id⟧:"), "request_id"),
    (SINGLE, f"{WORKFILE}result: \"{{{{ ask.status == '⟦recieved⟧' }}}}\"\n", "received"),
    (SINGLE, f"{WORKFILE}result: \"{{{{ '⟦recieved⟧' != ask.status }}}}\"\n", "received"),
    (SINGLE, f"{HEAD}inputs: {{ a: {{ b: string }} }}\nsteps: []\nresult: \"{{{{ inputs.a['⟦bb⟧'] }}}}\"\n", "b"),
    (
        SINGLE,
        f"{WORKFILE}  - s: {{ wf.switch: '{{{{ ask.status }}}}', cases: {{ ⟦recieved⟧: [] }} }}\n",
        "received",
    ),
    ("connectors/lamp.connector.yaml", MANIFEST.replace("write", "⟦wirte⟧"), "write"),
    ("connectors/lamp.connector.yaml", f"{MANIFEST}    output: {{ a: ⟦strng⟧ }}\n", "string"),
    (
        "connectors/lamp.connector.yaml",
        (
            f"{MANIFEST}    input: {{ type: object, properties: {{ amount: {{}} }}, required: [⟦amuont⟧], "
            "additionalProperties: false }\n"
        ),
        "amount",
    ),
    ("a.scenario.yaml", f"{SCENARIO}expect: {{ status: ⟦suceeded⟧ }}\n", "succeeded"),
    ("a.scenario.yaml", f"{SCENARIO}expect: {{ waiting: [⟦aks⟧] }}\n", "ask"),
    ("a.scenario.yaml", f"{SCENARIO}expect: {{ bindings: {{ ⟦aks.status⟧: received }} }}\n", "ask.status"),
    ("a.scenario.yaml", f"{SCENARIO}crashes: [ {{ after: {{ record: ⟦run.startd⟧ }} }} ]\n", "run.started"),
    ("a.scenario.yaml", f"{SCENARIO}events: [ {{ at: 1h, deliver: ⟦messaging.aproval⟧ }} ]\n", "messaging.approval"),
]


def fixed(found: list[Finding], path: str, start: int, text: str) -> set[str]:
    """The text that each fix at a place of a file leaves there."""
    lines = text.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column - 1

    results = set()
    for finding in found:
        for fix in finding.fixes if finding.path.endswith(path) and "Did you mean" in finding.message else ():
            (edit,) = fix.edits
            assert fix.title.startswith("Change to `")
            first = offset(edit.range.start_line, edit.range.start_column)
            last = offset(edit.range.end_line, edit.range.end_column)
            if first <= start < last:
                results.add(text[:first] + edit.text + text[last:])
    return results


@pytest.mark.parametrize(("name", "marked", "wanted"), CASES)
def test_what_is_meant_is_a_fix(name: str, marked: str, wanted: str, tmp_path: Path) -> None:
    before, rest = marked.split("⟦")
    slip, after = rest.split("⟧")
    text = before + slip + after
    files = ((name, text),) if name == SINGLE else ((SINGLE, WORKFILE), (name, text))
    write_example(Example("", "Bad", files), tmp_path)
    found = check_folder(tmp_path)
    assert fixed(found, name, len(before), text) == {before + wanted + after}
