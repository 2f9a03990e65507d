"""A bounded search for values that fit a JSON Schema: candidates in order of preference, smallest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from typing import Any, Final, TypeAlias

from analyzer.expressions.patterns import Pattern, compile_pattern
from analyzer.expressions.schema_plain import resolve_local
from sim_runtime.sampling.merging import as_list, merged
from sim_runtime.sampling.strings import pattern_matches, string_values

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Any] | bool
Flat: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 24
MAX_ELEMENTS: Final = 10_000
MAX_TRIES: Final = 64
DEEP: Final = 2

_IMPLIED: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("object", ("properties", "required", "patternProperties", "minProperties", "dependentRequired")),
    ("array", ("items", "prefixItems", "minItems", "contains")),
    ("string", ("patterns", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
_ALL_KINDS: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


class Search:
    """The search in one document; ``fits`` says whether a value fits a schema."""

    def __init__(self, root: Schema, fits: Callable[[Schema, Json], bool]) -> None:
        self.root = root
        self.fits = fits

    def values(self, schema: Schema, text: str, depth: int = 0) -> Iterator[Json]:
        """Candidates for a schema; most fit, the caller checks."""
        if depth > MAX_DEPTH:
            return
        for flat in self.variants(schema, depth):
            yield from self.of_flat(flat, text, depth)

    # Compositions.

    def variants(self, schema: Schema, depth: int) -> Iterator[Flat]:
        """The schema without references and compositions: one for each choice among alternatives, in their order."""
        if schema is False or depth > MAX_DEPTH:
            return
        if schema is True:
            yield {}
            return
        own = {key: value for key, value in schema.items() if key not in _COMPOSED}
        pattern = own.pop("pattern", None)
        if pattern is not None:
            own["patterns"] = [pattern]
        bases: list[Flat] = [own]
        for part in self.parts(schema):
            bases = [merged(base, each) for base in bases for each in islice(self.variants(part, depth + 1), MAX_TRIES)]
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                options = [each for part in schema[keyword] for each in self.variants(part, depth + 1)]
                if depth > DEEP:  # a type that holds itself: its ends first
                    options.sort(key=_size)
                bases = [merged(base, option) for base in bases for option in options[:MAX_TRIES]]
        if "if" in schema:
            bases = self.conditional(schema, bases, depth)
        yield from bases[:MAX_TRIES]

    def parts(self, schema: Mapping[str, Any]) -> Iterator[Schema]:
        """Everything that holds beside the schema's own keywords."""
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = resolve_local(self.root if isinstance(self.root, bool) else dict(self.root), reference)
            yield True if target is None else target
        yield from schema.get("allOf", ())

    def conditional(self, schema: Mapping[str, Any], bases: list[Flat], depth: int) -> list[Flat]:
        holds = [
            merged(each, then)
            for each in self.variants(schema["if"], depth + 1)
            for then in self.variants(schema.get("then", True), depth + 1)
        ]
        others = list(self.variants(schema.get("else", True), depth + 1))
        return [merged(base, each) for base in bases for each in (*others, *holds)][: 2 * MAX_TRIES]

    # Flat schemas.

    def of_flat(self, flat: Flat, text: str, depth: int) -> Iterator[Json]:
        if "const" in flat or "enum" in flat:
            members = [flat["const"]] if "const" in flat else flat["enum"]
            yield from (member for member in members if self.fits(self.checkable(flat), member))
            return
        for kind in _kinds(flat):
            yield from self.of_kind(kind, flat, text, depth)

    def checkable(self, flat: Flat) -> Schema:
        """The flat schema as a JSON Schema again."""
        rest = {key: value for key, value in flat.items() if key != "patterns"}
        rest["allOf"] = [{"pattern": each} for each in flat.get("patterns", ())]
        if not isinstance(self.root, bool) and "$defs" in self.root:
            rest["$defs"] = self.root["$defs"]
        return rest

    def of_kind(self, kind: str, flat: Flat, text: str, depth: int) -> Iterator[Json]:
        if kind == "null":
            yield None
        elif kind == "boolean":
            yield from (False, True)
        elif kind in ("integer", "number"):
            yield from numbers(flat, whole=kind == "integer")
        elif kind == "string":
            yield from string_values(flat, text)
        elif kind == "array":
            yield from self.lists(flat, text, depth)
        else:
            yield from self.objects(flat, text, depth)

    # Lists.

    def lists(self, flat: Flat, text: str, depth: int) -> Iterator[Json]:
        contains = as_list(flat.get("contains"))
        least = max(int(flat.get("minItems", 0)), int(flat.get("minContains", 1)) if contains else 0)
        if least > MAX_ELEMENTS:
            return
        for size in range(least, least + 3):
            value = self.list_of(flat, contains, size, text, depth)
            if value is not None:
                yield value

    def list_of(self, flat: Flat, contains: list[Schema], size: int, text: str, depth: int) -> list[Json] | None:
        first = flat.get("prefixItems", [])
        needed = int(flat.get("minContains", 1))
        result: list[Json] = []
        for position in range(size):
            schema: Schema = first[position] if position < len(first) else flat.get("items", True)
            wanted = contains[0] if contains and position >= size - needed else None
            schema = schema if wanted is None else {"allOf": [schema, wanted]}
            found = self.element(schema, result if flat.get("uniqueItems") else [], text, depth)
            if found is None:
                return None
            result.append(found[0])
        return result

    def element(self, schema: Schema, taken: list[Json], text: str, depth: int) -> tuple[Json] | None:
        for value in islice(self.values(schema, text, depth + 1), 2 * MAX_TRIES):
            if not any(type(each) is type(value) and each == value for each in taken):
                return (value,)
        return None

    # Objects.

    def objects(self, flat: Flat, text: str, depth: int) -> Iterator[Json]:
        names = self.names(flat, depth)
        if names is None:
            return
        choices: dict[str, list[Json]] = {}
        for name in names:
            found = list(islice(self.values(self.field(flat, name), text, depth + 1), 8))
            if not found:
                return
            choices[name] = found
        smallest = {name: found[0] for name, found in choices.items()}
        yield smallest
        for name, found in choices.items():
            for other in found[1:]:
                yield {**smallest, name: other}

    def names(self, flat: Flat, depth: int) -> list[str] | None:
        """The fields that an object of this schema needs, as few as can be; None when they cannot be found."""
        declared = flat.get("properties", {})
        required = dict.fromkeys(flat.get("required", ()))
        names = dict.fromkeys([*(name for name in declared if name in required), *required])
        for name in list(names):
            names.update(dict.fromkeys(flat.get("dependentRequired", {}).get(name, ())))
        least = int(flat.get("minProperties", 0))
        if least > MAX_ELEMENTS:
            return None
        spare = iter([*declared, *self.other_names(flat, depth)]) if len(names) < least else iter(())
        while len(names) < least:
            name = next(spare, None)
            if name is None:
                return None
            if self.field(flat, name) is not False:
                names.setdefault(name)
        return list(names)

    def other_names(self, flat: Flat, depth: int) -> list[str]:
        least = int(flat.get("minProperties", 0))
        names: list[str] = []
        for pattern in flat.get("patternProperties", {}):
            names.extend(islice(pattern_matches(pattern), MAX_TRIES))
        if "propertyNames" in flat:
            schema = {"allOf": [{"type": "string"}, flat["propertyNames"]]}
            names.extend(islice(self.values(schema, "a", depth + 1), MAX_TRIES))
        else:
            names.extend(f"field_{number}" for number in range(1, least + 1))
        return names

    def field(self, flat: Flat, name: str) -> Schema:
        """The schema of a field of that name; False when it may not be there."""
        parts: list[Schema] = []
        if name in flat.get("properties", {}):
            parts.append(flat["properties"][name])
        for pattern, schema in flat.get("patternProperties", {}).items():
            compiled = compile_pattern(pattern)
            if isinstance(compiled, Pattern) and compiled.search(name):
                parts.append(schema)
        if not parts:
            others: Any = flat.get("additionalProperties", flat.get("unevaluatedProperties", True))
            return others  # type: ignore[no-any-return]
        return parts[0] if len(parts) == 1 else {"allOf": parts}


