"""The rules that need the flow: where they stand, what they say, what they offer."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.check import check_file
from analyzer.findings import Finding
from analyzer.flow.control import check_control
from analyzer.model.problems import Problems
from analyzer.workspace.project import project_for
from tests.flow.text import analysed, connector, write_json

HEAD = 'workfile: "1.0"\nname: sample\ninputs: { go: boolean, n: integer, list: "list[integer]" }\n'
LAB = """
connector: lab
version: 1.0.0
actions:
  make: { effect: write, idempotency: none, input: {}, output: { id: string }, errors: { x: { retryable: false } } }
  bare: { effect: write, idempotency: none, input: {}, errors: { x: { retryable: false }, busy: { retryable: true } } }
  keep: { effect: write, idempotency: keyed, input: {}, errors: { x: { retryable: false } } }
  drop: { effect: write, idempotency: inherent, input: { id: string } }
  wipe: { effect: write, idempotency: none, input: { id: string }, output: { ok: boolean } }
  look: { effect: read, input: {}, output: { id: string } }
"""
STOP = "stop_after: { failures: 2, within: 1h }"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "workfile.toml").write_text("", encoding="utf-8")
    (tmp_path / "connectors" / "lab.connector.yaml").write_text(LAB, encoding="utf-8")
    return tmp_path / "sample.workfile.yaml"


def check(path: Path, text: str, *rules: str) -> list[Finding]:
    """The findings of some rules."""
    path.write_text(HEAD + text, encoding="utf-8")
    found = check_file(project_for(str(path)), str(path), HEAD + text).findings
    return [finding for finding in found if finding.rule in rules]


def message(path: Path, text: str, rule: str = "redo-unsafe") -> str:
    """The message of the one finding of a rule."""
    (finding,) = check(path, text, rule)
    return finding.message


# ---- redo-unsafe ----------------------------------------------------------------------------------


def test_the_message_tells_one_path(path: Path) -> None:
    text = f"""
steps:
  - g:
      wf.group:
        - a: {{ lab.bare: {{}} }}
        - b: {{ lab.keep: {{}}, retry: {{ attempts: 3 }} }}
      recovery: {{ redo: whole_group, {STOP}, then: hold }}
"""
    assert message(path, text).startswith(
        "`g.a` succeeds → `g.b` fails after its retries → `whole_group` of `g` runs `g.a` again: "
        "it is `idempotency: none` and has no `undo`."
    )


def test_the_path_goes_through_what_gave_up(path: Path) -> None:
    text = f"""
recovery: {{ redo: this_step, {STOP}, then: hold }}
steps:
  - g:
      wf.group:
        - a: {{ lab.bare: {{}} }}
        - b: {{ lab.keep: {{}} }}
      recovery: {{ redo: this_step, {STOP}, then: fail }}
"""
    assert "`g.b` fails → `g` fails, its recovery spent → `this_step` runs `g.a` again" in message(path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{ e: { wf.for_each: "{{ inputs.list }}", steps: [ { a: { lab.bare: {} } } ] } }',
            "in an earlier iteration of `e`",
        ),
        (
            '{ e: { wf.for_each: "{{ inputs.list }}", concurrency: 2, steps: [ { a: { lab.bare: {} } } ] } }',
            "in another iteration of `e`",
        ),
        (
            "{ p: { wf.parallel: { left: [ { a: { lab.bare: {} } } ], right: [ { b: { lab.keep: {} } } ] } } }",
            "in the branch `left`",
        ),
    ],
)
def test_the_path_says_where_the_success_is(path: Path, text: str, words: str) -> None:
    assert words in message(path, f"recovery: {{ redo: whole_group, {STOP}, then: hold }}\nsteps:\n  - {text}\n")


def test_there_is_one_finding_for_each_action_on_the_recovery(path: Path) -> None:
    text = f"""
recovery: {{ redo: whole_group, {STOP}, then: hold }}
steps:
  - a: {{ lab.bare: {{}} }}
  - b: {{ lab.bare: {{}} }}
  - c: {{ lab.keep: {{}} }}
