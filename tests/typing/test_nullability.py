"""Each sentence of *Static types and nullability*, and that a message says why a value may be null, and where."""

from __future__ import annotations

import pytest

from tests.typing.typed import Found, findings

USE = '  - use: { lab.drop: { id: "{{ %s }}" } }\n'
WAIT = "wf.wait_for: lab.signal, match: { key: x }, timeout: 1h"


def nulls(steps: str, read: str, inputs: str = "") -> list[Found]:
    """The null findings where ``read`` is used after the steps."""
    head = f"inputs: {{ {inputs} }}\n" if inputs else ""
    found = findings(f"{head}steps:\n{steps}{USE % read}")
    assert all(each.rule.startswith("nullable-") for each in found), found
    return found


ELSE = "      else: [ { w: { wf.wait: 1s } } ]\n"
NULLABLE = [
    # its type says so
    ("", "inputs.label", "label: string?", "its type allows null", None),
    ("", "inputs.label", "'label?': string", "`label` is optional", None),
    ("  - a: { lab.look: {} }\n", "a.note", "", "`note` is optional", None),
    # its step may not have run
    (
        "  - a: { lab.label: { mark: x }, when: '{{ inputs.go }}' }\n",
        "a.id",
        "go: boolean",
        "`a` is null when its `when` is false (line 3)",
        3,
    ),
    (
        "  - c:\n      wf.if: '{{ inputs.go }}'\n      then: [ { a: { lab.label: { mark: x } } } ]\n" + ELSE,
        "c.a.id",
        "go: boolean",
        "`c.a` is null when `c` takes its `else` branch (line 6)",
        6,
    ),
    (
        "  - c:\n      wf.if: '{{ inputs.go }}'\n      then: [ { a: { lab.label: { mark: x } } } ]\n",
        "c.a.id",
        "go: boolean",
        "`c.a` is null when the condition of `c` is false (line 4)",
        4,
    ),
    (
        "  - c:\n      wf.switch: '{{ inputs.name }}'\n      cases: { x: [ { a: { lab.label: { mark: x } } } ] }\n",
        "c.a.id",
        "name: string",
        "`c.a` is null when `c` takes no case (line 4)",
        4,
    ),
    # it can fail under on_fail: continue, or a catch without result
    (
        "  - a: { lab.label: { mark: x }, on_fail: continue }\n",
        "a.id",
        "",
        "`a` is null when it fails, under `on_fail: continue` (line 2)",
        2,
    ),
    (
        "  - a:\n      lab.label: { mark: x }\n      catch:\n        - codes: [busy]\n",
        "a.id",
        "",
        "`a` is null when its handler without `result` runs (line 5)",
        5,
    ),
    # a wait, whatever of it can be seen to fail (D-WAIT-12)
    (
        f"  - w: {{ {WAIT}, on_fail: continue }}\n",
        "w.status",
        "",
        "`w` is null when it fails, under `on_fail: continue` (line 2)",
        2,
    ),
    # it comes from a branch or iteration under continue
    (
        "  - fan: { wf.parallel: { left: [ { a: { lab.label: { mark: x } } } ] }, on_branch_fail: continue }\n",
        "fan.left.a.id",
        "",
        "`fan.left` is null when the branch fails, under `on_branch_fail: continue` (line 2)",
        2,
    ),
    (
        "  - each: { wf.for_each: [x], steps: [ { a: { lab.label: { mark: x } } } ], on_iteration_fail: continue }\n",
        "each[0].a.id",
        "",
        "an element of `each` is null when its iteration fails, under `on_iteration_fail: continue` (line 2)",
        2,
    ),
    # a wait
    (f"  - w: {{ {WAIT} }}\n", "w.event.key", "", "`w.event` is null when the wait times out (line 2)", 2),
    (
        f"  - w: {{ {WAIT.replace('key: x', 'key: ' + chr(39) + '{{ run.id }}' + chr(39))}, on_fail: continue }}\n",
        "w.status",
        "",
        "`w` is null when it fails, under `on_fail: continue` (line 2)",
        2,
    ),
    # an action without an output
    ("  - a: { lab.set: { n: 1 } }\n", "a.id", "", "`lab.set` declares no output", 2),
]


