"""Templates and expressions: trees, spans, problems (language page, section 4)."""

from __future__ import annotations

import time

import pytest

from analyzer.expressions.ast import Binary, Expr, Filter, Index, Interpolation, MapLiteral, Member
from analyzer.expressions.cursor import MAX_NESTING, LimitProblem
from analyzer.expressions.parser import (
    MAX_DEPTH,
    MAX_PROBLEMS,
    Overflow,
    has_interpolation,
    only_line_breaks_around,
    parse_expression,
    parse_template,
)
from analyzer.expressions.walk import depth, same_chain, walk
from tests.expressions.trees import show

SOUND = [
    (
        "approval.status == 'received' and approval.event.approved",
        '((approval.status == "received") and approval.event.approved)',
    ),
    ("approval.event?.approved ?? false", "(approval.event?.approved ?? false)"),
    ("a ?? b or c and not d == e + f * -g.h | i", "((a ?? (b or (c and (not (d == (e + (f * (- g.h)))))))) | i)"),
    ("a or b ?? c", "((a or b) ?? c)"),
    ("a - b - c", "((a - b) - c)"),
    ("a / b * c % d", "(((a / b) * c) % d)"),
    ("a ?? b ?? c", "((a ?? b) ?? c)"),
    ("not not a", "(not (not a))"),
    ("not a in b", "(not (a in b))"),
    ("- - 1", "(- (- 1))"),
    ("-a.b[0]", "(- a.b[0])"),
    ("(a + b) * c", "((a + b) * c)"),
    ("(a < b) == (c < d)", "((a < b) == (c < d))"),
    ("a == (not b)", "(a == (not b))"),
    ("(-a).b", "(- a).b"),
    ("(not a)[0]", "(not a)[0]"),
    ("a\n  .b\n  ?.c [ 'd' ]", 'a.b?.c["d"]'),
    ("a.not.in.true.null", "a.not.in.true.null"),
    ("true.x", "true.x"),
    ("null?.x", "null?.x"),
    (
        "a | upper | replace('x', \"y\") | default([1, {b: 2}])",
        '(((a | upper) | replace("x", "y")) | default([1, {b: 2}]))',
    ),
    ("a | upper()", "(a | upper)"),
    ("(a | length) > 3", "((a | length) > 3)"),
    ("[a | upper, b ?? c]", "[(a | upper), (b ?? c)]"),
    ("{a: 1, 'b c': [], \"d\": {}, in: 2}", "{a: 1, b c: [], d: {}, in: 2}"),
    ("{a: {b: {c: 1}}}", "{a: {b: {c: 1}}}"),
    ("12345678901234567890123", "12345678901234567890123"),
    ("1.5e3", "1500"),
    ("1.0", "1"),
    ("0.25", "0.25"),
    ("1E-2", "0.01"),
    ("1e300 == 1", "(1e+300 == 1)"),
    (r'"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"', '"a\\"\\\\/\\b\\f\\n\\r\\té😀"'),
    (r"'it\'s'", '"it\'s"'),
    ("'a\nb'", '"a\\nb"'),
    ("\"}}\" + '{{'", '("}}" + "{{")'),
    ("größe.日本", "größe.日本"),
    ("a\u00a0+\u2003b", "(a + b)"),
]


@pytest.mark.parametrize(("text", "tree"), SOUND)
def test_sound_expressions_have_the_tree_of_the_precedence_table(text: str, tree: str) -> None:
    expr, problems = parse_expression(text)
    assert [problem.message for problem in problems] == []
    assert show(expr) == tree
    template = parse_template("{{" + text + "}}")
    assert template.whole
    assert not template.problems
    assert show(template.interpolations[0].expr) == tree


