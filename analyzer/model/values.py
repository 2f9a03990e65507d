"""YAML values with expressions against types: arguments, configurations, child inputs, results."""

from __future__ import annotations

from typing import NamedTuple

from analyzer.expressions.schema_types import literal_faults
from analyzer.expressions.scope import Env
from analyzer.expressions.times import parse_timestamp
from analyzer.expressions.types import (
    ANY,
    NEVER,
    Field,
    Mismatch,
    Type,
    accepted,
    because,
    describe,
    join_all,
    list_of,
    mismatch,
    record,
)
from analyzer.expressions.typing import ExpressionTyper
from analyzer.language.durations import parse_duration
from analyzer.language.suggest import hint, nearest
from analyzer.language.words import shown
from analyzer.model.reading import is_merge, is_null, is_partial, is_template, rename_fix
from analyzer.syntax.nodes import Entry, Mapping, Node, Scalar, Sequence, is_broken, walk


class _Place(NamedTuple):
    """Where a value stands: words for messages; for a call, the key that stands for what it lacks."""

    what: str
    key: Node | None = None

    @property
    def call(self) -> bool:
        """Whether it is (inside) the arguments of a call."""
        return self.key is not None

    def inside(self, what: str, key: Node | None = None) -> _Place:
        """A part of the value."""
        return _Place(f"{what} of {self.what}" if not self.call else what, (key or self.key) if self.call else None)


