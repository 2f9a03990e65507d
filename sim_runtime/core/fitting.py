"""Values against declared types at run time: JSON to typed values, optional fields, schema checks (language page, 3).

The full check of a JSON Schema is slow; most schemas are a few keywords, so each is compiled once to a quick test that
is certain when it says yes. Only when it does not, the full check runs and its words are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from analyzer.expressions.times import Duration, Timestamp
from analyzer.expressions.types import Type
from analyzer.expressions.values import KINDS, Marked, Value, strip_marks, to_json

Schema: TypeAlias = Mapping[str, Any] | bool
Test: TypeAlias = Callable[[Any], bool]

_MAX_DEPTH: Final = 32
#: The values of a kind, whole numbers aside; a time may be text still.
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "number": (int, float),
    "string": (str, Timestamp, Duration),
    "timestamp": (str, Timestamp),
    "duration": (str, Duration),
    "list": (list,),
    "object": (dict,),
}
_PLAIN: Final = frozenset({str, int, bool, float, type(None)})


class Sparse(dict[str, Any]):
    """A map in which declared optional fields that are absent read as null."""

    __slots__ = ("optional",)
    optional: frozenset[str]

    def __missing__(self, key: str) -> None:
        if key in self.optional:
            return
        raise KeyError(key)


KINDS[Sparse] = "map"


def json_of(value: Any) -> Any:
    """A value as plain JSON for the world outside: times as text, without marks. Parts that are plain are shared."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        if _PLAIN.issuperset(map(type, value.values())):
            return value
        found = {name: each if type(each) in _PLAIN else json_of(each) for name, each in value.items()}
        return value if all(each is value[name] for name, each in found.items()) else found
    if kind is list:
        items = [each if type(each) in _PLAIN else json_of(each) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return to_json(strip_marks(value))


# -- from JSON


class TypeGuide:
    """Says of JSON data of a type which texts are timestamps and durations (``analyzer.expressions.values.Guide``)."""

    __slots__ = ("_type",)

    def __init__(self, type_: Type) -> None:
        self._type = type_

    def reads(self) -> str:
        """``timestamp``, ``duration`` or empty."""
        kinds = {each.kind for each in self._type.options or (self._type,)}
        if "string" in kinds:
            return ""
        return "timestamp" if "timestamp" in kinds else "duration" if "duration" in kinds else ""

    def member(self, name: str, owner: Mapping[str, Any]) -> TypeGuide | None:
        """The type of a member of a map, ``owner``."""
        for each in forms_of(self._type, owner):
            field = each.fields.get(name)
            if field is not None:
                return TypeGuide(field.type)
            if each.additional is not None:
                return TypeGuide(each.additional)
        return None

    def element(self) -> TypeGuide | None:
        """The type of the elements of a list."""
        for each in self._type.options or (self._type,):
            if each.item is not None:
                return TypeGuide(each.item)
        return None


def forms_of(type_: Type, value: Mapping[str, Any]) -> list[Type]:
    """The forms of a type that a map has: those that it may be one of, by what is in it."""
    forms = [each for each in type_.options or (type_,) if each.kind == "object"]
    return [each for each in forms if _may_be(each, value)] or forms if len(forms) > 1 else forms


def _may_be(form: Type, value: Mapping[str, Any]) -> bool:
    for name, field in form.fields.items():
        if name not in value:
            if not field.optional:
                return False
        elif not _fits_shallowly(field.type, field.optional, value[name]):
            return False
    return not form.closed or form.additional is not None or all(name in form.fields for name in value)


def _fits_shallowly(type_: Type, optional: bool, value: Any) -> bool:
    """Whether a value can be of a type by its kind and the constants of the type."""
    if isinstance(value, Marked):
        value = value.value
    if value is None:
        return optional or _takes_null(type_)
    for each in type_.options or (type_,):
        if each.values is not None:
            if any(value == known and isinstance(value, bool) == isinstance(known, bool) for known in each.values):
                return True
        elif each.kind == "any" or (isinstance(value, bool) if each.kind == "boolean" else _is_kind(each.kind, value)):
            return True
    return False


def _is_kind(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _KINDS.get(kind, ()))


def guide_of(type_: Type | None) -> TypeGuide | None:
    """The guide of a type; None when nothing in it is a timestamp or duration."""
    if type_ is None or not _mentions(type_, lambda each: each.kind in ("timestamp", "duration")):
        return None
    return TypeGuide(type_)


def _mentions(type_: Type, test: Callable[[Type], bool], depth: int = 0) -> bool:
    if test(type_):
        return True
    if depth > _MAX_DEPTH:
        return False
    parts = [field.type for field in type_.fields.values()]
    parts += [each for each in (type_.item, type_.additional) if each is not None]
    return any(_mentions(each, test, depth + 1) for each in (*parts, *type_.options))


# -- optional fields


def has_optional(type_: Type | None) -> bool:
    """Whether a type has optional fields anywhere."""
    return type_ is not None and _mentions(type_, lambda each: any(field.optional for field in each.fields.values()))


def with_optional(value: Value, type_: Type) -> Value:
    """``value`` as expressions read it: absent optional fields read null. Parts without any are shared."""
    if isinstance(value, Marked):
        inner = with_optional(value.value, type_)
        return value if inner is value.value else Marked(inner)  # type: ignore[arg-type]
    if isinstance(value, list):
        item = next((each.item for each in type_.options or (type_,) if each.item is not None), None)
        if item is None or not value or not has_optional(item):
            return value
        return [with_optional(each, item) for each in value]
    if not isinstance(value, dict):
        return value
    forms = forms_of(type_, value)
    if not forms:
        return value
    shape = forms[0]
    absent = frozenset(
        name for form in forms for name, field in form.fields.items() if field.optional and name not in value
    )
    found = Sparse() if absent else {}
    changed = bool(absent)
    for name, each in value.items():
        field = shape.fields.get(name)
        inner_type = field.type if field is not None else shape.additional
        found[name] = each if inner_type is None else with_optional(each, inner_type)
        changed = changed or found[name] is not each
    if isinstance(found, Sparse):
        found.optional = absent
    return found if changed else value


def plain(value: Value) -> Value:
    """``value`` as it is recorded: without ``Sparse``. Parts that need no change are shared."""
    if isinstance(value, dict):
        entries = {name: plain(each) for name, each in value.items()}
        same = type(value) is dict and all(each is value[name] for name, each in entries.items())
        return value if same else entries
    if isinstance(value, list):
        items = [plain(each) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, Marked):
        inner = plain(value.value)
        return value if inner is value.value else Marked(inner)  # type: ignore[arg-type]
    return value


def without_nulls(value: Value, type_: Type) -> Value:
    """``value`` without optional fields that are null where the type has no null: an optional field reads null."""
    if isinstance(value, list):
        item = next((each.item for each in type_.options or (type_,) if each.item is not None), None)
        return value if item is None else [without_nulls(each, item) for each in value]
    if not isinstance(value, dict):
        return value
    shape = next(iter(forms_of(type_, value)), None)
    if shape is None:
        return value
    kept: dict[str, Any] = {}
    for name, each in value.items():
        field = shape.fields.get(name)
        if each is None and field is not None and field.optional and not _takes_null(field.type):
            continue
        inner = field.type if field is not None else shape.additional
        kept[name] = each if inner is None else without_nulls(each, inner)
    return kept


def _takes_null(type_: Type) -> bool:
    return type_.kind == "any" or type_.may_be_null


# -- schema checks


class Fit:
    """A declared type as a check of JSON data."""

    __slots__ = ("_quick", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._quick = quick_test(schema)

    def faults(self, value: Any) -> list[str]:
        """What of ``value`` does not fit, in words; empty when it fits."""
        if self._quick(value):
            return []
        from analyzer.expressions.schema_literals import value_faults

        schema = self.schema if isinstance(self.schema, bool) else dict(self.schema)
        return [_placed(path, message) for path, message in value_faults(schema, value)]


def _placed(path: tuple[str | int, ...], message: str) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return f"`{where}`: {message}" if where else message


_TYPE_TESTS: Final[dict[str, Test]] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or type(value) is float,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "array": lambda value: type(value) is list,
    "object": lambda value: isinstance(value, dict),
}
_NOTES: Final = frozenset({"title", "description", "default", "examples", "sensitive", "deprecated", "$comment"})
_KNOWN: Final = _NOTES | {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
}  # fmt: skip


def _never_certain(_value: Any) -> bool:
    return False


def quick_test(schema: Schema, depth: int = 0) -> Test:
    """A test that says True only for what surely fits; False means that it is not known."""
    if schema is True or schema == {}:
        return lambda _value: True
    if isinstance(schema, bool) or depth > _MAX_DEPTH or not _KNOWN.issuperset(schema):
        return _never_certain
    tests: list[Test] = []
    kinds = schema.get("type")
    if kinds is not None:
        each = [_TYPE_TESTS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        tests.append(each[0] if len(each) == 1 else lambda value: any(test(value) for test in each))
    if "enum" in schema or "const" in schema:
        tests.append(_constants(schema))
    if any(key in schema for key in ("properties", "required", "additionalProperties")):
        tests.append(_object_test(schema, depth))
    if "items" in schema:
        inner = quick_test(schema["items"], depth + 1)
        tests.append(lambda value: not isinstance(value, list) or all(inner(each) for each in value))
    tests += [_bound(key, schema[key]) for key in _BOUNDS if key in schema]
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        one, two = tests
        return lambda value: one(value) and two(value)
    return lambda value: all(test(value) for test in tests)


def _constants(schema: Mapping[str, Any]) -> Test:
    allowed = schema.get("enum", [])
    if "const" in schema:
        allowed = [schema["const"]]
        if "enum" in schema:
            return _never_certain
    texts = frozenset(each for each in allowed if type(each) is str)
    has_null = None in allowed
    return lambda value: (type(value) is str and value in texts) or (value is None and has_null)


def _object_test(schema: Mapping[str, Any], depth: int) -> Test:
    properties = {name: quick_test(each, depth + 1) for name, each in schema.get("properties", {}).items()}
    required = tuple(schema.get("required", ()))
    others = schema.get("additionalProperties", True)
    other = quick_test(others, depth + 1) if others is not False else _never_certain

    def test(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        for name in required:
            if name not in value:
                return False
        for name, each in value.items():  # noqa: SIM110 - `all` with a generator takes twice the time here
            if not properties.get(name, other)(each):
                return False
        return True

    return test


_BOUNDS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
}
_BOUND_KINDS: Final[dict[str, tuple[type, ...]]] = {"Length": (str,), "Items": (list,)}


def _bound(key: str, bound: Any) -> Test:
    compare = _BOUNDS[key]
    kinds = next((found for suffix, found in _BOUND_KINDS.items() if key.endswith(suffix)), (int, float))
    return lambda value: type(value) not in kinds or compare(value, bound)
