"""Filter signatures against types: the patterns of the filter table (``list[T]``, ``T?``, ``string`` …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from analyzer.expressions.faults import Fault
from analyzer.expressions.operators import NUMERIC, operator_type
from analyzer.expressions.times import pattern_problem, zone_problem
from analyzer.expressions.types import (
    ANY,
    INTEGER,
    NEVER,
    NUMBER,
    SIMPLE_TYPES,
    Type,
    accepted,
    because,
    constant,
    describe,
    join_all,
    list_of,
    map_of,
    mismatch,
    sentence,
)
from analyzer.expressions.values import Budget

if TYPE_CHECKING:
    from analyzer.expressions.filters import Filter

#: Filters that read a string, and fault on one that is not written as it should be.
_CONVERSIONS: Final = frozenset({"number", "duration", "timestamp"})
#: Filters whose first argument must not be an empty text.
_SEPARATED: Final = frozenset({"split", "replace"})

_ORDERED: Final = frozenset({"integer", "number", "string", "timestamp", "duration", "any", "never"})
_LOOSE: Final = {"list": list_of(ANY), "map": map_of(ANY), "number": NUMBER}


class Application(NamedTuple):
    """The result of applying a filter; ``fault`` is (argument position or -1 for the target or None, kind, message)."""

    type: Type
    may_fault: bool = False
    fault: tuple[int | None, str, str] | None = None


def apply_signature(known: Filter, target: Type, args: list[Type]) -> Application:
    """Check the target and the arguments of a filter and give its result type."""
    if not known.required <= len(args) <= len(known.params):
        return Application(ANY, True, (None, "type", _arity(known, len(args))))
    element = _fit(target, known.takes)
    if element is None:
        return _refused(known, -1, target, known.takes, "")
    if known.ordered and (element.kind not in _ORDERED or element.may_be_null):
        return _unordered(known, element)
    uncertain = target.kind == "any" or element.kind == "any"
    for position, (type_, param) in enumerate(zip(args, known.params, strict=False)):
        fitted = _fit(type_, tuple(_bound(pattern, element) for pattern in param.takes))
        if fitted is None:
            return _refused(known, position, type_, param.takes, f" as `{param.name}`")
        uncertain = uncertain or type_.kind == "any"
    result = _refined(known, target, args, element)
    may_fault, fault = _constants(known, target, args)
    return Application(result, uncertain or may_fault or fault is not None, fault)


def _constants(known: Filter, target: Type, args: list[Type]) -> tuple[bool, tuple[int, str, str] | None]:
    """Whether the filter can fault on values of the right kinds, and what is wrong with a constant that always does."""
    if known.name in _CONVERSIONS:
        if all(option.kind in NUMERIC for option in target.options or (target,)):
            return False, None
        return _first(_problems(target, lambda value: _conversion_problem(known, value)), -1)
    if known.name == "contains":
        found = operator_type("in", args[0], target)
        kind = "null" if args[0].may_be_null else "type"
        if target.kind not in ("list", "any") and (args[0].may_be_null or found.message is not None):
            return True, (0, kind, found.message or "`contains` does not take null here.")
        return found.may_fault, None
    if known.name in _SEPARATED:
        return _first(
            _problems(
                args[0],
                lambda value: None if value else f"`{known.name}` needs a string to look for, and this is empty.",
            ),
            0,
        )
    if known.name == "format_time":
        pattern = _first(_problems(args[0], pattern_problem), 0)
        zone = _first(_problems(args[1], zone_problem), 1) if len(args) > 1 else (False, None)
        return pattern[0] or zone[0], pattern[1] or zone[1]
    return False, None


def _problems(type_: Type, problem: Callable[[Any], str | None]) -> list[str | None] | None:
    """What is wrong with each of the constants that a value can be; None when it can be others."""
    if type_.values is None:
        return [] if type_.kind == "never" else None
    return [problem(value) for value in type_.values]


def _first(problems: list[str | None] | None, position: int) -> tuple[bool, tuple[int, str, str] | None]:
    """Whether one of the constants faults; when all do that is an error, and the first one's words are given."""
    if problems is None:
        return True, None
    if problems and problems[0] is not None and all(problems):
        return True, (position, "type", sentence(problems[0]))
    return any(problems), None


def _conversion_problem(known: Filter, value: Any) -> str | None:
    try:
        known.apply(Budget(), value)
    except Fault as fault:
        return fault.message
    return None


def _unordered(known: Filter, element: Type) -> Application:
    if element.may_be_null and element.not_null().kind in _ORDERED:
        message = f"`{known.name}` does not take null, and an element may be null: {because(element)}."
        return Application(_result(known, element.not_null()), True, (-1, "null", message))
    message = (
        f"`{known.name}` needs numbers, strings, timestamps or durations, all of one kind, not `{describe(element)}`."
    )
    return Application(_result(known, element), True, (-1, "type", message))