_COMPOSED: Final = frozenset({"$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf", "if", "then", "else"})


def _size(flat: Flat) -> int:
    kinds = as_list(flat.get("type"))
    return 0 if "null" in kinds else 2 if "object" in kinds or "array" in kinds else 1


def _kinds(flat: Flat) -> tuple[str, ...]:
    if "type" in flat:
        return tuple(as_list(flat["type"]))
    implied = tuple(kind for kind, keys in _IMPLIED if any(key in flat for key in keys))
    return (*implied, *(kind for kind in _ALL_KINDS if kind not in implied))


def numbers(flat: Flat, *, whole: bool) -> Iterator[int | float]:
    """Candidates for a number within bounds, nearest to 0 first."""
    low = _exact([flat.get("minimum"), flat.get("exclusiveMinimum")], max)
    high = _exact([flat.get("maximum"), flat.get("exclusiveMaximum")], min)
    step = Fraction(1) if whole else Fraction(0)
    for each in as_list(flat.get("multipleOf")):
        other = Fraction(repr(each)) if isinstance(each, float) else Fraction(each)
        step = other if not step else _common(step, other)
    nearest = max(low, Fraction(0)) if low is not None else min(high, Fraction(0)) if high is not None else Fraction(0)
    if low is not None and high is not None:
        nearest = min(max(Fraction(0), low), high)
    found: list[Fraction] = []
    for grid in (step or Fraction(1),):
        found.extend(grid * n for n in (floor(nearest / grid), ceil(nearest / grid)))
        found.extend(grid * (floor(nearest / grid) + n) for n in (-1, 1, 2))
    if not step:
        found.append(nearest)
        if low is not None and high is not None:
            found.append((low + high) / 2)
        found.extend((nearest + Fraction(1, 2), nearest - Fraction(1, 2)))
    for value in sorted(dict.fromkeys(found), key=lambda each: (abs(each), each < 0)):
        if _within(value, flat):
            yield int(value) if value.denominator == 1 else float(value)


def _within(value: Fraction, flat: Flat) -> bool:
    return (
        ("minimum" not in flat or value >= _fraction(flat["minimum"]))
        and ("maximum" not in flat or value <= _fraction(flat["maximum"]))
        and ("exclusiveMinimum" not in flat or value > _fraction(flat["exclusiveMinimum"]))
        and ("exclusiveMaximum" not in flat or value < _fraction(flat["exclusiveMaximum"]))
    )


def _fraction(number: int | float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _exact(bounds: list[int | float | None], choose: Callable[[list[Fraction]], Fraction]) -> Fraction | None:
    found = [_fraction(each) for each in bounds if each is not None]
    return choose(found) if found else None


def _common(a: Fraction, b: Fraction) -> Fraction:
    """The least number that is a multiple of both."""
    from math import gcd, lcm

    return Fraction(lcm(a.numerator, b.numerator), gcd(a.denominator, b.denominator))
