"""Values at run time: kinds, equality, order, text and JSON (language page, sections 3, 4 and 7).

A value is None, bool, int, float, str, ``Timestamp``, ``Duration``, a list or a dict with string keys. Values are
immutable by convention: nothing changes a list or a dict after it was made, so they are shared freely.

Numbers: a whole number is an ``int`` and exact, up to ``MAX_DIGITS`` digits; a ``float`` is finite, and never whole
below 2**53 (``1.0`` is ``1``), so that equal numbers look alike as text and as JSON.

``Marked`` is the extension for dry runs (section 7): a placeholder of a suppressed action, and whatever was computed
from one. Operations never look at it themselves: ``kind_of`` raises ``MarkSeen``, and the evaluator repeats the
operation on the bare values and marks the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import Any, Final, Protocol, TypeAlias

from analyzer.expressions.faults import CONVERSION, KIND, LIMIT, RANGE, Fault
from analyzer.expressions.times import (
    Duration,
    Timestamp,
    explain_timestamp_error,
    format_timestamp,
    parse_timestamp,
)
from analyzer.expressions.tokens import MAX_DIGITS, SAFE_WHOLE
from analyzer.language.durations import explain_duration_error, format_duration, parse_duration


class Marked:
    """A value that is, or depends on, the placeholder of a suppressed action; ``value`` is bare at its top."""

    __slots__ = ("value",)

    def __init__(self, value: Bare) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Marked) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Marked({self.value!r})"


Bare: TypeAlias = bool | int | float | str | Timestamp | Duration | list[Any] | dict[str, Any] | None
Value: TypeAlias = Bare | Marked

MAX_OPERATIONS: Final = 100_000
MAX_TEXT_BYTES: Final = 1_048_576
MAX_VALUE_DEPTH: Final = 256
MAX_VALUE_NODES: Final = 1_000_000
SUPPRESSED: Final = "$suppressed"

_MAX_BITS: Final = int(MAX_DIGITS * math.log2(10))
_BIG: Final = 10**MAX_DIGITS

KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    Timestamp: "timestamp",
    Duration: "duration",
    list: "list",
    dict: "map",
}
NUMBERS: frozenset[type] = frozenset({int, float})
_SCALARS: frozenset[type] = frozenset({type(None), bool, int, float, str, Timestamp, Duration})


class MarkSeen(Exception):
    """An operation met a marked value; never leaves the evaluator."""


class Budget:
    """What one evaluation may still do: ``operations`` steps, ``text_bytes`` bytes (UTF-8) of produced text."""

    __slots__ = ("base", "operations", "produced", "text_bytes")

    def __init__(self, operations: int = MAX_OPERATIONS, text_bytes: int = MAX_TEXT_BYTES) -> None:
        self.operations = operations
        self.text_bytes = text_bytes
        self.produced = 0
        # What was produced before the operands of the current operation: a text that is made of texts which the same
        # expression made counts only once.
        self.base = 0

    def spend(self, count: int) -> None:
        """Take ``count`` operations; ``fault.limit`` when they are used up."""
        self.operations -= count
        if self.operations < 0:
            raise Fault(LIMIT, "the expression needs too many operations; work on less data, or in several steps")

    def produce(self, text: str) -> None:
        """Count a text that the current operation made."""
        self.reserve(byte_length(text))

    def reserve(self, size: int) -> None:
        """Count ``size`` bytes of text that the current operation is about to make."""
        self.produced = max(self.produced, self.base + size)
        if self.produced > self.text_bytes:
            raise Fault(LIMIT, f"the expression produces more than {self.text_bytes:,} bytes of text; use less")


def byte_length(text: str) -> int:
    """The length of ``text`` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# -- kinds and marks


def kind_of(value: Value) -> str:
    """``null boolean integer number string timestamp duration list map``; raises ``MarkSeen`` for a marked value."""
    kind = KINDS.get(type(value))
    if kind is None:
        if isinstance(value, Marked):
            raise MarkSeen
        raise TypeError(f"not a value: {type(value).__name__}")
    return kind


def mark(value: Value) -> Marked:
    """``value`` with a mark at its top."""
    return value if isinstance(value, Marked) else Marked(value)


def is_marked(value: Value) -> bool:
    """Whether ``value`` is marked, or holds a marked value anywhere inside."""
    stack: list[Value] = [value]
    seen: set[int] = set()
    while stack:
        current = stack.pop()
        if type(current) in _SCALARS:
            continue
        if isinstance(current, Marked):
            return True
        if id(current) not in seen:
            seen.add(id(current))
            stack.extend(current.values() if isinstance(current, dict) else current)  # type: ignore[arg-type]
    return False


def strip_marks(value: Value) -> Any:
    """``value`` without marks anywhere; parts without marks are shared, not copied. ``fault.limit`` when too deep."""
    return _strip(value, 0)