# text, tree, and of each problem the part of the text and words of the message
FAULTY = [
    ("{{ }}", "□", [("{{ }}", "nothing between")]),
    ("{{}}", "□", [("{{}}", "nothing between")]),
    ("{{ a", "a", [("{{", "never closed")]),
    ("{{ inputs.", "inputs.∅", [("{{", "never closed")]),
    ("{{ a }", "a", [("{{", "never closed")]),
    ("{{ a &&", "(a and □)", [("{{", "never closed")]),
    ("{{ inputs. }}", "inputs.∅", [(".", "no name after")]),
    ("{{ inputs?. }}", "inputs?.∅", [("?.", "no name after")]),
    ("{{ inputs. == 1 }}", "(inputs.∅ == 1)", [(".", "no name after")]),
    ("{{ a + }}", "(a + □)", [("+", "nothing after")]),
    ("{{ a and }}", "(a and □)", [("and", "nothing after")]),
    ("{{ not }}", "(not □)", [("not", "nothing after")]),
    ("{{ - }}", "(- □)", [("-", "nothing after")]),
    ("{{ == a }}", "a", [("==", "nothing before")]),
    ("{{ and a }}", "a", [("and", "nothing before")]),
    ("{{ in }}", "□", [("in", "nothing before")]),
    ("{{ + a }}", "a", [("+", "no sign `+`")]),
    ("{{ a b }}", "a", [("b", "operator is missing before `b`")]),
    ("{{ a 'b' }}", "a", [("'b'", "operator is missing")]),
    ("{{ a && b }}", "(a and b)", [("&&", "use `and`")]),
    ("{{ a || b }}", "(a or b)", [("||", "use `or`")]),
    ("{{ a & b }}", "(a and b)", [("&", "use `and`")]),
    ("{{ !a }}", "(not a)", [("!", "use `not x`")]),
    ("{{ !a.b && !c }}", "((not a.b) and (not c))", [("!", "use `not x`"), ("&&", "use `and`"), ("!", "use `not x`")]),
    ("{{ a = 1 }}", "(a == 1)", [("=", "use `==`")]),
    ("{{ a === 1 }}", "(a == 1)", [("===", "use `==`")]),
    ("{{ a !== 1 }}", "(a != 1)", [("!==", "use `!=`")]),
    ("{{ a <> 1 }}", "(a != 1)", [("<>", "use `!=`")]),
    ("{{ a => 1 }}", "(a >= 1)", [("=>", "use `>=`")]),
    ("{{ a AND b OR c }}", "((a and b) or c)", [("AND", "lower case"), ("OR", "lower case")]),
    ("{{ a is null }}", "(a == null)", [("is", "use `==`")]),
    ("{{ a not in b }}", "(a in b)", [("not in", "write `not (a in b)`")]),
    ("{{ a not b }}", "a", [("not", "operator is missing")]),
    ("{{ a ~ b }}", "(a + b)", [("~", "use `+`")]),
    ("{{ a ** 2 }}", "(a * 2)", [("**", "multiply")]),
    ("{{ a // 2 }}", "(a / 2)", [("//", "| round")]),
    ("{{ a ? b : c }}", "a", [("?", "wf.if")]),
    ("{{ b if a else c }}", "b", [("if", "wf.if")]),
    ("{{ $a.b }}", "a.b", [("$", "no `$`")]),
    ("{{ a $ b }}", "a", [("$", "cannot stand here")]),
    ("{{ @a }}", "a", [("@", "no `@`")]),
    ("{{ a ; b }}", "a", [(";", "cannot stand here")]),
    ("{{ a, b }}", "a", [(",", "cannot stand here")]),
    ("{{ a \\ b }}", "a", [("\\", "cannot stand here")]),
    ("{{ len(x) > 1 }}", "(□ > 1)", [("len(", "use `x | length`")]),
    ("{{ x.upper() }}", "□", [("x.upper(", "use `x | upper`")]),
    ("{{ f(a, b) }}", "□", [("f(", "only filters")]),
    ("{{ now() }}", "□", [("now(", "run.started_at")]),
    ("{{ f( }}", "□", [("f(", "only filters")]),
    ("{{ 'a' (b) }}", '"a"', [("(", "only a filter takes arguments")]),
    ("{{ a < b < c }}", "((a < b) < c)", [("<", "do not chain")]),
    ("{{ a == b != c }}", "((a == b) != c)", [("!=", "do not chain")]),
    ("{{ a == not b }}", "(a == (not b))", [("not", "write `(not …)`")]),
    ("{{ t | f(n = 'z') }}", '(t | f("z"))', [("n =", "without `n =`")]),
    ("{{ t | f('%Y', zone = 'z') }}", '(t | f("%Y", "z"))', [("zone =", "without `zone =`")]),
    ("{{ t | f(a: 1, b: 2) }}", "(t | f(1, 2))", [("a:", "without `a:`"), ("b:", "without `b:`")]),
    ("{{ x | length > 3 }}", "((x | length) > 3)", [(">", "binds loosest")]),
    ("{{ x | length && y }}", "((x | length) and y)", [("&&", "binds loosest")]),
    ("{{ x | length > 3 and y }}", "(((x | length) > 3) and y)", [(">", "binds loosest")]),
    ("{{ x | }}", "(x | ∅)", [("|", "no filter after")]),
    ("{{ x | | y }}", "((x | ∅) | y)", [("|", "no filter after")]),
    ("{{ | x }}", "(□ | x)", [("|", "missing before `|`")]),
    ("{{ x | join(sep = ',') }}", '(x | join(","))', [("sep =", "no names")]),
    ("{{ x | join(',' }}", '(x | join(","))', [("(", "never closed")]),
    ("{{ x | a.b }}", "(x | a)", [(".", "cannot stand here")]),
    ("{{ [1, 2 }}", "[1, 2]", [("[", "never closed")]),
    ("{{ (1 + 2 }}", "(1 + 2)", [("(", "never closed")]),
    ("{{ (1 + [2) }}", "(1 + [2])", [("[", "never closed")]),
    ("{{ a[0 }}", "a[0]", [("[", "never closed")]),
    ("{{ a] }}", "a", [("]", "closes nothing")]),
    ("{{ ) }}", "□", [(")", "missing before")]),
    ("{{ () }}", "□", [("()", "nothing between")]),
    ("{{ a[] }}", "a[□]", [("[]", "nothing between")]),
    ("{{ a[1:2] }}", "a[1]", [(":", "no slices")]),
    ("{{ a?.[0] }}", "a[0]", [("?.", "without it")]),
    ("{{ a.0.b }}", "a.∅.b", [(".0", "write `[0]`")]),
    ('{{ a."b" }}', "a.b", [('"b"', 'write `["b"]`')]),
    ("{{ a..b }}", "a", [("..", "one `.`")]),
    ("{{ [1, 2,] }}", "[1, 2]", [(",", "nothing after this `,`")]),
    ("{{ [1,, 2] }}", "[1, □, 2]", [(",", "missing before `,`")]),
    ("{{ [a b] }}", "[a]", [("b", "operator is missing")]),
    ("{{ {a: } }}", "{a: □}", [(":", "no value")]),
    ("{{ {a} }}", "{}", [("a", "no value")]),
    ("{{ {1: 2} }}", "{}", [("1", "a key is a name")]),
    ("{{ {a: 1, a: 2} }}", "{a: 1, a: 2}", [("a", "a key of this map already")]),
    ("{{ {a: 1,} }}", "{a: 1}", [(",", "nothing after this `,`")]),
    ("{{ {a: 1 }}", "{a: 1}", [("{{", "never closed")]),
    ("{{ {{ x }} }}", "x", [("{{", "inside `{{ }}` already")]),
    ("{{ 30s }}", "□", [("30s", '"30s" | duration')]),
    ("{{ 1.2.3 }}", "1.2.∅", [(".3", "write `[3]`")]),
    ("{{ 12ab }}", "□", [("12ab", "not a number")]),
    ("{{ .5 }}", "5", [(".", "`0.5`")]),
    ("{{ 007 }}", "7", [("007", "write `7`")]),
    ("{{ 00.5 }}", "0.5", [("00.5", "remove the zeros")]),
    ("{{ 1e999 }}", "□", [("1e999", "too large")]),
    (r'{{ "a\xb" }}', '"a\\\\xb"', [("\\x", "no escape")]),
    (r'{{ "\u12" }}', '"\\\\u12"', [("\\u", "four hexadecimal digits")]),
    (r'{{ "a\ud800b" }}', '"a�b"', [("\\ud800", "half of a character")]),
    (r'{{ "\ude00" }}', '"�"', [("\\ude00", "half of a character")]),
    (r'{{ "\ud800\u0041" }}', '"�A"', [("\\ud800", "half of a character")]),
    ('{{ "abc }}', "□", [('"', "never closed")]),
    ("{{ a == 'abc }}", "(a == □)", [("'", "never closed")]),
]