def _refused(known: Filter, position: int, type_: Type, takes: tuple[str, ...], what: str) -> Application:
    from analyzer.expressions.filters import in_words

    message = f"`{known.name}` takes {in_words(takes)}{what}, not `{describe(type_)}`."
    plain = type_.not_null()
    if type_.may_be_null and _fit(plain, takes) is not None:
        return Application(_result(known, NEVER), True, (position, "null", message))
    item = plain.item
    if item is not None and item.nullable and _fit(list_of(item.not_null()), takes) is not None:
        message = f"`{known.name}` does not take null, and an element may be null: {because(item)}."
        return Application(_result(known, NEVER), True, (position, "null", message))
    return Application(_result(known, NEVER), True, (position, "type", message))


def _arity(known: Filter, given: int) -> str:
    most, required = len(known.params), known.required
    count = str(most) if required == most else f"{required} to {most}"
    noun = "argument" if most == 1 else "arguments"
    return f"`{known.name}` takes {count} {noun}, but {given} {'is' if given == 1 else 'are'} given."


def _bound(pattern: str, element: Type) -> str:
    """``T`` in a parameter takes anything: what is searched for need not be of the element's type."""
    return "any" if pattern in ("T", "T?") or (element.kind == "any" and pattern == "list[T]") else pattern


def _fit(type_: Type, takes: tuple[str, ...]) -> Type | None:
    """The element type (for ``T``) when every alternative of ``type_`` fits one of the patterns; else None."""
    if type_.may_be_null and not any(pattern == "any" or pattern.endswith("?") for pattern in takes):
        return None
    if type_.kind in ("any", "never"):
        return ANY if type_.kind == "any" else NEVER
    if type_.kind == "null":
        return type_
    elements: list[Type] = []
    for option in type_.options or (type_.not_null(),):
        fitted = [each for each in (_fit_one(option, pattern) for pattern in takes) if each is not None]
        if not fitted:
            return None
        elements.append(fitted[0])
    return join_all(elements)


def _fit_one(type_: Type, pattern: str) -> Type | None:
    pattern = pattern.removesuffix("?")
    if pattern in ("any", "T"):
        return type_
    if pattern == "list":
        return (type_.item or ANY) if type_.kind == "list" else None
    if pattern in ("map", "map[T]", "object"):
        return _values_of(type_) if type_.kind == "object" else None
    if pattern.startswith("list["):
        return _fit_list(type_, pattern[5:-1])
    if pattern == "number" and type_.kind == "integer":
        return type_
    return type_ if type_.kind == pattern else None


def _fit_list(type_: Type, inner: str) -> Type | None:
    if type_.kind != "list":
        return None
    item = type_.item or ANY
    if inner == "T" or item.kind in ("any", "never"):
        return item
    # A timestamp travels as a string, but string filters do not take one.
    if mismatch(item, SIMPLE_TYPES[inner]) is not None or (inner == "string" and item.kind != "string"):
        return None
    return item


def _values_of(type_: Type) -> Type:
    types = [accepted(field) for field in type_.fields.values()]
    if type_.additional is not None:
        types.append(type_.additional)
    return join_all(types) if types else ANY


def _refined(known: Filter, target: Type, args: list[Type], element: Type) -> Type:
    """The declared result, as exact as the operands allow: whole numbers stay whole."""
    if known.name == "sum" and element.kind == "integer":
        return INTEGER
    if known.name == "round" and (not args or target.kind == "integer"):
        return INTEGER
    if known.name == "number":
        return _number(known, target)
    return _result(known, element)


def _number(known: Filter, target: Type) -> Type:
    """What `number` makes of constants and of numbers."""
    if all(option.kind in NUMERIC for option in target.options or (target,)):
        return target
    if target.values is not None and not any(_conversion_problem(known, value) for value in target.values):
        return join_all(constant(known.apply(Budget(), value)) for value in target.values)
    return NUMBER


def _result(known: Filter, element: Type) -> Type:
    nullable = known.returns.endswith("?")
    result = _named(known.returns.removesuffix("?"), element if element.kind != "never" else ANY)
    return result.with_null() if nullable else result


def _named(pattern: str, element: Type) -> Type:
    if pattern == "T":
        return element
    if pattern.startswith("list["):
        return list_of(_named(pattern[5:-1], element))
    if pattern.startswith("map["):
        return map_of(_named(pattern[4:-1], element))
    return _LOOSE.get(pattern) or SIMPLE_TYPES[pattern]
