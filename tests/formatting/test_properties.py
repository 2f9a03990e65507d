"""What formatting never does, on every file of the project and on made-up text."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.formatting import format_text
from analyzer.formatting.compare import same_tree
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from benchmarks.generate import HOSTILE, STEPS_MIN, workfile_text

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("tests/**/*.yaml")])

# Small words, every indicator, and line breaks with all kinds of indentation: most of what they make is not YAML, the
# rest is YAML of shapes that nobody would think of.
TOKENS = [
    *("a", "b c", "key: ", "a: 1", "x:\n", "- ", "-", ":", ": ", ", ", "[", "]", "{", "}", "null", "~", "{{ a.b }}"),
    *(
        "&x ",
        "*x",
        "*x ",
        "!!str ",
        "? ",
        "---\n",
        "|",
        "|-\n",
        "|2\n",
        ">\n",
        "|+\n",
        '"',
        "'",
        '"q"',
        '"m\n  n"',
        "\\",
    ),
    *(" # c", "# d", "\n# e\n", "\n  # f\n", "\t", "  ", "\n", "\n", "\n  ", "\n    ", "\n      ", "\n\n", "\r\n"),
]


def assert_same(before: str, after: str) -> None:
    one, other = parse(Source(before)), parse(Source(after))
    assert not other.problems
    assert [c.text.rstrip() for c in one.comments] == [c.text.rstrip() for c in other.comments]
    assert same_tree(one.root, other.root)


def check(text: str) -> None:
    formatted = format_text(text)
    if parse(Source(text)).problems:
        assert formatted == text
    else:
        assert_same(text, formatted)
    assert format_text(formatted) == formatted


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_keep_their_tree_and_comments(path: Path) -> None:
    check(path.read_bytes().decode("utf-8", "replace"))


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/**/*.yaml")), ids=lambda path: path.name)
def test_examples_are_in_the_canonical_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert parse(Source(text)).problems == []
    assert format_text(text) == text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    check(HOSTILE[name]())


@given(st.lists(st.sampled_from(TOKENS), max_size=20).map("".join))
def test_made_up_text(text: str) -> None:
    check(text)


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join), st.data())
def test_a_file_with_a_piece_put_in(piece: str, data: st.DataObject) -> None:
    text = workfile_text(STEPS_MIN)
    place = data.draw(st.integers(0, len(text)))
    check(text[:place] + piece + text[place:])


@given(factor=st.integers(1, 4), random=st.randoms(use_true_random=False))
def test_layout_does_not_depend_on_blanks(factor: int, random: Random) -> None:
    """Spread out in another way, the same file has the same canonical layout."""
    text = workfile_text(STEPS_MIN)
    lines = []
    for line in text.splitlines():
        content = line.lstrip(" ")
        indent = " " * ((len(line) - len(content)) * factor)
        if content.startswith("- "):
            content = "-" + " " * (2 * factor - 1) + content[2:]
        colon, blanks, end = (" " * random.randint(low, 3) for low in (1, 0, 0))
        content = re.sub(r"^(-? *[\w.]+:) (?=[^ ])", lambda key, colon=colon: key[1] + colon, content)
        content = re.sub(r"(?<=: )\{ (?=\w)", "{" + blanks, content)
        lines.append(indent + content + end)
        if random.random() < 0.1:
            lines.append(" " * random.randint(0, 5))
    spread = "\n".join(lines)
    assert [line for line in format_text(spread).splitlines() if line] == format_text(text).splitlines()