@pytest.mark.parametrize(("steps", "read", "inputs", "why", "line"), NULLABLE)
def test_a_nullable_value_says_why_and_where(steps: str, read: str, inputs: str, why: str, line: int | None) -> None:
    (found,) = nulls(steps, read, inputs)
    assert why in found.message
    assert [place for place, _ in found.related] == ([] if line is None else [line])
    assert all(text in found.message for _, text in found.related)


@pytest.mark.parametrize(
    ("steps", "read", "inputs"),
    [
        # a guarded stop or fail narrows what follows
        ("  - s: { wf.stop: { reason: r }, when: '{{ inputs.label == null }}' }\n", "inputs.label", "'label?': string"),
        ("  - s: { wf.fail: { code: x }, when: '{{ inputs.label == null }}' }\n", "inputs.label", "'label?': string"),
        # a handler that always ends the run does not make its step nullable
        ("  - a: { lab.label: { mark: x }, catch: [ { steps: [ { f: { wf.fail: { code: x } } } ] } ] }\n", "a.id", ""),
        ("  - a: { lab.label: { mark: x }, catch: [ { result: { id: y } } ] }\n", "a.id", ""),
        ("  - a: { lab.label: { mark: x }, on_fail: abort }\n", "a.id", ""),
        # a step that cannot fail
        ("  - a: { wf.let: { id: x }, on_fail: continue }\n", "a.id", ""),
        # a failure that a handler takes does not come to `on_fail`
        ("  - a: { lab.label: { mark: x }, catch: [ { result: { id: y } } ], on_fail: continue }\n", "a.id", ""),
        # an empty loop body's element, what follows a branch that always ends the run
        (
            "  - c: { wf.if: '{{ inputs.label == null }}', then: [ { s: { wf.stop: { reason: r } } } ] }\n",
            "inputs.label",
            "'label?': string",
        ),
        # an unread null does no harm where null fits
        ("", "inputs.label ?? 'x'", "'label?': string"),
    ],
)
def test_a_value_that_cannot_be_null_is_not_reported(steps: str, read: str, inputs: str) -> None:
    assert nulls(steps, read, inputs) == []


def test_testing_a_wait_under_continue_makes_its_paths_not_null_again_the_event_aside() -> None:
    wait = WAIT.replace("key: x", "key: '{{ run.id }}'")
    steps = f"  - w: {{ {wait}, on_fail: continue, steps: [ {{ ask: {{ lab.label: {{ mark: x }} }} }} ] }}\n"
    steps += "  - s: { wf.stop: { reason: r }, when: '{{ w == null }}' }\n"
    assert nulls(steps, "w.ask.id + w.status") == []
    (found,) = nulls(steps, "w.event.key")
    assert "times out" in found.message


def test_guards_are_not_correlated() -> None:
    guarded = "lab.label: { mark: x }, when: '{{ inputs.go }}'"
    found = findings(
        "inputs: { go: boolean }\nsteps:\n"
        f"  - a: {{ {guarded} }}\n"
        "  - b: { lab.drop: { id: '{{ a.id }}' }, when: '{{ inputs.go }}' }\n"
    )
    assert [(each.rule, each.text) for each in found] == [("nullable-access", "a.id")]


def test_a_fact_holds_everywhere_that_its_test_dominates() -> None:
    found = findings(
        "inputs: { 'label?': string }\nsteps:\n"
        "  - s: { wf.stop: { reason: r }, when: '{{ inputs.label == null }}' }\n"
        "  - g: { wf.group: [ { h: { wf.group: [ { a: { lab.drop: { id: '{{ inputs.label }}' } } } ] } } ] }\n"
        "  - each: { wf.for_each: [x], steps: [ { b: { lab.drop: { id: '{{ inputs.label }}' } } } ] }\n"
        "result: \"{{ inputs.label + 'x' }}\"\n"
    )
    assert found == []


