"""Broken text: what is reported, exactly where, and what of the file survives it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.syntax.nodes import Mapping, Scalar, is_cut, plain_value, walk
from tests.syntax.trees import CORPUS, corpus_texts, everything, nest, read

# (text, [(line, column, end line, end column, part of the message)], the tree's value); lines and columns from 1.
Place = tuple[int, int, int, int, str]
CASES: list[tuple[str, list[Place], Any]] = [
    # Keys.
    ("a: 1\nfoo\nb: 2\n", [(2, 1, 2, 4, "no colon; write `foo: value`")], {"a": 1, "foo": "", "b": 2}),
    ("name x\nb: 2\n", [(1, 1, 1, 7, "no colon; write `name: value`")], {"name x": "", "b": 2}),
    ("steps\n  - a: 1\nb: 2\n", [(1, 1, 1, 6, "no colon")], {"steps": [{"a": 1}], "b": 2}),
    ("- a\n    x: 1\n- b: 2\n", [(1, 3, 1, 4, "no colon")], [{"a": {"x": 1}}, {"b": 2}]),
    ("a:1\nb: 2\n", [(1, 2, 1, 3, "needs a space after it; write `a: …`")], {"a": 1, "b": 2}),
    ("- a:1\n  c: 3\n", [(1, 4, 1, 5, "needs a space")], [{"a": 1, "c": 3}]),
    ('"a: 1\nb: 2\n', [(1, 1, 1, 2, "quote is never closed")], {"b": 2}),
    ("a: 1\n@b: 2\nc: 3\n", [(2, 1, 2, 2, "`@` cannot start a key")], {"a": 1, "b": 2, "c": 3}),
    ("a: 1\n}\nb: 2\n", [(2, 1, 2, 2, "`}` closes nothing")], {"a": 1, "b": 2}),
    ("a:\n  b: 1\n}} c: 2\n", [(3, 1, 3, 3, "`}` closes nothing")], {"a": {"b": 1}, "c": 2}),
    # Keys and brackets.
    ("a {b: 1}\nc: 2\n", [(1, 1, 1, 2, "no colon; write `a: …`")], {"a": {"b": 1}, "c": 2}),
    ("a:{b: 1}\nc: 2\n", [(1, 2, 1, 3, "needs a space after it; write `a: …`")], {"a": {"b": 1}, "c": 2}),
    ("- a [b: 1]\n- c: 2\n", [(1, 3, 1, 4, "no colon; write `a: …`")], [{"a": [{"b": 1}]}, {"c": 2}]),
    ("x: {a:{b: 1}}\n", [(1, 6, 1, 7, "needs a space after it; write `a: …`")], {"x": {"a": {"b": 1}}}),
    ("x: {a b:{c: 1}}\n", [(1, 8, 1, 9, "needs a space after it")], {"x": {"a b": {"c": 1}}}),
    ("s:\n  -a: 1\n  - b: 2\n", [(2, 3, 2, 4, "one `-` and a space")], {"s": [{"a": 1}, {"b": 2}]}),
    ("s:\n  -a:\n      x: 1\n  - b: 2\n", [(2, 3, 2, 4, "one `-`")], {"s": [{"a": {"x": 1}}, {"b": 2}]}),
    ("s:\n\t- a: 1\n  - b: 2\n", [(2, 1, 2, 2, "A tab cannot")], {"s": [{"a": 1}, {"b": 2}]}),
    ("s:\n\t- a:\n      x: 1\n  - b: 2\n", [(2, 1, 2, 2, "A tab cannot")], {"s": [{"a": {"x": 1}}, {"b": 2}]}),
    ("i: {a: list[b], c: 1}\n", [(1, 8, 1, 15, 'must be quoted: `"list[b]"`')], {"i": {"a": "list[b]", "c": 1}}),
    ('i: {a: enum["x"]?}\n', [(1, 8, 1, 18, "`'enum[\"x\"]?'`")], {"i": {"a": 'enum["x"]?'}}),
    ("i: {a: b[0].c, d: 1}\n", [(1, 8, 1, 14, "this text must be quoted")], {"i": {"a": "b[0].c", "d": 1}}),
    # Values.
    ("a: b: c\nd: 1\n", [(1, 5, 1, 6, "`:` inside this text must be quoted")], {"a": "b: c", "d": 1}),
    ("a: @foo\nb: 1\n", [(1, 4, 1, 5, "`@` cannot start a value; quote it")], {"a": "@foo", "b": 1}),
    ("a: `foo\nb: %x\n", [(1, 4, 1, 5, "A backtick cannot"), (2, 4, 2, 5, "`%` cannot")], {"a": "`foo", "b": "%x"}),
    ("a: - b\nc: 1\n", [(1, 4, 1, 5, "A list begins on its own line")], {"a": ["b"], "c": 1}),
    ("a: |foo\n  bar\nb: 1\n", [(1, 4, 1, 5, "`|` begins a text on the lines below")], {"a": "|foo", "b": 1}),
    ("a: }\nb: 1\n", [(1, 4, 1, 5, "`}` closes nothing")], {"a": "}", "b": 1}),
    ("a: *\nb: 1\n", [(1, 4, 1, 5, "`*` cannot start a value")], {"a": "*", "b": 1}),
    ("a: *y\nb: 1\n", [(1, 4, 1, 6, "No anchor `&y`")], {"a": "*y", "b": 1}),
    ("a: & x\nb: 1\n", [(1, 4, 1, 5, "An anchor needs a name")], {"a": "x", "b": 1}),
    ("a: &x &y 1\n", [(1, 4, 1, 9, "one anchor and one tag at most")], {"a": 1}),
    ("a: !!int x\nb: 1\n", [(1, 10, 1, 11, "not what its tag `!!int` says")], {"a": "x", "b": 1}),
    # Interpolations.
    ("a: {{ inputs.\nb: 1\n", [(1, 4, 1, 5, "not closed and not quoted")], {"a": "{{ inputs.", "b": 1}),
    ("a: {{ x }} y\nb: 1\n", [(1, 4, 1, 13, "interpolation must be quoted")], {"a": "{{ x }} y", "b": 1}),
    ("a: {b: {{ x[0] }}, c: 2}\n", [(1, 8, 1, 18, "must be quoted")], {"a": {"b": "{{ x[0] }}", "c": 2}}),
    ("a: {{ x }}\nb: 1\n", [(1, 4, 1, 11, "must be quoted")], {"a": "{{ x }}", "b": 1}),
    # Quotes.
    ('a: "foo\nb: 1\n', [(1, 4, 1, 5, 'never closed; write `"`')], {"a": '"foo', "b": 1}),
    ('a: "foo\nb: "bar"\nc: 1\n', [(1, 4, 1, 5, "never closed")], {"a": '"foo', "b": "bar", "c": 1}),
    ("a: 'x\nb: 'y'\nc: z\n", [(1, 4, 1, 5, "never closed; write `'`")], {"a": "'x", "b": "y", "c": "z"}),
    ("a: 'it's'\nb: 1\n", [(1, 8, 1, 10, "write `''` for a quote")], {"a": "it", "b": 1}),
    ('a: "x" y\nb: 1\n', [(1, 8, 1, 9, "Text after the closing quote")], {"a": "x", "b": 1}),
    ('a: "x\\q"\nb: 1\n', [(1, 6, 1, 8, "escape `\\q` is unknown")], {"a": "x\\q", "b": 1}),
    ('a: "\\ud83d"\nb: 1\n', [(1, 5, 1, 11, "escape `\\ud83d` is unknown")], {"a": "\\ud83d", "b": 1}),
    ('a: {b: "x, c: "y" }\nd: 1\n', [(1, 8, 1, 9, "never closed")], {"a": {"b": '"x', "c": "y"}, "d": 1}),
    # Brackets.
    ("a: {x: 1, y: 2\nb: 1\n", [(1, 4, 1, 5, "`{` is never closed; write `}`")], {"a": {"x": 1, "y": 2}, "b": 1}),
    ("a: [1, 2\nb: 1\n", [(1, 4, 1, 5, "`[` is never closed; write `]`")], {"a": [1, 2], "b": 1}),
    ("a: {x: [1, 2 }\nb: 1\n", [(1, 8, 1, 9, "write `]` before the `}`")], {"a": {"x": [1, 2]}, "b": 1}),
    ("a: {x: 1}}\nb: 1\n", [(1, 10, 1, 11, "`}` closes nothing")], {"a": {"x": 1}, "b": 1}),
    ("a: [1]] # c\nb: 1\n", [(1, 7, 1, 8, "`]` closes nothing")], {"a": [1], "b": 1}),
    ("a: {x: 1 y: 2}\nb: 1\n", [(1, 10, 1, 11, "A `,` is missing")], {"a": {"x": "1", "y": 2}, "b": 1}),
    ("a: {x: 1,\n  y: 2\n  z: 3}\nb: 1\n", [(3, 3, 3, 4, "A `,` is missing")], {"a": {"x": 1, "y": 2, "z": 3}, "b": 1}),
    ("a: {x: 1, , y: 2}\n", [(1, 11, 1, 12, "Nothing stands before this `,`")], {"a": {"x": 1, "y": 2}}),
    (
        'a: {x:"{{ y }}", z "{{ w }}"}\nb: 1\n',
        [(1, 6, 1, 7, "needs a space after it; write `x: …`"), (1, 18, 1, 19, "no colon; write `z: …`")],
        {"a": {"x": "{{ y }}", "z": "{{ w }}"}, "b": 1},
    ),
    ("a: {b\n : 1}\nc: 1\n", [(1, 5, 1, 6, "must stand on one line")], {"a": {"b": 1}, "c": 1}),
    ("s:\n- a: 1\n  b: [\n- c: 1\n", [(3, 6, 3, 7, "never closed")], {"s": [{"a": 1, "b": []}, {"c": 1}]}),
    ("r: {\n  a: 1,\n  b: 2\nc: 3\n", [(1, 4, 1, 5, "never closed")], {"r": {"a": 1, "b": 2}, "c": 3}),
    # Indentation.
    (
        "a: 1\n  b: 2\n  d: 4\nc: 3\n",
        [(2, 3, 2, 4, "more than the entries around it")],
        {"a": 1, "b": 2, "d": 4, "c": 3},
    ),
    ("s:\n  a:\n    x: 1\n   y: 2\nr: 1\n", [(4, 4, 4, 5, "indented less")], {"s": {"a": {"x": 1, "y": 2}}, "r": 1}),
    ("s:\n  - a: 1\n - b: 2\nr: 1\n", [(3, 2, 3, 8, "indent it by 2")], {"s": [{"a": 1}, {"b": 2}], "r": 1}),
    ("s:\n  - a: 1\n   - b: 2\nr: 1\n", [(3, 4, 3, 10, "indented more")], {"s": [{"a": 1}, {"b": 2}], "r": 1}),
    ("a:\n\tb: 1\n\tc: 2\nd: 1\n", [(2, 1, 2, 2, "A tab cannot be used")], {"a": {"b": 1, "c": 2}, "d": 1}),
    ("s:\n  - a: 1\n\t- b: 1\nr: 1\n", [(3, 1, 3, 2, "A tab cannot")], {"s": [{"a": 1}, {"b": 1}], "r": 1}),
    ("a:\n  b:\n\tx: 1\n    y: 2\nc: 1\n", [(3, 1, 3, 2, "A tab cannot")], {"a": {"b": {"x": 1, "y": 2}}, "c": 1}),
    # Lists.
    ("s:\n  - a: 1\n  b: 2\nr: 1\n", [(3, 3, 3, 4, "has no `-`")], {"s": [{"a": 1}, {"b": 2}], "r": 1}),
    ("s:\n  - a: 1\n  -b: 2\nr: 1\n", [(3, 3, 3, 4, "one `-` and a space")], {"s": [{"a": 1}, {"b": 2}], "r": 1}),
    ("s:\n  - a: 1\n  -- b: 2\nr: 1\n", [(3, 3, 3, 6, "one `-` and a space")], {"s": [{"a": 1}, {"b": 2}], "r": 1}),
    ("a: 1\n- b\nc: 2\n", [(2, 1, 2, 4, "list item cannot stand among the keys")], {"a": 1, "c": 2}),
    ("- 1\nfoo bar\n- 2\n", [(2, 1, 2, 8, "belongs to no entry")], [1, "foo bar", 2]),
    # Lines that belong nowhere.
    ('a: "x"\n  more\nb: 1\n', [(2, 3, 2, 7, "belongs to no entry")], {"a": "x", "b": 1}),
    ("a:\n  b:\n    c: 1\n (!\n    d: 2\ne: 1\n", [(4, 2, 4, 4, "no entry")], {"a": {"b": {"c": 1, "d": 2}}, "e": 1}),
    # Documents and directives.
    ("a: 1\n---\nb: [\n", [(2, 1, 2, 4, "A second document")], {"a": 1}),
    ("a: 1\n...\nb: 2\n", [(3, 1, 3, 2, "A second document")], {"a": 1}),
    ("%FOO\n---\na: 1\n", [(1, 1, 1, 5, "directive is unknown")], {"a": 1}),
    ("%YAML 2.0\n---\na: 1\n", [(1, 1, 1, 10, "must be `%YAML 1.2`")], {"a": 1}),
    ("%YAML 1.2\na: 1\n", [(1, 1, 1, 10, "needs a line `---`")], {"a": 1}),
    ("--- a: 1\nb: 2\n", [(1, 4, 1, 5, "on the line below `---`")], {"a": 1, "b": 2}),
    ("[a]\nb: 1\n", [(2, 1, 2, 5, "does not belong to the value above")], ["a"]),
    ("a: 1\n... x\n", [(2, 1, 2, 6, "after the end of the document")], {"a": 1}),
    # Keys and tags that YAML allows and a Workfile does not.
    ("a: 1\nb: 2\na: 3\n", [(3, 1, 3, 2, "The key `a` appears twice")], {"a": 1, "b": 2}),
    ("1: a\n1.0: b\n'1': c\ntrue: d\n", [(2, 1, 2, 4, "appears twice")], {1: "a", "1": "c"}),
    ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", [(2, 5, 2, 7, "Merge keys (`<<`)")], None),
    ("a: !foo bar\n", [(1, 4, 1, 8, "The tag `!foo` is not allowed")], {"a": "bar"}),
    ("a: !!set {b}\n", [(1, 4, 1, 9, "The tag `!!set`")], {"a": {"b": None}}),
    ("[a]: 1\nb: 2\n", [(1, 1, 1, 4, "A list cannot be a key")], None),
    (": 1\nb: 2\n", [(1, 1, 1, 3, "has no key")], None),
    ("a: &x [*x]\n", [(1, 8, 1, 10, "stands inside the value that it names")], {"a": ["*x"]}),
    # Characters.
    ("a: b\x07c\nd: 1\n", [(1, 5, 1, 6, "U+0007")], {"a": "b c", "d": 1}),
    ("a: b\x0cc\n", [(1, 5, 1, 6, "U+000C")], {"a": "b c"}),
    ("a: b\ud800c\n", [(1, 5, 1, 6, "Half of a surrogate pair")], {"a": "b c"}),
    ("a: \x00\x01x\n", [(1, 4, 1, 6, "U+0000")], {"a": "x"}),
    # Merge conflicts.
    (
        "<<<<<<< HEAD\na: 1\n=======\na: 2\nc: [\n>>>>>>> other\nb: 3\n",
        [(1, 1, 1, 13, "A merge conflict is left here")],
        {"a": 1, "b": 3},
    ),
    ("a: 1\n>>>>>>> other\nb: 3\n", [(2, 1, 2, 14, "A merge conflict")], {"a": 1, "b": 3}),
    (
        "a:\n<<<<<<< x\n  b: 1\n||||||| base\n  b: 0\n=======\n  b: 2\n>>>>>>> y\nc: 3\n",
        [(2, 1, 2, 10, "A merge conflict")],
        {"a": {"b": 1}, "c": 3},
    ),
]


@pytest.mark.parametrize(("text", "expected", "value"), CASES, ids=[repr(case[0])[:50] for case in CASES])
def test_what_is_told_where_and_what_survives(text: str, expected: list[Place], value: Any) -> None:
    tree = read(text)
    found = []
    for problem in tree.problems:
        place = tree.source.range(problem.start, problem.end)
        found.append((place.start_line, place.start_column, place.end_line, place.end_column, problem.message))
    assert [place[:4] for place in found] == [place[:4] for place in expected], found
    for told, wanted in zip(found, expected, strict=True):
        assert wanted[4] in told[4]
    if value is not None:
        assert tree.root is not None
        assert plain_value(tree.root) == value


@pytest.mark.parametrize("text", [case[0] for case in CASES], ids=[repr(case[0])[:50] for case in CASES])
def test_the_backend_makes_no_difference(text: str) -> None:
    assert everything(read(text)) == everything(read(text, "pure"))


@pytest.mark.parametrize("line_break", ["\r\n", "\r"], ids=("crlf", "cr"))
@pytest.mark.parametrize("text", [case[0] for case in CASES], ids=[repr(case[0])[:50] for case in CASES])
def test_the_line_break_makes_no_difference(text: str, line_break: str) -> None:
    def places(text: str) -> list[tuple[object, str]]:
        tree = read(text)
        return [(tree.source.range(problem.start, problem.end), problem.message) for problem in tree.problems]

    assert places(text) == places(text.replace("\n", line_break))


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        ("a: {b: 1, c", ["root", "a"]),
        ("a: {b: 1, c\nd: 1\n", ["a"]),
        ("a: {b: [1\nd: 1\n", ["a", "b"]),
        ("a:\n  b: 'x", ["root", "a"]),
        ("a:\n  b: 1\n  c\nd: {e: 1}\n", []),
        ("a:\n  b: 1\n  ]\nd: {e: 1}\n", ["a"]),
        ("a: {b: 1}\nd: @x", []),
        ("{", ["root"]),
    ],
)
def test_what_may_be_incomplete_is_marked(text: str, partial: list[str]) -> None:
    found = []
    stack: list[tuple[str, Any]] = [("root", read(text).root)]
    while stack:
        name, node = stack.pop()
        if is_cut(node):
            found.append(name)
        for entry in reversed(node.entries) if isinstance(node, Mapping) else ():
            assert isinstance(entry.key, Scalar)
            stack.append((entry.key.text, entry.value))
    assert found == partial


def test_a_half_typed_last_word_is_broken() -> None:
    root = read("a: {b: 1, c").root
    assert isinstance(root, Mapping)
    inner = root.get("a")
    assert isinstance(inner, Mapping)
    assert [(entry.key.text, entry.key.broken) for entry in inner.entries if isinstance(entry.key, Scalar)] == [
        ("b", False),
        ("c", True),
    ]


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("i: {a: list[b]}\n", 'i: {a: "list[b]"}\n'),
        ('i: {a: enum["x"]}\n', "i: {a: 'enum[\"x\"]'}\n"),
        ("a: {{ x }}\n", 'a: "{{ x }}"\n'),
        ("a: {{ x }} y\n", 'a: "{{ x }} y"\n'),
        ("a: {b: {{ x[0] }}, c: 2}\n", 'a: {b: "{{ x[0] }}", c: 2}\n'),
        ('a: {{ x == "y" }} z\n', "a: '{{ x == \"y\" }} z'\n"),
    ],
)
def test_what_must_be_quoted_can_be_quoted(text: str, mended: str) -> None:
    (problem,) = read(text).problems
    assert problem.fix is not None
    _, start, end, quoted = problem.fix
    assert text[:start] + quoted + text[end:] == mended
    assert not read(mended).problems


def test_what_no_quote_can_hold_gets_no_fix() -> None:
    (problem,) = read('a: {{ x == "y" }} it\'s\n').problems
    assert problem.fix is None


def test_rules_are_named() -> None:
    rules = {case[0]: [problem.rule for problem in read(case[0]).problems] for case in CASES}
    assert rules["a: 1\n---\nb: [\n"] == ["multiple-documents"]
    assert rules["a: &x [*x]\n"] == ["recursive-alias"]
    assert rules["a: 1\nb: 2\na: 3\n"] == ["duplicate-key"]
    assert rules["[a]: 1\nb: 2\n"] == ["non-string-key"]
    assert rules["a: {{ x }}\nb: 1\n"] == ["non-string-key"]
    assert rules["a: !foo bar\n"] == ["custom-tag"]
    assert rules["a: &x {b: 1}\nc: {<<: *x, d: 2}\n"] == ["merge-key"]
    assert rules["a: b: c\nd: 1\n"] == ["yaml-syntax"]


def test_related_places() -> None:
    duplicate = read("a: 1\nb: 2\na: 3\n").problems[0]
    assert duplicate.related == ((0, 1, "first here"),)
    conflict = read("<<<<<<< a\nx: 1\n=======\n>>>>>>> b\n").problems[0]
    assert [text for *_, text in conflict.related] == ["the conflict goes on here", "the conflict ends here"]
    recursive = read("a: &x [*x]\n").problems[0]
    assert [span[:2] for span in recursive.related] == [(6, 7)]


def test_each_region_is_told_once_and_the_rest_is_sound() -> None:
    text = 'a: "x\nb: 1\nc: [1\nd:\n  e: @\n  f: 2\ng: h: i\nj: 3\n'
    tree = read(text)
    assert [tree.source.line_column(problem.start)[0] + 1 for problem in tree.problems] == [1, 3, 5, 7]
    assert isinstance(tree.root, Mapping)
    sound = [entry.key.value for entry in tree.root.entries if isinstance(entry.key, Scalar) and not entry.key.broken]
    assert sound == ["a", "b", "c", "d", "g", "j"]
    broken = [node.text for node in walk(tree.root) if isinstance(node, Scalar) and node.broken]
    # The `1` is the last word of a list that is not closed: it may be half typed.
    assert broken == ['"x', "1", "@", "h: i"]


# --- text that is being typed ----------------------------------------------------------------------------------------

WHOLE = """\
workfile: "1.0"
name: typed
inputs: { amount: integer, note?: string }
steps:
  - charge:
      payments.charge: { amount: "{{ inputs.amount }}", to: [a, 'b'] }
      retry: { attempts: 3, delay: 2s } # comment
      description: |
        text
          more
  - wait:
      wf.wait: >-
        5
        m
