"""Types read from files (language page, section 3)."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.expressions.schema_types import (
    SCHEMA_MARKS,
    read_record,
    read_type,
    reading_of,
    schema_of,
    sensitive_paths,
    type_of_schema,
)
from analyzer.expressions.types import ANY, Type, describe, mismatch
from analyzer.syntax.parse import parse
from analyzer.syntax.source import Source


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("string", "string"),
        ("timestamp", "timestamp"),
        ("any", "any"),
        ("'null'", "null"),
        ("list[string]", "list[string]"),
        ("list[ map[ integer? ] ]?", "list[map[integer?]]?"),
        ('\'enum["a", "b"]\'', 'enum["a", "b"]'),
        ("\"enum['a', 'b', 'a']?\"", 'enum["a", "b"]?'),
        ("{a: string, b: {c: integer}}", "{a: string, b: {c: integer}}"),
        ("a: string\nb?: integer\n", "{a: string, b?: integer}"),
        ("{type: string}", "string"),
        ('{type: [string, "null"]}', "string?"),
        ("{type: [integer, number]}", "number"),
        ("{type: string, format: date-time}", "timestamp"),
        ("{type: string, format: duration}", "duration"),
        ("{type: array, items: {type: integer}}", "list[integer]"),
        ("{type: array}", "list"),
        ("{type: array, prefixItems: [{type: string}], items: {type: integer}}", "list[string or integer]"),
        ("{enum: [a, b, null]}", 'enum["a", "b"]?'),
        ("{type: string, enum: [a, 1]}", '"a"'),
        ("{const: 3}", "3"),
        ("{anyOf: [{type: string}, {type: integer}]}", "string or integer"),
        ("{allOf: [{type: number}, {type: integer}]}", "integer"),
        ("{type: object, additionalProperties: {type: integer}}", "map[integer]"),
        ("{type: object, properties: {a: {type: string}}, required: [a]}", "{a: string}"),
        ("{allOf: [{type: object, properties: {a: {type: string}}}, {required: [a]}]}", "{a: string}"),
        ("{$ref: '#/$defs/p', $defs: {p: {type: boolean}}}", "boolean"),
        ("{$ref: '#/definitions/p', definitions: {p: {type: boolean}}}", "boolean"),
    ],
)
def test_reads_types(read_text: Any, text: str, shown: str) -> None:
    typed = read_text(text)
    assert typed.faults == []
    assert describe(typed.type) == shown


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("str", "str", "Did you mean `string`?"),
        ("int", "int", "Did you mean `integer`?"),
        ("strng", "strng", "Did you mean `string`?"),
        ("String", "String", "Did you mean `string`?"),
        ("list[strng]", "list[strng]", "Did you mean `string`?"),
        ("array[string]", "array[string]", "Did you mean `list`?"),
        ("string[]", "string[]", "Did you mean `list[string]`?"),
        ("list<string>", "list<string>", "Did you mean `list[string]`?"),
        ("list", "list", "Did you mean `list[any]`?"),
        ("string | null", "string | null", "write `T?`"),
        ("list[string", "list[string", "add `]`"),
        ("list[]", "list[]", "lacks its element type"),
        ("'enum[]'", "'enum[]'", "has no values"),
        ("'enum[a]'", "'enum[a]'", 'write `"a"`'),
        ("null", "null", '`"null"` in quotes'),
        ("5", "5", "a number"),
        ("[string]", "[string]", "this is a list"),
        ("{a: strng}", "strng", "Did you mean `string`?"),
        ("{'?': string}", "'?'", "no name"),
        ("{type: strng}", "strng", "Did you mean `string`?"),
        ("{type: timestamp}", "timestamp", "`format: date-time`"),
        ("{type: [string, null]}", "null", "quote it"),
        ("{type: []}", "[]", "empty list"),
        ("{type: object, properties: 5}", "5", "must be a map of names to schemas"),
        ("{type: object, properties: {a: string}}", "string", "instead of `string` write `{ type: string }`"),
        ("{type: object, properties: {a: {type: string}}, required: true}", "true", "must be a list of names"),
        ("{type: object, properties: {a: {type: string}}, required: [5]}", "5", "lists names"),
        ("{type: object, properties: {}, required: [b], additionalProperties: false}", "b", "does not declare"),
        ("{type: string, pattern: '('}", "'('", "not a regular expression"),
        ("{type: string, minLength: -1}", "-1", "at least 0"),
        ("{type: number, minimum: a}", "a", "must be a number"),
        ("{type: number, minimum: 5, maximum: 1}", "1", "is below `minimum`"),
        ("{type: number, multipleOf: 0}", "0", "above 0"),
        ("{type: number, exclusiveMinimum: true}", "true", "must be a number"),
        ("{enum: []}", "[]", "one or more allowed values"),
        ("{type: integer, enum: [a]}", "[a]", "No value of `enum`"),
        ("{anyOf: []}", "[]", "one or more schemas"),
        ("{type: array, items: [{type: string}]}", "[{type: string}]", "`prefixItems`"),
        ("{$ref: 'https://example.com/s.json'}", "'https://example.com/s.json'", "never fetched"),
        ("{$ref: '#/$defs/x', $defs: {y: {}}}", "'#/$defs/x'", "not in this schema"),
        ("{$ref: '#'}", "'#'", "leads back to itself"),
        ("{type: string, nullable: true}", "nullable", "2020-12"),
        ("{type: object, propertes: {}}", "propertes", "Did you mean `properties`?"),
        ("{properties: {a: {type: string}}, required: [a]}", "[a]", "add `type: object` beside `required`"),
    ],
)
def test_faults_stand_where_they_are_and_say_what_to_do(read_text: Any, text: str, place: str, words: str) -> None:
    faults = read_text(text).faults
    assert [found for found, _ in faults] == [place]
    assert words in faults[0][1]


@pytest.mark.parametrize("name", ["x-unit", "notes", "unit", "example", "owner", "$vocabulary"])
def test_annotations_of_one_s_own_are_allowed(read_text: Any, name: str) -> None:
    assert read_text(f"{{type: string, {name}: anything}}").faults == []


@pytest.mark.parametrize(("name", "near"), [("one_of", "oneOf"), ("maxlength", "maxLength"), ("patern", "pattern")])
def test_misspelled_keywords(read_text: Any, name: str, near: str) -> None:
    assert f"Did you mean `{near}`?" in read_text(f"{{type: string, {name}: anything}}").faults[0][1]


def test_a_faulty_part_is_any_and_the_rest_stands(read_text: Any) -> None:
    typed = read_text("{a: strng, b: integer}")
    assert typed.type.fields["a"].type is ANY
    assert describe(typed.type.fields["b"].type) == "integer"


def test_closed_open_and_map_objects(read_text: Any) -> None:
    assert read_text("{a: string}").type.closed
    assert read_text("{type: object, properties: {}, additionalProperties: false}").type.closed
    is_open = read_text("{type: object, properties: {a: {type: string}}}").type
    assert not is_open.closed
    assert is_open.additional is None
    assert read_text("{type: object, additionalProperties: {}}").type.additional is ANY
    by_pattern = "{type: object, patternProperties: {'^x': {type: string}}, additionalProperties: false}"
    found = read_text(by_pattern).type
    assert not found.closed
    assert describe(found.additional) == "string"


def test_a_recursive_reference_is_any_where_it_recurs(read_text: Any) -> None:
    text = (
        "{$ref: '#/$defs/node', $defs: {node: {type: object, "
        "properties: {value: {type: string}, next: {$ref: '#/$defs/node'}}, required: [value]}}}"
    )
    typed = read_text(text)
    assert typed.faults == []
    assert describe(typed.type) == "{value: string, next?: any}"
    jsonschema.Draft202012Validator(typed.type.schema).validate({"value": "a", "next": {"value": "b"}})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(typed.type.schema).validate({"value": "a", "next": {"value": 1}})


def test_schema_stands_on_strict_types_and_every_enclosing_one(read_text: Any) -> None:
    typed = read_text("{plain: string, deep: {type: object, properties: {n: {type: integer, minimum: 1}}}}")
    assert typed.type.schema is not None
    assert typed.type.fields["plain"].type.schema is None
    deep = typed.type.fields["deep"].type
    assert deep.schema is not None
    assert deep.fields["n"].type.schema == {"type": "integer", "minimum": 1}
    assert read_text("list[string]").type.schema is None
    assert read_text("{type: object, properties: {a: {type: [string, 'null']}}}").type.schema is None


def test_definitions_of_two_schemas_in_one_record_do_not_meet(read_text: Any) -> None:
    text = (
        "a: {$ref: '#/$defs/x', $defs: {x: {type: string, minLength: 2}}}\n"
        "b: {type: array, items: {$ref: '#/$defs/x'}, $defs: {x: {type: integer, minimum: 5}}}\n"
    )
    typed = read_text(text)
    validator = jsonschema.Draft202012Validator(typed.type.schema)
    assert validator.is_valid({"a": "xy", "b": [5]})
    assert not validator.is_valid({"a": "x", "b": [5]})
    assert not validator.is_valid({"a": "xy", "b": [4]})
    element = typed.type.fields["b"].type.item
    assert not jsonschema.Draft202012Validator(element.schema).is_valid(4)


def test_reading_a_record_whatever_its_names_are() -> None:
    tree = parse(Source("{type: string, enum: integer}"))
    assert tree.root is not None
    faults: list[str] = []
    found = read_record(tree.root, lambda node, message: faults.append(message))
    assert faults == []
    assert describe(found) == "{type: string, enum: integer}"


def test_nesting_is_bounded(read_text: Any) -> None:
    assert "nested more than" in read_text("list[" * 40 + "string" + "]" * 40).faults[0][1]
    refs = {f"d{n}": {"type": "array", "items": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(300)}
    deep = {"$ref": "#/$defs/d0", "$defs": {**refs, "d300": {"type": "string"}}}
    assert read_text(json.dumps(deep)).faults == []


def test_many_references_cost_little(read_text: Any) -> None:
    names = 400
    definitions: dict[str, Any] = {
        f"d{n}": {"type": "object", "properties": {m: {"$ref": f"#/$defs/d{n + 1}"} for m in ("a", "b", "c")}}
        for n in range(names)
    }
    definitions[f"d{names}"] = {"type": "string", "minLength": 1}
    started = time.process_time()
    assert read_text(json.dumps({"$ref": "#/$defs/d0", "$defs": definitions})).faults == []
    assert time.process_time() - started < 3


def test_sensitive_paths_follow_references_and_lists() -> None:
    schema = {
        "type": "object",
        "properties": {
            "card": {"$ref": "#/$defs/card"},
            "people": {"type": "array", "items": {"properties": {"name": {"sensitive": True}}}},
            "notes": {"additionalProperties": {"type": "string", "sensitive": True}},
            "free": {"type": "string"},
        },
        "anyOf": [{"properties": {"token": {"sensitive": True}}}],
        "$defs": {"card": {"properties": {"number": {"sensitive": True}, "brand": {}}}},
    }
    assert sensitive_paths(schema) == (("card", "number"), ("people", "*", "name"), ("notes", "*"), ("token",))


def test_a_recursive_value_with_something_sensitive_is_withheld_as_a_whole() -> None:
    node = {"properties": {"secret": {"sensitive": True}, "next": {"$ref": "#/$defs/node"}}}
    assert sensitive_paths({"$ref": "#/$defs/node", "$defs": {"node": node}}) == (("secret",), ("next",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYWORDS = ("properties", "required", "items", "not", "$defs", "minimum", "minLength", "pattern", "format")
OTHERS = (
    "additionalProperties",
    "patternProperties",
    "prefixItems",
    "string",
    "object",
    "array",
    "#/$defs/a",
    "#",
    "a",
)
WORDS = st.sampled_from((*SCHEMA_MARKS, *KEYWORDS, *OTHERS))
SCHEMAS = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=6),
    max_leaves=20,
)


@given(SCHEMAS)
def test_any_value_as_a_type_gives_a_type_and_never_fails(value: Any) -> None:
    tree = parse(Source(json.dumps(value)))
    if tree.root is None:
        return
    reading = reading_of(tree.root, lambda node, message: None)
    assert isinstance(reading.type, Type)
    assert describe(reading.type)
    jsonschema.Draft202012Validator.check_schema(reading.schema)


SIMPLE = st.recursive(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda name: {"type": name})
    | st.lists(st.sampled_from(["a", "b", 1, 2.5, True, None]), min_size=1, max_size=3).map(lambda v: {"enum": v})
    | st.integers(-5, 5).map(lambda n: {"type": "integer", "minimum": n}),
    lambda inner: st.one_of(
        inner.map(lambda each: {"type": "array", "items": each}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda fields: {"type": "object", "properties": fields, "required": list(fields)[:1]}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"allOf": parts}),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2.5, -3, "a", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)


def literal_type(value: Any) -> Type:
    return type_of_schema({"const": value}).type


@given(SIMPLE, VALUES)
def test_the_schema_of_a_type_accepts_what_the_schema_accepts(schema: Any, value: Any) -> None:
    reading = type_of_schema(schema)
    if jsonschema.Draft202012Validator(schema).is_valid(value):
        assert jsonschema.Draft202012Validator(reading.schema).is_valid(value)
        assert jsonschema.Draft202012Validator(schema_of(reading.type)).is_valid(value)
        found = mismatch(literal_type(value), reading.type)
        assert found is None or any(isinstance(each, list | dict) for each in parts_of(value))


def parts_of(value: Any) -> list[Any]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in below for part in parts_of(each))]


def test_read_type_gives_the_reading_s_type() -> None:
    tree = parse(Source("list[integer]"))
    assert tree.root is not None
    assert describe(read_type(tree.root, lambda node, message: pytest.fail(message))) == "list[integer]"
