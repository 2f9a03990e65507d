"""What the syntax tests share: trees as plain data, the two ways to one, and a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.syntax.clean import clean, restore
from analyzer.syntax.compose import PartsDiffer
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence
from analyzer.syntax.parse import Tree, parse
from analyzer.syntax.problems import Problems
from analyzer.syntax.recover import recover
from analyzer.syntax.source import Source

ROOT = Path(__file__).resolve().parents[2]


def shape(node: Node | None) -> Any:
    """Everything that a tree says, comparable."""
    if node is None:
        return None
    common = (node.start, node.end, node.anchor, None if node.origin is None else node.origin.start)
    if isinstance(node, Scalar):
        return ("scalar", *common, repr(node.value), node.text, node.style, node.broken)
    if isinstance(node, Mapping):
        return ("map", *common, node.flow, [(shape(entry.key), shape(entry.value)) for entry in node.entries])
    assert isinstance(node, Sequence)
    return ("list", *common, node.flow, [shape(item) for item in node.items])


def everything(tree: Tree) -> Any:
    """Tree, problems and comments as plain data."""
    problems = [(p.rule, p.start, p.end, p.message, p.related) for p in tree.problems]
    comments = [(c.start, c.end, c.text, c.own_line) for c in tree.comments]
    return shape(tree.root), problems, comments


def tolerant(text: str) -> Any:
    """A sound text's tree by the tolerant parser, which would not be asked, and the problems of it."""
    problems = Problems()
    cleaned = clean(text, problems)
    root = recover(cleaned.text, problems, PartsDiffer(), False).root
    if isinstance(root, Scalar) and root.start == root.end:
        root = None
    if root is not None and cleaned.restore:
        restore(root, cleaned.restore)
    return shape(root), [(p.rule, p.start, p.end, p.message, p.related) for p in problems.in_order()]


def read(text: str, backend: Any = "auto") -> Tree:
    """Parse a text."""
    return parse(Source(text, "t.yaml"), backend=backend)


def nest(text: str, node: Node) -> None:
    """Check that spans lie in the text and inside one another, in document order."""
    assert 0 <= node.start <= node.end <= len(text)
    if isinstance(node, Mapping):
        children = [child for entry in node.entries for child in (entry.key, entry.value)]
    elif isinstance(node, Sequence):
        children = node.items
    else:
        return
    place = node.start
    for child in children:
        if node.origin is None:
            assert place <= child.start <= child.end <= node.end, (node, child)
            place = child.end
        nest(text, child)


# Every construct of YAML that a Workfile may have, and some that it may not but that are YAML all the same.
CORPUS: dict[str, str] = {
    "steps": 'workfile: "1.0"\nname: a\nsteps:\n  - b:\n      c.d: { e: "{{ f }}", g: [1, 2.5, true, null] }\n',
    "indentless": "steps:\n- a: 1\n- b:\n  - c\n  - d\nname: x\n",
    "compact": "- - a\n  - b\n- c: 1\n  d: 2\n-\n  e: 3\n- \n- f\n",
    "absent": "a:\nb: # nothing\nc: {d: , e, f: }\ng: [h: , ]\n? i\n? j\n: k\n",
    "plain lines": "a: one\n  two\n\n  three # end\nb: [x\n y,\n  z]\n",
    "quoted": "a: \"x\\ty \\\n  z\n\n  w\"\nb: 'it''s\n  two'\nc: \"\\u00e9\\U0001F600\"\n",
    "block": "a: |\n  x\n   y\n\nb: >-\n  x\n  y\n\n   z\n  w\nc: |2+\n    x\n\nd: >\n\n  x\ne: |-\nf: 1\n",
    "block end": "a: |\n  x",
    "anchors": "a: &x {b: 1}\nc: *x\nd: &y\n  e: *x\nf: [*y, &z 1, *z]\n&k key: *z\n",
    "tags": "a: !!str 12\nb: !!int '3'\nc: !!map {d: !!null ''}\ne: !!seq\n- !!float 1\nf: ! 5\n",
    "comments": "# top\na: 1 # one\n# between\nb: 'x # no' # two\nc: |  # head\n  # text\nd: [1, # in\n  2]\n#end",
    "document": "%YAML 1.2\n---\na: 1\n...\n",
    "marker": "--- # c\na: 1\n",
    "marker value": "--- {a: 1}\n",
    "complex": "? [a, b]\n: 1\n? {c: d}\n: 2\n[e]: 3\n",
    "flow": "{a: [b, {c: d}], \"e\":1, 'f' : 2, g: http://x, ? h : i, j: -, k: [l: m, n]}\n",
    "numbers": "[0, -1, +2, 010, 0o17, 0x1F, 1., .5, -1.5e3, .inf, -.INF, 1_000, 1:30, 0x, 1e3, 0b1, +.5]\n",
    "words": "[true, True, TRUE, tRUE, null, Null, NULL, ~, yes, on, No, off, .nan, .NaN, nil]\n",
    "unicode": 'é: 😀\n請求: [ß, "\\u2028"]\nx: a\u2028b\x85c\ufeffd\n',
    "empty": "",
    "only comments": "# a\n  # b\n",
    "scalar": "just text\n",
    "deep key": "a.b-c?: 1\na b: 2\n'': 3\n",
    "colons": "a: b:c\nd: e::f\n:g: h\n",
    "dashes": "b: --\nc: -d\n---e: 1\n",
    "trailing": "a: 1   \nb: 2\t\n  \nc: x  \n\n\n",
    "interpolation": 'a: "{{ b }}"\nc: text {{ d }} more\ne: ["{{ f | g(1) }}"]\n',
}


def corpus_texts() -> dict[str, str]:
    """The corpus above and every YAML file of the examples."""
    files = sorted((ROOT / "examples").rglob("*.yaml")) + sorted((ROOT / "tests" / "conformance").rglob("*.yaml"))
    texts = dict(CORPUS)
    for path in files:
        data = path.read_bytes()
        if len(data) < 20_000 and not data.startswith(b"\xef\xbb\xbf"):
            texts[str(path.relative_to(ROOT))] = data.decode("utf-8", "replace")
    return texts