def _strip(value: Value, level: int) -> Any:
    if isinstance(value, Marked):
        return _strip(value.value, level)
    if type(value) in _SCALARS:
        return value
    _check_depth(level)
    if isinstance(value, list):
        items = [_strip(item, level + 1) for item in value]
        return value if all(map(_same, items, value)) else items
    assert isinstance(value, dict)
    entries = {key: _strip(item, level + 1) for key, item in value.items()}
    return value if all(map(_same, entries.values(), value.values())) else entries


def _same(left: object, right: object) -> bool:
    return left is right


def _check_depth(level: int) -> None:
    if level >= MAX_VALUE_DEPTH:
        raise Fault(LIMIT, f"the value is nested more than {MAX_VALUE_DEPTH} levels deep; make it flatter")


# -- numbers


def finish(value: float) -> int | float:
    """A float result as a value: whole ones become integers; ``fault.range`` when it is not finite."""
    if -SAFE_WHOLE < value < SAFE_WHOLE:
        return int(value) if value.is_integer() else value
    if math.isfinite(value):
        return value
    raise Fault(RANGE, "the result is too large for a number")


def bounded(value: int) -> int:
    """A whole number, or ``fault.limit`` when it has more than ``MAX_DIGITS`` digits."""
    if value.bit_length() >= _MAX_BITS and abs(value) >= _BIG:
        raise Fault(LIMIT, f"the result has more than {MAX_DIGITS:,} digits")
    return value


def number_text(value: int | float) -> str:
    """A number as JSON writes it: whole numbers with all digits, others in the shortest form (RFC 8785)."""
    if isinstance(value, int):
        return str(value)
    text = repr(value)
    mantissa, _, exponent_text = text.partition("e")
    sign = "-" if mantissa[0] == "-" else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    exponent = point - 1
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if exponent > 0 else '-'}{abs(exponent)}"


# -- equality and order


def equal(left: Value, right: Value, budget: Budget | None = None) -> bool:
    """By value and kind: ``1`` is ``1.0``, ``"1"`` and ``true`` are not ``1``; deep; timestamps by instant."""
    return _equal(left, right, Budget(MAX_VALUE_NODES) if budget is None else budget, 0)


def _equal(left: Value, right: Value, budget: Budget, level: int) -> bool:
    kind, other = type(left), type(right)
    if kind in _SCALARS and other in _SCALARS:
        if kind is other or (kind in NUMBERS and other in NUMBERS):
            return left == right
        return False
    if kind_of(left) != kind_of(right):
        return False
    _check_depth(level)
    if isinstance(left, list):
        assert isinstance(right, list)
        budget.spend(min(len(left), len(right)))
        if len(left) != len(right):
            return False
        return all(_equal(a, b, budget, level + 1) for a, b in zip(left, right, strict=True))
    assert isinstance(left, dict)
    assert isinstance(right, dict)
    budget.spend(min(len(left), len(right)))
    if left.keys() != right.keys():
        return False
    return all(_equal(value, right[key], budget, level + 1) for key, value in left.items())


def order_kind(value: Value) -> str:
    """``number``, ``string``, ``timestamp`` or ``duration``, or empty for what has no order."""
    kind = kind_of(value)
    if kind == "integer":
        return "number"
    return kind if kind in ("number", "string", "timestamp", "duration") else ""


def order_key(value: Value) -> Any:
    """What Python sorts an ordered value by: strings by code point, times by instant or length."""
    return value.us if isinstance(value, (Timestamp, Duration)) else value


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1; ``fault.kind`` unless both are numbers, strings, timestamps or durations."""
    kind = order_kind(left)
    if not kind or kind != order_kind(right):
        message = "only two numbers, strings, timestamps or durations can be compared"
        raise Fault(KIND, f"{message}, not {a_kind(left)} with {a_kind(right)}")
    first, second = order_key(left), order_key(right)
    return int(first > second) - int(first < second)


def a_kind(value: Value) -> str:
    """``a string``, ``an integer``, ``null``: for messages."""
    kind = kind_of(value)
    if kind == "null":
        return kind
    return f"an {kind}" if kind == "integer" else f"a {kind}"


def frozen_key(value: Value, budget: Budget, level: int = 0) -> Any:
    """A hashable stand-in: two values have equal ones exactly when they are ``equal``."""
    kind = type(value)
    if kind is bool:
        return ("boolean", value)
    if kind in _SCALARS:
        return value
    kind_of(value)
    _check_depth(level)
    if isinstance(value, list):
        budget.spend(len(value))
        return ("list", *(frozen_key(item, budget, level + 1) for item in value))
    assert isinstance(value, dict)
    budget.spend(len(value))
    return frozenset((key, frozen_key(item, budget, level + 1)) for key, item in value.items())


# -- text


def to_text(value: Value) -> str:
    """How a value is joined into a text, and the ``string`` filter; ``fault.kind`` for null, lists and maps."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value]
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is float:
        return number_text(value)  # type: ignore[arg-type]
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value.us)
    name = a_kind(value)
    hint = "put a value in its place with `??`" if name == "null" else "use `| json`, or read a part of it"
    raise Fault(KIND, f"{name} has no text; {hint}")


