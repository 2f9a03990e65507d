"""A tree made out of the one before is the tree of the text, whatever the edits were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.incremental.splice import changed_span, splice
from analyzer.syntax.nodes import walk
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.source import Source
from tests.incremental.edits import BATCHES, histories

EXAMPLES = sorted(Path(__file__).resolve().parents[2].glob("examples/*.workfile.yaml"))
TEXT = """\
workfile: "1.0"
name: some
steps:
  - first:
      wf.wait: 1h  # a comment
  - second: { wf.wait: 2h }
  # between
  - third:
      wf.let:
        a: "x # y"
        b: |
          text
  - last: { wf.wait: 3h }
result: done
"""


def flat(tree: Tree) -> list[Any]:
    """Everything in a tree, as plain values."""
    nodes = [] if tree.root is None else list(walk(tree.root))
    fields = ("start", "end", "text", "value", "style", "broken", "partial", "flow", "anchor")
    shown = [(type(node).__name__, *(repr(getattr(node, name, None)) for name in fields)) for node in nodes]
    comments = [(each.start, each.end, each.text, each.own_line) for each in tree.comments]
    problems = [(each.rule, each.start, each.end, each.message, each.related, each.fix) for each in tree.problems]
    return [*shown, *comments, *problems]


def after(before: str, now: str) -> Tree | None:
    """The tree that is made out of that of another text."""
    made = splice(parse(Source(before)), Source(now))
    if made is not None:
        assert flat(made) == flat(parse(Source(now)))
    return made


def test_a_tree_made_out_of_another_is_that_of_the_text() -> None:
    texts = [text for path in EXAMPLES if "\nsteps:" in (text := path.read_text(encoding="utf-8"))]
    made = 0
    for seed, history in histories([*texts, TEXT]):
        tree = parse(Source(history[0]))
        for number, text in enumerate(history[1:]):
            spliced = splice(tree, Source(text))
            fresh = parse(Source(text))
            if spliced is not None:
                made += 1
                assert flat(spliced) == flat(fresh), (seed, number)
            tree = fresh if spliced is None else spliced
    assert made > BATCHES / 6, "most edits inside steps go the short way"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1h", "90m"),
        ("  - second: { wf.wait: 2h }\n", ""),
        ("  - second: { wf.wait: 2h }\n", "  - second: { wf.wait: 2h }\n  - more:\n      wf.wait: 1m\n"),
        ("first:", "f:"),
        ("last: { wf.wait: 3h }", "last: { wf.wait: 3h, when: true }"),
        ("2h }", "2h "),
        ("# between", "# 😀"),
        ("  # between\n", ""),
    ],
)
def test_an_edit_inside_the_steps_is_parsed_alone(old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert after(TEXT, TEXT.replace(old, new)) is not None
    assert after(TEXT.replace(old, new), TEXT) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: some", "name: other"),  # outside the steps
        ("  - second", "x: 1\n  - second"),  # a root key between the steps
        ("2h }", "2h }\n---"),  # another document
        ("2h }", "&a 2h }"),  # an anchor
        ("1h ", "1h\t"),  # a tab
        ("steps:", "steps: "),  # the line of the list itself
    ],
)
def test_what_may_reach_further_is_parsed_as_a_whole(old: str, new: str) -> None:
    assert after(TEXT, TEXT.replace(old, new, 1)) is None


def test_the_last_step_may_be_the_end_of_the_file() -> None:
    text = TEXT.removesuffix("result: done\n")
    assert after(text, f"{text}  - more: {{ wf.wait: 1s }}") is not None


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        ("", "", (0, 0, 0)),
        ("abc", "abc", (3, 3, 3)),
        ("abc", "axc", (1, 2, 2)),
        ("aaa", "aa", (2, 3, 2)),
        ("aa", "aaa", (2, 2, 3)),
        ("ab", "xaby", (0, 2, 4)),
    ],
)
def test_the_span_of_a_change(old: str, new: str, span: tuple[int, int, int]) -> None:
    assert changed_span(old, new) == span
