"""The filters: one table for typing, evaluation, completion, hover and documentation (language page, section 4).

Patterns say what a filter takes and gives: ``any null boolean integer number string timestamp duration list map``,
``list[P]``, ``map[P]``, the type variable ``T`` and ``P?`` for "P or null". Every filter is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from analyzer.expressions.faults import CONVERSION, KIND, LIMIT, RANGE, Fault
from analyzer.expressions.times import Timestamp, format_time, to_duration, to_timestamp
from analyzer.expressions.tokens import MAX_DIGITS
from analyzer.expressions.values import (
    Bare,
    Budget,
    Value,
    a_kind,
    bounded,
    byte_length,
    canonical_json,
    equal,
    finish,
    frozen_key,
    kind_of,
    order_key,
    order_kind,
    to_text,
)


class Required:
    """The default of a parameter that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = Required()

#: ``apply(budget, target, *args)``: kinds are checked against the patterns before, missing arguments are filled in.
Apply = Callable[..., Value]


class Param:
    """A parameter of a filter; ``takes`` are the patterns that it accepts."""

    __slots__ = ("default", "name", "takes")

    def __init__(self, name: str, takes: tuple[str, ...], default: Bare | Required = REQUIRED) -> None:
        self.name = name
        self.takes = takes
        self.default = default


class Filter:
    """One filter.

    ``ordered``: the elements must be all numbers, all strings, all timestamps or all durations. ``lazy``: the argument
    is evaluated only when the target is null (``default`` is ``??``).
    """

    __slots__ = ("apply", "doc", "example", "lazy", "name", "ordered", "params", "returns", "takes")

    def __init__(
        self,
        name: str,
        takes: tuple[str, ...],
        params: tuple[Param, ...],
        returns: str,
        doc: str,
        example: str,
        apply: Apply,
        *,
        ordered: bool = False,
        lazy: bool = False,
    ) -> None:
        self.name = name
        self.takes = takes
        self.params = params
        self.returns = returns
        self.doc = doc
        self.example = example
        self.apply = apply
        self.ordered = ordered
        self.lazy = lazy

    @property
    def signature(self) -> str:
        """``replace(a, b)``, ``join(sep = "")``, ``upper``."""
        if not self.params:
            return self.name
        shown = [
            p.name if isinstance(p.default, Required) else f"{p.name} = {_literal(p.default)}" for p in self.params
        ]
        return f"{self.name}({', '.join(shown)})"

    @property
    def required(self) -> int:
        """How many arguments must be given."""
        return sum(isinstance(param.default, Required) for param in self.params)


def _literal(value: Bare) -> str:
    return canonical_json(value, Budget())


# -- strings


def _replace(budget: Budget, text: str, old: str, new: str) -> Value:
    if not old:
        raise Fault(RANGE, "an empty string cannot be replaced; say which string to look for")
    count = text.count(old)
    # Known before it is made: a short text can grow a lot.
    budget.reserve(byte_length(text) + count * (byte_length(new) - byte_length(old)))
    return text.replace(old, new)


def _split(budget: Budget, text: str, separator: str) -> Value:
    if not separator:
        raise Fault(RANGE, "a string cannot be split at an empty string; say where, such as `split(',')`")
    budget.spend(text.count(separator))
    return text.split(separator)


def _join(budget: Budget, items: list[str], separator: str) -> Value:
    budget.reserve(sum(map(byte_length, items)) + byte_length(separator) * max(0, len(items) - 1))
    return separator.join(items)


# -- strings, lists and maps


def contains(budget: Budget, container: Bare, wanted: Bare) -> bool:
    """``wanted in container``: an element of a list, a key of a map, a part of a string."""
    if isinstance(container, list):
        budget.spend(len(container))
        return any(equal(item, wanted, budget) for item in container)
    if not isinstance(container, (str, dict)):
        raise Fault(KIND, f"only a list, a map or a string contains something, not {a_kind(container)}")
    if not isinstance(wanted, str):
        inside = "a string contains" if isinstance(container, str) else "the keys of a map are"
        raise Fault(KIND, f"{inside} only strings, not {a_kind(wanted)}")
    return wanted in container


