"""Every bound is hit, told once, and costs bounded time and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest

from analyzer.syntax.limits import ALIAS_NODES, FILE_SIZE, LIMITS, NESTING, NUMBER_DIGITS, PROBLEMS
from analyzer.syntax.nodes import Mapping, Scalar, Sequence, plain_value, walk
from analyzer.syntax.parse import Tree
from tests.syntax.trees import everything, read

SECONDS_MAX = 10.0


def timed(text: str) -> Tree:
    start = time.monotonic()
    tree = read(text)
    assert time.monotonic() - start < SECONDS_MAX
    return tree


def limits_told(tree: Tree) -> list[str]:
    return [problem.message for problem in tree.problems if problem.rule == "limit-exceeded"]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\nlast: 1\n"


def test_an_alias_bomb_is_told_once() -> None:
    tree = timed(bomb(12))
    assert limits_told(tree) == [ALIAS_NODES.message()]
    assert tree.root is not None
    assert sum(1 for _ in walk(tree.root)) < 2 * ALIAS_NODES.value
    assert isinstance(tree.root, Mapping)
    assert [entry.key.value for entry in tree.root.entries if isinstance(entry.key, Scalar)][-1] == "last"


def test_aliases_cannot_go_round_the_nesting_bound() -> None:
    deep = "[" * 60 + "{}" + "]" * 60
    links = "".join(f"- &a{n} {deep.format(f'*a{n - 1}')}\n" for n in range(1, 40))
    tree = timed("- &a0 x\n" + links)
    assert limits_told(tree)[0] == NESTING.message()
    assert tree.root is not None
    depth = 0
    level = [tree.root]
    while level:
        depth += 1
        level = [
            child
            for node in level
            for child in (
                node.items
                if isinstance(node, Sequence)
                else [entry.value for entry in node.entries]
                if isinstance(node, Mapping)
                else []
            )
        ]
    assert depth <= NESTING.value + 1


@pytest.mark.parametrize(
    ("text", "survives"),
    [
        ("a: " + "[" * 100_000 + "\nb: 1\n", ["a", "b"]),
        ("a: " + "[" * 100_000 + "]" * 100_000 + "\nb: 1\n", ["a", "b"]),
        ("a: " + "{x: " * 20_000 + "\nb: 1\n", ["a", "b"]),
        ("a:\n  " + "- " * 100_000 + "\nb: 1\n", ["a", "b"]),
        ("a:\n" + "".join(" " * n + "k:\n" for n in range(1, 2_000)) + "b: 1\n", ["a", "b"]),
        ("a: 1\n" + "? " * 50_000 + "\nb: 1\n", []),
        ("[[{" * 30_000, []),
        ("{{ " * 30_000, []),
    ],
    ids=["open", "closed", "maps", "dashes", "indented", "questions", "mixed", "interpolations"],
)
def test_nesting_is_bounded(text: str, survives: list[str]) -> None:
    tree = timed(text)
    assert NESTING.message() in limits_told(tree)
    if survives:
        assert limits_told(tree) == [NESTING.message()]
        assert isinstance(tree.root, Mapping)
        assert [entry.key.value for entry in tree.root.entries if isinstance(entry.key, Scalar)] == survives


def test_what_is_just_nested_enough_is_read() -> None:
    depth = NESTING.value - 1
    tree = read("a: " + "[" * depth + "x" + "]" * depth)
    assert tree.problems == []
    assert limits_told(read("a: " + "[" * (depth + 1) + "x" + "]" * (depth + 1))) == [NESTING.message()]


def test_a_large_file_is_refused_at_once() -> None:
    tree = timed("a: 1\n" * 10_000_000)
    assert limits_told(tree) == [FILE_SIZE.message()]
    assert (tree.root, tree.comments) == (None, [])


def test_duplicate_keys_are_told_up_to_a_bound() -> None:
    tree = timed("a: 1\n" * 100_000)
    rules = [problem.rule for problem in tree.problems]
    assert rules == ["duplicate-key"] * PROBLEMS.value + ["limit-exceeded"]
    assert tree.problems[-1].message == PROBLEMS.message()
    assert isinstance(tree.root, Mapping)
    assert len(tree.root.entries) == 100_000


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "1" * 400, "0x" + "f" * 5_000, "1." + "0" * 5_000, "1" * 301])
def test_long_numbers_are_told(number: str) -> None:
    tree = read(f"a: {number}\nb: 1\n")
    assert limits_told(tree) == [NUMBER_DIGITS.message()]
    assert isinstance(tree.root, Mapping)
    value = tree.root.get("a")
    assert isinstance(value, Scalar)
    assert (value.broken, value.text) == (True, number)
    assert read("a: " + "9" * 300).problems == []
    assert read(f"a: '{number}'").problems == []


def test_long_keys_are_keys() -> None:
    for backend in ("auto", "pure"):
        tree = read("a: 1\n" + "k" * 5_000 + ": 2\nb: 3\n", backend)
        assert tree.problems == []
        assert isinstance(tree.root, Mapping)
        assert tree.root.get("k" * 5_000) is not None


# Texts whose every line is broken in the same way: the tolerant parser must stay linear.
HOSTILE: dict[str, Callable[[int], str]] = {
    "unclosed quotes": lambda n: 'a: "x\n' * n,
    "unclosed single quotes": lambda n: "a: 'x\n" * n,
    "odd quotes": lambda n: "a: \"x'\n" * n,
    "unclosed brackets": lambda n: "a: [x,\n" * n,
    "unclosed braces": lambda n: "- {x: [\n" * n,
    "only openers": lambda n: "[\n" * n,
    "closers": lambda n: "a: ]}]\n" * n,
    "colons": lambda n: "a: b: c: d\n" * n,
    "no colons": lambda n: "a: 1\n" + "a\n" * n,
    "tabs": lambda n: "\ta: 1\n" * n,
    "stairs": lambda n: "".join(" " * (i % 50) + "a: [\n" for i in range(n)),
    "conflicts": lambda n: "<<<<<<< a\nx: 1\n" * n,
    "anchors": lambda n: "- &a [*a, *b]\n" * n,
    "one line": lambda n: "a: {" + 'b: "{{ c }}, ' * n,
    "blank lines": lambda n: "a: [\n" + "\n" * n + "b: 1\n",
    "backslashes": lambda n: 'a: "' + "\\\n" * n,
    "interpolations": lambda n: "a: {{ x }} y\n" * n,
    "spaces": lambda n: "a: [" + " " * n + "\nb:" + " " * n + "x: y: z\n",
    "dashes": lambda n: "-" * n + "\na: 1\n[",
    "hashes": lambda n: 'a: "# #"#\n' * n + "[",
    "plain lines": lambda n: "a: [\n" + "b c d\n" * n,
    "brackets as keys": lambda n: "[a]: {b}: [c\n" * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_linear_time(name: str) -> None:
    tree = timed(HOSTILE[name](20_000))
    assert tree.problems
    assert len(tree.problems) <= PROBLEMS.value + 1


def test_memory_stays_in_proportion() -> None:
    text = "a: 1\n" * 100_000
    tracemalloc.start()
    try:
        read(text)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()


def test_limits_are_the_same_for_both_backends() -> None:
    for text in (bomb(8), "a: " + "[" * 300 + "\nb: 1\n", "a: " + "9" * 400, "a: 1\n" * 200):
        assert everything(read(text)) == everything(read(text, "pure"))


def test_every_bound_says_what_it_is() -> None:
    for limit in LIMITS:
        assert f"{limit.value:,}" in limit.message()
        assert limit.message().endswith(".")


def test_a_bound_that_is_hit_costs_only_its_part() -> None:
    tree = read("a: 1\nb: " + "[" * 200 + "]" * 200 + "\nc: {d: 2}\n")
    assert tree.root is not None
    value = plain_value(tree.root)
    assert isinstance(value, dict)
    assert (value["a"], value["c"]) == (1, {"d": 2})
