"""One text, one tree: by libyaml's events, by ruamel.yaml's own and by the tolerant parser; and what is in it."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.syntax.events import HAS_C
from analyzer.syntax.nodes import Mapping, Scalar, Sequence, plain_value, walk
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source
from tests.syntax.trees import CORPUS, ROOT, corpus_texts, everything, nest, read, shape, tolerant

BREAKS = ("\n", "\r\n", "\r")
TEXTS = corpus_texts()


@pytest.mark.skipif(not HAS_C, reason="needs the C extension")
@pytest.mark.parametrize("line_break", BREAKS, ids=("lf", "crlf", "cr"))
@pytest.mark.parametrize("name", CORPUS)
def test_every_parser_reads_the_corpus_alike(name: str, line_break: str) -> None:
    text = CORPUS[name].replace("\n", line_break)
    by_c = everything(read(text, "c"))
    assert by_c == everything(read(text, "pure"))
    assert by_c[:2] == tolerant(text)


@pytest.mark.skipif(not HAS_C, reason="needs the C extension")
def test_every_parser_reads_the_examples_alike() -> None:
    files = [name for name in TEXTS if name not in CORPUS]
    assert files
    for name in files:
        text = TEXTS[name]
        by_c = read(text, "c")
        if not by_c.problems:
            assert (name, shape(by_c.root), []) == (name, *tolerant(text))
    for name in files[::25]:
        assert (name, everything(read(TEXTS[name], "c"))) == (name, everything(read(TEXTS[name], "pure")))


@pytest.mark.parametrize("name", TEXTS)
def test_spans_nest_and_lie_in_the_text(name: str) -> None:
    tree = read(TEXTS[name])
    if tree.root is not None:
        nest(TEXTS[name], tree.root)


# --- generated documents ---------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["a", "b c", "x-1", "é", "😀 z", "12", "true", "~", "1.5", "no", "a:b", "c#d", "{{ x }}", "", " "]
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


PLAIN = st.sampled_from(["a", "b c", "x-1", "é", "😀 z", "12", "true", "~", "1.5", "no", "a:b", "c#d", "-x", "0x1f"])
SCALARS = st.one_of(
    PLAIN, WORDS.map(quoted), WORDS.map(lambda text: "'" + text.replace("'", "''") + "'"), st.just('"a\\n\\x41"')
)
KEYS = st.one_of(st.sampled_from(["a", "b c", "x-1", "é", "12", "wf.if", "name?"]), WORDS.map(quoted))
GAPS = st.sampled_from(["", "", "", " # c", "  "])


@st.composite
def flows(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(SCALARS)
    if draw(st.booleans()):
        return "[" + ", ".join(draw(st.lists(flows(depth - 1), max_size=3))) + "]"
    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    space = draw(st.sampled_from(["", " "]))
    return "{" + space + ", ".join(f"{key}: {draw(flows(depth - 1))}" for key in keys) + space + "}"


@st.composite
def blocks(draw: st.DrawFn, indent: int, depth: int) -> str:
    """The lines of a block collection, each with its line break."""
    pad = " " * indent
    lines: list[str] = []
    for key in draw(st.lists(KEYS, min_size=1, max_size=3, unique=True)):
        lead = draw(st.sampled_from([f"{key}:", "-"])) if not lines else lead_of(lines[0], pad, key)
        lines.append(f"{pad}{lead}" + draw(values(indent, depth, lead == "-")))
    return draw(st.sampled_from(["", "", "# c\n", "\n"])) + "".join(lines)


def lead_of(first: str, pad: str, key: str) -> str:
    return "-" if first.startswith(pad + "-") and not first.startswith(pad + "-x") else f"{key}:"


@st.composite
def values(draw: st.DrawFn, indent: int, depth: int, item: bool) -> str:
    kind = draw(st.sampled_from(["flow", "flow", "block", "text", "absent", "lines"]))
    pad = " " * (indent + draw(st.integers(1, 3)))
    if kind == "block" and depth:
        return draw(GAPS) + "\n" + draw(blocks(len(pad), depth - 1))
    if kind == "text":
        style = draw(st.sampled_from(["|", ">", "|-", ">+", "|+", ">-"]))
        lines = draw(st.lists(st.sampled_from(["x", "y z", "", " in", "# t", "a: b", "- c"]), max_size=4))
        first = pad + "first\n"
        return f" {style}{draw(GAPS)}\n" + first + "".join(f"{pad}{line}\n" if line else "\n" for line in lines)
    if kind == "absent":
        return draw(GAPS) + "\n"
    if kind == "lines":
        return f" one\n{pad}two" + draw(st.sampled_from(["", f"\n\n{pad}- three"])) + draw(GAPS) + "\n"
    return " " + draw(flows()) + draw(GAPS) + "\n"


@pytest.mark.skipif(not HAS_C, reason="needs the C extension")
@given(blocks(0, 3), st.sampled_from(BREAKS))
def test_generated_documents_are_read_alike(text: str, line_break: str) -> None:
    text = text.replace("\n", line_break)
    by_c = everything(read(text, "c"))
    assert by_c[:2] == tolerant(text)
    assert by_c == everything(read(text, "pure"))


# --- what the tree says ----------------------------------------------------------------------------------------------


def spans(text: str) -> dict[str, str]:
    """Each scalar's text, and what its span covers."""
    tree = read(text)
    assert tree.root is not None
    return {node.text: text[node.start : node.end] for node in walk(tree.root) if isinstance(node, Scalar)}


