"""Static types: what an expression, a field or a binding can be (language page, sections 3 and 4).

A type is a small immutable value. Null is a flag, not a member of unions, so that "may be null" and "why" travel with
every type; ``why`` never takes part in equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from analyzer.syntax.nodes import Node
    from analyzer.syntax.source import Source

MAX_DESCRIPTION: Final = 120
MAX_UNION: Final = 24
MAX_WAYS: Final = 64


class Lines:
    """Tells the lines of one file; ``source`` is its text as it is now."""

    __slots__ = ("source",)

    def __init__(self, source: Source) -> None:
        self.source = source


class Reason:
    """Why a value may be null: words, and the node (of the file at ``path``) that they are about.

    The words name its line when ``lines`` are given. The place is that of the node when it is asked for, so that a type
    may outlive edits elsewhere in the file.
    """

    __slots__ = ("lines", "node", "path", "words")

    def __init__(self, words: str, path: str = "", node: Node | None = None, lines: Lines | None = None) -> None:
        self.words = words
        self.path = path
        self.node = node
        self.lines = lines

    @property
    def text(self) -> str:
        """The words, with the line."""
        if self.lines is None or self.node is None:
            return self.words
        return f"{self.words} (line {self.lines.source.line_of(self.node.start) + 1})"

    def __repr__(self) -> str:
        return f"Reason({self.text!r})"


class Field:
    """A declared field of an object; an optional one may be absent and then reads null.

    ``source`` is the step whose binding the field is, where it is one (for unused results and go to definition).
    """

    __slots__ = ("optional", "source", "type")

    def __init__(self, type_: Type, optional: bool = False, source: object | None = None) -> None:
        self.type = type_
        self.optional = optional
        self.source = source


#: The ways in which a record comes about: for each the types of its fields; one that a way leaves out is null in it.
Ways: TypeAlias = "tuple[Mapping[str, Type], ...]"


class Type:
    """``kind`` is one of ``any never null boolean integer number string timestamp duration list object union``.

    ``values``: the finite set of constants it can be (an enum, a literal) or None. ``item``: element type of a list.
    ``fields``, ``additional`` (type of undeclared fields, or None) and ``closed`` (no undeclared fields) describe
    objects; a closed ``any`` is known not to be null. ``options`` are the members of a union. ``schema`` is the JSON
    Schema whose further constraints literals are checked against, or None. ``ways`` says which fields go together (a
    wait's ``status`` and ``event``, what a branch binds), or is empty when nothing is known of that. ``doubt``: that it
    is not null only follows from something faulty, so no guard is needless for it.
    """

    __slots__ = (
        "additional",
        "closed",
        "doubt",
        "fields",
        "item",
        "kind",
        "nullable",
        "options",
        "schema",
        "values",
        "ways",
        "why",
    )

    def __init__(
        self,
        kind: str,
        *,
        nullable: bool = False,
        values: tuple[Any, ...] | None = None,
        item: Type | None = None,
        fields: Mapping[str, Field] | None = None,
        additional: Type | None = None,
        closed: bool = False,
        options: tuple[Type, ...] = (),
        schema: Mapping[str, Any] | None = None,
        why: tuple[Reason, ...] = (),
        ways: Ways = (),
        doubt: bool = False,
    ) -> None:
        self.kind = kind
        self.nullable = nullable
        self.values = values
        self.item = item
        self.fields: Mapping[str, Field] = fields if fields is not None else {}
        self.additional = additional
        self.closed = closed
        self.options = options
        self.schema = schema
        self.why = why
        self.ways = ways
        self.doubt = doubt

    def __repr__(self) -> str:
        return f"<{describe(self)}>"

    def with_null(self, reason: Reason | None = None) -> Type:
        """The same type, nullable for ``reason`` (kept beside those that it has)."""
        if self.kind == "null":
            return self
        if self.kind == "never":
            return Type("null", why=() if reason is None else (reason,))
        if self.nullable and (reason is None or len(self.why) >= 3):
            return self
        copy = self.copy()
        copy.nullable, copy.doubt = True, False
        copy.why = self.why if reason is None else (*self.why, reason)
        return copy

    def not_null(self) -> Type:
        """The same type without null."""
        if self.kind == "null":
            return NEVER
        if not self.nullable:
            return self
        copy = self.copy()
        copy.nullable = False
        copy.why = ()
        copy.closed = self.closed or self.kind == "any"
        return copy

    def with_doubt(self, doubt: bool = True) -> Type:
        """The same type; in doubt or not, when it is not null."""
        if self.doubt == doubt or self.may_be_null or self.kind == "never":
            return self
        copy = self.copy()
        copy.doubt = doubt
        return copy

    def with_field(self, name: str, field: Field) -> Type:
        """The same type with one field replaced."""
        copy = self.copy()
        copy.fields = {**self.fields, name: field}
        return copy

    def copy(self) -> Type:
        """The same type, to be changed by who makes it, before anyone else sees it."""
        return Type(
            self.kind,
            nullable=self.nullable,
            values=self.values,
            item=self.item,
            fields=self.fields,
            additional=self.additional,
            closed=self.closed,
            options=self.options,
            schema=self.schema,
            why=self.why,
            ways=self.ways,
            doubt=self.doubt,
        )

    @property
    def may_be_null(self) -> bool:
        """Null is a value of this type, as far as is known (of ``any`` alone that is not known)."""
        return self.nullable or self.kind == "null"


ANY: Final = Type("any")
NEVER: Final = Type("never")
NULL: Final = Type("null")
BOOLEAN: Final = Type("boolean")
INTEGER: Final = Type("integer")
NUMBER: Final = Type("number")
STRING: Final = Type("string")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
OBJECT: Final = Type("object")

SIMPLE_TYPES: Final[dict[str, Type]] = {
    "string": STRING,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": BOOLEAN,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "object": OBJECT,
    "any": ANY,
    "null": NULL,
}

# A timestamp or duration travels as a JSON string: it fits wherever any string does.
_TEXT_KINDS: Final = frozenset({"string", "timestamp", "duration"})


def list_of(item: Type) -> Type:
    """``list[item]``."""
    return Type("list", item=item)


def record(fields: Mapping[str, Field], *, closed: bool = True) -> Type:
    """A record of named fields."""
    return Type("object", fields=fields, closed=closed)


def map_of(value: Type) -> Type:
    """``map[value]``."""
    return Type("object", additional=value)


def constant(value: Any) -> Type:
    """The type of exactly one scalar constant (string, number, boolean or null)."""
    if value is None:
        return NULL
    if isinstance(value, float):
        return Type("integer" if value.is_integer() else "number", values=(value,))
    return _constant(value) if not isinstance(value, str) or len(value) <= _SHORT else Type("string", values=(value,))


_SHORT: Final = 64


@lru_cache(maxsize=4_096, typed=True)  # a file says the same few over and over
def _constant(value: Any) -> Type:
    kind = "boolean" if value is True or value is False else "integer" if isinstance(value, int) else "string"
    return Type(kind, values=(value,))


def enum_of(values: Iterable[Any]) -> Type:
    """The type of a finite set of scalar constants; mixed kinds make a union."""
    return join_all(constant(value) for value in values)


def join_all(types: Iterable[Type]) -> Type:
    """The least type that all of ``types`` fit; of nothing, NEVER."""
    result = NEVER
    constants: dict[str, list[Type]] = {}
    for each in types:
        if each.values is not None and not each.nullable:
            constants.setdefault(each.kind, []).append(each)
        else:
            result = join(result, each)
    for kind, found in constants.items():
        # All of a kind at once: a long enum is not built up one value at a time.
        values = dict.fromkeys(value for each in found for value in each.values or ())
        result = join(result, found[0] if len(found) == 1 else Type(kind, values=tuple(values)))
    return result


def same(a: Type, b: Type) -> bool:
    """Equal in everything but the reasons for null."""
    if a is b:
        return True
    if a.kind != b.kind or a.nullable != b.nullable or a.closed != b.closed or a.doubt != b.doubt:
        return False
    if a.schema is not b.schema and a.schema != b.schema:
        return False
    # Of one kind, so that `true` is not compared with 1.
    if a.values != b.values or len(a.options) != len(b.options):
        return False
    if not (_same_part(a.item, b.item) and _same_part(a.additional, b.additional)):
        return False
    if a.fields is not b.fields:
        if a.fields.keys() != b.fields.keys():
            return False
        for name, field in a.fields.items():
            other = b.fields[name]
            if field.optional != other.optional or not same(field.type, other.type):
                return False
    return all(map(same, a.options, b.options))


def _same_part(a: Type | None, b: Type | None) -> bool:
    return a is b or (a is not None and b is not None and same(a, b))


def join(a: Type, b: Type) -> Type:
    """The union of two types, simplified."""
    if a is b:
        return a
    if a.kind == "never":
        return b
    if b.kind == "never":
        return a
    if a.kind == "null" or b.kind == "null":
        return _join_null(a, b)
    if a.nullable or b.nullable:
        joined = join(a.not_null(), b.not_null())
        copy = joined.copy()
        copy.nullable, copy.doubt = True, False
        copy.why = _merge_reasons(a.why, b.why)
        return copy
    if a.doubt or b.doubt:
        return join(a.with_doubt(False), b.with_doubt(False)).with_doubt()
    if a.kind == "any" or b.kind == "any":
        return ANY
    if same(a, b):
        return _with_ways(a, both_ways(a, b))
    return _join_plain(a, b)


def _join_null(a: Type, b: Type) -> Type:
    other = b if a.kind == "null" else a
    null = a if a.kind == "null" else b
    if other.kind == "null":
        return other
    copy = other.copy()
    copy.nullable, copy.doubt = True, False
    copy.why = _merge_reasons(other.why, null.why)
    return copy


def _merge_reasons(a: tuple[Reason, ...], b: tuple[Reason, ...]) -> tuple[Reason, ...]:
    merged = list(a)
    merged.extend(reason for reason in b if all(reason is not known for known in merged))
    return tuple(merged[:3])


def _join_plain(a: Type, b: Type) -> Type:
    if a.kind == b.kind and a.kind not in ("list", "object", "union"):
        return _join_same_kind(a, b)
    if {a.kind, b.kind} == {"integer", "number"}:
        return _join_numbers(a, b)
    if a.kind == b.kind == "list" and a.item is not None and b.item is not None:
        return list_of(join(a.item, b.item))
    options: list[Type] = []
    for option in (*(a.options or (a,)), *(b.options or (b,))):
        _add_option(options, option)
    if len(options) == 1:
        return options[0]
    return ANY if len(options) > MAX_UNION else Type("union", options=tuple(options))


def _join_same_kind(a: Type, b: Type) -> Type:
    if a.values is not None and b.values is not None:
        return Type(a.kind, values=tuple(dict.fromkeys((*a.values, *b.values))))
    return Type(a.kind)


def _join_numbers(a: Type, b: Type) -> Type:
    if a.values is not None and b.values is not None:
        return Type("number", values=tuple(dict.fromkeys((*a.values, *b.values))))
    return NUMBER


def _add_option(options: list[Type], option: Type) -> None:
    for index, known in enumerate(options):
        if known.kind == option.kind and known.kind not in ("list", "object"):
            options[index] = _join_same_kind(known, option)
            return
        if {known.kind, option.kind} == {"integer", "number"}:
            options[index] = _join_numbers(known, option)
            return
        if known.kind == option.kind == "list" and known.item is not None and option.item is not None:
            options[index] = list_of(join(known.item, option.item))
            return
        if same(known, option):
            options[index] = _with_ways(known, both_ways(known, option))
            return
    options.append(option)


def _with_ways(type_: Type, ways: Ways) -> Type:
    if ways == type_.ways:
        return type_
    copy = type_.copy()
    copy.ways = ways
    return copy


def both_ways(a: Type, b: Type) -> Ways:
    """The ways of two records that are joined; one without ways came about in one way that is not told apart."""
    if a.ways is b.ways:
        return a.ways
    found = [*(a.ways or (_only_way(a),))]
    for way in b.ways or (_only_way(b),):
        if not any(known.keys() == way.keys() and all(same(known[name], way[name]) for name in way) for known in found):
            found.append(way)
    return tuple(found) if 1 < len(found) <= MAX_WAYS else ()


def _only_way(type_: Type) -> Mapping[str, Type]:
    return {name: field_type(field, name) for name, field in type_.fields.items()}


class Mismatch:
    """Why a type does not fit another: ``kind`` is ``null`` or ``type``; ``where`` the member path below the value."""

    __slots__ = ("found", "kind", "wanted", "where")

    def __init__(self, kind: str, found: Type, wanted: Type, where: str = "") -> None:
        self.kind = kind
        self.found = found
        self.wanted = wanted
        self.where = where


def mismatch(found: Type, wanted: Type, where: str = "") -> Mismatch | None:
    """None when a value of ``found`` always fits ``wanted``, else the first reason why it may not."""
    if wanted.kind == "any" or found.kind == "never":
        return None
    if found.kind == "any":
        return Mismatch("null", found, wanted, where) if found.nullable and not wanted.may_be_null else None
    if found.kind == "null":
        return None if wanted.may_be_null else Mismatch("null", found, wanted, where)
    inner = _mismatch_not_null(found, wanted, where)
    if inner is not None and inner.kind == "type":
        return inner
    if found.nullable and not wanted.may_be_null:
        return Mismatch("null", found, wanted, where)
    return inner


def _mismatch_not_null(found: Type, wanted: Type, where: str) -> Mismatch | None:
    if found.kind == "union":
        return next(filter(None, (_mismatch_not_null(option, wanted, where) for option in found.options)), None)
    if wanted.kind == "union":
        results = [_mismatch_not_null(found, option, where) for option in wanted.options]
        if any(result is None for result in results):
            return None
        nulls = [result for result in results if result is not None and result.kind == "null"]
        return nulls[0] if nulls else Mismatch("type", found, wanted, where)
    if not _kind_fits(found.kind, wanted.kind):
        return Mismatch("type", found, wanted, where)
    if wanted.values is not None and not _values_fit(found, wanted.values):
        return Mismatch("type", found, wanted, where)
    if wanted.kind == "list" and wanted.item is not None and found.item is not None:
        return mismatch(found.item, wanted.item, where + "[…]")
    if wanted.kind == "object":
        return _mismatch_object(found, wanted, where)
    return None


def _kind_fits(found: str, wanted: str) -> bool:
    if found == wanted or wanted == "any":
        return True
    if wanted == "number":
        return found == "integer"
    return wanted == "string" and found in _TEXT_KINDS


def _values_fit(found: Type, allowed: tuple[Any, ...]) -> bool:
    return found.values is not None and set(allowed).issuperset(found.values)


def _mismatch_object(found: Type, wanted: Type, where: str) -> Mismatch | None:
    late: Mismatch | None = None
    for name, field in wanted.fields.items():
        given = found.fields.get(name)
        result: Mismatch | None = None
        if given is None:
            if not field.optional and found.additional is None:
                return Mismatch("type", found, wanted, where)
            if found.additional is not None:
                result = mismatch(found.additional, accepted(field), f"{where}.{name}")
        elif given.optional and not field.optional:
            result = mismatch(given.type.with_null(), field.type, f"{where}.{name}")
        else:
            result = mismatch(given.type, accepted(field), f"{where}.{name}")
        if result is not None and result.kind == "type":
            return result
        late = late or result
    extra = [name for name in found.fields if name not in wanted.fields]
    if extra and wanted.additional is not None:
        for name in extra:
            result = mismatch(found.fields[name].type, wanted.additional, f"{where}.{name}")
            if result is not None and result.kind == "type":
                return result
            late = late or result
    elif extra and wanted.closed:
        return Mismatch("type", found, wanted, where)
    if wanted.additional is not None and found.additional is not None:
        late = late or mismatch(found.additional, wanted.additional, f"{where}.*")
    return late


def field_type(field: Field, name: str) -> Type:
    """What a read of a declared field sees: an optional one may be null."""
    if field.optional and not field.type.nullable:
        return field.type.with_null(Reason(f"`{name}` is optional"))
    return field.type


def accepted(field: Field) -> Type:
    """What may be given for a field: an optional field is nullable, and null for it means absent."""
    return field.type.with_null() if field.optional else field.type


def can_be_equal(a: Type, b: Type) -> bool:
    """Whether some value of ``a`` may equal some value of ``b`` (used by never-true)."""
    if a.kind in ("any", "never") or b.kind in ("any", "never"):
        return True
    if a.may_be_null and b.may_be_null:
        return True
    if a.kind not in _NOT_PLAIN and b.kind not in _NOT_PLAIN:
        return _options_meet(a, b)
    return any(_options_meet(x, y) for x in _plain_options(a) for y in _plain_options(b))


_NOT_PLAIN: Final = frozenset({"null", "union"})


def _plain_options(a: Type) -> tuple[Type, ...]:
    if a.kind == "null":
        return ()
    return a.options if a.kind == "union" else (a,)


def _options_meet(a: Type, b: Type) -> bool:
    if a.kind != b.kind:
        kinds = {a.kind, b.kind}
        if "any" in kinds:
            return True
        if kinds != {"integer", "number"}:
            return False
        number = a if a.kind == "number" else b
        if number.values and not any(isinstance(each, int) or each.is_integer() for each in number.values):
            return False
    if a.values is None or b.values is None:
        return True
    few, many = sorted((a.values, b.values), key=len)
    return few[0] in many if len(few) == 1 else not set(many).isdisjoint(few)


def describe(type_: Type, depth: int = 0) -> str:
    """The type in the language's short notation, at most ``MAX_DESCRIPTION`` characters."""
    text = _describe_plain(type_, depth)
    if type_.nullable:
        text = f"({text})?" if type_.kind == "union" else f"{text}?"
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"


def _describe_plain(type_: Type, depth: int) -> str:
    if type_.kind == "never":
        return "no value"
    if type_.values is not None:
        if len(type_.values) == 1:
            return _describe_constant(type_.values[0])
        return f"enum[{', '.join(map(_describe_constant, type_.values))}]"
    if type_.kind == "list":
        return "list" if type_.item is None else f"list[{describe(type_.item, depth + 1)}]"
    if type_.kind == "union":
        return " or ".join(describe(option, depth + 1) for option in type_.options)
    if type_.kind != "object":
        return type_.kind
    if not type_.fields:
        return "object" if type_.additional is None else f"map[{describe(type_.additional, depth + 1)}]"
    if depth >= 2:
        return "{…}"
    parts = [
        f"{name}{'?' if field.optional else ''}: {describe(field.type, depth + 1)}"
        for name, field in type_.fields.items()
    ]
    return "{" + ", ".join(parts) + "}"


def _describe_constant(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def because(type_: Type) -> str:
    """Why a type may be null, in words."""
    if type_.why:
        return type_.why[0].text
    return "it has no value" if type_.kind == "null" else "its type allows null"


def sentence(text: str) -> str:
    """A message as a sentence: it begins with a capital and ends with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."
