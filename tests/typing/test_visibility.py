"""Which bindings an expression can read: unknown, too early, out of sight, shadowed (language page, 2 and 4)."""

from __future__ import annotations

import pytest

from tests.typing.typed import findings

LET = "wf.let: { v: 1 }"


def names(body: str) -> list[tuple[str, int, str, list[int]]]:
    """Rule, line, text and related lines of what is found about names."""
    return [(each.rule, each.line, each.text, [line for line, _ in each.related]) for each in findings(body)]


def test_nothing_binds_an_unknown_name_and_the_nearest_is_suggested() -> None:
    (found,) = findings(f"steps:\n  - first: {{ {LET} }}\n  - b: {{ wf.let: {{ x: '{{{{ frist.v }}}}' }} }}\n")
    assert (found.rule, found.line, found.text) == ("unknown-name", 3, "frist")
    assert "`first`" in found.message


@pytest.mark.parametrize("name", ["trigger", "error", "item", "index"])
def test_a_root_that_is_not_there_is_unknown(name: str) -> None:
    assert names(f"steps:\n  - a: {{ wf.let: {{ x: '{{{{ {name} }}}}' }} }}\n") == [("unknown-name", 2, name, [])]


def test_a_later_step_is_not_bound_yet() -> None:
    body = f"steps:\n  - a: {{ wf.let: {{ x: '{{{{ b.v }}}}' }} }}\n  - b: {{ {LET} }}\n"
    assert names(body) == [("used-before-bound", 2, "b", [3])]


def test_a_step_does_not_see_itself() -> None:
    assert names("steps:\n  - a: { wf.let: { x: '{{ a.x }}' } }\n") == [("used-before-bound", 2, "a", [])]


def test_an_inner_step_does_not_see_what_comes_after_its_construct() -> None:
    body = f"steps:\n  - g: {{ wf.group: [ {{ a: {{ wf.let: {{ x: '{{{{ b.v }}}}' }} }} }} ] }}\n  - b: {{ {LET} }}\n"
    assert names(body) == [("used-before-bound", 2, "b", [3])]


def test_an_inner_step_does_not_see_its_own_construct() -> None:
    body = "steps:\n  - g: { wf.group: [ { a: { wf.let: { x: '{{ g }}' } } } ] }\n"
    assert names(body) == [("used-before-bound", 2, "g", [])]


INNER = f"[ {{ a: {{ {LET} }} }} ]"
SCOPES = {
    "group": f"g: {{ wf.group: {INNER} }}",
    "then": f"g: {{ wf.if: true, then: {INNER} }}",
    "else": f"g: {{ wf.if: '{{{{ run.id == run.workflow }}}}', then: [ {{ t: {{ {LET} }} }} ], else: {INNER} }}",
    "case": f"g: {{ wf.switch: '{{{{ run.id }}}}', cases: {{ x: {INNER} }} }}",
    "branch": f"g: {{ wf.parallel: {{ left: {INNER} }} }}",
    "loop": f"g: {{ wf.for_each: [1], steps: {INNER} }}",
    "wait": f"g: {{ wf.wait_for: lab.signal, match: {{ key: x }}, timeout: 1h, steps: {INNER} }}",
    "handler": f"g: {{ lab.look: {{}}, catch: [ {{ steps: {INNER} }} ] }}",
}


@pytest.mark.parametrize("scope", SCOPES)
def test_what_a_scope_binds_is_not_visible_outside(scope: str) -> None:
    found = names(f"steps:\n  - {SCOPES[scope]}\n  - b: {{ wf.let: {{ x: '{{{{ a.v }}}}' }} }}\n")
    assert [each for each in found if each[0] == "not-visible"] == [("not-visible", 3, "a", [2])]


@pytest.mark.parametrize("read", ["item", "index"])
def test_a_loop_name_is_not_visible_outside(read: str) -> None:
    body = f"steps:\n  - g: {{ wf.for_each: [1], steps: {INNER} }}\n  - b: {{ wf.let: {{ x: '{{{{ {read} }}}}' }} }}\n"
    assert names(body) == [("not-visible", 3, read, [2])]


def test_an_error_is_not_visible_outside_a_handler() -> None:
    body = "steps:\n  - g: { lab.look: {}, catch: [ {} ] }\n  - b: { wf.let: { x: '{{ error.code }}' } }\n"
    assert names(body) == [("not-visible", 3, "error", [])]


def test_an_id_must_not_shadow_what_is_visible_there() -> None:
    body = f"steps:\n  - a: {{ {LET} }}\n  - g: {{ wf.group: {INNER} }}\n"
    assert names(body) == [("shadowed-name", 3, "a", [2])]


def test_an_id_that_is_bound_later_outside_does_not_count() -> None:
    assert names(f"steps:\n  - g: {{ wf.group: {INNER} }}\n  - a: {{ {LET} }}\n") == []


def test_a_loop_name_must_not_shadow_a_step() -> None:
    body = f"steps:\n  - a: {{ {LET} }}\n  - g: {{ wf.for_each: [1], as: a, steps: [ {{ b: {{ {LET} }} }} ] }}\n"
    assert names(body) == [("shadowed-name", 3, "a", [2])]


def test_an_inner_loop_hides_the_outer_one() -> None:
    inner = "{ wf.for_each: ['x'], steps: [ { b: { lab.drop: { id: '{{ item }}' } } } ] }"
    assert names(f"steps:\n  - g: {{ wf.for_each: [1], steps: [ {{ h: {inner} }} ] }}\n") == []


def test_a_step_must_not_have_the_name_of_a_state() -> None:
    body = f"initial: one\nstates:\n  one: {{ steps: [ {{ one: {{ {LET} }} }} ], final: true }}\n"
    assert names(body) == [("shadowed-name", 3, "one", [3])]


def test_a_bare_id_of_several_states_is_unknown_and_relates_to_each() -> None:
    body = (
        "initial: one\nstates:\n"
        f"  one: {{ steps: [ {{ a: {{ {LET} }} }} ], routes: [ {{ to: two }} ] }}\n"
        f"  two: {{ steps: [ {{ a: {{ {LET} }} }} ], routes: [ {{ to: three }} ] }}\n"
        "  three: { steps: [ { b: { wf.let: { x: '{{ a }}' } } } ], final: true }\n"
    )
    assert names(body) == [("unknown-name", 5, "a", [3, 4])]


def test_an_own_id_counts_before_another_state_s() -> None:
    body = (
        "initial: one\nstates:\n"
        f"  one: {{ steps: [ {{ a: {{ {LET} }} }} ], routes: [ {{ to: two }} ] }}\n"
        "  two:\n"
        "    steps: [ { a: { wf.let: { v: x } } }, { b: { lab.drop: { id: '{{ a.v }}' } } } ]\n"
        "    final: true\n"
    )
    assert names(body) == []


def test_types_of_states_are_found_whatever_their_order() -> None:
    states = "".join(
        f"  s{n}:\n    steps: [ {{ a{n}: {{ wf.let: {{ v: '{{{{ a{n + 1}?.v }}}}' }} }} }} ]\n"
        f"    routes: [ {{ to: s{n + 1} }} ]\n"
        for n in range(8)
    )
    last = "  s8:\n    steps: [ { a8: { wf.let: { v: 1 } } }, { use: { lab.drop: { id: \"{{ a0?.v ?? 'x' }}\" } } } ]\n"
    (found,) = findings(f"initial: s0\nstates:\n{states}{last}    final: true\n")
    assert (found.rule, "1" in found.message) == ("type-mismatch", True)