@pytest.mark.parametrize(("text", "tree", "problems"), FAULTY)
def test_a_fault_is_one_problem_with_an_exact_place(text: str, tree: str, problems: list[tuple[str, str]]) -> None:
    template = parse_template(text)
    assert [text[problem.start : problem.end] for problem in template.problems] == [part for part, _ in problems]
    for problem, (_, words) in zip(template.problems, problems, strict=True):
        assert words in problem.message
    assert show(template.interpolations[0].expr) == tree


@pytest.mark.parametrize(
    ("text", "place"), [("{{ a.b < c < d }}", 11), ("{{ x | length > 3 }}", 14), ("{{ a + b + }}", 9)]
)
def test_of_several_like_it_the_problem_is_on_the_right_one(text: str, place: int) -> None:
    assert [problem.start for problem in parse_template(text).problems] == [place]


def parts_of(text: str) -> list[str]:
    return [p if isinstance(p, str) else "{{" + show(p.expr) + "}}" for p in parse_template(text).parts]


@pytest.mark.parametrize(
    ("text", "parts", "whole"),
    [
        ("", [], False),
        ("plain", ["plain"], False),
        ("a }} b", ["a }} b"], False),
        ("{ { a } }", ["{ { a } }"], False),
        ("{{ a }}", ["{{a}}"], True),
        ("{{ a }} ", ["{{a}}", " "], False),
        ("{{ a }}\n", ["{{a}}", "\n"], False),
        (" {{ a }}", [" ", "{{a}}"], False),
        ("{{ a }}{{ b }}", ["{{a}}", "{{b}}"], False),
        ("x {{ a }} }} y", ["x ", "{{a}}", " }} y"], False),
        ('{{ "{{" }}', ['{{"{{"}}'], True),
        ("{{ '}}' }} {{ '{{' }}", ['{{"}}"}}', " ", '{{"{{"}}'], False),
        ("{{{a: 1}}}", ["{{{a: 1}}}"], True),
        ("{{{a: {b: 1}}}}", ["{{{a: {b: 1}}}}"], True),
        ("{{ a {{ b }}", ["{{a}}", "{{b}}"], False),
        ('{{ "a }} and {{ b }}', ["{{□}}", " and ", "{{b}}"], False),
        ("{{ a b }} and {{ c }}", ["{{a}}", " and ", "{{c}}"], False),
        ("{{ [a b {x: {y: 1}}] }} {{ c }}", ["{{[a]}}", " ", "{{c}}"], False),
        ("{{ a b { }} {{ c }}", ["{{a}}", " ", "{{c}}"], False),
    ],
)
def test_parts_of_templates(text: str, parts: list[str], whole: bool) -> None:
    assert parts_of(text) == parts
    assert parse_template(text).whole is whole
    assert has_interpolation(text) is ("{{" in text)