"""
    found = check(path, text, "redo-unsafe")
    assert [(each.range.start_line, each.range.start_column, each.range.end_column) for each in found] == [
        (5, 1, 9)
    ] * 2
    assert [(each.related[0].range.start_line, each.related[1].range.start_line) for each in found] == [(7, 8), (8, 9)]


def test_an_action_of_a_called_workflow_is_shown_in_its_file(path: Path) -> None:
    child = path.parent / "child.workfile.yaml"
    child.write_text(
        'workfile: "1.0"\nname: child\nsteps:\n  - a: { lab.bare: {} }\n  - b: { lab.keep: {} }\n', encoding="utf-8"
    )
    text = f"recovery: {{ redo: this_step, {STOP}, then: hold }}\nsteps:\n  - c: {{ wf.call: child }}\n"
    (finding,) = check(path, text, "redo-unsafe")
    assert "`a` of `child` succeeds" in finding.message
    assert finding.related[0].path == str(child)
    assert finding.related[0].range.start_line == 4


def fixes(path: Path, text: str) -> dict[str, str]:
    """The titles of the fixes of the one ``redo-unsafe``, with the text that they put in."""
    path.write_text(HEAD + text, encoding="utf-8")
    problems = Problems()
    project = project_for(str(path))
    document = project.document(str(path))
    assert document is not None
    check_control(analysed(path), problems, document.source)
    (problem,) = [each for each in problems.items if each.rule == "redo-unsafe"]
    assert {fix.applicability for fix in problem.fixes} <= {"unsafe"}
    return {fix.title: "".join(edit.text for edit in fix.edits) for fix in problem.fixes}


def test_a_narrower_redo_is_offered_when_it_is_safe(path: Path) -> None:
    text = f"""
recovery: {{ redo: whole_group, {STOP}, then: hold }}
steps:
  - a: {{ lab.bare: {{}} }}
  - b: {{ lab.keep: {{}} }}
"""
    assert fixes(path, text) == {"Redo `this_and_after` only": "this_and_after"}


def test_no_narrower_redo_is_offered_when_none_is_safe(path: Path) -> None:
    text = f"""
recovery: {{ redo: whole_group, {STOP}, then: hold }}
steps:
  - g:
      wf.group: [ {{ a: {{ lab.bare: {{}} }} }}, {{ b: {{ lab.keep: {{}} }} }} ]
      recovery: {{ redo: this_step, {STOP}, then: fail }}
"""
    assert fixes(path, text) == {}


def test_an_undo_is_offered_that_the_result_fits(path: Path) -> None:
    text = f"""
recovery:
  redo: this_step
  {STOP}
  then: hold
steps:
  - c: {{ wf.if: "{{{{ inputs.go }}}}", then: [ {{ d: {{ lab.keep: {{}} }} }} ] }}
  - g:
      wf.group:
        - a:
            lab.make: {{}}
        - b: {{ lab.keep: {{}} }}
      catch: [ {{ steps: [ {{ f: {{ lab.keep: {{}} }} }} ] }} ]
"""
    found = fixes(path, text)
    assert found == {"Undo `a` with `lab.drop`": '\n            undo: { lab.drop: { id: "{{ a.id }}" } }'}


# ---- the other rules --------------------------------------------------------------------------------


def test_redo_may_hold_is_left_out_where_the_redo_is_unsafe(path: Path) -> None:
    text = f"""
recovery: {{ redo: whole_group, {STOP}, then: hold }}
steps:
  - a: {{ lab.make: {{}} }}
  - b: {{ lab.make: {{}}, undo: {{ lab.drop: {{ id: "{{{{ b.id }}}}" }} }} }}
