"""Literals and run-time values against a JSON Schema, with our own messages.

The jsonschema library is slow to import (75 ms) and is loaded only when a value is checked. Formats, patterns and
``multipleOf`` are ours: the same on every installation, exact, and bounded in time.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from analyzer.expressions.patterns import Pattern, compile_pattern
from analyzer.expressions.schema_faults import json_value
from analyzer.expressions.schema_quick import plainly_fits
from analyzer.expressions.times import parse_timestamp
from analyzer.expressions.types import Type
from analyzer.language.durations import parse_duration
from analyzer.language.words import shown
from analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from fractions import Fraction

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

Path: TypeAlias = tuple[str | int, ...]

MAX_FAULTS: Final = 50
MAX_REFERENCES: Final = 20_000
"""Steps through references for one value; what is past them is not checked."""

_steps: ContextVar[list[int]] = ContextVar("_steps")


class _TooMuch(Exception):
    """The value cannot be checked within the bounds."""


class _Fault(NamedTuple):
    """A fault of a value: its path, and whether it is about the last name of the path rather than its value."""

    path: Path
    message: str
    on_key: bool = False


def literal_faults(type_: Type, node: Node) -> list[tuple[Node, str]]:
    """What of the literal at ``node`` breaks ``type_.schema``, each fault at the node that has it, in document order.

    The literal has no interpolations. Without a schema on the type there is nothing to find.
    """
    if type_.schema is None:
        return []
    value = json_value(node)
    if plainly_fits(type_.schema, value):
        return []
    faults = [(_node_at(node, fault), fault.message) for fault in _faults(dict(type_.schema), value)]
    return sorted(faults, key=lambda fault: (fault[0].start, fault[0].end, fault[1]))


def value_faults(schema: dict[str, Any] | bool, value: Any) -> list[tuple[Path, str]]:
    """What of a JSON value breaks a sound, self-contained schema: paths and messages, sorted, at most ``MAX_FAULTS``.

    The path of an undeclared field is its own, that of a missing one is the map's.
    """
    return [(fault.path, fault.message) for fault in _faults(schema, value)]


def _faults(schema: dict[str, Any] | bool, value: Any) -> list[_Fault]:
    errors: list[ValidationError] = []
    token = _steps.set([MAX_REFERENCES])
    try:
        for error in _validator_class()(schema, format_checker=_formats()).iter_errors(value):
            errors.append(error)
            if len(errors) >= MAX_FAULTS:
                break
    except (_TooMuch, RecursionError):
        pass  # what is not known is not reported
    finally:
        _steps.reset(token)
    found: dict[_Fault, None] = {}
    # Of a value of the wrong type nothing else is said: it would only follow from that.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        if error.validator == "type" or tuple(error.absolute_path) not in mistyped:
            found.update(dict.fromkeys(_explained(error)))
    return sorted(found, key=lambda fault: ([(isinstance(part, int), str(part)) for part in fault.path], fault.message))


@lru_cache(maxsize=1)
def _validator_class() -> Callable[..., Validator]:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    plain_reference = Draft202012Validator.VALIDATORS["$ref"]

    def reference(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        steps = _steps.get()
        steps[0] -= 1
        if steps[0] < 0:
            raise _TooMuch
        yield from plain_reference(validator, target, instance, schema) or ()

    def pattern(_validator: Any, text: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        compiled = compile_pattern(text) if isinstance(instance, str) else None
        if isinstance(compiled, Pattern) and compiled.search(instance) is False:
            yield ValidationError("pattern")

    def multiple_of(_validator: Any, step: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        exact = _exact(instance)
        if exact is not None and exact % (_exact(step) or 1) != 0:
            yield ValidationError("multipleOf")

    def unique(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        if wanted and isinstance(instance, list) and len({_identity(each) for each in instance}) < len(instance):
            yield ValidationError("uniqueItems")

    rules = {"$ref": reference, "pattern": pattern, "multipleOf": multiple_of, "uniqueItems": unique}
    made: Callable[..., Validator] = extend(Draft202012Validator, rules)  # type: ignore[no-untyped-call]
    return made


def _exact(value: Any) -> Fraction | None:
    """A number as written: 0.3 is a multiple of 0.1."""
    from fractions import Fraction

    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(repr(value)) if value - value == 0 else None


def _identity(value: Any) -> Any:
    """A key that is the same for equal JSON values: 1 is 1.0, true is not 1."""
    if isinstance(value, list):
        return ("list", tuple(_identity(each) for each in value))
    if isinstance(value, dict):
        return ("map", frozenset((key, _identity(each)) for key, each in value.items()))
    return ("boolean", value) if isinstance(value, bool) else value


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)\Z", re.ASCII)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}\Z")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.match(text) is not None


def _is_address(text: str, version: int) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


_FORMAT_TESTS: Final[dict[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "date-time": lambda text: parse_timestamp(text) is not None,
    "duration": lambda text: parse_duration(text) is not None,
    "email": lambda text: _EMAIL.match(text) is not None,
    "hostname": lambda text: len(text) <= 253 and all(_LABEL.match(each) for each in text.split(".")),
    "ipv4": lambda text: _is_address(text, 4),
    "ipv6": lambda text: _is_address(text, 6),
    "regex": lambda text: not isinstance(compile_pattern(text), str),
    "time": lambda text: _TIME.match(text) is not None,
    "uri": lambda text: _URI.match(text) is not None,
    "uuid": lambda text: _UUID.match(text) is not None,
}

_FORMAT_EXAMPLES: Final = {
    "date": "a date such as `2026-01-31`",
    "date-time": "a timestamp with an offset such as `2026-01-31T12:00:00Z`",
    "duration": "a duration such as `30s` or `PT24H`",
    "email": "an e-mail address",
    "hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "regex": "a regular expression",
    "time": "a time with an offset such as `12:00:00Z`",
    "uri": "a URI with a scheme",
    "uuid": "a UUID",
}


@lru_cache(maxsize=1)
def _formats() -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name, test in _FORMAT_TESTS.items():
        checker.checkers[name] = (_for_text(test), ())
    return checker


def _for_text(test: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or test(value)


def _explained(error: ValidationError) -> Iterator[_Fault]:
    """The faults that an error of the library stands for, in our words."""
    path: Path = tuple(error.absolute_path)
    keyword = str(error.validator)
    value: Any = error.instance
    bound: Any = error.validator_value
    if keyword in ("anyOf", "oneOf") and error.context:
        yield from _alternatives(error, path, len(bound))
    elif keyword == "required":
        yield from (_Fault(path, f"`{shown(name)}` is missing: add it.") for name in bound if name not in value)
    elif keyword in ("additionalProperties", "unevaluatedProperties"):
        for name in _extra(error):
            yield _Fault((*path, name), f"`{shown(name)}` is not a field here: remove it.", on_key=True)
    elif keyword == "dependentRequired":
        for name, needed in bound.items():
            missing = [each for each in needed if each not in value] if name in value else []
            yield from (_Fault(path, f"`{shown(name)}` needs `{shown(each)}` beside it.") for each in missing)
    else:
        yield _Fault(path, _message(keyword, bound, value))


def _message(keyword: str, bound: Any, value: Any) -> str:
    if keyword == "format":
        return f"{_shown(value)} is not {_FORMAT_EXAMPLES[bound]}."
    if keyword == "type":
        bound = " or ".join(f"`{each}`" for each in ([bound] if isinstance(bound, str) else bound))
    elif keyword == "enum":
        bound = ", ".join(_shown(each) for each in bound[:20])
    elif keyword == "pattern":
        bound = shown(bound)
    elif keyword == "const":
        bound = _shown(bound)
    count = len(value) if isinstance(value, str | list | dict) else 0
    unit = "character" if isinstance(value, str) else "element" if isinstance(value, list) else "field"
    length = f"{count} {unit}{'' if count == 1 else 's'}"
    return _MESSAGES.get(keyword, _OTHERWISE).format(value=_shown(value), bound=bound, length=length)


def _alternatives(error: ValidationError, path: Path, count: int) -> Iterator[_Fault]:
    """Of several alternatives the one that is of the value's shape tells most, when there is exactly one."""
    from jsonschema.exceptions import relevance

    by_branch: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        by_branch.setdefault(inner.relative_schema_path[0], []).append(inner)
    of_shape = [inner for inner in by_branch.values() if all(each.validator not in _SHAPES for each in inner)]
    if len(of_shape) == 1:
        yield from _explained(max(of_shape[0], key=relevance))
    else:
        yield _Fault(path, f"{_shown(error.instance)} fits none of the {count} forms that are allowed here.")


