"""Code actions: every fix of a finding, all safe ones at once, suppressing a rule on its line."""

from __future__ import annotations

from typing import Any

import pytest

from lsp_server.features.code_actions import FIX_ALL, actions, fix_all, suppression, wants

HEAD = 'workfile: "1.0"\nname: m\ninputs: { who: string }\nsteps:\n'


def applied(text: str, edits: Any) -> str:
    for edit in sorted(edits, key=lambda each: -each.span[0]):
        text = text[: edit.span[0]] + edit.text + text[edit.span[1] :]
    return text


def test_fixes_come_first_then_suppressions(files: Any) -> None:
    snapshot, offset = files.marked(HEAD + '  - a: { wf.let: { b: "{{ inputs.wh‸i }}" } }\n')
    findings = files.workspace.check(snapshot.path).findings
    found = actions(snapshot, findings, (offset, offset), None)
    assert [each.title for each in found][:2] == ["Change to `who`", "Ignore `unknown-member` on this line"]
    assert all(each.finding is not None for each in found)
    assert actions(snapshot, findings, (0, 3), None) == []
    assert actions(snapshot, findings, (offset, offset), ["refactor"]) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('wf.let: { b: "{{ none }}" }', 'wf.let: { b: "{{ none }}" }  # workfile: ignore[unknown-name]'),
        ('wf.let: { b: "{{ none }}" } # why', 'wf.let: { b: "{{ none }}" } # why  # workfile: ignore[unknown-name]'),
        (
            'wf.let: { b: "{{ none }}" } # workfile: ignore[null]',
            'wf.let: { b: "{{ none }}" } # workfile: ignore[null, unknown-name]',
        ),
        (
            'wf.let:\n        b: "{{ none }}\n          text"',
            'wf.let:\n        # workfile: ignore[unknown-name]\n        b: "{{ none }}\n          text"',
        ),
    ],
)
def test_suppressing_hides_the_finding(files: Any, line: str, expected: str) -> None:
    text = f"{HEAD}  - a:\n      {line}\n"
    snapshot = files.open(text)
    (finding,) = [each for each in files.workspace.check(snapshot.path).findings if each.rule == "unknown-name"]
    edit = suppression(snapshot, finding)
    assert edit is not None
    after = applied(text, [edit])
    assert expected in after
    files.open(after)
    assert "unknown-name" not in [each.rule for each in files.workspace.check(snapshot.path).findings]


def test_inside_a_text_of_several_lines_nothing_can_be_suppressed(files: Any) -> None:
    snapshot = files.open(f"{HEAD}  - a:\n      wf.let:\n        b: |\n          x\n          {{{{ none }}}}\n")
    (finding,) = [each for each in files.workspace.check(snapshot.path).findings if each.rule == "unknown-name"]
    assert suppression(snapshot, finding) is None


def test_all_safe_fixes_at_once(files: Any) -> None:
    text = (
        HEAD
        + '  - a: { wf.let: { b: "{{ inputs.who }}" } } # workfile: ignore[redo-unsafe]\n'
        + 'result: "{{ a.b ?? 1 }}"\n'
    )
    snapshot = files.open(text)
    checked = files.workspace.check(snapshot.path).findings
    assert {each.rule for each in checked} >= {"unused-suppression"}
    edits = fix_all(snapshot, checked, lambda new: files.workspace.check_texts({snapshot.path: new})[snapshot.path])
    after = applied(text, edits)
    assert "ignore[" not in after
    files.open(after)
    left = files.workspace.check(snapshot.path).findings
    assert not [each for each in left if any(fix.applicability == "safe" for fix in each.fixes)]


@pytest.mark.parametrize(
    ("kind", "only", "wanted"),
    [
        ("quickfix", None, True),
        ("quickfix", ["quickfix"], True),
        ("quickfix", ["source"], False),
        (FIX_ALL, ["source"], True),
        (FIX_ALL, ["source.fixAll"], True),
        (FIX_ALL, ["source.fixAllX"], False),
        (FIX_ALL, [""], True),
    ],
)
def test_kinds(kind: str, only: list[str] | None, wanted: bool) -> None:
    assert wants(kind, only) is wanted


def test_a_second_document_is_ignored_from_above(server: Any, files: Any) -> None:
    server.start({"textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}})
    uri = files.uri("main.workfile.yaml")
    text = 'workfile: "1.0"\nname: main\nsteps:\n  - a: { wf.wait: 1h }\n---\nb: 1\n'
    server.open(uri, text)
    place = {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
    (action,) = server.request("textDocument/codeAction", params)
    ((edit,),) = action["edit"]["changes"].values()
    assert edit["newText"] == "# workfile: ignore[multiple-documents]\n"
    server.open(uri, text.replace("---", edit["newText"] + "---"), 2)
    server.settle()
    assert server.published()[-1]["diagnostics"] == []
