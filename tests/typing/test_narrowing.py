"""Facts of tests (language page, section 4, *Static types and nullability*): what a condition makes of types."""

from __future__ import annotations

import pytest

from analyzer.expressions.narrowing import meet, without
from analyzer.expressions.scope import Binding, Env
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    INTEGER,
    NEVER,
    NULL,
    NUMBER,
    STRING,
    Field,
    Type,
    constant,
    describe,
    enum_of,
    join,
    list_of,
    record,
)
from tests.typing.typed import narrowed

LEVEL = enum_of(["low", "mid", "high"])
NAMES: dict[str, Type] = {
    "a": record({"id": Field(STRING), "note": Field(STRING, True), "level": Field(LEVEL)}).with_null(),
    "b": record({"deep": Field(record({"leaf": Field(STRING, True), "n": Field(INTEGER)}), True)}),
    "s": STRING.with_null(),
    "t": STRING.with_null(),
    "flag": BOOLEAN.with_null(),
    "level": LEVEL,
    "xs": list_of(STRING.with_null()),
    "unknown": ANY,
    "maybe": ANY.with_null(),
}


def both(condition: str, reference: str) -> tuple[str, str]:
    """The type of a reference where the condition held, and where it did not; ``-`` for never."""
    held, failed = (narrowed(condition, truth, reference, **NAMES) for truth in (True, False))
    return _words(held), _words(failed)


def _words(type_: Type | None) -> str:
    return "-" if type_ is None else describe(type_).replace('enum["low", "mid", "high"]}', "enum[…]}")


@pytest.mark.parametrize(
    ("condition", "reference", "held", "failed"),
    [
        ("s != null", "s", "string", "null"),
        ("s == null", "s", "null", "string"),
        ("null == s", "s", "null", "string"),
        ("not s == null", "s", "string", "null"),
        ("not (not (s == null))", "s", "null", "string"),
        ("s == 'x'", "s", '"x"', "string?"),
        ("s != 'x'", "s", "string?", '"x"'),
        ("s == t", "s", "string?", "string?"),
        ("s != null and t != null", "s", "string", "string?"),
        ("s != null or t != null", "s", "string?", "null"),
        ("s == null or t == null", "t", "string?", "string"),
        ("not (s == null or t == null)", "t", "string", "string?"),
        ("s != null and s == 'x'", "s", '"x"', "string?"),
        ("flag", "flag", "true", "false"),
        ("flag ?? false", "flag", "true", "boolean?"),
        ("flag ?? true", "flag", "boolean?", "false"),
        ("(s ?? 'none') != 'none'", "s", "string", "string?"),
        ("(s ?? 'none') == 'none'", "s", "string?", "string"),
        ("(s | default('none')) == 'x'", "s", '"x"', "string?"),
        ("level == 'low'", "level", '"low"', 'enum["mid", "high"]'),
        ("level in ['low', 'mid']", "level", 'enum["low", "mid"]', '"high"'),
        ("level == 'other'", "level", "-", 'enum["low", "mid", "high"]'),
        ("s in ['x', null]", "s", '"x"?', "string"),
        ("a != null", "a.id", "string", "any"),
        ("a?.id != null", "a", "{id: string, note?: string, level: enum[…]}", "null"),
        ("a?.id == null", "a", "null", "{id: string, note?: string, level: enum[…]}"),
        ("a?.note != null", "a.note", "string", "null"),
        ("a?.level == 'low'", "a.level", '"low"', 'enum["mid", "high"]'),
        ("b.deep?.leaf != null", "b.deep.leaf", "string", "null"),
        ("b.deep?.n == null", "b.deep", "null", "{leaf?: string, n: integer}"),
        ("b.deep.leaf == null", "b.deep", "{leaf?: string, n: integer}", "{leaf?: string, n: integer}"),
        ("xs[0] != null", "xs[0]", "string", "null"),
        ("xs[0] != null", "xs[1]", "string?", "string?"),
        ("unknown == null", "unknown", "null", "any"),
        ("unknown == 'x'", "unknown", '"x"', "any"),
        ("maybe != null", "maybe", "any", "null"),
        ("maybe != null and maybe == null", "maybe", "-", "any?"),
        ("true", "s", "string?", "-"),
        ("s < 'x'", "s", "string?", "string?"),
    ],
)
def test_a_condition_narrows(condition: str, reference: str, held: str, failed: str) -> None:
    assert both(condition, reference) == (held, failed)


@pytest.mark.parametrize(
    ("type_", "wanted", "answer"),
    [
        (STRING, constant("x"), '"x"'),
        (STRING.with_null(), NULL, "null"),
        (STRING, NULL, "no value"),
        (LEVEL.with_null(), constant("low").with_null(), '"low"?'),
        (LEVEL.with_null(), constant("other").with_null(), "null"),
        (join(STRING, INTEGER), constant(1), "1"),
        (NUMBER, constant(1), "1"),
        (NEVER, constant(True), "no value"),
        (ANY.with_null().not_null(), NULL, "no value"),
        (ANY, NULL, "null"),
        (STRING, ANY, "string"),
    ],
)
def test_what_can_equal_a_value_of_another_type(type_: Type, wanted: Type, answer: str) -> None:
    assert describe(meet(type_, wanted)) == answer


def test_a_boolean_is_not_taken_out_as_a_number() -> None:
    assert without(constant(True), 1).values == (True,)
    assert without(enum_of([1, 2]), True).values == (1, 2)
    assert without(constant("x").with_null(), "x").kind == "null"


def test_two_bindings_of_one_name_have_facts_of_their_own() -> None:
    outer, inner = Binding("s", STRING.with_null()), Binding("s", STRING.with_null())
    env = Env(None, {"s": outer}, {(outer,): STRING})
    assert env.child({"s": inner}).lookup("s") is inner
    assert (inner,) not in env.child({"s": inner}).facts
