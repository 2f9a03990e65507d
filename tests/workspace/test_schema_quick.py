"""A quick yes is never a wrong yes: what it accepts, the validator accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from analyzer.expressions.schema_quick import plainly_fits

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5).map(lambda x: round(x, 1)), st.text("ab", max_size=4)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)),
    max_leaves=6,
)
BOUNDS = st.integers(-3, 4)


def schemas() -> st.SearchStrategy[Any]:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(
                    ["string", "integer", "number", "object", "array", "null", "boolean", ["string", "null"]]
                ),
                "minimum": BOUNDS,
                "exclusiveMaximum": BOUNDS,
                "minLength": st.integers(0, 3),
                "maxItems": st.integers(0, 3),
                "enum": st.lists(SCALARS, min_size=1, max_size=3),
                "const": SCALARS,
                "required": st.lists(st.sampled_from("xyz"), unique=True, max_size=2),
                "properties": st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
                "additionalProperties": st.one_of(st.booleans(), inner),
                "items": inner,
                "pattern": st.just("a"),
            },
        )

    return st.recursive(st.just({}), around, max_leaves=4)


@given(schemas(), VALUES)
def test_what_plainly_fits_is_valid(schema: Any, value: Any) -> None:
    if plainly_fits(schema, value):
        assert Draft202012Validator(schema).is_valid(value)


def test_the_common_schemas_are_told_without_the_validator() -> None:
    schema = {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
        "required": ["sku", "quantity"],
        "additionalProperties": False,
    }
    assert plainly_fits(schema, {"sku": "a", "quantity": 1})
    assert not plainly_fits(schema, {"sku": "a", "quantity": 0})
    assert not plainly_fits(schema, {"sku": "a", "quantity": 1, "more": 1})