"""
    found = check(path, text, "redo-unsafe", "redo-may-hold")
    assert sorted((each.rule, each.related[0].range.start_line) for each in found) == [
        ("redo-may-hold", 8),
        ("redo-unsafe", 7),
    ]


def test_an_undo_that_only_a_caller_needs_is_needed(path: Path) -> None:
    path.write_text(
        'workfile: "1.0"\nname: child\nsteps:\n  - a: { lab.bare: {}, undo: { lab.keep: {} } }\n', encoding="utf-8"
    )
    child = analysed(path)
    caller = path.parent / "caller.workfile.yaml"
    caller.write_text(
        f'workfile: "1.0"\nname: caller\nrecovery: {{ redo: whole_group, {STOP}, then: hold }}\n'
        "steps:\n  - c: { wf.call: child }\n  - d: { lab.keep: {} }\n",
        encoding="utf-8",
    )
    workflow = analysed(caller)
    callee = workflow.steps.steps[0].callee if workflow.steps is not None else None
    assert callee is not None
    alone, called = Problems(), Problems()
    check_control(child, alone)
    check_control(callee, called, callers=lambda asked: [workflow] if asked is callee else [])
    assert [each.rule for each in alone.items] == ["undo-unreachable"]
    assert called.items == []


def test_undo_may_hold_needs_an_undo_that_can_run(path: Path) -> None:
    undo = 'undo: { lab.wipe: { id: "{{ a.id }}" } }'
    steps = f"steps:\n  - a: {{ lab.make: {{}}, {undo} }}\n  - b: {{ lab.keep: {{}} }}\n"
    rules = ("undo-may-hold", "undo-unreachable")
    assert [each.rule for each in check(path, steps, *rules)] == ["undo-unreachable"]
    recovery = f"recovery: {{ redo: whole_group, {STOP}, then: hold }}\n"
    (finding,) = check(path, recovery + steps, *rules)
    assert (finding.rule, finding.range.start_line, finding.range.start_column) == ("undo-may-hold", 6, 24)


def test_only_the_first_step_that_never_runs_is_named(path: Path) -> None:
    text = "steps:\n  - s: { wf.stop: { reason: r } }\n  - a: { lab.keep: {} }\n  - b: { lab.keep: {} }\n"
    (finding,) = check(path, text, "unreachable-step")
    assert (finding.range.start_line, finding.tags) == (6, ("unreachable",))


def test_what_never_runs_has_no_findings_of_its_own(path: Path) -> None:
    text = f"""
steps:
  - s: {{ wf.stop: {{ reason: r }} }}
  - g:
      wf.group: [ {{ a: {{ lab.keep: {{}}, undo: {{ lab.keep: {{}} }} }} }} ]
      recovery: {{ redo: whole_group, {STOP}, then: hold }}
      catch: [ {{ steps: [] }}, {{ steps: [] }} ]
"""
    path.write_text(HEAD + text, encoding="utf-8")
    found = [each.rule for each in check_file(project_for(str(path)), str(path), HEAD + text).findings]
    assert [rule for rule in found if rule != "unused-input"] == ["unreachable-step"]


@pytest.mark.parametrize(
    ("retry", "count"),
    [
        ("lab.make: {}, retry: { attempts: 2 }", 1),
        ("lab.bare: {}, retry: { attempts: 2 }", 0),
        ("lab.bare: {}, retry: { attempts: 2, on: [x] }", 1),
        ("lab.make: {}, retry: { attempts: 2 }, on_unknown: halt", 0),
        ("lab.look: {}, retry: { attempts: 2 }", 1),
        ("lab.look: {}, retry: { attempts: 2 }, timeout: 1m", 0),
    ],
)
def test_a_retry_is_used_when_something_can_be_tried_again(path: Path, retry: str, count: int) -> None:
    assert len(check(path, f"steps:\n  - a: {{ {retry} }}\n", "retry-never-used")) == count


@pytest.mark.parametrize(
    ("codes", "lines"),
    [
        (["", ""], [8]),
        (["codes: [x], ", ""], []),
        (["codes: [x], ", "codes: [busy], ", "codes: [busy, x], "], [9]),
        (["codes: [x], ", "codes: [busy, x], "], []),
    ],
)
def test_a_handler_that_earlier_ones_leave_nothing(path: Path, codes: list[str], lines: list[int]) -> None:
    handlers = "".join(f"        - {{ {each}steps: [] }}\n" for each in codes)
    text = f"steps:\n  - a:\n      catch:\n{handlers}      lab.bare: {{}}\n"
    assert [each.range.start_line for each in check(path, text, "catch-unreachable")] == lines


@pytest.mark.parametrize(
    ("routes", "count"),
    [
        ("[]", 1),
        ('[ { when: "{{ inputs.go }}", to: t } ]', 1),
        ("[ { to: t } ]", 0),
        ("[ { when: true, to: t } ]", 0),
        ('[ { when: "{{ inputs.go }}", to: t }, { when: "{{ not inputs.go }}", to: s } ]', 0),
        ('[ { when: "{{ inputs.n == 1 }}", to: t }, { when: "{{ inputs.n != 1 }}", to: s } ]', 0),
        ('[ { when: "{{ inputs.n == 1 }}", to: t }, { when: "{{ inputs.n != 2 }}", to: s } ]', 1),
    ],
)
def test_routes_that_can_all_be_false(path: Path, routes: str, count: int) -> None:
    text = f"""