def test_every_interpolation_of_a_string_is_read_after_a_faulty_one() -> None:
    text = "{{ a + }} {{ b }} {{ c d }} {{ e }}"
    template = parse_template(text)
    assert [text[p.start : p.end] for p in template.problems] == ["+", "d"]
    assert [show(part.expr) for part in template.interpolations] == ["(a + □)", "b", "c", "e"]


@pytest.mark.parametrize(("text", "expected"), [("{{ a }}\n", True), ("\n{{ a }}", True), ("{{ a }}\r\n\n", True)])
def test_line_breaks_alone_around_one_interpolation(text: str, expected: bool) -> None:
    assert only_line_breaks_around(parse_template(text)) is expected


@pytest.mark.parametrize("text", ["{{ a }}", "{{ a }} \n", "x{{ a }}\n", "\n{{ a }}\n", "a", "{{ a }}{{ b }}"])
def test_more_or_less_than_line_breaks(text: str) -> None:
    assert not only_line_breaks_around(parse_template(text))


def test_spans_are_exact() -> None:
    text = "é {{ (a.bc)?.d[ 1 ] == {k: 'v'} | f( 2 ) }}"
    part = parse_template(text).parts[1]
    assert isinstance(part, Interpolation)
    assert text[part.start : part.end] == text[2:]
    spans = [text[node.start : node.end] for node in walk(part.expr)]
    assert spans == [
        "(a.bc)?.d[ 1 ] == {k: 'v'} | f( 2 )",
        "(a.bc)?.d[ 1 ] == {k: 'v'}",
        "(a.bc)?.d[ 1 ]",
        "(a.bc)?.d",
        "(a.bc)",
        "a",
        "1",
        "{k: 'v'}",
        "'v'",
        "2",
    ]
    for node in walk(part.expr):
        if isinstance(node, (Member, Filter)):
            assert text[node.name_start : node.name_end] == node.name
        elif isinstance(node, Binary):
            assert text[node.op_start : node.op_end] == node.op
        elif isinstance(node, MapLiteral):
            assert [text[item.start : item.end] for item in node.items] == ["k: 'v'"]


