"""A step parsed alone is the step of the whole parse."""

from __future__ import annotations

import pytest

from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence
from analyzer.syntax.parse import parse_fragment
from analyzer.syntax.source import Source
from tests.syntax.trees import corpus_texts, read, shape

TEXT = """\
workfile: "1.0"
steps:
  - first:
      demo.set: { key: "é😀", value: [1, 2] } # one
      timeout: 5s

  # two
  - second:
      wf.let: { text: |
      }
  - third:
      demo.set:
        key: >-
          a
          b
        key: c
"""


def step_lists(node: Node) -> list[Sequence]:
    """Every block list of maps in a tree that has no aliases."""
    found = []
    if isinstance(node, Sequence):
        if not node.flow and node.items and all(isinstance(item, Mapping) for item in node.items):
            found.append(node)
        return found + [inner for item in node.items for inner in step_lists(item)]
    if isinstance(node, Mapping):
        return [inner for entry in node.entries for inner in step_lists(entry.value)]
    return found


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"], ids=("lf", "crlf", "cr"))
def test_each_step_of_each_file_alone(line_break: str) -> None:
    steps = 0
    for text in list(corpus_texts().values())[::4]:
        text = text.replace("\n", line_break)
        whole = read(text)
        if whole.root is None or whole.problems or "*" in text or "&" in text:
            continue
        for steps_list in step_lists(whole.root):
            starts = [whole.source.line_start(whole.source.line_of(item.start)) for item in steps_list.items]
            end = whole.source.line_start(whole.source.line_of(steps_list.end) + 1)
            ends = [*starts[1:], end if end > steps_list.end else len(text)]
            for item, start, stop in zip(steps_list.items, starts, ends, strict=True):
                fragment = parse_fragment(whole.source, start, stop)
                assert isinstance(fragment.root, Sequence)
                assert [shape(node) for node in fragment.root.items] == [shape(item)]
                inside = [c for c in whole.comments if start <= c.start < stop]
                assert [(c.start, c.text) for c in fragment.comments] == [(c.start, c.text) for c in inside]
                steps += 1
    assert steps > 100


def test_problems_stand_in_the_whole_text() -> None:
    source = Source(TEXT)
    start, end = TEXT.index("  - third"), len(TEXT)
    fragment = parse_fragment(source, start, end)
    assert [(p.rule, p.start, p.end) for p in fragment.problems] == [
        ("duplicate-key", TEXT.rindex("key"), TEXT.rindex("key") + 3)
    ]
    first = TEXT.index("key: >-")
    assert fragment.problems[0].related == ((first, first + 3, "it stands here first"),)


def test_a_part_may_begin_after_its_indentation() -> None:
    source = Source(TEXT)
    start, end = TEXT.index("- first"), TEXT.index("  # two")
    fragment = parse_fragment(source, start, end)
    assert shape(fragment.root) == shape(parse_fragment(source, start - 2, end).root)
    assert [comment.text for comment in fragment.comments] == ["# one"]


def test_a_broken_part_costs_only_itself() -> None:
    source = Source(TEXT)
    fragment = parse_fragment(source, TEXT.index("  - second"), TEXT.index("  - third"))
    assert fragment.problems
    assert isinstance(fragment.root, Sequence)
    step = fragment.root.items[0]
    assert isinstance(step, Mapping)
    assert isinstance(step.entries[0].key, Scalar)
    assert step.entries[0].key.value == "second"


def test_an_empty_part_is_nothing() -> None:
    tree = parse_fragment(Source(TEXT), 20, 20)
    assert (tree.root, tree.problems, tree.comments) == (None, [], [])
