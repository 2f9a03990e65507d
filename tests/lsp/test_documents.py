"""Open texts: every snapshot is what an independent model of the protocol's edits gives."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.check import check_file
from analyzer.syntax.source import Encoding
from analyzer.workspace.project import forget_projects, project_for
from lsp_server.documents import Change, OpenDocument, Positions, sound
from lsp_server.workspace import Workspace

ALPHABET = "ab:-{}[]\"'# \n\r\té😀\u2028\x0c\x85\ufeff𝄞|"
CODECS: dict[str, tuple[str, int]] = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
BREAK = re.compile(r"\r\n|\r|\n")

positions = st.tuples(st.integers(0, 12), st.integers(0, 30))
edits = st.lists(st.tuples(positions, positions, st.text(ALPHABET, max_size=8)), min_size=1, max_size=6)


class Model:
    """The protocol's text, the plain way: lines of code units."""

    def __init__(self, text: str, encoding: str) -> None:
        self.codec, self.width = CODECS[encoding]
        self.text = text

    def index(self, position: tuple[int, int]) -> int:
        starts = [0, *(found.end() for found in BREAK.finditer(self.text))]
        ends = [*(found.start() for found in BREAK.finditer(self.text)), len(self.text)]
        line, character = position
        if line >= len(starts):
            return len(self.text)
        units = 0
        for index in range(starts[line], ends[line]):
            units += len(self.text[index].encode(self.codec)) // self.width
            if units > character:
                return index
        return ends[line]

    def apply(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        first, last = sorted((self.index(start), self.index(end)))
        self.text = self.text[:first] + text + self.text[last:]


def document(text: str, encoding: Encoding = "utf-16") -> OpenDocument:
    return OpenDocument("file:///x.workfile.yaml", "/x.workfile.yaml", 1, text, encoding)


@settings(max_examples=400)
@given(st.text(ALPHABET, max_size=60), st.lists(edits, min_size=1, max_size=4), st.sampled_from(sorted(CODECS)))
def test_a_text_is_what_the_edits_make_of_it(text: str, batches: list[list[Any]], encoding: Encoding) -> None:
    opened, model = document(text, encoding), Model(text, encoding)
    for version, batch in enumerate(batches, start=2):
        opened.apply([Change(new, start, end) for start, end, new in batch], version)
        for start, end, new in batch:
            model.apply(start, end, new)
        assert opened.text == model.text
        assert opened.version == version


@settings(max_examples=300)
@given(st.text(ALPHABET, max_size=60), st.sampled_from(sorted(CODECS)))
def test_every_position_leads_back_to_its_offset(text: str, encoding: Encoding) -> None:
    source = document(text, encoding).source
    places = Positions(source, encoding)
    for offset in range(len(source.text) + 1):
        inside_break = source.text[offset - 1 : offset + 1] == "\r\n"
        assert places.offset(places.of(offset)) == offset - inside_break


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("a", Change("b", (0, 1), (0, 1)), "ab"),
        ("a\n", Change("b", (1, 0), (1, 0)), "a\nb"),
        ("a", Change("b", (9, 9), (9, 9)), "ab"),
        ("a\u2028b", Change("c", (0, 2), (0, 3)), "a\u2028c"),
        ("a\x0cb", Change("c", (0, 3), (0, 3)), "a\x0cbc"),
        ("😀x\n😀y", Change("z", (1, 2), (1, 3)), "😀x\n😀z"),
        ("a\r\nb", Change("", (0, 1), (1, 0)), "ab"),
        ("abc", Change("new"), "new"),
        ("abc", Change("x", (0, 2), (0, 1)), "axc"),
        ("\ufeffab", Change("x", (0, 1), (0, 2)), "\ufeffxb"),
    ],
)
def test_edits_that_have_been_got_wrong_before(text: str, change: Change, expected: str) -> None:
    opened = document(text)
    opened.apply([change], 2)
    assert opened.text == expected


def test_lone_surrogates_become_a_character_of_the_same_width() -> None:
    assert sound("a\ud800b") == "a\ufffdb"
    assert document("a\udfff").text == "a\ufffd"


BASE = """\
workfile: "1.0"
name: edited
inputs:
  amount: integer
steps:
  - wait: { wf.wait: 5m }
  - tell:
      wf.let: { note: "{{ inputs.amount }} 😀", other: "{{ wait }}" }
result: "{{ tell.note }}"
"""


@settings(max_examples=60, deadline=None)
@given(st.lists(edits, min_size=1, max_size=3))
def test_findings_are_those_of_the_same_text_checked_afresh(batches: list[list[Any]]) -> None:
    forget_projects()
    workspace = Workspace()
    uri, path = "file:///nowhere/here/e.workfile.yaml", "/nowhere/here/e.workfile.yaml"
    workspace.open_document(uri, 1, BASE, "workfile")
    workspace.check(path)
    for version, batch in enumerate(batches, start=2):
        workspace.edit(path, [Change(new, start, end) for start, end, new in batch], version)
        shown = workspace.check(path).findings
        text = workspace.open[path].text
        forget_projects()
        fresh = check_file(project_for(path), path, text).findings
        workspace.reset()
        assert [each for each in shown if each.rule != "unused-suppression"] == fresh
