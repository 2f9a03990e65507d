"""From a place in a scalar's value to the place in the file where it is written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.syntax.nodes import Mapping, Scalar, walk
from analyzer.syntax.scalars import offset_in_source
from analyzer.syntax.source import Source
from tests.syntax.trees import CORPUS, corpus_texts, read

BREAKS = ("\n", "\r\n", "\r")
TEXTS = corpus_texts()


def check(text: str) -> int:
    """Check each index of each scalar of a text; answers how many were checked."""
    source = Source(text)
    tree = read(text)
    checked = 0
    for node in walk(tree.root) if tree.root is not None else ():
        if not isinstance(node, Scalar) or node.broken or node.origin is not None:
            continue
        places = [offset_in_source(source, node, index) for index in range(len(node.text) + 1)]
        assert places == sorted(places)
        assert node.start <= places[0]
        for index, place in enumerate(places[:-1]):
            written(source.text, node, node.text[index], place)
            checked += 1
    return checked


def written(text: str, node: Scalar, character: str, place: int) -> None:
    there = text[place]
    if there == character:
        return
    if there in "\r\n":
        # A fold's blank or break, or a kept line break, is where a line of the file ends.
        assert character in " \n"
    elif node.style == "double":
        assert there == "\\"
    else:
        assert node.style == "single"
        assert text[place : place + 2] == "''"
        assert character == "'"


@pytest.mark.parametrize("line_break", BREAKS, ids=("lf", "crlf", "cr"))
def test_every_character_of_the_corpus_is_found(line_break: str) -> None:
    assert sum(check(text.replace("\n", line_break)) for text in CORPUS.values()) > 300


def test_every_character_of_the_examples_is_found() -> None:
    assert sum(check(TEXTS[name]) for name in list(TEXTS)[::5]) > 5_000


LINES = st.lists(st.sampled_from(["x", "y z", "é😀", "", " deep", "  ", "# t", "{{ a }}", "\ttab"]), max_size=6)


@given(
    st.sampled_from("|>"),
    st.sampled_from(["", "-", "+", "2", "2-", "+2", "1"]),
    LINES,
    st.integers(0, 3),
    st.sampled_from(BREAKS),
    st.sampled_from(["\n", ""]),
    st.sampled_from(["", "b: 1\n", "# end\n"]),
)
def test_block_scalars(
    kind: str, header: str, lines: list[str], blank: int, line_break: str, last: str, after: str
) -> None:
    indent = int(re.sub(r"\D", "", header) or 2)
    body = [*[""] * blank, "first", *lines]
    text = f"a: {kind}{header}\n" + "\n".join(" " * indent + line if line else "" for line in body) + last
    text += after if last else ""
    check(text.replace("\n", line_break))


FLOW = st.lists(st.sampled_from(["a", "b  c", "é", "😀", "\n  ", "\n\n ", " ", "''"]), min_size=1, max_size=7).map(
    "".join
)
ESCAPED = st.lists(
    st.sampled_from(
        ["a", "b  c", "\\n", "\\u00e9", "\\U0001F600", "\\x41", "\\\\", '\\"', "\\\n  ", "\n  ", "\n\n ", "\\ "]
    ),
    max_size=8,
).map("".join)


@given(FLOW, st.sampled_from(BREAKS))
def test_single_quoted_scalars(inner: str, line_break: str) -> None:
    assert check(f"a: ['{inner}', 'b']\n".replace("\n", line_break)) > 1


@given(ESCAPED, st.sampled_from(BREAKS))
def test_double_quoted_scalars(inner: str, line_break: str) -> None:
    assert check(f'a:\n  - "{inner}"\n'.replace("\n", line_break)) >= 1


@given(st.lists(st.sampled_from(["a", "b c", "é😀", ""]), min_size=1, max_size=6), st.sampled_from(BREAKS))
def test_plain_scalars(lines: list[str], line_break: str) -> None:
    text = "a: x" + "".join(f"\n  {line}" for line in lines) + "\nb: 1\n"
    assert check(text.replace("\n", line_break)) >= 3


def scalar(text: str, key: str) -> tuple[Source, Scalar]:
    tree = read(text)
    assert isinstance(tree.root, Mapping)
    node = tree.root.get(key)
    assert isinstance(node, Scalar)
    return tree.source, node


@pytest.mark.parametrize(
    ("text", "index", "place"),
    [
        ("a: one\n", 3, 6),
        ("a: 'one'\n", 3, 7),
        ('a: "o\\n"\n', 2, 7),
        ('a: "x\\u00e9y"\n', 2, 11),
        ("a: 'it''s'\n", 3, 8),
        ("a: |\n\n  x\n  yz\n", 4, 13),
        ("a: >\n  x\n  y\n", 1, 8),
        ("a: |2-\n    x\n", 2, 11),
        ("a: one\n  two\n", 3, 6),
        ("a: one\n", 99, 6),
        ("a: one\n", -1, 3),
        ("a: |\n  x\n", 99, 9),
    ],
)
def test_places(text: str, index: int, place: int) -> None:
    source, node = scalar(text, "a")
    assert offset_in_source(source, node, index) == place


def test_inside_an_alias_it_is_the_use() -> None:
    text = 'a: &x "one two"\nb: *x\n'
    source, node = scalar(text, "b")
    assert {offset_in_source(source, node, index) for index in range(8)} == {text.index("*x")}


def test_a_stand_in_is_its_own_text() -> None:
    source, node = scalar("a: @bad\n", "a")
    assert node.broken
    assert [offset_in_source(source, node, index) for index in range(5)] == [3, 4, 5, 6, 7]