class ValueTyper:
    """Types whole YAML values and checks them against the type of the place where they stand."""

    __slots__ = ("expressions", "problems")

    def __init__(self, expressions: ExpressionTyper) -> None:
        self.expressions = expressions
        self.problems = expressions.problems

    def infer(self, node: Node, env: Env) -> Type:
        """The static type of a YAML value."""
        if isinstance(node, Scalar):
            return self.expressions.scalar_type(node, env, ANY)
        if isinstance(node, Sequence):
            items = [self.infer(item, env) for item in node.items]
            return ANY if node.partial else list_of(join_all(items) if items else NEVER)
        assert isinstance(node, Mapping)
        fields: dict[str, Field] = {}
        for entry in node.entries:
            type_ = self.infer(entry.value, env)
            if isinstance(entry.key, Scalar) and isinstance(entry.key.value, str):
                fields.setdefault(entry.key.value, Field(type_))
        return ANY if is_partial(node) else record(fields)

    def check_record(self, node: Node, wanted: Type, env: Env, key: Node, what: str) -> None:
        """Check the arguments of a call: ``key`` is where a missing argument is reported, ``what`` names the call."""
        if not isinstance(node, Mapping) or wanted.kind != "object":
            self.infer(node, env)
        elif self._check_mapping(node, wanted, env, _Place(what, key)):
            self._check_literal(node, wanted)

    def check(self, node: Node, wanted: Type, env: Env, what: str) -> None:
        """Check a value against the type of its place; ``what`` names the place in messages."""
        if self._check(node, wanted, env, _Place(what)):
            self._check_literal(node, wanted)

    def _check(self, node: Node, wanted: Type, env: Env, place: _Place) -> bool:
        """Check a value; true when nothing was found, so that the constraints of literals can be judged."""
        if isinstance(node, Mapping) and wanted.kind == "object":
            return self._check_mapping(node, wanted, env, place)
        if isinstance(node, Sequence) and wanted.kind == "list" and wanted.item is not None:
            return self._check_parts(
                [(item, wanted.item, place.inside(f"element {index}")) for index, item in enumerate(node.items)], env
            )
        if isinstance(node, Scalar):
            return self._check_scalar(node, wanted, env, place.what)
        return self.report_mismatch(node, mismatch(self.infer(node, env), wanted), place.what)

    def _check_parts(self, parts: list[tuple[Node, Type, _Place]], env: Env) -> bool:
        """Check the parts of a collection; when some are faulty the literals of the others are judged here."""
        sound = [(node, type_) for node, type_, place in parts if self._check(node, type_, env, place)]
        if len(sound) == len(parts):
            return True
        for node, type_ in sound:
            self._check_literal(node, type_)
        return False

    def _check_mapping(self, node: Mapping, wanted: Type, env: Env, place: _Place) -> bool:
        seen: dict[str, Entry] = {}
        for entry in node.entries:
            name = entry.key.value if isinstance(entry.key, Scalar) else None
            if not isinstance(name, str) or name in seen or is_broken(entry.key) or is_merge(entry.key):
                self.infer(entry.value, env)
                continue
            seen[name] = entry
        missing = [name for name, field in wanted.fields.items() if not field.optional and name not in seen]
        known: list[tuple[Node, Type, _Place]] = []
        complete = True
        for name, entry in seen.items():
            field = wanted.fields.get(name)
            type_ = accepted(field) if field is not None else wanted.additional
            if type_ is not None:
                known.append((entry.value, type_, place.inside(f"`{name}`", entry.key)))
                continue
            self.infer(entry.value, env)
            if wanted.closed:
                complete = False
                near = self._unknown(entry, name, wanted, seen, place)
                missing = [each for each in missing if each != near]
        if not is_partial(node):
            for name in missing:
                complete = False
                self._missing(node, name, wanted, place)
        if complete:
            return self._check_parts(known, env)
        for value, type_, inner in known:
            if self._check(value, type_, env, inner):
                self._check_literal(value, type_)
        return False

    def _missing(self, node: Mapping, name: str, wanted: Type, place: _Place) -> None:
        message = f"{place.what} lacks `{name}` ({describe(wanted.fields[name].type)}): add it."
        rule = "missing-argument" if place.call else "type-mismatch"
        self.problems.report(rule, place.key or node, _upper(message))

    def _unknown(self, entry: Entry, name: str, wanted: Type, seen: dict[str, Entry], place: _Place) -> str | None:
        free = [each for each in wanted.fields if each not in seen]
        near = nearest(name, free)
        allowed = ", ".join(f"`{each}`" for each in list(wanted.fields)[:12])
        suffix = hint(name, free) or (f" It takes {allowed}." if allowed else " It takes none.")
        fixes = [] if near is None else [rename_fix(entry.key, near)]
        message = f"{place.what} has no `{shown(name)}`.{suffix}"
        rule = "unknown-argument" if place.call else "type-mismatch"
        self.problems.report(rule, entry.key, _upper(message), fixes=fixes)
        return near

    def _check_scalar(self, node: Scalar, wanted: Type, env: Env, what: str) -> bool:
        if node.broken:
            return False
        type_ = self.expressions.scalar_type(node, env, wanted)
        if not is_template(node):
            return self._check_plain(node, type_, wanted, what)
        return self.report_mismatch(node, mismatch(type_, wanted), what, node)

    def _check_plain(self, node: Scalar, type_: Type, wanted: Type, what: str) -> bool:
        """A literal scalar: text of the right form is a timestamp or duration too."""
        if isinstance(node.value, str):
            for option in wanted.options or (wanted,):
                if option.kind == "timestamp" and parse_timestamp(node.value) is not None:
                    return True
                if option.kind == "duration" and parse_duration(node.value) is not None:
                    return True
        return self.report_mismatch(node, mismatch(type_, wanted), what)

    def _check_literal(self, node: Node, wanted: Type) -> None:
        """The constraints beyond the static type, on every part that is wholly literal."""
        if wanted.schema is None or is_template(node):
            return
        if not any(is_template(part) or is_broken(part) for part in walk(node)) and not _has_absent(node, wanted):
            for where, message in literal_faults(wanted, node):
                self.problems.report("type-mismatch", where, message)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                name = entry.key.value if isinstance(entry.key, Scalar) else None
                field = wanted.fields.get(name) if isinstance(name, str) else None
                type_ = field.type if field is not None else wanted.additional
                if type_ is not None and not (field is not None and field.optional and is_null(entry.value)):
                    self._check_literal(entry.value, type_)
        elif isinstance(node, Sequence) and wanted.item is not None:
            for item in node.items:
                self._check_literal(item, wanted.item)

    def report_mismatch(
        self, where: Node | tuple[int, int], fault: Mismatch | None, what: str, scalar: Node | None = None
    ) -> bool:
        """Report why a value does not fit; true when it does."""
        if fault is None:
            return True
        self.expressions.may_fault = True
        at = f"`{fault.where.lstrip('.')}` of {what}" if fault.where else what
        related = self.expressions.places(fault.found.why)
        if fault.kind == "null" and self.expressions.dead:
            return False
        if fault.kind == "null":
            message = (
                f"{_upper(at)} may be null here, and `{describe(fault.wanted)}` is needed: {because(fault.found)}."
            )
            if fault.found.kind == "null":
                message = (
                    f"{_upper(at)} is null here, and `{describe(fault.wanted)}` is needed: {because(fault.found)}."
                )
            if scalar is not None:
                message += " Give a default with `??`, or test it first."
            self.problems.report("nullable-value", where, message, related=related)
            return False
        self.problems.report(
            "type-mismatch",
            where,
            f"{_upper(at)} must be `{describe(fault.wanted)}`, but this is `{describe(_shown_type(fault.found))}`.",
        )
        return False


def _shown_type(type_: Type) -> Type:
    """A list of literals is shown by the kind of its elements."""
    item = type_.item
    if type_.kind != "list" or item is None or item.values is None:
        return type_
    return list_of(Type(item.kind, nullable=item.nullable))


def _has_absent(node: Node, wanted: Type) -> bool:
    """Whether the map writes an optional field as null, which means that it is absent."""
    if not isinstance(node, Mapping):
        return False
    for entry in node.entries:
        field = wanted.fields.get(entry.key.text) if isinstance(entry.key, Scalar) else None
        if field is not None and ((field.optional and is_null(entry.value)) or _has_absent(entry.value, field.type)):
            return True
    return False


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