result: {}
"""


def test_every_prefix_of_a_file_parses() -> None:
    for end in range(len(WHOLE)):
        tree = read(WHOLE[:end])
        assert len(tree.problems) <= 1, WHOLE[:end]
        if end > 40:
            assert isinstance(tree.root, Mapping)
            assert tree.root.get("workfile") is not None
        if tree.root is not None:
            nest(WHOLE[:end], tree.root)


def test_every_file_without_one_value_parses() -> None:
    tree = read(WHOLE)
    assert tree.root is not None
    entries = [entry for node in walk(tree.root) if isinstance(node, Mapping) for entry in node.entries]
    assert len(entries) > 12
    for entry in entries:
        text = WHOLE[: entry.value.start] + WHOLE[entry.value.end :]
        assert not read(text).problems, text


def test_every_file_without_one_character_parses() -> None:
    for name, text in CORPUS.items():
        for place in range(len(text)):
            cut = text[:place] + text[place + 1 :]
            tree = read(cut)
            assert len(tree.problems) <= 4, (name, place, [problem.message for problem in tree.problems])
            if tree.root is not None:
                nest(cut, tree.root)


# --- anything at all -------------------------------------------------------------------------------------------------

TOKENS = st.sampled_from(
    [
        *(
            "a",
            "b c",
            "1",
            ": ",
            ":",
            "- ",
            "-",
            "? ",
            "\n",
            "\n  ",
            "\n    ",
            "\n ",
            " ",
            "\t",
            "\r\n",
            "\r",
            '"',
            "'",
        ),
        *(
            "[",
            "]",
            "{",
            "}",
            ", ",
            ",",
            "# c",
            "#",
            "|",
            ">",
            "|2-\n",
            ">+\n",
            "&x ",
            "*x",
            "!!str ",
            "!t ",
            "\\",
            "\\n",
        ),
        *(
            "---\n",
            "...\n",
            "%TAG ! x\n",
            "%",
            "@",
            "`",
            "<<: ",
            "~",
            "{{ x }}",
            '"{{ a }}"',
            "é",
            "😀",
            "\x00",
            "\x85",
        ),
        *("\u2028", "\ufeff", "\ud800", "<<<<<<< a\n", "=======\n", ">>>>>>> b\n", "k: v\n", "- a: 1\n", "k:\n  "),
    ]
)
ANYTHING = st.one_of(st.lists(TOKENS, max_size=30).map("".join), st.text(max_size=40))
TEXTS = sorted(corpus_texts().values(), key=len)


def sound_answer(text: str) -> None:
    tree = read(text)
    size = len(tree.source.text)
    if tree.root is not None:
        for node in walk(tree.root):
            assert 0 <= node.start <= node.end <= size
    for problem in tree.problems:
        assert 0 <= problem.start <= problem.end <= size
        assert problem.message
    assert [p.start for p in tree.problems] == sorted(p.start for p in tree.problems)
    assert [c.start for c in tree.comments] == sorted(c.start for c in tree.comments)


@given(ANYTHING)
def test_any_text_parses(text: str) -> None:
    sound_answer(text)


@given(st.lists(TOKENS, max_size=12).map("".join))
def test_any_text_parses_alike_with_either_backend(text: str) -> None:
    by_default, by_pure = read(text), read(text, "pure")
    if not by_default.problems or not by_pure.problems:
        assert bool(by_default.problems) == bool(by_pure.problems)


@given(st.sampled_from(TEXTS), st.data())
def test_any_edit_of_a_file_parses(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 12, len(text))))
    sound_answer(text[:start] + data.draw(st.lists(TOKENS, max_size=2).map("".join)) + text[end:])