def test_an_offset_moves_every_span() -> None:
    text = "a.b[0] + {k: -c} | f(d) "
    plain, _ = parse_expression(text)
    moved, problems = parse_expression(text + "$", 100)
    assert [(node.start + 100, node.end + 100) for node in walk(plain)] == [
        (node.start, node.end) for node in walk(moved)
    ]
    assert [(problem.start, problem.end) for problem in problems] == [(124, 125)]


@pytest.mark.parametrize(
    ("text", "joined"),
    [("a.b.c", True), ("a[0].c", True), ("(a.b).c", False), ("(a[0]).c", False), ("a.c", False), ("[a.b].c", False)],
)
def test_parentheses_end_a_chain(text: str, joined: bool) -> None:
    expr, _ = parse_expression(text)
    assert isinstance(expr, (Member, Index))
    assert same_chain(expr.target) is joined


@pytest.mark.parametrize("text", ["", "   "])
def test_an_expression_alone_may_be_missing(text: str) -> None:
    expr, problems = parse_expression(text)
    assert show(expr) == "□"
    assert [(problem.start, problem.end) for problem in problems] == [(0, len(text))]


def test_an_expression_alone_knows_no_braces_around_it() -> None:
    expr, problems = parse_expression("a }} b")
    assert show(expr) == "a"
    assert [(problem.start, problem.end) for problem in problems] == [(2, 3)]


# -- bounds


def nested(opening: str, closing: str, levels: int) -> str:
    return "{{ " + opening * levels + "1" + closing * levels + " }}"


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("[", "]"), ("- ", ""), ("not ", ""), ("{a: ", "}"), ("a[", "]"), ("a | f(", ")")],
)
def test_nesting_is_bounded(opening: str, closing: str) -> None:
    assert not parse_template(nested(opening, closing, MAX_NESTING)).problems
    for levels in (MAX_NESTING + 1, 5_000):
        template = parse_template(nested(opening, closing, levels))
        assert [type(problem) for problem in template.problems] == [LimitProblem]
        assert any(isinstance(node, Overflow) for node in walk(template.interpolations[0].expr))