def _checked_order(items: list[Value]) -> list[Value]:
    """``items``, whose elements are all of one ordered kind; else ``fault.kind``."""
    kinds = {order_kind(item) for item in items}
    if "" in kinds:
        odd = next(item for item in items if not order_kind(item))
        raise Fault(KIND, f"only numbers, strings, timestamps and durations have an order, not {a_kind(odd)}")
    if len(kinds) > 1:
        raise Fault(KIND, f"the list mixes {' and '.join(sorted(kinds))} elements, which have no common order")
    return items


def _sort(budget: Budget, items: list[Value]) -> Value:
    budget.spend(len(items))
    return sorted(_checked_order(items), key=order_key)


def _min(budget: Budget, items: list[Value]) -> Value:
    budget.spend(len(items))
    return min(_checked_order(items), key=order_key, default=None)


def _max(budget: Budget, items: list[Value]) -> Value:
    budget.spend(len(items))
    return max(_checked_order(items), key=order_key, default=None)


def _unique(budget: Budget, items: list[Value]) -> Value:
    budget.spend(len(items))
    first: dict[Any, Value] = {}
    for item in items:
        first.setdefault(frozen_key(item, budget), item)
    return list(first.values())


def _sum(budget: Budget, items: list[int | float]) -> Value:
    budget.spend(len(items))
    total: int | float = 0
    try:
        for item in items:
            total = total + item
            total = finish(total) if isinstance(total, float) else bounded(total)
    except OverflowError:
        raise Fault(RANGE, "the sum is too large for a number") from None
    return total


# -- numbers and conversions

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def _round(_budget: Budget, value: int | float, places: int) -> Value:
    """Half away from zero, on the digits that the number is written with (``2.675 | round(2)`` is ``2.68``)."""
    if isinstance(value, int):
        return value if places >= 0 else _round_whole(value, -places)
    if places < 0:
        return _round_whole(int(value), -places) if abs(value) >= 1 else 0
    if places > 400:  # a float has no digit there
        return value
    from decimal import ROUND_HALF_UP, Context, Decimal

    rounded = Decimal(repr(value)).quantize(Decimal((0, (1,), -places)), ROUND_HALF_UP, Context(prec=1_000))
    return finish(float(rounded))


