"""The fast scan of names agrees with the parser wherever it is sure."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source, decode
from analyzer.workspace.names import Unsure, parsed_name, scan_name


@pytest.mark.parametrize(
    "text",
    [
        'workfile: "1.0"\nname: order\nsteps: []\n',
        "# c\n\n  # d\nname: 'order'   # e\nsteps:\n",
        'name: "order"\r\nsteps: []\r\n',
        "\ufeffname: order\n",
        "name: order",
        "name:   order # x\n# y\n\n",
        "version: v1.2\nname: a\nname: b\n",
    ],
)
def test_the_usual_forms_are_sure(text: str) -> None:
    found = scan_name(text.encode(), "name", complete=True)
    assert found is not None
    assert found == parsed_name(parse(Source(text)), "name")


@pytest.mark.parametrize(
    "text",
    [
        "name: 5\n",
        "name: null\n",
        "name: true\n",
        "name:\n  order\n",
        "name: order\n  more\n",
        "name: &a order\n",
        "name: !!str order\n",
        "name: |\n  order\n",
        "name: 'it''s'\n",
        'name: "a\\n"\n',
        "{name: order}\n",
        '"name": order\n',
        "name : order\n",
        "? name\n: order\n",
        "  name: order\n",
        "---\nname: order\n",
        "inputs: {\nname: string\n}\n",
        "description: >\n  x\nname: order\n",
        "name: two words\n",
        "name: order#x\n",
        "# \u2028name: a\nname: order\n",
        "name:\torder\n",
    ],
)
def test_the_unusual_ones_are_left_to_the_parser(text: str) -> None:
    with pytest.raises(Unsure):
        scan_name(text.encode(), "name", complete=True)


def test_a_beginning_without_the_name_is_not_sure() -> None:
    with pytest.raises(Unsure):
        scan_name(b"workfile: x\nname: ord", "name", complete=False)
    assert scan_name(b"workfile: x\nname: order\nsteps:\n  - ", "name", complete=False) == "order"


PIECES = st.lists(
    st.sampled_from(
        [
            "name: order",
            "name: 'a'",
            'name: "b"',
            "name: null",
            "workfile: x",
            "steps: []",
            "steps:",
            "  - a",
            "# c",
            " # d",
            "",
            "---",
            "name",
            "{",
            "}",
            "'",
            '"',
            "  name: c",
            "a: 'b",
            "x: y # z",
            "\ufeff",
            "\t",
            "...",
            "- e",
        ]
    ),
    max_size=6,
)


@given(PIECES, st.sampled_from(["\n", "\r\n", "\r"]))
@example(["name: order", "- e"], "\n")
@example(["name: 'a'", "'"], "\n")
def test_never_disagrees_with_the_parser_on_sound_files(lines: list[str], end: str) -> None:
    data = end.join(lines).encode()
    try:
        found = scan_name(data, "name", complete=True)
    except Unsure:
        return
    tree = parse(Source(decode(data)[0]))
    if not tree.problems:
        assert found == parsed_name(tree, "name")