REPEATED = [
    *("!", "+", "{{ ", "and ", "== ", "a == ", "a and ", "a ?? ", "not in ", "f(", "x.f(", "{a:", "{a:[", "a[-", "($"),
    *("(", ")", "[", "]", "{", ".", "?.", "..", "?", ":", ",", "a,", "|", "| f", "|f(", "-", "!==", "a not ", "if "),
    *("%-", "**", "a.0", "a.'b'", "1.", "30s", "'", '"', "\\", "\n", "{{ '", "a (", "a = b = ", "not (", "x | f > "),
]


@pytest.mark.parametrize("piece", REPEATED)
def test_no_text_recurses_without_bound(piece: str) -> None:
    for text in ("{{ " + piece * 3_000 + " a }}", "{{" + piece * 3_000, "{{ " + piece * 200 + " }} {{ b }}"):
        template = parse_template(text)
        assert len(template.problems) <= MAX_PROBLEMS + 3
        assert all(depth(part.expr) <= MAX_DEPTH for part in template.interpolations)
    expr, _ = parse_expression(piece * 3_000)
    assert depth(expr) <= MAX_DEPTH


@pytest.mark.parametrize("link", [" + 1", ".b", "[0]", " | f", " or 1"])
def test_chains_are_bounded(link: str) -> None:
    assert not parse_template("{{ a" + link * (MAX_DEPTH - 1) + " }}").problems
    template = parse_template("{{ a" + link * MAX_DEPTH + " }}")
    assert [type(problem) for problem in template.problems] == [LimitProblem]
    assert isinstance(template.interpolations[0].expr, Overflow)


def test_the_parse_that_recurses_most_is_bounded_too() -> None:
    step = "a ?? a or a and not a == a + a * ("
    for levels in (MAX_NESTING // 2, MAX_NESTING, 1_000):
        template = parse_template("{{ " + step * levels + "1" + ")" * levels + " }}")
        assert [type(problem) for problem in template.problems] == [LimitProblem]


def test_a_long_number_is_a_problem_and_the_longest_is_none() -> None:
    assert not parse_template("{{ " + "9" * 4_000 + " }}").problems
    template = parse_template("{{ " + "9" * 4_001 + " }}")
    assert ["digits" in problem.message for problem in template.problems] == [True]


def test_problems_of_a_string_are_bounded() -> None:
    template = parse_template("{{ + }}" * 1_000)
    assert len(template.problems) == MAX_PROBLEMS
    assert isinstance(template.parts[-1], str)


@pytest.mark.parametrize(
    "piece",
    ["{{", "{{ a ", '{{"}}', '{{\\"}}', "{{ '", '\\"', "{{ a b [", "{{ {", "}}", "{{ ( }}", "{{{{", "((", "'\"", "{{-"],
)
def test_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    text = "{{" + piece * (200_000 // len(piece))
    began = time.process_time()
    parse_template(text)
    assert time.process_time() - began < 3


def test_equal_short_texts_share_a_tree_and_long_ones_are_not_kept() -> None:
    assert parse_template("{{ shared.tree }}") is parse_template("{{ shared.tree }}")
    long = "{{ a }}" + "x" * 3_000
    assert parse_template(long) is not parse_template(long)


def test_depth_counts_levels() -> None:
    def height(text: str) -> int:
        expr: Expr = parse_expression(text)[0]
        return depth(expr)

    assert [height(text) for text in ("a", "a.b", "a + b * c", "[[1], {a: [2]}]", "a | f(b.c)")] == [1, 2, 3, 4, 3]