def _round_whole(value: int, places: int) -> int:
    if places > MAX_DIGITS:  # beyond every digit
        return 0
    unit = int(10**places)
    rounded = (abs(value) + unit // 2) // unit * unit
    return bounded(rounded if value >= 0 else -rounded)


def _number(_budget: Budget, value: str | int | float) -> Value:
    if not isinstance(value, str):
        return value
    shown = value if len(value) <= 40 else value[:40] + "…"
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise Fault(CONVERSION, f"`{shown}` is not a number; write one as in JSON, such as `12`, `-0.5` or `1e6`")
    if match[1] is None and match[2] is None:
        if len(value.lstrip("-")) > MAX_DIGITS:
            raise Fault(LIMIT, f"the number has more than {MAX_DIGITS:,} digits")
        return int(value)
    return finish(float(value))


def _json(budget: Budget, value: Value) -> Value:
    return canonical_json(value, budget)


def _format_time(_budget: Budget, value: Timestamp, pattern: str, zone: str) -> Value:
    return format_time(value, pattern, zone)


def _default(_budget: Budget, value: Value, other: Value) -> Value:
    return other if value is None else value


_STRING: Final = ("string",)
_LIST: Final = ("list[T]",)

_ALL: Final[tuple[Filter, ...]] = (
    Filter(
        "default",
        ("T?",),
        (Param("x", ("T?",)),),
        "T?",
        "The value, or `x` when it is null; the same as `?? x`.",
        'null | default("none")',
        _default,
        lazy=True,
    ),
    Filter("upper", _STRING, (), "string", "The string in upper case.", '"eu" | upper', lambda _, text: text.upper()),
    Filter("lower", _STRING, (), "string", "The string in lower case.", '"EU" | lower', lambda _, text: text.lower()),
    Filter(
        "trim",
        _STRING,
        (),
        "string",
        "The string without white space at its ends.",
        '" a " | trim',
        lambda _, text: text.strip(),
    ),
    Filter(
        "replace",
        _STRING,
        (Param("a", _STRING), Param("b", _STRING)),
        "string",
        "The string with every `a` replaced by `b`.",
        '"a-b" | replace("-", "_")',
        _replace,
    ),
    Filter(
        "split",
        _STRING,
        (Param("sep", _STRING),),
        "list[string]",
        "The parts of the string between the separators.",
        '"a,b" | split(",")',
        _split,
    ),
    Filter(
        "join",
        ("list[string]",),
        (Param("sep", _STRING, ""),),
        "string",
        "The strings of the list in one, with the separator between them.",
        '["a", "b"] | join(", ")',
        _join,
    ),
    Filter(
        "length",
        ("string", "list", "map"),
        (),
        "integer",
        "How many characters, elements or keys there are.",
        '["a", "b"] | length',
        lambda _, value: len(value),
    ),
    Filter(
        "contains",
        ("list", "string", "map"),
        (Param("x", ("any",)),),
        "boolean",
        "Whether `x` is an element of the list, a part of the string, or a key of the map; the same as `x in …`.",
        '"workfile" | contains("work")',
        contains,
    ),
    Filter(
        "first",
        _LIST,
        (),
        "T?",
        "The first element, or null when there is none.",
        "[3, 1] | first",
        lambda _, items: items[0] if items else None,
    ),
    Filter(
        "last",
        _LIST,
        (),
        "T?",
        "The last element, or null when there is none.",
        "[3, 1] | last",
        lambda _, items: items[-1] if items else None,
    ),
    Filter(
        "min",
        _LIST,
        (),
        "T?",
        "The least element, or null when there is none.",
        "[3, 1] | min",
        _min,
        ordered=True,
    ),
    Filter(
        "max",
        _LIST,
        (),
        "T?",
        "The greatest element, or null when there is none.",
        "[3, 1] | max",
        _max,
        ordered=True,
    ),
    Filter(
        "sort",
        _LIST,
        (),
        "list[T]",
        "The elements in ascending order; strings by code point.",
        "[3, 1] | sort",
        _sort,
        ordered=True,
    ),
    Filter(
        "unique",
        _LIST,
        (),
        "list[T]",
        "The elements without repetitions; of equal ones the first stays.",
        "[3, 1, 3] | unique",
        _unique,
    ),
    Filter("sum", ("list[number]",), (), "number", "All elements added; 0 when there is none.", "[1, 2.5] | sum", _sum),
    Filter(
        "keys",
        ("map",),
        (),
        "list[string]",
        "The keys of the map, sorted by code point.",
        "{b: 1, a: 2} | keys",
        lambda budget, value: (budget.spend(len(value)), sorted(value))[1],
    ),
    Filter(
        "values",
        ("map[T]",),
        (),
        "list[T]",
        "The values of the map, in the order of `keys`.",
        "{b: 1, a: 2} | values",
        lambda budget, value: (budget.spend(len(value)), [value[key] for key in sorted(value)])[1],
    ),
    Filter(
        "round",
        ("number",),
        (Param("n", ("integer",), 0),),
        "number",
        "The number with `n` decimal places; halves go away from zero.",
        "2.345 | round(2)",
        _round,
    ),
    Filter(
        "json",
        ("any",),
        (),
        "string",
        "The value as compact JSON with sorted keys.",
        "{b: 1, a: [true]} | json",
        _json,
    ),
    Filter(
        "string",
        ("string", "number", "boolean", "timestamp", "duration"),
        (),
        "string",
        "The value as a string.",
        "12 | string",
        lambda _, value: to_text(value),
    ),
    Filter(
        "number",
        ("string", "number"),
        (),
        "number",
        "The number that the string is, written as in JSON.",
        '"12.5" | number',
        _number,
    ),
    Filter(
        "duration",
        _STRING,
        (),
        "duration",
        "The duration that the string is, such as `1h30m` or `PT90M`.",
        '"1h30m" | duration',
        lambda _, text: to_duration(text),
    ),
    Filter(
        "timestamp",
        _STRING,
        (),
        "timestamp",
        "The timestamp that the string is: RFC 3339 with an offset.",
        '"2026-01-31T09:30:00Z" | timestamp',
        lambda _, text: to_timestamp(text),
    ),
    Filter(
        "format_time",
        ("timestamp",),
        (Param("pattern", _STRING), Param("zone", _STRING, "UTC")),
        "string",
        "The timestamp by a strftime pattern, in an IANA time zone.",
        'run.started_at | format_time("%Y-%m-%d %H:%M", "Europe/Berlin")',
        _format_time,
    ),
)

FILTERS: Final[dict[str, Filter]] = {entry.name: entry for entry in _ALL}


# -- kinds against patterns


def fits(value: Value, patterns: tuple[str, ...]) -> bool:
    """Whether the kind of ``value``, and of the elements where a pattern names them, is one of ``patterns``."""
    kind = kind_of(value)
    return any(_fits(value, kind, pattern) for pattern in patterns)


def _fits(value: Value, kind: str, pattern: str) -> bool:
    if pattern in (kind, "any", "T", "T?"):
        return True
    if pattern == "number":
        return kind == "integer"
    if pattern == "list[T]":
        return kind == "list"
    if pattern == "map[T]":
        return kind == "map"
    if pattern.startswith("list[") and isinstance(value, list):
        return all(_fits(item, kind_of(item), pattern[5:-1]) for item in value)
    return False


def in_words(patterns: tuple[str, ...]) -> str:
    """``a string, a list or a map``: what a filter takes, for messages."""
    names = [_WORDS.get(pattern, f"a {pattern}") for pattern in patterns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


_WORDS: Final[dict[str, str]] = {
    "any": "any value",
    "integer": "an integer",
    "list[T]": "a list",
    "list[number]": "a list of numbers",
    "list[string]": "a list of strings",
    "map[T]": "a map",
}


def apply_filter(entry: Filter, budget: Budget, target: Value, args: list[Value]) -> Value:
    """The result of a filter; raises what its kinds, its arguments and its work amount to."""
    params = entry.params
    if len(args) > len(params) or len(args) < entry.required:
        raise Fault(KIND, f"`{entry.name}` takes {_count(entry)}, not {len(args)}; write `{entry.signature}`")
    if not fits(target, entry.takes):
        raise Fault(KIND, f"`{entry.name}` takes {in_words(entry.takes)}, not {_found(target)}")
    filled: list[Any] = list(args)
    for position, param in enumerate(params):
        if position >= len(args):
            filled.append(param.default)
        elif not fits(args[position], param.takes):
            found = _found(args[position])
            raise Fault(KIND, f"`{param.name}` of `{entry.name}` is {in_words(param.takes)}, not {found}")
    result = entry.apply(budget, target, *filled)
    if type(result) is str:
        budget.produce(result)
    return result


def _count(entry: Filter) -> str:
    least, most = entry.required, len(entry.params)
    if most == 0:
        return "no arguments"
    amount = str(most) if least == most else f"{least} to {most}"
    return f"{amount} argument{'' if most == 1 else 's'}"


def _found(value: Value) -> str:
    """The kind of ``value``; of a list also the kind of an element, which may be what does not fit."""
    if isinstance(value, list) and value:
        kinds = sorted({a_kind(item) for item in value})
        return f"a list with {' and '.join(kinds[:3])} in it"
    return a_kind(value)