def test_spans_are_exact() -> None:
    found = spans("k: 'it''s'\nb: |-\n  x\n  y\n\nlast: [a b, \"q\"] # c\nm: one\n  two\n")
    assert found["it's"] == "'it''s'"
    assert found["x\ny"] == "|-\n  x\n  y"
    assert (found["a b"], found["q"], found["one two"]) == ("a b", '"q"', "one\n  two")


def test_block_collections_end_with_their_last_value() -> None:
    text = "a:\n  b: 1 # c\n\n# d\ne:\n  - f\n  - g: h\n\n"
    tree = read(text)
    assert isinstance(tree.root, Mapping)
    assert [text[e.value.start : e.value.end] for e in tree.root.entries] == ["b: 1", "- f\n  - g: h"]
    assert (tree.root.start, tree.root.end) == (0, text.index("h") + 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a:\nb: 1\n", 2), ("a: # c\n", 2), ("{a: , b: 1}", 3), ("{a}", 2), ("- \n- b", 1), ("a: &x\n", 5)],
)
def test_an_absent_value_has_a_place(text: str, place: int) -> None:
    tree = read(text)
    assert tree.root is not None
    absent = next(node for node in walk(tree.root) if isinstance(node, Scalar) and node.value is None)
    assert (absent.start, absent.end, absent.text, absent.style) == (place, place, "", "plain")


def test_values_follow_the_core_schema() -> None:
    tree = read(CORPUS["numbers"])
    assert tree.root is not None
    assert plain_value(tree.root) == [
        *(0, -1, 2, 10, 15, 31, 1.0, 0.5, -1500.0, ".inf", "-.INF"),
        *("1_000", "1:30", "0x", 1000.0, "0b1", 0.5),
    ]
    words = read(CORPUS["words"])
    assert isinstance(words.root, Sequence)
    kinds = [node.value for node in words.root.items if isinstance(node, Scalar)]
    assert kinds[:12] == [True, True, True, "tRUE", None, None, None, None, "yes", "on", "No", "off"]
    assert kinds[12:] == [".nan", ".NaN", "nil"]


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", "1e999", "-2E+400", "!!float .NaN"])
def test_a_number_that_is_not_finite_is_told_and_is_no_value(text: str) -> None:
    tree = read(f"a: [{text}, 1, '.inf']\n")
    at = 4 + (len("!!float ") if text[0] == "!" else 0)
    assert [(each.rule, each.start) for each in tree.problems] == [("invalid-value", at)]
    assert all(type(node.value) is not float for node in walk(tree.root) if isinstance(node, Scalar))


def test_core_tags_are_honoured() -> None:
    tree = read("a: !!str 12\nb: !!int '3'\nc: !!float 1\nd: ! 5\ne: !!null ''\nf: !<tag:yaml.org,2002:bool> 'true'\n")
    assert tree.problems == []
    assert tree.root is not None
    assert plain_value(tree.root) == {"a": "12", "b": 3, "c": 1.0, "d": "5", "e": None, "f": True}


def test_hidden_line_separators_are_text() -> None:
    text = 'a: x\u2028y\nb: "p\x85q"\nc: z\u2029\n\ufeffd: 1\n'
    tree = read(text)
    assert tree.problems == []
    assert tree.root is not None
    assert plain_value(tree.root) == {"a": "x\u2028y", "b": "p\x85q", "c": "z\u2029", "\ufeffd": 1}
    assert tree.source.line_column(text.index("d: 1")) == (3, 1)


def test_aliases_stand_at_their_use_and_know_their_origin() -> None:
    text = "a: &x {b: [1, 2]}\nc: *x\nd: &y [*x]\ne: *y\n"
    tree = read(text)
    assert isinstance(tree.root, Mapping)
    use = tree.root.get("c")
    anchored = tree.root.get("a")
    assert isinstance(use, Mapping)
    assert isinstance(anchored, Mapping)
    assert use.origin is anchored
    assert text[use.start : use.end] == "*x"
    inner = use.get("b")
    assert isinstance(inner, Sequence)
    assert (inner.origin, inner.start) == (anchored.get("b"), use.start)
    again = tree.root.get("e")
    assert isinstance(again, Sequence)
    assert again.items[0].origin is anchored
    assert plain_value(again) == [{"b": [1, 2]}]


def test_comments_are_found_where_comments_are() -> None:
    tree = read(CORPUS["comments"])
    assert [(comment.text, comment.own_line) for comment in tree.comments] == [
        ("# top", True),
        ("# one", False),
        ("# between", True),
        ("# two", False),
        ("# head", False),
        ("# in", False),
        ("#end", True),
    ]


def test_garbage_collection_is_left_as_it_was() -> None:
    assert gc.isenabled()
    parse(Source("a: [", ""))
    assert gc.isenabled()
    gc.disable()
    try:
        parse(Source("a: 1", ""))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_without_the_c_extension_everything_works() -> None:
    script = (
        "import sys; sys.modules['_ruamel_yaml'] = None\n"
        "from analyzer.syntax.parse import parse\n"
        "from analyzer.syntax.source import Source\n"
        "tree = parse(Source('a: [1, {b: c}]\\nd: e: f\\n'))\n"
        "print([(p.start, p.rule) for p in tree.problems], len(tree.root.entries))\n"
        "try:\n"
        "    parse(Source('a: 1'), backend='c')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == [
        "[(19, 'yaml-syntax')] 2",
        "ruamel.yaml's C extension is not installed; install ruamel.yaml.clib",
    ]
