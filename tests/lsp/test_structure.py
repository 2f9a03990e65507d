"""Symbols, links, folding, selection ranges, semantic tokens, inlay hints, formatting."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.documents import Positions
from lsp_server.features.folding import folds
from lsp_server.features.formatting import format_document, format_range
from lsp_server.features.inlay_hints import hints
from lsp_server.features.links import links
from lsp_server.features.selection import selection
from lsp_server.features.semantic_tokens import delta, encode, tokens
from lsp_server.features.symbols import Symbol, document_symbols, match_rank, workspace_symbols
from lsp_server.settings import InlayHints, Settings
from lsp_server.textdiff import line_edits

TEXT = """\
# One.
# Two.
workfile: "1.0"
name: main
connectors: { pay: connectors/pay.connector.yaml }
inputs: { amount: integer }
steps:
  - work:
      wf.group:
        - take:
            pay.charge: { amount: "{{ inputs.amount + 1 }}", customer: "😀 {{ 'x' | upper }}" }
            undo: { pay.refund: { charge_id: "{{ take.charge_id }}" } }
      recovery: { redo: whole_group, stop_after: { failures: 2, within: 1h }, then: hold }
  - choose:
      wf.if: "{{ work.take.fee != null }}"
      then:
        - a: { pay.find: { reference: x } }
      else:
        - b: { wf.wait: 1s }
