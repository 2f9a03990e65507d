"""Typing has bounds: no file makes it fail, hang, or need time that grows faster than the file."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.typing.typed import findings

SECONDS = 20  # generous: what is not bounded takes hours, or ends in a traceback


def _let(name: str, value: str) -> str:
    return f"  - {name}: {{ wf.let: {{ v: '{{{{ {value} }}}}' }} }}\n"


def _steps(*lines: str) -> str:
    return "steps:\n" + "".join(lines)


def _chain() -> str:
    return _steps("  - s0: { wf.let: { v: 1 } }\n", *(_let(f"s{n}", f"s{n - 1}") for n in range(1, 3_000)))


def _doubling() -> str:
    lines = (f"  - s{n}: {{ wf.let: {{ p: '{{{{ s{n - 1} }}}}', q: '{{{{ s{n - 1} }}}}' }} }}\n" for n in range(1, 80))
    return _steps("  - s0: { wf.let: { p: 1 } }\n", *lines)


def _doubling_union() -> str:
    def step(name: str, before: str) -> str:
        return f"{{ {name}: {{ wf.let: {{ p: '{{{{ {before} }}}}', q: '{{{{ {before} }}}}' }} }} }}"

    lines = [
        f"  - c{n}: {{ wf.if: '{{{{ run.id == \"x\" }}}}', then: [ {step('x', f'c{n - 1}')} ],"
        f" else: [ {step('x', f'c{n - 1}')} ] }}\n"
        for n in range(1, 40)
    ]
    return _steps("  - c0: { wf.let: { p: 1 } }\n", *lines)


def _states() -> str:
    reads = ", ".join(f"r{n}: '{{{{ b?.v }}}}'" for n in range(30))
    more = ", ".join(f"r{n}: '{{{{ a }}}}'" for n in range(30))
    return (
        "initial: one\nstates:\n"
        f"  one: {{ steps: [ {{ a: {{ wf.let: {{ {reads} }} }} }} ], routes: [ {{ to: two }} ] }}\n"
        f"  two: {{ steps: [ {{ b: {{ wf.let: {{ v: {{ {more} }} }} }} }} ], routes: [ {{ to: one }} ] }}\n"
    )


def _alternating() -> str:
    text = "inputs.a == 1"
    for _ in range(30):
        text = f"(({text}) and inputs.b) == inputs.b"
    return f"inputs: {{ a: integer, b: boolean }}\nsteps:\n{_let('x', text)}"


def _defaults() -> str:
    text = "inputs.b"
    for _ in range(30):
        text = f"(inputs.a ?? ({text} and inputs.b))"
    return f"inputs: {{ 'a?': boolean, b: boolean }}\nsteps:\n  - x: {{ lab.look: {{}}, when: '{{{{ {text} }}}}' }}\n"


def _deep_type() -> str:
    return "inputs: { x: '" + "list[" * 3_000 + "string" + "]" * 3_000 + "' }\nsteps:\n" + _let("a", "inputs.x")


def _deep_map() -> str:
    return "steps:\n  - a: { wf.let: " + "{ v: " * 100 + "'{{ run.id }}'" + " }" * 100 + " }\n" + _let("b", "a")


def _deep_groups() -> str:
    depth = 35
    inner = "{ lab.drop: { id: '{{ run.id }}' }, catch: [ { result: null } ] }"
    return "steps:\n  - g: " + "{ wf.group: [ { g: " * depth + inner + " } ] }" * depth + "\n"


def _enum() -> str:
    members = ", ".join(f'"m{n}"' for n in range(2_000))
    cases = "\n".join(f"        m{n}: [ {{ x: {{ wf.let: {{ v: {n} }} }} }} ]" for n in range(2_000))
    head = f"inputs: {{ k: 'enum[{members}]' }}\nsteps:\n  - c:\n      wf.switch: '{{{{ inputs.k }}}}'\n"
    return f"{head}      cases:\n{cases}\n"


def _guards() -> str:
    lines = (
        f"  - a{n}: {{ lab.label: {{ mark: x }}, on_fail: continue }}\n"
        f"  - b{n}: {{ lab.drop: {{ id: '{{{{ a{n}.id }}}}' }}, when: '{{{{ a{n} != null }}}}' }}\n"
        for n in range(1_500)
    )
    return _steps(*lines)


def _stops() -> str:
    lines = (
        f"  - a{n}: {{ lab.label: {{ mark: x }}, on_fail: continue }}\n"
        f"  - b{n}: {{ wf.stop: {{ reason: r }}, when: '{{{{ a{n} == null }}}}' }}\n"
        for n in range(1_500)
    )
    return _steps(*lines)


FILES: dict[str, Callable[[], str]] = {
    "3,000 lets around each other": _chain,
    "80 lets that double": _doubling,
    "40 unions that double": _doubling_union,
    "two states that grow by each other": _states,
    "30 connectives in comparisons": _alternating,
    "30 connectives in defaults": _defaults,
    "a type of 3,000 lists": _deep_type,
    "a map of 100 levels": _deep_map,
    "35 groups in each other": _deep_groups,
    "2,000 cases of an enum": _enum,
    "1,500 guards": _guards,
    "1,500 guarded stops": _stops,
}


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_typed_in_bounded_time(name: str) -> None:
    text = FILES[name]()
    start = time.process_time()
    found = findings(text)
    assert time.process_time() - start < SECONDS
    assert [each for each in found if each.rule.startswith("nullable")] == []