initial: s
states:
  s: {{ steps: [ {{ w: {{ wf.wait: 1h }} }} ], routes: {routes} }}
  t: {{ steps: [], final: true }}
"""
    assert len(check(path, text, "no-route")) == count


RING = """
initial: s
states:
  s: {{ steps: [ {{ a: {{ lab.look: {{}} }} }}{more} ], routes: [ {{ to: t }} ] }}
  t: {{ steps: [ {{ b: {{ lab.look: {{}} }} }} ], routes: [ {{ to: s }}{way} ] }}
  u: {{ steps: [], final: true }}
"""


@pytest.mark.parametrize(
    ("more", "way", "count"),
    [
        ("", "", 1),
        (", { w: { wf.wait: 1h } }", "", 0),
        (', { e: { wf.stop: { reason: r }, when: "{{ inputs.go }}" } }', "", 0),
        ("", ", { to: u }", 1),
    ],
)
def test_a_ring_of_states(path: Path, more: str, way: str, count: int) -> None:
    found = check(path, RING.format(more=more, way=way), "endless-states")
    assert [(each.range.start_line, len(each.related)) for each in found] == [(7, 1)] * count


def test_a_ring_with_a_way_out(path: Path) -> None:
    text = RING.format(more="", way="").replace(
        "routes: [ { to: s } ]", 'routes: [ { when: "{{ inputs.go }}", to: u }, { to: s } ]'
    )
    assert check(path, text, "endless-states") == []


def test_a_mistyped_route_makes_no_state_unreachable(path: Path) -> None:
    text = "initial: s\nstates:\n  s: { steps: [], routes: [ { to: tt } ] }\n  t: { steps: [], final: true }\n"
    assert check(path, text, "unreachable-state") == []
    assert len(check(path, text.replace("tt", "s"), "unreachable-state")) == 1


@pytest.mark.parametrize(
    ("failures", "delay", "count"), [(3, "", 1), (2, "", 0), (3, "delay: 333ms, ", 1), (3, "delay: 334ms, ", 0)]
)
def test_a_storm(path: Path, failures: int, delay: str, count: int) -> None:
    recovery = f"recovery: {{ {delay}stop_after: {{ failures: {failures}, within: 1h }}, then: hold }}\n"
    assert len(check(path, recovery + "steps:\n  - a: { lab.keep: {} }\n", "recovery-storm")) == count


def test_escalation_has_to_have_somewhere_to_go(path: Path) -> None:
    inner = f"recovery: {{ redo: this_step, {STOP}, then: escalate }}"
    text = f"steps:\n  - g: {{ wf.group: [ {{ a: {{ lab.keep: {{}} }} }} ], {inner} }}\n"
    (finding,) = check(path, text, "escalate-unscoped")
    assert path.read_text(encoding="utf-8").splitlines()[4][finding.range.start_column - 1 :].startswith("escalate")
    assert check(path, f"recovery: {{ redo: this_step, {STOP}, then: fail }}\n" + text, "escalate-unscoped") == []


def test_every_beginning_and_every_missing_value_is_analysed(path: Path) -> None:
    text = f"""
recovery: {{ redo: this_and_after, {STOP}, then: escalate }}
steps:
  - g:
      wf.group:
        - p:
            wf.parallel: {{ left: [ {{ a: {{ lab.bare: {{}} }} }} ], right: [ {{ b: {{ lab.bare: {{}} }} }} ] }}
        - e: {{ wf.for_each: "{{{{ inputs.list }}}}", steps: [ {{ c: {{ lab.keep: {{}} }} }} ] }}
      catch: [ {{ codes: [x], steps: [ {{ d: {{ wf.wait: 1s }} }} ] }} ]
      recovery: {{ redo: whole_group, {STOP}, then: fail }}
"""
    for end in range(0, len(text), 3):
        check(path, text[:end])
    lines = text.splitlines()
    for number in range(len(lines)):
        check(path, "\n".join(lines[:number] + lines[number + 1 :]))


def test_the_connector_of_the_generated_files_is_sound(tmp_path: Path) -> None:
    target = tmp_path / "lab.connector.yaml"
    write_json(target, connector())
    assert check_file(project_for(str(target)), str(target)).findings == []
