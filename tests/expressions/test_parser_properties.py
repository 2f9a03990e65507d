"""What holds for every text and every tree."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.expressions.ast import Binary, Expr, Filter, MapLiteral, Member
from analyzer.expressions.parser import MAX_DEPTH, MAX_PROBLEMS, parse_expression, parse_template
from analyzer.expressions.walk import depth, walk
from tests.expressions.trees import show, trees, unparse

PIECES = [
    *("{{", "}}", "{", "}", "(", ")", "[", "]", ".", "?.", "??", "?", ":", ",", "|", "=", "==", "===", "!", "<", "<="),
    *("+", "-", "*", "/", "%", "&&", "||", "$", "'", '"', "\\", "\\u12", " ", "\n", "a", "inputs", "and", "or", "not"),
    *("in", "true", "null", "if", "is", "1", "2.5", "30s", "'x'", '"}}"', "len(", "length", "é", "😀", "\ud800"),
]
anything = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(lambda parts: "{{" + "".join(parts) + "}}"),
)


def check_spans(expr: Expr, low: int, high: int) -> None:
    for node in walk(expr):
        assert low <= node.start <= node.end <= high
        if isinstance(node, (Member, Filter)):
            assert node.start <= node.name_start <= node.name_end <= node.end
        elif isinstance(node, Binary):
            assert node.left.end <= node.op_start < node.op_end <= node.right.end
        elif isinstance(node, MapLiteral):
            for item in node.items:
                assert node.start <= item.start <= item.end <= node.end
    assert depth(expr) <= MAX_DEPTH


@given(anything)
@example("{{{{}}}}")
@example("{{ {a: 1 }} }}")
def test_any_text_is_a_template_whose_parts_are_the_text(text: str) -> None:
    template = parse_template(text)
    position = 0
    for part in template.parts:
        if isinstance(part, str):
            assert text.startswith(part, position)
            position += len(part)
        else:
            assert part.start == position
            assert text.startswith("{{", part.start)
            check_spans(part.expr, part.start, part.end)
            position = part.end
    assert position == len(text)
    assert len(template.problems) <= MAX_PROBLEMS + 3
    for problem in template.problems:
        assert 0 <= problem.start < problem.end <= len(text)
        assert problem.message


@given(anything)
def test_any_text_is_an_expression(text: str) -> None:
    expr, problems = parse_expression(text)
    check_spans(expr, 0, len(text))
    assert all(0 <= problem.start <= problem.end <= len(text) for problem in problems)


@given(anything)
def test_a_tree_with_a_hole_has_a_problem(text: str) -> None:
    template = parse_template(text)
    if any("□" in show(part.expr) or "∅" in show(part.expr) for part in template.interpolations):
        assert template.problems or "□" in text or "∅" in text


@given(trees)
def test_a_printed_tree_parses_to_itself(tree: Expr) -> None:
    text = unparse(tree)
    expr, problems = parse_expression(text)
    assert [problem.message for problem in problems] == []
    assert show(expr) == show(tree)
    check_spans(expr, 0, len(text))
    assert (expr.start, expr.end) == (0, len(text))


@given(trees, st.text("ab }\n", max_size=4), st.text("ab }\n", max_size=4))
def test_a_printed_tree_is_an_interpolation_inside_any_text(tree: Expr, before: str, after: str) -> None:
    template = parse_template(before + "{{ " + unparse(tree) + " }}" + after)
    assert not template.problems
    assert [show(part.expr) for part in template.interpolations] == [show(tree)]
    assert template.whole is (not before and not after)


@given(trees, st.data())
def test_every_beginning_of_an_expression_parses(tree: Expr, data: st.DataObject) -> None:
    text = "{{ " + unparse(tree) + " }}"
    cut = data.draw(st.integers(0, len(text)))
    template = parse_template(text[:cut])
    assert len(template.problems) <= 4
    if 2 <= cut < len(text):
        assert template.problems
