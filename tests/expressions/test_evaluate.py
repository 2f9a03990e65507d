"""Evaluation: operators, chains, faults, bounds, templates, marks (language page, sections 4 and 7)."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from analyzer.expressions.evaluate import Limits, Scope, evaluate, evaluate_template
from analyzer.expressions.faults import (
    CONVERSION,
    DIVISION,
    KIND,
    LIMIT,
    MISSING_MEMBER,
    NULL_MEMBER,
    RANGE,
    Fault,
)
from analyzer.expressions.parser import parse_expression, parse_template
from analyzer.expressions.times import Duration, Timestamp, parse_timestamp
from analyzer.expressions.values import Marked, Value, equal, strip_marks

HOUR = 3_600_000_000


def at(text: str) -> Timestamp:
    value = parse_timestamp(text)
    assert value is not None
    return value


SCOPE: dict[str, Value] = {
    "inputs": {"a": 7, "b": 2, "half": 0.5, "s": "text", "list": [1, [2, 3]], "map": {"k": {"z": 5}}, "opt": None},
    "n": None,
    "yes": True,
    "no": False,
    "t": at("2026-03-28T12:00:00Z"),
    "d": Duration(HOUR),
}


def evaluated(text: str, scope: Scope) -> Value:
    expr, problems = parse_expression(text)
    assert not problems
    return evaluate(expr, scope)


def result(text: str, **more: Value) -> Value:
    return evaluated(text, {**SCOPE, **more})


def fault(text: str, **more: Value) -> tuple[str, str]:
    expr, _ = parse_expression(text)
    with pytest.raises(Fault) as caught:
        evaluate(expr, {**SCOPE, **more})
    return caught.value.code, text[caught.value.start : caught.value.end]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2", 3),
        ("1 + 0.5", 1.5),
        ("0.5 + 0.5", 1),
        ("9007199254740993 + 1", 9007199254740994),
        ("123456789012345678901234567890 * 10 + 1", 1234567890123456789012345678901),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("5 - 7", -2),
        ("0.3 - 0.1", 0.19999999999999998),
        ("3 * 1.5", 4.5),
        ("6 / 2", 3),
        ("7 / 2", 3.5),
        ("-7 / 2", -3.5),
        ("1 / 3", 1 / 3),
        ("6.5 / 0.5", 13),
        ("100000000000000000000000000000 / 10", 10**28),
        ("7 % 3", 1),
        ("-7 % 3", 2),
        ("7 % -3", -2),
        ("-7 % -3", -1),
        ("6.0 % 4", 2),
        ("-inputs.a", -7),
        ("- -1", 1),
        ("-0", 0),
        ("t + d", at("2026-03-28T13:00:00Z")),
        ("d + t", at("2026-03-28T13:00:00Z")),
        ("t - d", at("2026-03-28T11:00:00Z")),
        ("t - (t - d)", Duration(HOUR)),
        ("t - d - t", Duration(-HOUR)),
        ("d + d", Duration(2 * HOUR)),
        ("d - d * 3", Duration(-2 * HOUR)),
        ("d * 0.5", Duration(HOUR // 2)),
        ("2 * d", Duration(2 * HOUR)),
        ("d / 4", Duration(HOUR // 4)),
        ("d / 0.5", Duration(2 * HOUR)),
        ("d / 7", Duration(514_285_714)),
        ("d / -7", Duration(-514_285_714)),
        ("d / -0.5", Duration(-2 * HOUR)),
        ("('PT0.000003S' | duration) / 2", Duration(2)),
        ("('PT0.000005S' | duration) / 2", Duration(2)),
        ("('PT0.000005S' | duration) * -0.5", Duration(-2)),
        ("('PT0.000007S' | duration) / 4", Duration(2)),
        ("1 < 2", True),
        ("2 <= 2.0", True),
        ("'a' < 'b'", True),
        ("'Z' >= 'a'", False),
        ("t > t - d", True),
        ("d >= d", True),
        ("1 == 1.0", True),
        ("1 != '1'", True),
        ("true == 1", False),
        ("null == null", True),
        ("n != null", False),
        ("[1, {a: 2}] == [1.0, {'a': 2}]", True),
        ("t == ('2026-03-28T13:00:00+01:00' | timestamp)", True),
        ("1 in [1, 2]", True),
        ("'k' in inputs.map", True),
        ("'ex' in inputs.s", True),
        ("'' in ''", True),
        ("[2, 3] in inputs.list", True),
        ("null in [1]", False),
        ("not yes", False),
        ("not (1 == 2)", True),
        ("yes and no", False),
        ("no or yes", True),
        ("no and n.x", False),
        ("yes or n.x", True),
        ("yes and yes or n.x", True),
        ("n ?? 1", 1),
        ("no ?? 1", False),
        ("0 ?? n.x", 0),
        ("n ?? n ?? 'x'", "x"),
        ("n ?? n", None),
        ("inputs.opt?.x.y[0].z", None),
        ("inputs.opt?.x[n.x]", None),
        ("n?.x ?? 'x'", "x"),
        ("inputs?.a", 7),
        ("inputs.list[1][0]", 2),
        ("inputs.list[1.0][0]", 2),
        ("inputs['map']['k'].z", 5),
        ("inputs.opt", None),
        ("{a: 1, b: [n]}.b", [None]),
        ("[1, 2][1]", 2),
        ("{a: 1}['a']", 1),
        ("[]", []),
        ("{}", {}),
        ("2 + 3 * 4 - 5 % 3", 12),
        ("1 + 2 | string", "3"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    value = result(text)
    assert equal(value, expected)
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("n.x", NULL_MEMBER, "n.x"),
        ("n[0]", NULL_MEMBER, "n[0]"),
        ("n?.x.y + inputs.opt.q", NULL_MEMBER, "inputs.opt.q"),
        ("(n?.x).y", NULL_MEMBER, "(n?.x).y"),
        ("inputs?.opt.x", NULL_MEMBER, "inputs?.opt.x"),
        ("inputs.nothing", MISSING_MEMBER, "inputs.nothing"),
        ("inputs.nothing ?? 1", MISSING_MEMBER, "inputs.nothing"),
        ("inputs['nothing']", MISSING_MEMBER, "inputs['nothing']"),
        ("nothing", MISSING_MEMBER, "nothing"),
        ("inputs.map.k.z.deep", KIND, "inputs.map.k.z.deep"),
        ("inputs.s.length", KIND, "inputs.s.length"),
        ("inputs.s[0]", KIND, "inputs.s[0]"),
        ("inputs.list['a']", KIND, "inputs.list['a']"),
        ("inputs.list[0.5]", KIND, "inputs.list[0.5]"),
        ("inputs.list[true]", KIND, "inputs.list[true]"),
        ("inputs[0]", KIND, "inputs[0]"),
        ("inputs.list[2]", RANGE, "inputs.list[2]"),
        ("inputs.list[-1]", RANGE, "inputs.list[-1]"),
        ("[][0]", RANGE, "[][0]"),
        ("1 / 0", DIVISION, "1 / 0"),
        ("1 / 0.0", DIVISION, "1 / 0.0"),
        ("d / 0", DIVISION, "d / 0"),
        ("5 % 0", DIVISION, "5 % 0"),
        ("5.5 % 2", KIND, "5.5 % 2"),
        ("5 % true", KIND, "5 % true"),
        ("1 + 'a'", KIND, "1 + 'a'"),
        ("'a' + n", KIND, "'a' + n"),
        ("true + 1", KIND, "true + 1"),
        ("[1] + 1", KIND, "[1] + 1"),
        ("t + t", KIND, "t + t"),
        ("t + 1", KIND, "t + 1"),
        ("'a' - 'b'", KIND, "'a' - 'b'"),
        ("d - t", KIND, "d - t"),
        ("'a' * 3", KIND, "'a' * 3"),
        ("d * d", KIND, "d * d"),
        ("d / d", KIND, "d / d"),
        ("1 / d", KIND, "1 / d"),
        ("-'a'", KIND, "-'a'"),
        ("-d", KIND, "-d"),
        ("-true", KIND, "-true"),
        ("1 < 'a'", KIND, "1 < 'a'"),
        ("n < 1", KIND, "n < 1"),
        ("true < false", KIND, "true < false"),
        ("[1] < [2]", KIND, "[1] < [2]"),
        ("t < d", KIND, "t < d"),
        ("1 in 'abc'", KIND, "1 in 'abc'"),
        ("1 in inputs", KIND, "1 in inputs"),
        ("1 in 1", KIND, "1 in 1"),
        ("1 in n", KIND, "1 in n"),
        ("not 1", KIND, "not 1"),
        ("not n", KIND, "not n"),
        ("1 and yes", KIND, "1"),
        ("yes and n", KIND, "n"),
        ("no or 'x'", KIND, "'x'"),
        ("'' or yes", KIND, "''"),
        ("1e308 * 10", RANGE, "1e308 * 10"),
        ("1e308 + 1e308", RANGE, "1e308 + 1e308"),
        ("t + ('3000000d' | duration)", RANGE, "t + ('3000000d' | duration)"),
        ("d * 1000000000", RANGE, "d * 1000000000"),
        ("'x' | number", CONVERSION, "'x' | number"),
    ],
)
def test_faults(text: str, code: str, place: str) -> None:
    assert fault(text) == (code, place)


def test_messages_say_what_to_do() -> None:
    for text, words in (
        ("n.x", "use `?.` or `??`"),
        ("'a' + 1", "`| string`"),
        ("'a' + n", "`??`"),
        ("inputs.list[2]", "the list has 2 elements"),
        ("[1][1]", "the list has 1 element,"),
        ("1 | lenght", "no filter `lenght`"),
        ("inputs.s.x", "a string, which has no members"),
    ):
        with pytest.raises(Fault) as caught:
            result(text)
        assert words in caught.value.message
        assert str(caught.value) == caught.value.message


def test_huge_numbers() -> None:
    big = 10**3_999
    assert fault("big * big", big=big) == (LIMIT, "big * big")
    assert fault("big * 10", big=big)[0] == LIMIT
    assert result("big + 1", big=big) == big + 1
    assert fault("big + 0.5", big=big)[0] == RANGE
    assert fault("big / 3", big=big)[0] == RANGE
    assert result("big / 10 * 10 == big", big=big) is True
    assert result("big > 0.5 and big != 0.5", big=big) is True


# -- absolute time


@pytest.mark.parametrize(
    ("text", "written"),
    [
        # 24 hours are 24 hours, also over the night of 2026-03-29, which is an hour shorter in Berlin.
        ("t + ('24h' | duration)", "2026-03-29T14:00:00+0200"),
        ("t + ('1d' | duration)", "2026-03-29T14:00:00+0200"),
        ("t + ('13h' | duration)", "2026-03-29T03:00:00+0200"),
        ("t + ('12h59m' | duration)", "2026-03-29T01:59:00+0100"),
    ],
)
def test_arithmetic_is_exact_over_a_change_of_time(text: str, written: str) -> None:
    assert result(f"{text} | format_time('%Y-%m-%dT%H:%M:%S%z', 'Europe/Berlin')") == written


def test_differences_are_absolute() -> None:
    text = "('2026-03-29T12:00:00+02:00' | timestamp) - ('2026-03-28T12:00:00+01:00' | timestamp)"
    assert result(text) == Duration(23 * HOUR)


# -- scope and templates


def test_a_scope_may_be_a_function() -> None:
    asked: list[str] = []

    def lookup(name: str) -> Value:
        asked.append(name)
        if name == "b":
            raise KeyError(name)
        if name == "c":
            raise Fault(NULL_MEMBER, "`c` has no result")
        return {"x": 1}

    assert evaluated("a.x + a['x']", lookup) == 2
    assert asked == ["a", "a"]
    for text, code in (("1 + b", MISSING_MEMBER), ("1 + c", NULL_MEMBER)):
        expr, _ = parse_expression(text)
        with pytest.raises(Fault) as caught:
            evaluate(expr, lookup)
        assert (caught.value.code, caught.value.start, caught.value.end) == (code, 4, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain }}", "plain }}"),
        ("{{ inputs.list }}", [1, [2, 3]]),
        ("{{ n }}", None),
        ("{{ inputs.a }}{{ inputs.b }}", "72"),
        ("{{ inputs.a }} ", "7 "),
        ("a {{ inputs.half }} {{ yes }} {{ t }} {{ d }} {{ inputs.s }}!", "a 0.5 true 2026-03-28T12:00:00Z 1h text!"),
        ('{{ "{{" }}', "{{"),
        ('{{ "{{" }} x }}', "{{ x }}"),
        ("{{ inputs.list | json }}\n", "[1,[2,3]]\n"),
    ],
)
def test_templates(text: str, expected: Any) -> None:
    assert evaluate_template(parse_template(text), SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a {{ n }}", KIND, "n"),
        ("a {{ inputs.list }}", KIND, "inputs.list"),
        ("a {{ inputs }}", KIND, "inputs"),
        ("a {{ yes }} {{ n.x }}", NULL_MEMBER, "n.x"),
        ("{{ 1 + }}", KIND, ""),
        ("{{ " + "(" * 65 + "1" + ")" * 65 + " }}", LIMIT, "(" * 65 + "1" + ")" * 65),
        ("{{ 1" + " + 1" * 200 + " }}", LIMIT, "1" + " + 1" * 200),
    ],
)
def test_faults_of_templates(text: str, code: str, place: str) -> None:
    with pytest.raises(Fault) as caught:
        evaluate_template(parse_template(text), SCOPE)
    assert (caught.value.code, text[caught.value.start : caught.value.end]) == (code, place)


# -- bounds


def limit_of(text: str, limits: Limits, **more: Value) -> str:
    try:
        evaluate_template(parse_template(text), {**SCOPE, **more}, limits)
    except Fault as raised:
        return raised.code
    return ""


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("{{ 1 }}", 1),
        ("{{ 1 + 2 }}", 3),
        ("{{ inputs.map.k }}", 3),
        ("{{ [1, 2] }}", 3),
        ("{{ [1, 2] | sum }}", 6),
        ("x {{ 1 }} {{ 2 }}", 2),
        ("{{ not yes }}", 2),
        ("{{ {a: 1} }}", 2),
        ("{{ [1] == [1] }}", 6),
    ],
)
def test_operations_are_counted(text: str, operations: int) -> None:
    assert limit_of(text, Limits(operations)) == ""
    assert limit_of(text, Limits(operations - 1)) == LIMIT


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("{{ s }}", 0),
        ("{{ s }}!", 11),
        ("é{{ s }}", 12),
        ("{{ s + s }}", 20),
        ("{{ s + s }}!", 21),
        ("{{ s + s + s }}", 30),
        ("{{ s | upper | lower }}", 10),
        ("{{ (s | upper) + (s | lower) }}", 20),
        ("{{ [s + s, s + s] }}", 40),
        ("{{ s + s == s + s }}", 40),
        ("{{ s }}{{ s }}", 20),
        ("{{ [s, s] | join('--') }}", 22),
        ("{{ s | replace('x', 'yy') }}", 20),
        ("{{ s | json }}", 12),
        ("{{ s | length }}", 0),
    ],
)
def test_produced_text_is_counted_once(text: str, size: int) -> None:
    assert limit_of(text, Limits(text_bytes=size), s="x" * 10) == ""
    if size:
        assert limit_of(text, Limits(text_bytes=size - 1), s="x" * 10) == LIMIT


def test_the_bounds_are_those_of_the_language_page() -> None:
    assert (Limits().operations, Limits().text_bytes) == (100_000, 1_048_576)
    half = "x" * 524_288
    assert limit_of("{{ s + s }}", Limits(), s=half) == ""
    assert limit_of("{{ s }}{{ s }}.", Limits(), s=half) == LIMIT
    assert limit_of("{{ l | sum }}", Limits(), l=[0] * 99_998) == ""
    assert limit_of("{{ l | sum }}", Limits(), l=[0] * 99_999) == LIMIT


def test_bounds_hold_for_each_template_alone() -> None:
    for _ in range(3):
        assert limit_of("{{ 1 + 1 }}", Limits(3)) == ""


def test_evaluation_of_the_deepest_tree_needs_few_frames() -> None:
    text = "not " * 60 + "yes"
    frames = len(inspect.stack())

    def lookup(_name: str) -> Value:
        nonlocal frames
        frames = len(inspect.stack()) - frames
        return True

    evaluated(text, lookup)
    assert frames < 60 * 2 + 10


# -- marks (section 7): a value computed from a placeholder is marked too

MARKED: dict[str, Value] = {
    "charge": Marked({"id": "", "amount": 0, "ok": False, "items": [], "note": None, "deep": {"x": 1}}),
    "mixed": [1, Marked(0)],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("charge.amount + 1", 1),
        ("1 + charge.amount", 1),
        ("-charge.amount", 0),
        ("not charge.ok", True),
        ("charge.deep.x", 1),
        ("charge['deep']['x']", 1),
        ("inputs.list[charge.amount]", 1),
        ("charge.note?.x.y", None),
        ("charge.note ?? 5", 5),
        ("charge.id ?? 'x'", ""),
        ("charge.ok and yes", False),
        ("charge.ok or yes", True),
        ("yes and charge.ok", False),
        ("charge.amount == 0", True),
        ("charge == charge", True),
        ("mixed == [1, 0]", True),
        ("0 in mixed", True),
        ("charge.id | upper", ""),
        ("charge.items | length", 0),
        ("charge | json", '{"amount":0,"deep":{"x":1},"id":"","items":[],"note":null,"ok":false}'),
        ("mixed | sum", 1),
        ("mixed | json", "[1,0]"),
        ("mixed | last", 0),
        ("mixed[1]", 0),
        ("'a' | replace('a', charge.id)", ""),
        ("charge.note | default(charge.id)", ""),
    ],
)
def test_marks_go_on(text: str, expected: Any) -> None:
    value = result(text, **MARKED)
    assert isinstance(value, Marked)
    assert strip_marks(value) == expected
    assert not isinstance(value.value, Marked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no and charge.ok", False),
        ("yes or charge.ok", True),
        ("5 ?? charge.id", 5),
        ("mixed | length", 2),
        ("mixed | first", 1),
        ("mixed[0]", 1),
        ("1 in mixed", True),
        ("[charge.ok] | length", 1),
    ],
)
def test_what_does_not_depend_on_a_placeholder_has_no_mark(text: str, expected: Any) -> None:
    value = result(text, **MARKED)
    assert not isinstance(value, Marked)
    assert value == expected


def test_containers_keep_the_marks_of_their_parts() -> None:
    value = result("{a: charge.amount, b: [1, charge.id]} ", **MARKED)
    assert isinstance(value, dict)
    assert isinstance(value["a"], Marked)
    assert isinstance(value["b"][1], Marked)
    assert value["b"][0] == 1
    joined = result("mixed + [2]", **MARKED)
    assert isinstance(joined, list)
    assert [isinstance(item, Marked) for item in joined] == [False, True, False]


def test_a_text_with_a_marked_part_is_marked() -> None:
    value = evaluate_template(parse_template("id {{ charge.id }} of {{ 1 }}"), {**SCOPE, **MARKED})
    assert isinstance(value, Marked)
    assert value.value == "id  of 1"


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("1 / charge.amount", DIVISION, True),
        ("charge.items[0]", RANGE, True),
        ("charge.note.x", NULL_MEMBER, True),
        ("charge.id + 1", KIND, True),
        ("charge.ok and 1 == 1 or charge.id", KIND, True),
        ("not charge.id", KIND, True),
        ("charge.id | number", CONVERSION, True),
        ("mixed[1].x", KIND, True),
        ("1 / 0", DIVISION, False),
        ("n.x", NULL_MEMBER, False),
        ("mixed[2]", RANGE, False),
        ("yes and 1", KIND, False),
    ],
)
def test_a_fault_tells_whether_it_depends_on_a_placeholder(text: str, code: str, marked: bool) -> None:
    expr, _ = parse_expression(text)
    with pytest.raises(Fault) as caught:
        evaluate(expr, {**SCOPE, **MARKED})
    assert (caught.value.code, caught.value.marked) == (code, marked)
    with pytest.raises(Fault) as joined:
        evaluate_template(parse_template("x{{" + text + "}}"), {**SCOPE, **MARKED})
    assert joined.value.marked is marked


def test_a_marked_null_in_a_text_is_a_marked_fault() -> None:
    with pytest.raises(Fault) as caught:
        evaluate_template(parse_template("x{{ charge.note }}"), {**SCOPE, **MARKED})
    assert (caught.value.code, caught.value.marked) == (KIND, True)