def canonical_json(value: Value, budget: Budget) -> str:
    """Compact JSON, keys sorted as RFC 8785 sorts them (by UTF-16 code units); timestamps and durations are strings."""
    parts: list[str] = []
    _write_json(value, parts.append, budget, 0)
    return "".join(parts)


def _write_json(value: Value, write: Callable[[str], None], budget: Budget, level: int) -> None:
    if isinstance(value, list):
        _check_depth(level)
        budget.spend(len(value))
        write("[")
        for position, item in enumerate(value):
            if position:
                write(",")
            _write_json(item, write, budget, level + 1)
        write("]")
    elif isinstance(value, dict):
        _check_depth(level)
        budget.spend(len(value))
        write("{")
        for position, key in enumerate(sorted(value, key=_utf16)):
            write("," if position else "")
            write(encode_basestring(key) + ":")
            _write_json(value[key], write, budget, level + 1)
        write("}")
    elif value is None:
        write("null")
    else:
        text = to_text(value)
        write(text if type(value) in (bool, int, float) else encode_basestring(text))


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


# -- JSON


class Guide(Protocol):
    """What a type says about JSON: which strings are timestamps or durations, and the types inside."""

    def reads(self) -> str:
        """``timestamp``, ``duration``, or empty: how a string is read."""

    def member(self, name: str, owner: Mapping[str, Any]) -> Guide | None:
        """The type of a member of a map, ``owner``."""

    def element(self) -> Guide | None:
        """The type of the elements of a list."""


def to_json(value: Value) -> Any:
    """Plain JSON data: timestamps and durations become strings, a marked value ``{"$suppressed": VALUE}``.

    ``fault.limit`` past ``MAX_VALUE_DEPTH`` levels or ``MAX_VALUE_NODES`` nodes.
    """
    return _to_json(value, Budget(MAX_VALUE_NODES), 0)


def _to_json(value: Value, budget: Budget, level: int) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return to_text(value) if kind is Timestamp or kind is Duration else value
    _check_depth(level)
    if isinstance(value, Marked):
        return {SUPPRESSED: _to_json(value.value, budget, level)}
    if isinstance(value, list):
        budget.spend(len(value))
        return [_to_json(item, budget, level + 1) for item in value]
    kind_of(value)
    assert isinstance(value, dict)
    budget.spend(len(value))
    return {key: _to_json(item, budget, level + 1) for key, item in value.items()}


def from_json(data: Any, guide: Guide | None = None, marks: bool = False) -> Value:
    """The value of JSON data; ``guide`` says which strings are timestamps and durations, ``marks`` reads marks.

    Whole floats become integers. ``fault.conversion`` for a string that is not what its type says, for half a
    character (a lone surrogate) and for what is no JSON data; ``fault.limit`` past the bounds of ``to_json``.
    """
    return _from_json(data, guide, marks, Budget(MAX_VALUE_NODES), 0)


def _from_json(data: Any, guide: Guide | None, marks: bool, budget: Budget, level: int) -> Value:
    kind = type(data)
    if kind is str:
        return _text_value(data, guide)
    if kind is float:
        return finish(data)
    if kind is int:
        return bounded(data)
    if data is None or kind is bool:
        return data  # type: ignore[no-any-return]
    _check_depth(level)
    if kind is list:
        budget.spend(len(data))
        inner = None if guide is None else guide.element()
        return [_from_json(item, inner, marks, budget, level + 1) for item in data]
    if kind is not dict:
        raise Fault(CONVERSION, f"`{kind.__name__}` is not JSON data; use maps, lists, strings, numbers or booleans")
    if marks and len(data) == 1 and SUPPRESSED in data:
        return mark(_from_json(data[SUPPRESSED], guide, marks, budget, level + 1))
    budget.spend(len(data))
    entries: dict[str, Value] = {}
    for key, item in data.items():
        if type(key) is not str:
            raise Fault(CONVERSION, f"`{key}` is not a string, and only strings are keys; put it in quotes")
        _check_characters(key)
        inner = None if guide is None else guide.member(key, data)
        entries[key] = _from_json(item, inner, marks, budget, level + 1)
    return entries


def _text_value(text: str, guide: Guide | None) -> Value:
    reads = "" if guide is None else guide.reads()
    if reads == "timestamp":
        instant = parse_timestamp(text)
        if instant is None:
            raise Fault(CONVERSION, explain_timestamp_error(text))
        return instant
    if reads == "duration":
        # A recorded difference may be negative, which no literal is.
        us = -(parse_duration(text[1:]) or 0) if text[:1] == "-" else parse_duration(text)
        if us is None or (us == 0 and text[:1] == "-"):
            raise Fault(CONVERSION, explain_duration_error(text))
        return Duration(us)
    _check_characters(text)
    return text


def _check_characters(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Fault(CONVERSION, "a string holds half a character (a lone surrogate); write the whole one") from None