result: "{{ choose.a }}"
"""


def tree(symbols: list[Symbol]) -> list[Any]:
    return [(each.name, tree(each.children)) if each.children else each.name for each in symbols]


def test_the_outline(files: Any) -> None:
    assert tree(document_symbols(files.open(TEXT))) == [
        "workfile",
        "name",
        "connectors",
        ("inputs", ["amount"]),
        ("steps", [("work", ["take"]), ("choose", ["a", ("else", ["b"])])]),
        "result",
    ]


def test_the_outline_of_a_manifest(files: Any) -> None:
    snapshot = files.workspace.snapshot(str(files.folder / "connectors/pay.connector.yaml"))
    names = [each.name for each in document_symbols(snapshot)]
    assert names == ["connector", "description", "actions", "triggers"]


def test_symbols_of_the_workspace(files: Any) -> None:
    files.write("main.workfile.yaml", TEXT)
    found = workspace_symbols("ta", files.workspace)
    assert next((each.name, each.container) for each in found) == ("take", "work")
    assert "pay.charge" in [each.name for each in workspace_symbols("charge", files.workspace)]
    assert len(workspace_symbols("", files.workspace)) > 5
    assert workspace_symbols("nothing like it", files.workspace) == []


@pytest.mark.parametrize(
    ("query", "name", "rank"),
    [("abc", "abc", 0), ("ab", "abc", 1), ("BC", "abc", 2), ("ac", "abc", 3), ("ca", "abc", None), ("", "abc", 1)],
)
def test_ranks(query: str, name: str, rank: int | None) -> None:
    assert match_rank(query, name) == rank


def test_links_lead_to_files_that_exist(files: Any) -> None:
    snapshot = files.open(TEXT.replace("result:", "description: x\nresult:"))
    ((span, target),) = links(snapshot)
    assert snapshot.text[span[0] : span[1]] == "connectors/pay.connector.yaml"
    assert target.path == str(files.folder / "connectors/pay.connector.yaml")
    assert links(files.open(TEXT.replace("connectors/pay", "connectors/none"))) == []
    files.write("main.workfile.yaml", TEXT)
    scenario = files.open("workfile: main.workfile.yaml\n", "a.scenario.yaml")
    assert [each[1].path for each in links(scenario)] == [str(files.folder / "main.workfile.yaml")]


def test_folds(files: Any) -> None:
    found = [(each.first, each.last, each.kind) for each in folds(files.open(TEXT))]
    assert (0, 1, "comment") in found
    assert (6, 18, "") in found
    assert (7, 12, "") in found
    assert len({each[0] for each in found}) == len(found)


def test_selections_grow_and_hold_the_cursor(files: Any) -> None:
    snapshot = files.open(TEXT)
    offset = TEXT.index("inputs.amount") + 9
    found = selection(snapshot, offset)
    texts = [TEXT[start:end] for start, end in found]
    assert texts[:4] == ["amount", "inputs.amount", "inputs.amount + 1", "{{ inputs.amount + 1 }}"]
    assert texts[-1] == TEXT
    for inner, outer in pairwise(found):
        assert outer[0] <= inner[0] <= offset <= inner[1] <= outer[1]


def test_tokens_colour_names_keys_and_expressions(files: Any) -> None:
    snapshot = files.open(TEXT)
    found = {(TEXT[each.start : each.end], each.type) for each in tokens(snapshot)}
    expected = {("steps", "keyword"), ("take", "variable"), ("pay", "namespace"), ("charge", "function")}
    expected |= {("inputs", "parameter"), ("amount", "property"), ("upper", "function"), ("'x'", "string")}
    assert expected <= found


def test_tokens_of_a_range_are_those_of_the_whole_that_touch_it(files: Any) -> None:
    snapshot = files.open(TEXT)
    whole = tokens(snapshot)
    picker = random.Random(5)
    for _ in range(60):
        start, end = sorted(picker.sample(range(len(TEXT)), 2))
        part = tokens(snapshot, (start, end))
        assert part == [each for each in whole if each.end > start and each.start < end]


def decode(data: list[int]) -> list[tuple[int, int, int]]:
    line = character = 0
    found = []
    for index in range(0, len(data), 5):
        line, character = line + data[index], data[index + 1] + (0 if data[index] else character)
        found.append((line, character, data[index + 2]))
    return found


def test_encoded_tokens_are_where_the_text_is(files: Any) -> None:
    snapshot = files.open(TEXT)
    for encoding, codec, width in (("utf-16", "utf-16-le", 2), ("utf-8", "utf-8", 1)):
        found = tokens(snapshot)
        places = decode(encode(found, Positions(snapshot.source, encoding)))
        assert len(places) == len(found)
        for token, (line, character, length) in zip(found, places, strict=True):
            units = TEXT.split("\n")[line].encode(codec)
            assert (
                units[character * width : (character + length) * width].decode(codec) == TEXT[token.start : token.end]
            )


@given(st.lists(st.integers(0, 2), max_size=30), st.lists(st.integers(0, 2), max_size=30))
def test_a_delta_turns_what_was_into_what_is(before: list[int], after: list[int]) -> None:
    before, after = before[: len(before) // 5 * 5], after[: len(after) // 5 * 5]
    start, gone, new = delta(before, after)
    assert before[:start] + new + before[start + gone :] == after


def test_hints_tell_types_and_redo_sets(files: Any) -> None:
    snapshot = files.open(TEXT)
    found = {
        TEXT[: each.offset].rsplit(maxsplit=1)[-1].rstrip(":"): each.label
        for each in hints(snapshot, (0, len(TEXT)), InlayHints())
    }
    assert found["take"] == ": {charge_id: string, fee?: integer}"
    assert found["recovery"] == " redoes take"
    assert found["choose"].startswith(": {a: {found: boolean}?")


def test_hints_can_be_switched_off(files: Any) -> None:
    snapshot = files.open(TEXT)
    whole = (0, len(TEXT))
    assert hints(snapshot, whole, InlayHints(False, False, False)) == []
    only = hints(snapshot, whole, InlayHints(types=False, nullability=False))
    assert [each.label for each in only] == [" redoes take"]
    assert all(
        "?" not in each.label.split(":")[1]
        for each in hints(snapshot, whole, InlayHints(nullability=False, redo=False))
        if "find" in each.label
    )
    assert hints(snapshot, (0, 5), InlayHints()) == []


@pytest.mark.parametrize(
    "options", [None, 5, [], {"inlayHints": 3}, {"inlayHints": {"types": "no"}}, {"workfile": None}]
)
def test_settings_of_the_wrong_kind_are_the_defaults(options: Any) -> None:
    assert Settings.of(options) == Settings()


def test_settings() -> None:
    assert Settings.of({"workfile": {"inlayHints": {"redo": False}}}).inlay_hints == InlayHints(redo=False)
    assert Settings.of({"inlayHints": {"types": False}}).inlay_hints == InlayHints(types=False)


def applied(text: str, edits: list[tuple[tuple[int, int], str]]) -> str:
    for (start, end), new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


@given(st.text("ab\n\r", max_size=40), st.text("ab\n\r", max_size=40))
def test_line_edits_make_the_other_text(before: str, after: str) -> None:
    edits = line_edits(before, after)
    assert applied(before, edits) == after
    assert all(one[0][1] <= two[0][0] for one, two in pairwise(edits))


def test_formatting_changes_only_lines_that_change(files: Any) -> None:
    messy = TEXT.replace("  - work:", "  - work:   ").replace(
        "inputs: { amount: integer }", "inputs: {amount: integer}"
    )
    snapshot = files.open(messy)
    edits = format_document(snapshot)
    assert applied(messy, [(each.span, each.text) for each in edits]) == TEXT
    assert sum(messy[each.span[0] : each.span[1]].count("\n") for each in edits) <= 4
    part = format_range(snapshot, (messy.index("inputs"), messy.index("inputs") + 3))
    assert applied(messy, [(each.span, each.text) for each in part]) == messy.replace(
        "{amount: integer}", "{ amount: integer }"
    )
    assert format_document(files.open(TEXT)) == []
    assert format_document(files.open("a: [\n")) == []


def test_example_files_have_tokens_hints_and_symbols_everywhere(files: Any) -> None:
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.workfile.yaml")):
        snapshot = files.workspace.snapshot(str(path))
        assert tokens(snapshot)
        assert document_symbols(snapshot)
        assert hints(snapshot, (0, len(snapshot.text)), InlayHints())
