"""The smallest value that fits a schema: what each keyword gives, and that whatever is made fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_runtime.samples import NoSample, fits, sample
from sim_runtime.sampling.strings import FORMAT_TEXTS

TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}},
            "required": ["left"],
        }
    },
}

CASES: list[tuple[Any, Any]] = [
    (True, None),
    ({}, None),
    ({"type": "string"}, "charge#1"),
    ({"type": "string", "maxLength": 3}, "cha"),
    ({"type": "string", "minLength": 10}, "charge#1xx"),
    ({"type": "string", "title": "A name"}, "charge#1"),
    ({"type": "string", "format": "date-time"}, "1970-01-01T00:00:00Z"),
    ({"type": "string", "format": "duration"}, "0s"),
    ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
    ({"type": "string", "format": "email", "maxLength": 5}, "a@b"),
    ({"type": "string", "pattern": "^ch_[0-9a-f]{4,8}$"}, "ch_0000"),
    ({"type": "string", "pattern": "^(eu|us)-\\d+$", "minLength": 6}, "eu-000"),
    ({"type": "string", "pattern": "b"}, "b"),
    ({"type": "integer"}, 0),
    ({"type": "integer", "minimum": 3}, 3),
    ({"type": "integer", "maximum": -3}, -3),
    ({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 7}, 7),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, 0.25),
    ({"type": "number", "multipleOf": 0.1, "minimum": 0.25}, 0.3),
    ({"type": "boolean"}, False),
    ({"type": "null"}, None),
    ({"type": ["string", "null"]}, "charge#1"),
    ({"enum": ["b", "a"]}, "b"),
    ({"enum": [1, "a"], "type": "string"}, "a"),
    ({"const": {"k": 1}}, {"k": 1}),
    ({"type": "array", "items": {"type": "string"}}, []),
    ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["charge#1", "charge#1"]),
    (
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
        ["charge#1", "charge#1-2"],
    ),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "minItems": 2}, [0, False]),
    ({"type": "array", "contains": {"type": "integer", "minimum": 2}}, [2]),
    (
        {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["a"]},
        {"a": "charge#1"},
    ),
    ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"field_1": 0}),
    ({"type": "object", "required": ["x"]}, {"x": None}),
    ({"anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]}, "char"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 0.5),
    ({"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 2}]}, 2),
    ({"type": "string", "not": {"const": "charge#1"}}, "charge#1-2"),
    (
        {
            "type": "object",
            "properties": {"kind": {"enum": ["card", "cash"]}},
            "required": ["kind"],
            "if": {"properties": {"kind": {"const": "card"}}},
            "then": {"required": ["number"], "properties": {"number": {"type": "integer", "minimum": 1}}},
        },
        {"kind": "cash"},
    ),
]


@pytest.mark.parametrize(("schema", "wanted"), CASES, ids=lambda value: str(value)[:60])
def test_the_smallest_value(schema: Any, wanted: Any) -> None:
    found = sample(schema, "charge#1")
    assert found == wanted
    assert type(found) is type(wanted)
    assert fits(schema, found)


def test_a_recursive_type_ends() -> None:
    value = sample(TREE, "t")
    assert fits(TREE, value)
    assert str(value).count("left") <= 4


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "integer", "minimum": 1, "maximum": 0},
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "string", "pattern": "(?=a)b"},
    ],
    ids=str,
)
def test_what_nothing_fits_is_said(schema: Any) -> None:
    with pytest.raises(NoSample, match="no value was found"):
        sample(schema, "x")


def schemas() -> st.SearchStrategy[Any]:
    small = st.integers(-5, 5)
    size = st.integers(0, 4)
    leaves = st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("string")}, optional={"minLength": size, "maxLength": st.integers(4, 9)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("integer")}, optional={"minimum": small, "multipleOf": st.integers(1, 4)}
        ),
        st.fixed_dictionaries({"type": st.just("number")}, optional={"exclusiveMaximum": small}),
        st.fixed_dictionaries({"type": st.just("string"), "format": st.sampled_from(["date", "uri", "ipv4", "time"])}),
        st.fixed_dictionaries(
            {"enum": st.lists(st.one_of(small, st.text(max_size=3), st.none()), min_size=1, max_size=3)}
        ),
        st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"type": ["integer", "null"]}]),
    )

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        names = st.sampled_from(["a", "b", "c"])
        return st.one_of(
            st.fixed_dictionaries(
                {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
                optional={"required": st.lists(names, unique=True, max_size=3), "minProperties": st.integers(0, 3)},
            ),
            st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 3)}),
            st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        )

    return st.recursive(leaves, wider, max_leaves=8)


@given(schemas(), st.text(max_size=12))
@settings(max_examples=300, deadline=None)
def test_whatever_is_made_fits_and_is_the_same_again(schema: Any, text: str) -> None:
    try:
        value = sample(schema, text)
    except NoSample:
        return
    assert fits(schema, value)
    assert sample(schema, text) == value


@pytest.mark.parametrize("name", sorted(FORMAT_TEXTS))
def test_texts_of_a_format_can_differ(name: str) -> None:
    schema = {"type": "array", "items": {"type": "string", "format": name}, "minItems": 5, "uniqueItems": True}
    found = sample(schema, "free text")
    assert len(set(found)) == 5
    assert fits(schema, found)
    assert "free text" not in found
