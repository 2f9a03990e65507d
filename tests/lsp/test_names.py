"""Definition, references, highlight, rename, call hierarchy: one name everywhere it stands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lsp_server.features import call_hierarchy
from lsp_server.features.definition import definition
from lsp_server.features.references import highlights, references
from lsp_server.features.rename import CannotRename, prepare, rename

MAIN = """\
workfile: "1.0"
name: main
inputs:
  amount: integer
  note?: string
steps:
  - take:
      pay.charge: { amount: "{{ inputs.amount }}", customer: x }
      undo: { pay.refund: { charge_id: "{{ take.charge_id }}" } }
  - choose:
      wf.if: "{{ inputs.amount > 1 }}"
      then:
        - leaf: { pay.find: { reference: "{{ take.charge_id }}" } }
      else:
        - leaf: { pay.find: { reference: "{{ inputs.note ?? 'x' }}" } }
  - each:
      wf.for_each: "{{ [1, 2] }}"
      as: number
      steps:
        - twice: { wf.let: { v: "{{ number * 2 }}" } }
  - child:
      wf.call: child
      inputs: { size: "{{ inputs.amount }}" }
result: { a: "{{ take.charge_id }}", b: "{{ choose.leaf.found }}", c: "{{ each }}" }
"""
CHILD = """\
workfile: "1.0"
name: child
inputs: { size: integer }
steps:
  - inner: { wf.let: { v: "{{ inputs.size }}" } }
"""
SCENARIO = """\
workfile: main.workfile.yaml
inputs: { amount: 5 }
actions:
  pay.charge: [ { succeed: { charge_id: c } } ]
  choose.(then).leaf: [ { succeed: { found: true } } ]
crashes:
  - { after: { record: action.dispatched, path: take } }
expect:
  bindings: { take.charge_id: c, choose.leaf.found: true }
  absent: [ child/inner ]
  waiting: [ child/inner ]
"""
MACHINE = """\
workfile: "1.0"
name: machine
initial: open
states:
  open:
    steps:
      - look: { pay.find: { reference: x } }
    timers: { late: { after: 1h, to: done } }
    routes:
      - { when: "{{ look.found }}", to: done }
      - { to: open }
  done: { final: true }