_SHAPES: Final = frozenset({"type", "const", "enum", "required", "additionalProperties"})


def _extra(error: ValidationError) -> list[str]:
    schema = error.schema if isinstance(error.schema, dict) else {}
    value: Any = error.instance
    patterns = [compile_pattern(text) for text in schema.get("patternProperties", {})]
    names = [name for name in value if name not in schema.get("properties", {})]
    return [name for name in names if not any(isinstance(each, Pattern) and each.search(name) for each in patterns)]


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = "this value"
    return f"`{shown(text)}`"


_OTHERWISE: Final = "{value} does not fit its schema."
_MESSAGES: Final[dict[str, str]] = {
    "type": "{value} is not of type {bound}.",
    "enum": "{value} is not allowed here; use one of {bound}.",
    "const": "{value} is not allowed here; write {bound}.",
    "minimum": "{value} is below the minimum of {bound}.",
    "maximum": "{value} is above the maximum of {bound}.",
    "exclusiveMinimum": "{value} must be above {bound}.",
    "exclusiveMaximum": "{value} must be below {bound}.",
    "multipleOf": "{value} is not a multiple of {bound}.",
    "minLength": "{value} has {length}, but needs at least {bound}.",
    "maxLength": "{value} has {length}, but may have at most {bound}.",
    "pattern": "{value} does not match the pattern `{bound}`.",
    "minItems": "This list has {length}, but needs at least {bound}.",
    "maxItems": "This list has {length}, but may have at most {bound}.",
    "uniqueItems": "An element appears twice in this list: remove one.",
    "contains": "This list lacks an element of the kind that it must contain.",
    "minProperties": "This map has {length}, but needs at least {bound}.",
    "maxProperties": "This map has {length}, but may have at most {bound}.",
    "not": "{value} is of a form that is excluded here.",
    "oneOf": "{value} fits more than one of the forms of which exactly one is allowed.",
}


def _node_at(node: Node, fault: _Fault) -> Node:
    """The node of a fault; where the tree has no such place, the nearest above."""
    for position, part in enumerate(fault.path, 1):
        if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        elif isinstance(node, Mapping):
            found = next((e for e in node.entries if isinstance(e.key, Scalar) and e.key.text == part), None)
            if found is None:
                return node
            node = found.key if fault.on_key and position == len(fault.path) else found.value
    return node
