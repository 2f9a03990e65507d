"""Completion. Each file of ``completion`` has a cursor mark, and says in its head what is offered there.

``# expect:`` must be offered, ``# never:`` must not, ``# first:`` comes before everything else, ``# inserts: LABEL =>
TEXT`` is what choosing it puts there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lsp_server.cursor import WHOLE_BELOW
from lsp_server.features.completion import Request, complete
from lsp_server.features.completion_items import Item, plain_of

CASES = sorted((Path(__file__).parent / "completion").glob("*.workfile.yaml"))


def asked(files: Any, text: str, name: str = "main.workfile.yaml") -> tuple[tuple[int, int], list[Item], str]:
    snapshot, offset = files.marked(text, name)
    request = Request(
        path=snapshot.path,
        kind=snapshot.kind,
        project=snapshot.project,
        text=snapshot.text,
        offset=offset,
        tree=snapshot.document.tree,
        last=files.workspace.last_workflow(snapshot.path),
    )
    return *complete(request), snapshot.text


def words(text: str, key: str) -> list[str]:
    found = re.search(rf"^# {key}: (.*)$", text, re.MULTILINE)
    return [word.strip() for word in found[1].split(", ") if word.strip()] if found else []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".workfile.yaml"))
def test_offers(files: Any, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (start, end), items, shown = asked(files, text)
    labels = [item.label for item in items]
    assert [word for word in words(text, "expect") if word not in labels] == []
    assert [word for word in words(text, "never") if word in labels] == []
    if words(text, "first"):
        assert labels[:1] == words(text, "first")
    inserts = re.search(r"^# inserts: (\S+) => (.*)$", text, re.MULTILINE)
    if inserts:
        assert next(item.text for item in items if item.label == inserts[1]) == inserts[2]
    assert re.fullmatch(r"[\w.?/-]*", shown[start:end])


BEHIND_A_COLON = {
    "inputs:": [],
    "states:": [],
    "connectors:": [],
    "steps:": [],
    "result:": [],
    "recovery:": [],
    "trigger:": [],
    "inputs:\n  a:": [],
    "recovery:\n  then:": [" hold", " fail", " escalate"],
    "recovery:\n  then:ho": [" hold", " fail", " escalate"],
    "states:\n  a:": [],
    "states:\n  a:\n    final:": [" false", " true"],
    "steps:\n  - a:": [],
    "steps:\n  - a:\n      pay.charge:": [],
    "steps:\n  - a:\n      pay.charge:\n        method:": [" card", " transfer", ' "{{ $1 }}"'],
    "steps:\n  - a:\n      pay.charge: { method:": [" card", " transfer", ' "{{ $1 }}"'],
    "steps:\n  - a:\n      pay.find: { reference: x }\n      undo:": [],
    "steps:\n  - a:\n      pay.find: { reference: x }\n      catch:": [],
    "steps:\n  - a:\n      pay.find: { reference: x }\n      retry:": [],
    "steps:\n  - a:\n      pay.find: { reference: x }\n      retry: { attempts: 2, on:": [],
    "steps:\n  - a:\n      pay.find: { reference: x }\n      when:": [' "{{ $1 }}"'],
    "steps:\n  - a:\n      wf.wait_for:": [" pay.settled"],
    "steps:\n  - a:\n      wf.wait_for: pay.settled\n      match:": [],
    "steps:\n  - a:\n      wf.let:": [],
    "steps:\n  - a:\n      wf.for_each:": [],
    "steps:\n  - a:\n      wf.switch: x\n      cases:": [],
    "steps:\n  - a:\n      wf.if: true\n      then:": [],
}


@pytest.mark.parametrize("text", BEHIND_A_COLON)
def test_right_behind_a_colon(files: Any, text: str) -> None:
    """Enter takes the first item there: nothing where the value may begin on the next line, else with its blank."""
    _, items, _ = asked(files, f'workfile: "1.0"\nname: m\n{text}‸')
    assert [item.text for item in items] == BEHIND_A_COLON[text]


@pytest.mark.parametrize("key", ["inputs", "states", "connectors", "steps", "recovery", "trigger"])
def test_a_map_or_list_is_no_type(files: Any, key: str) -> None:
    assert asked(files, f'workfile: "1.0"\nname: m\n{key}: ‸')[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "pay.charge: ‸",
        "wf.wait_for: pay.settled\n      match: ‸",
        "pay.find: { reference: x }\n      undo: { pay.refund: ‸ }",
    ],
)
def test_a_map_of_arguments_is_no_expression(files: Any, text: str) -> None:
    head = 'workfile: "1.0"\nname: m\ninputs: { a: object }\nsteps:\n  - a:\n      '
    assert asked(files, head + text)[1] == []


@pytest.mark.parametrize("typed", ["{", "[", ",", " "])
def test_where_a_line_often_ends_an_editor_gets_nothing_unasked(files: Any, typed: str) -> None:
    text = {
        "{": "      pay.charge: {‸",
        "[": "      pay.find: { reference: x }\n      catch: [ { codes: [‸",
        ",": "      pay.charge: { amount: 1,‸",
        " ": "      ‸",
    }[typed]
    text = f'workfile: "1.0"\nname: m\nsteps:\n  - a:\n{text}'
    snapshot, offset = files.marked(text)
    request = Request(snapshot.path, snapshot.kind, snapshot.project, snapshot.text, offset)
    assert complete(request)[1]
    assert complete(replace(request, typed=typed))[1] == []


def test_braces_of_an_expression_are_answered_at_once(files: Any) -> None:
    snapshot, offset = files.marked('workfile: "1.0"\nname: m\ninputs: { a: string }\nresult: "{{‸"\n')
    request = Request(snapshot.path, snapshot.kind, snapshot.project, snapshot.text, offset, typed="{")
    assert "inputs" in [item.label for item in complete(request)[1]]


def test_the_word_at_the_cursor_is_replaced(files: Any) -> None:
    text = 'workfile: "1.0"\nname: m\nsteps:\n  - one:\n      pay.cha‸rge: { amount: 1, customer: x }\n'
    (start, end), items, shown = asked(files, text)
    assert shown[start:end] == "pay.charge"
    assert "pay.refund" in [item.label for item in items]


def test_a_large_file_knows_the_steps_before(files: Any) -> None:
    head = 'workfile: "1.0"\nname: m\ninputs: { n: integer }\nsteps:\n'
    step = "  - s{}:\n      pay.charge: {{ amount: 1, customer: x }}\n      retry: {{ attempts: 3 }}\n"
    before = "".join(step.format(number) for number in range(200))
    after = "".join(step.format(number) for number in range(200, 300))
    text = f'{head}{before}  - here:\n      wf.let: {{ a: "{{{{ s150.‸ }}}}" }}\n{after}'
    assert len(text) > WHOLE_BELOW
    _, items, _ = asked(files, text)
    assert [item.label for item in items] == ["charge_id", "fee"]
    _, items, _ = asked(files, text.replace("s150.‸", "‸"))
    labels = [item.label for item in items]
    assert {"s0", "s199", "inputs"} <= set(labels)
    assert not {"s200", "here"} & set(labels)


def test_a_step_that_was_just_typed_is_known(files: Any) -> None:
    """The analysis of the last version does not have it yet."""
    files.open('workfile: "1.0"\nname: m\nsteps:\n  - one: { wf.wait: 1s }\n')
    text = 'workfile: "1.0"\nname: m\nsteps:\n  - new:\n      pay.find: { reference: x }\n'
    _, items, _ = asked(files, text + '  - one: { wf.let: { a: "{{ new.‸ }}" } }\n')
    assert [item.label for item in items] == ["found"]


def test_names_of_workflows(files: Any) -> None:
    files.write("child.workfile.yaml", 'workfile: "1.0"\nname: child\ninputs: { size: integer }\nsteps: []\n')
    head = 'workfile: "1.0"\nname: m\nsteps:\n  - one:\n      '
    _, items, _ = asked(files, head + "wf.call: ‸\n")
    assert [item.label for item in items] == ["child"]


def test_scenarios(files: Any) -> None:
    files.write(
        "main.workfile.yaml",
        'workfile: "1.0"\nname: m\ninputs: { size: integer }\nsteps:\n  - one:\n'
        "      pay.charge: { amount: 1, customer: x }\n",
    )

    def labels(text: str) -> list[str]:
        snapshot, offset = files.marked(text, "a.scenario.yaml")
        target = files.workspace.snapshot(str(files.folder / "main.workfile.yaml"))
        request = Request(snapshot.path, snapshot.kind, snapshot.project, snapshot.text, offset, target=target.workflow)
        return [item.label for item in complete(request)[1]]

    head = "workfile: main.workfile.yaml\n"
    assert {"inputs", "actions", "events", "expect"} <= set(labels(head + "‸\n"))
    assert labels(head + "inputs: { ‸ }\n") == ["size"]
    assert {"pay.charge", "one"} <= set(labels(head + "actions:\n  ‸\n"))
    assert {"succeed", "fail", "ambiguous"} <= set(labels(head + "actions:\n  pay.charge:\n    - ‸\n"))
    assert {"status", "effects", "bindings"} <= set(labels(head + "expect: { ‸ }\n"))
    assert "one" in labels(head + "operator:\n  - { on: ‸ }\n")


def test_manifests(files: Any) -> None:
    _, items, _ = asked(files, "connector: c\nactions:\n  a:\n    ‸\n", "c.connector.yaml")
    assert {"effect", "idempotency", "input", "output", "errors"} <= {item.label for item in items}


def test_snippets_for_clients_without_them() -> None:
    assert plain_of("${1:charge}: { a: $2, b: $3 }") == "charge: { a: , b:  }"


def test_any_place_of_any_beginning_of_a_file_is_answered(files: Any) -> None:
    text = (Path(__file__).parents[2] / "examples" / "order.workfile.yaml").read_text(encoding="utf-8")
    for offset in range(0, len(text), 7):
        asked(files, text[:offset] + "‸")
        asked(files, text[:offset] + "‸" + text[offset:])


def test_the_result_of_a_large_file_knows_every_step(files: Any) -> None:
    head = 'workfile: "1.0"\nname: m\nsteps:\n'
    steps = "".join(f"  - s{number}: {{ pay.find: {{ reference: x }} }}\n" for number in range(200))
    _, items, _ = asked(files, f'{head}{steps}result:\n  a: "{{{{ s199.‸ }}}}"\n')
    assert [item.label for item in items] == ["found"]
    _, items, _ = asked(files, f"{head}{steps}re‸\n")
    assert {"result", "recovery"} <= {item.label for item in items}
    _, items, _ = asked(files, f"{head.replace('steps:', 'inputs: { a: ‸ }' + chr(10) + 'steps:')}{steps}")
    assert "integer" in [item.label for item in items]
