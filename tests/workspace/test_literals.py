"""Literals against the further constraints of their type (language page, section 3)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.patterns import Pattern, compile_pattern
from analyzer.expressions.schema_literals import MAX_FAULTS, literal_faults, value_faults
from analyzer.expressions.schema_types import reading_of
from analyzer.expressions.type_meet import with_schema
from analyzer.expressions.types import ANY, STRING
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source


def faults(schema: str, literal: str) -> list[tuple[str, str]]:
    tree = parse(Source(schema))
    assert tree.root is not None
    reading = reading_of(tree.root, lambda node, message: pytest.fail(message))
    value = parse(Source(literal))
    assert value.root is not None
    found = literal_faults(reading.type, value.root)
    return [(value.source.text[node.start : node.end], message) for node, message in found]


@pytest.mark.parametrize(
    ("schema", "literal", "place", "words"),
    [
        ("{type: integer, minimum: 1}", "0", "0", "below the minimum of 1"),
        ("{type: number, exclusiveMaximum: 1}", "1.0", "1.0", "must be below 1"),
        ("{type: number, multipleOf: 0.1}", "0.35", "0.35", "not a multiple of 0.1"),
        ("{type: string, minLength: 2}", "a", "a", "has 1 character,"),
        ("{type: string, pattern: '^[a-z]+$'}", "A1", "A1", "does not match the pattern"),
        ("{type: string, pattern: '^a$'}", '"a\\n"', '"a\\n"', "does not match"),
        ("{type: string, format: uuid}", "x", "x", "not a UUID"),
        ("{type: string, format: date}", "2026-02-30", "2026-02-30", "not a date"),
        ("{type: array, uniqueItems: true}", "[1, 1.0]", "[1, 1.0]", "appears twice"),
        ("{type: array, maxItems: 1}", "[a, b]", "[a, b]", "2 elements"),
        ("{type: array, contains: {const: x}}", "[a]", "[a]", "lacks an element"),
        ("{type: object, minProperties: 1}", "{}", "{}", "at least 1"),
        ("{type: object, propertyNames: {pattern: '^a'}}", "{b: 1}", "{b: 1}", "does not match"),
        ("{type: object, dependentRequired: {a: [b]}}", "{a: 1}", "{a: 1}", "`a` needs `b`"),
        ("{not: {const: 1}, type: integer}", "1", "1", "excluded"),
        ("{oneOf: [{type: integer}, {type: number}]}", "1", "1", "more than one"),
        ("{a: {type: integer, minimum: 1}}", "{a: 1, b: 2}", "b", "not a field here"),
        ("{a: {type: integer, minimum: 1}}", "{a: 0}", "0", "below"),
        ("{type: array, items: {type: integer, minimum: 1}}", "[1, 0, 2]", "0", "below"),
        ("{type: object, properties: {a: {minimum: 1}}, required: [a]}", "{}", "{}", "`a` is missing"),
    ],
)
def test_faults_stand_at_their_node(schema: str, literal: str, place: str, words: str) -> None:
    found = faults(schema, literal)
    assert [each for each, _ in found] == [place]
    assert words in found[0][1]


@pytest.mark.parametrize(
    ("schema", "literal"),
    [
        ("{type: number, multipleOf: 0.1}", "0.3"),
        ("{type: number, multipleOf: 0.01}", "19.99"),
        ("{type: integer, maximum: 5}", "5.0"),
        ("{type: array, uniqueItems: true}", "[1, true, '1']"),
        (
            "{at: {type: string, format: date-time}, d: {type: string, format: duration, minLength: 1}}",
            "{at: 2026-01-01T00:00:00Z, d: 1h30m}",
        ),
        ("{type: string, pattern: '(?<year>[0-9]{4})-\\p{Lu}'}", "whatever"),
        ("{type: string, format: unheard-of, minLength: 1}", "x"),
    ],
)
def test_what_fits_has_no_faults(schema: str, literal: str) -> None:
    assert faults(schema, literal) == []


def test_of_a_value_of_the_wrong_type_nothing_else_is_said() -> None:
    assert len(faults("{type: integer, minimum: 1, multipleOf: 2}", "0.5")) == 1


def test_faults_are_bounded_sorted_and_the_same_each_time() -> None:
    schema = "{type: object, additionalProperties: {type: integer, minimum: 100}}"
    literal = "{" + ", ".join(f"k{n}: {n}" for n in range(99, 0, -1)) + "}"
    found = faults(schema, literal)
    assert len(found) == MAX_FAULTS
    assert found == faults(schema, literal)


def test_without_a_schema_nothing_is_loaded_or_found() -> None:
    node = parse(Source("1")).root
    assert node is not None
    assert literal_faults(STRING, node) == []
    code = "import sys, analyzer.expressions.schema_types; sys.exit('jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "((a+)+)+$", "a*a*a*a*a*a*b", "(.*.*)*x", "^(([a-z])+.)+[A-Z]$"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    started = time.process_time()
    for length in (10, 20, 24, 60, 3_000, 100_000):
        value_faults({"type": "string", "pattern": pattern}, "a" * length + "!")
    assert time.process_time() - started < 5


def test_common_patterns_are_matched_at_any_common_length() -> None:
    for text in (r"^[A-Z]{2}\d{2}[A-Z0-9]{1,30}$", r"^[a-z]+-[a-z0-9]+$", r"^(eu|us)-[0-9]+$", r"^#[a-z-]+$"):
        pattern = compile_pattern(text)
        assert isinstance(pattern, Pattern)
        assert pattern.limit() >= 100, text


def test_hostile_schemas_end() -> None:
    ring: Any = {
        "$defs": {"n": {"anyOf": [{"properties": {"c": {"$ref": "#/$defs/n"}}, "minProperties": 9}] * 3}},
        "$ref": "#/$defs/n",
    }
    deep: Any = 1
    for _ in range(60):
        deep = {"c": deep}
    started = time.process_time()
    value_faults(ring, deep)
    assert time.process_time() - started < 5
    endless: Any = []
    for _ in range(900):
        endless = [endless]
    assert value_faults({"$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}}, endless) == []
    assert value_faults({"multipleOf": 1e-300}, 10**300) == []
    assert value_faults({"multipleOf": 0.1}, float("inf")) == []


SCHEMAS = st.fixed_dictionaries(
    {"type": st.sampled_from([["integer", "string"], "array", "object", "number"])},
    optional={
        "minimum": st.integers(-3, 3),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.sampled_from("ab"), unique=True, max_size=2),
        "properties": st.dictionaries(st.sampled_from("ab"), st.just({"type": "integer"}), max_size=2),
        "additionalProperties": st.booleans(),
        "enum": st.lists(st.sampled_from([1, "a", 0]), min_size=1, max_size=2),
    },
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, -2, 2.5, "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_agrees_with_the_library(schema: Any, value: Any) -> None:
    node = parse(Source(json.dumps(value))).root
    assert node is not None
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (literal_faults(with_schema(ANY, schema), node) == []) == expected