result: "{{ open.look?.found }}"
"""


@pytest.fixture
def project(files: Any) -> Any:
    files.write("main.workfile.yaml", MAIN)
    files.write("child.workfile.yaml", CHILD)
    files.write("run.scenario.yaml", SCENARIO)
    files.write("machine.workfile.yaml", MACHINE)
    return files


def place(files: Any, name: str, before: str, after: str) -> tuple[Any, int]:
    text = (files.folder / name).read_text(encoding="utf-8")
    assert text.count(before + after) == 1, before + after
    snapshot = files.workspace.snapshot(str(files.folder / name))
    assert snapshot is not None
    return snapshot, text.index(before + after) + len(before)


def shown(files: Any, path: str, span: tuple[int, int]) -> str:
    """``file:line:text`` of a place."""
    snapshot = files.workspace.snapshot(path)
    line = snapshot.source.line_of(span[0]) + 1
    return f"{Path(path).name.partition('.')[0]}:{line}:{snapshot.text[span[0] : span[1]]}"


@pytest.mark.parametrize(
    ("name", "before", "after", "found"),
    [
        ("main", 'reference: "{{ ta', "ke.charge_id", ["main:7:take"]),
        ("main", 'amount: "{{ inputs.am', "ount", ["main:4:amount"]),
        ("main", "choose.le", "af.found", ["main:13:leaf", "main:15:leaf"]),
        ("main", "numb", "er * 2", ["main:18:number"]),
        ("main", "wf.call: ch", "ild", ["child:2:child"]),
        ("main", "inputs: { si", "ze", ["child:3:size"]),
        ("main", "pay.ref", "und", ["pay:23:refund"]),
        ("main", "pa", "y.refund", ["pay:1:pay"]),
        ("main", "{ amo", 'unt: "{{', ["pay:11:amount"]),
        ("machine", "initial: op", "en", ["machine:5:open"]),
        ("machine", "after: 1h, to: do", "ne", ["machine:12:done"]),
        ("machine", '"{{ op', "en.look", ["machine:5:open"]),
        ("machine", "open.lo", "ok?", ["machine:7:look"]),
        ("run", "bindings: { ta", "ke.", ["main:7:take"]),
        ("run", "choose.(then).le", "af", ["main:13:leaf", "main:15:leaf"]),
        ("run", "absent: [ chi", "ld", ["main:21:child"]),
        ("run", "waiting: [ child/inn", "er", ["child:5:inner"]),
        ("run", "pay.char", "ge", ["pay:4:charge"]),
    ],
)
def test_definitions(project: Any, name: str, before: str, after: str, found: list[str]) -> None:
    suffix = "scenario" if name == "run" else "workfile"
    snapshot, offset = place(project, f"{name}.{suffix}.yaml", before, after)
    targets = definition(snapshot, offset, project.workspace)
    assert [shown(project, each.path, each.span) for each in targets] == found


def test_an_alias_leads_to_its_anchor(files: Any) -> None:
    snapshot, offset = files.marked("a: &x { b: 1 }\nc: *‸x\n")
    assert [shown(files, each.path, each.span) for each in definition(snapshot, offset, files.workspace)]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("- ta", "ke:", ["main:7:take", "main:9:take", "main:13:take", "main:24:take", "run:7:take", "run:9:take"]),
        (
            "then:\n        - le",
            "af",
            ["main:13:leaf", "main:15:leaf", "main:24:leaf", "run:5:leaf", "run:9:leaf"],
        ),
        (
            "  amou",
            "nt: integer",
            ["main:4:amount", "main:8:amount", "main:11:amount", "main:23:amount", "run:2:amount"],
        ),
        ("inputs: { si", "ze", ["child:3:size", "child:5:size", "main:23:size"]),
        ("wf.call: ch", "ild", ["child:2:child", "main:22:child"]),
        ("pay.ref", "und", ["pay:23:refund", "main:9:refund"]),
    ],
)
def test_references(project: Any, before: str, after: str, found: list[str]) -> None:
    snapshot, offset = place(project, "main.workfile.yaml", before, after)
    targets = references(snapshot, offset, project.workspace, True)
    assert sorted(shown(project, each.path, each.span) for each in targets) == sorted(found)
    without = references(snapshot, offset, project.workspace, False)
    assert 0 < len(without) < len(targets)


def test_highlights_tell_where_a_name_comes_from(project: Any) -> None:
    snapshot, offset = place(project, "main.workfile.yaml", "- ta", "ke:")
    found = highlights(snapshot, offset, project.workspace)
    assert [each.definition for each in found] == [True, False, False, False]


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("- ta", "ke:", "taken"),
        ("  amou", "nt: integer", "cents"),
        ("  no", "te?", "remark"),
        ("then:\n        - le", "af", "leaves"),
        ("as: num", "ber", "n"),
        ("wf.call: ch", "ild", "other-child"),
        ("inputs: { si", "ze", "length"),
        ("pa", "y.refund", "money"),
    ],
)
def test_after_a_rename_everything_is_as_it_was(project: Any, before: str, after: str, new: str) -> None:
    def rules() -> dict[str, list[str]]:
        paths = project.workspace.files()
        return {path: [each.rule for each in project.workspace.check(path).findings] for path in paths}

    known = rules()
    snapshot, offset = place(project, "main.workfile.yaml", before, after)
    edits = rename(snapshot, offset, new, project.workspace)
    assert edits
    for path in {edit.path for edit in edits}:
        text = project.workspace.snapshot(path).text
        for edit in sorted((each for each in edits if each.path == path), key=lambda each: -each.span[0]):
            text = text[: edit.span[0]] + edit.text + text[edit.span[1] :]
        project.write(os.path.relpath(path, project.folder), text)
    project.workspace.files_changed(sorted({edit.path for edit in edits}))
    assert rules() == known


@pytest.mark.parametrize(
    ("before", "after", "new", "why", "bad"),
    [
        ("- ta", "ke:", "each", "appears twice in this list", False),
        ("- twi", "ce:", "number", "already a name", False),
        ("- ta", "ke:", "Take", "is not an identifier", True),
        ("- ta", "ke:", "inputs", "word of the language", True),
        ("  amou", "nt: integer", "note", "declared twice", False),
        ("wf.call: ch", "ild", "machine", "Another Workfile is named", False),
        ("wf.call: ch", "ild", "a b", "is not a name", True),
        ("pay.ref", "und", "x", "Renaming actions is not supported", False),
        ("wf.for_", "each", "x", "Nothing here has a name", False),
    ],
)
def test_a_rename_that_would_break_something_is_refused(
    project: Any, before: str, after: str, new: str, why: str, bad: bool
) -> None:
    snapshot, offset = place(project, "main.workfile.yaml", before, after)
    with pytest.raises(CannotRename) as refused:
        rename(snapshot, offset, new, project.workspace)
    assert why in str(refused.value)
    assert refused.value.bad_name is bad
    text = (project.folder / "main.workfile.yaml").read_text(encoding="utf-8")
    assert project.workspace.snapshot(str(project.folder / "main.workfile.yaml")).text == text


def test_what_is_renamed_is_shown_before(project: Any) -> None:
    snapshot, offset = place(project, "main.workfile.yaml", "choose.le", "af.found")
    span, name = prepare(snapshot, offset, project.workspace)
    assert name == "leaf"
    assert snapshot.text[span[0] : span[1]] == "leaf"


def test_states_are_renamed_with_their_routes(project: Any) -> None:
    snapshot, offset = place(project, "machine.workfile.yaml", "initial: op", "en")
    edits = rename(snapshot, offset, "opened", project.workspace)
    assert [shown(project, each.path, each.span) for each in edits] == [
        "machine:3:open",
        "machine:5:open",
        "machine:11:open",
        "machine:13:open",
    ]


def test_calls_of_workflows(project: Any) -> None:
    snapshot, offset = place(project, "main.workfile.yaml", "wf.call: ch", "ild")
    (item,) = call_hierarchy.prepare(snapshot, offset, project.workspace)
    assert item.name == "child"
    (caller,) = call_hierarchy.incoming(item.path, project.workspace)
    assert caller.item.name == "main"
    assert [shown(project, caller.item.path, each) for each in caller.places] == ["main:22:child"]
    (callee,) = call_hierarchy.outgoing(caller.item.path, project.workspace)
    assert callee.item == item
    assert call_hierarchy.outgoing(item.path, project.workspace) == []