def test_what_is_needless_is_told_by_form() -> None:
    found = findings(
        "steps:\n"
        "  - a: { lab.label: { mark: x } }\n"
        "  - b: { wf.let: { x: '{{ a?.id }}' } }\n"
        "  - c: { wf.let: { x: \"{{ a.id ?? 'x' }}\" } }\n"
        "  - d: { wf.let: { x: \"{{ a.id | default('x') }}\" } }\n"
        "  - e: { wf.let: { x: '{{ a != null }}' } }\n"
    )
    assert [(each.rule, each.line, each.text) for each in found] == [
        ("needless-guard", 3, "?."),
        ("needless-guard", 4, "??"),
        ("needless-guard", 5, " | default('x')"),
        ("needless-guard", 6, "a != null"),
    ]


def test_a_guard_on_the_right_of_a_default_is_not_called_needless_for_what_the_left_one_tells() -> None:
    found = findings(
        "inputs: { go: boolean }\nsteps:\n"
        "  - c:\n"
        "      wf.if: '{{ inputs.go }}'\n"
        "      then: [ { a: { lab.label: { mark: x } } } ]\n"
        "      else: [ { b: { lab.label: { mark: x } } } ]\n"
        "  - d: { wf.let: { x: '{{ c.a?.id ?? c.b?.id }}', y: '{{ c.a?.id ?? c.b.id }}' } }\n"
        "  - e: { wf.let: { x: '{{ c.a?.id ?? c?.b?.id ?? run?.id }}' } }\n"
    )
    assert [(each.rule, each.line, each.text) for each in found] == [
        ("needless-guard", 8, "?."),
        ("needless-guard", 8, "?."),
    ]


def test_a_message_says_what_to_do() -> None:
    (found,) = nulls("  - a: { lab.label: { mark: x }, on_fail: continue }\n", "a.id")
    assert found.message.endswith("Use `?.`, or test it first.")
    (found,) = nulls("", "inputs.label", "'label?': string")
    assert found.message.endswith("Give a default with `??`, or test it first.")


def test_a_null_in_a_list_is_told_of_the_element() -> None:
    found = findings(
        "inputs: { xs: 'list[string?]' }\nsteps:\n"
        "  - a: { wf.let: { x: \"{{ inputs.xs | join(',') }}\", y: '{{ inputs.xs | sort }}' } }\n"
    )
    assert [each.rule for each in found] == ["nullable-value", "nullable-value"]
    assert all("an element may be null" in each.message for each in found)


@pytest.mark.parametrize(
    "test",
    [
        "a.found",
        "a?.found",
        "not a?.found",
        "not a.found",
        "a?.found and inputs.go",
        "a?.found or inputs.go",
        "not (a?.found and inputs.go)",
        "not not a?.found",
        "a.found or not a.found",
        "not a.found and a?.level == 'low'",
        "a?.found or a?.level == 'low'",
        "a.level != 'low'",
    ],
)
@pytest.mark.parametrize(
    "place", ["when: '{{ %s }}', lab.set: { n: 1 }", "wf.if: '{{ %s }}', then: [ { n: { wf.wait: 1s } } ]"]
)
def test_a_faulty_test_makes_no_guard_needless(test: str, place: str) -> None:
    found = findings(
        "inputs: { go: boolean }\nsteps:\n"
        "  - a: { lab.look: {}, when: '{{ inputs.go }}' }\n"
        f"  - b: {{ {place % test.replace(chr(39), chr(39) * 2)} }}\n"
        "  - c: { wf.let: { whole: '{{ a }}', v: \"{{ a?.level ?? 'none' }}\" } }\n"
        "  - d: { wf.let: { v: \"{{ c.whole?.level ?? 'none' }}\" } }\n"
    )
    assert {each.line for each in found} == {4}
    assert {each.rule for each in found} <= {"nullable-access", "nullable-value"}
