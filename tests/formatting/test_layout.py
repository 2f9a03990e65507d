"""What the canonical layout looks like, construct by construct."""

from __future__ import annotations

import pytest

from analyzer.formatting import format_text

CASES = {
    "lists are indented under their key": (
        "steps:\n- a\n-   b:    1\n    c: 2\n",
        "steps:\n  - a\n  - b: 1\n    c: 2\n",
    ),
    "four columns become two": (
        "a:\n    b:\n        c: 1\n",
        "a:\n  b:\n    c: 1\n",
    ),
    "one blank inside braces and after colons, none inside brackets": (
        "a:   {b:   1,c: [ 1,2 ,3 ], }\n",
        "a: { b: 1, c: [1, 2, 3] }\n",
    ),
    "empty flow collections have no blanks": ("a: { }\nb: [ ]\n", "a: {}\nb: []\n"),
    "a flow collection of several lines has an entry on each line": (
        "a: [b,\n  c]\n",
        "a:\n  [\n    b,\n    c,\n  ]\n",
    ),
    "flow collections in each other are laid out each by itself": (
        "- {a: 1, b: [x, y],\n   c: [x,\n y]}\n",
        "- {\n    a: 1,\n    b: [x, y],\n    c: [\n      x,\n      y,\n    ],\n  }\n",
    ),
    "comments in a flow collection stay with their entries": (
        "a: [ # all\n  b # one\n  , c,\n  # two\n  d # three\n  # end\n]\n",
        "a:\n  [  # all\n    b,  # one\n    c,\n    # two\n    d,  # three\n    # end\n  ]\n",
    ),
    "empty lines are one at most, and none at the start of a block": (
        "\n\na:\n\n  b: 1\n\n\n\n  c: 2\n\n\nd: 3\n\n\n",
        "a:\n  b: 1\n\n  c: 2\n\nd: 3\n",
    ),
    "blanks at line ends go": ("a: 1  \nb:   \n  - c \t\n", "a: 1\nb:\n  - c\n"),
    "a comment at a line's end stands behind two blanks": (
        "a: 1 # x\nb:   # y\n  c: 2      # z\n",
        "a: 1  # x\nb:  # y\n  c: 2  # z\n",
    ),
    "a comment moves with what it stands above": (
        "a:\n    # about b\n    b: 1\n    # at the end of a\n# about c\nc: 2\n",
        "a:\n  # about b\n  b: 1\n  # at the end of a\n# about c\nc: 2\n",
    ),
    "a comment above a list item at its key's column": (
        "a:\n# about one\n- one\n# about two\n- two\n# about b\nb: 1\n",
        "a:\n  # about one\n  - one\n  # about two\n  - two\n# about b\nb: 1\n",
    ),
    "the last comment of a file stays outside": ("a:\n- b\n# end\n", "a:\n  - b\n# end\n"),
    "a comment between a key and its value": (
        "a: # why\n    # because\n    text\n",
        "a:  # why\n  # because\n  text\n",
    ),
    "a comment behind a dash": ("- # x\n  a: 1\n", "-  # x\n  a: 1\n"),
    "lists in lists": ("-   - a\n    -   - b\n", "- - a\n  - - b\n"),
    "absent values": ("a:\nb:\n- \n-   x\n", "a:\nb:\n  -\n  - x\n"),
    "block scalars move as they are": (
        "a:\n    b: |\n          one\n            two\n\n          three  \n    c: 1\n",
        "a:\n  b: |\n    one\n      two\n\n    three  \n  c: 1\n",
    ),
    "block scalars with an indentation of their own": (
        "a:\n    b: |1\n      x\n    c: 1\n",
        "a:\n  b: |1\n    x\n  c: 1\n",
    ),
    "block scalars that keep their line breaks": ("a: |+\n   x\n\n\nb: 1\n", "a: |+\n  x\n\n\nb: 1\n"),
    "block scalars without content": ("a: |\n\n\nb: >-\n", "a: |\n\nb: >-\n"),
    "a comment behind a block scalar's indicator": ("a: |   # why\n   x\n", "a: |  # why\n  x\n"),
    "a block scalar at the end without a line break": ("a: |\n     x", "a: |\n  x"),
    "folded text in quotes": (
        'a: "one\n       two \\\n          three\n\n   four"\n',
        'a: "one\n  two \\\n  three\n\n  four"\n',
    ),
    "plain text of several lines": ("- a:   b\n       c\n", "- a: b\n    c\n"),
    "anchors and aliases": (
        "a:   &x   {b: 1}\nc: &y   # why\n    d: 1\ne:   [ *x,*y ]\nf: &z\n- 1\n",
        "a: &x { b: 1 }\nc: &y  # why\n  d: 1\ne: [*x, *y]\nf: &z\n  - 1\n",
    ),
    "an anchor that ends with a dash": ("- &a-\n  b:   1\n", "- &a-\n  b: 1\n"),
    "tags of the core schema": ("a:   !!str   1\nb: !!map\n    c: 1\n", "a: !!str 1\nb: !!map\n  c: 1\n"),
    "quotes stay": ("a: 'x'\nb: \"y\"\nc: z\n", "a: 'x'\nb: \"y\"\nc: z\n"),
    "expressions stay": ('a: "{{  inputs.x   +1 }}"\n', 'a: "{{  inputs.x   +1 }}"\n'),
    "a document's start": ("# x\n---\na:   1\n", "# x\n---\na: 1\n"),
    "a flow map as the document": ("{a: 1,b: 2}", "{ a: 1, b: 2 }\n"),
    "lone pairs in flow lists": ("a: [ b:  1,c ]\n", "a: [b: 1, c]\n"),
    "keys without values in flow maps": ("a: {b, c: ,d: 1}\n", "a: { b, c, d: 1 }\n"),
    "comments alone": ("\n\n   # x\n\n\n# y", "# x\n\n# y\n"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
def test_layout(before: str, after: str) -> None:
    assert format_text(before) == after
    assert format_text(after) == after


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_breaks_and_byte_order_mark_are_kept(eol: str, mark: str) -> None:
    before = mark + eol.join(["a:   1", "b: |", "    x", "    y", "c: [1,", " 2]", ""])
    after = mark + eol.join(["a: 1", "b: |", "  x", "  y", "c:", "  [", "    1,", "    2,", "  ]", ""])
    assert format_text(before) == after


def test_mixed_line_breaks_become_the_most_frequent() -> None:
    assert format_text("a: 1\r\nb: 2\r\nc: 3\n") == "a: 1\r\nb: 2\r\nc: 3\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "a:   [1\nb: 2\n",
        'a:   "x\n',
        "a:   1\na: 2\n",
        "a:   1\n---\nb: 2\n",
        "<<:   {a: 1}\n",
        "a:   !custom 1\n",
        "a:   &x [*x]\n",
        "\ta:   1\n",
        "a:   " + "[" * 100_000,
    ],
)
def test_text_with_syntax_problems_stays_as_it_is(text: str) -> None:
    assert format_text(text) == text


@pytest.mark.parametrize("text", ["? a\n:   b\n", "just   text\n", "%YAML 1.2\n---\na:   1\n", "a:   1\n...\n"])
def test_text_that_the_layout_has_no_place_for_stays_as_it_is(text: str) -> None:
    assert format_text(text) == text
