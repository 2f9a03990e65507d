"""What an expression can see: bindings by name, and facts about them that hold where it stands.

Bindings never change (single assignment), so a fact, once its test dominates a place, holds there for good. A fact is
the narrowed type of a *reference*: a binding and the members read from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from analyzer.expressions.ast import Expr, Index, Literal, Member, Name
from analyzer.expressions.types import Field, Type, field_type, join, same
from analyzer.syntax.nodes import Node


class Binding:
    """A name that expressions can read. ``source`` is the step that binds it, where it is one."""

    __slots__ = ("name", "node", "source", "type")

    def __init__(self, name: str, type_: Type, node: Node | None = None, source: object | None = None) -> None:
        self.name = name
        self.type = type_
        self.node = node
        self.source = source


Key: TypeAlias = tuple[Any, ...]
Facts: TypeAlias = Mapping[Key, Type]

NO_FACTS: Facts = {}
#: What facts can be about; a union of these classes would be built anew at every ``isinstance``.
REFERENCES: Final = (Name, Member, Index)


class Env:
    """A scope with its facts. Children see their parents' names; facts are the child's own copy-on-write map."""

    __slots__ = ("facts", "names", "parent")

    def __init__(
        self, parent: Env | None = None, names: dict[str, Binding] | None = None, facts: Facts | None = None
    ) -> None:
        self.parent = parent
        self.names = names if names is not None else {}
        self.facts: Facts = facts if facts is not None else (parent.facts if parent is not None else NO_FACTS)

    def lookup(self, name: str) -> Binding | None:
        """The innermost binding of that name."""
        env: Env | None = self
        while env is not None:
            found = env.names.get(name)
            if found is not None:
                return found
            env = env.parent
        return None

    def child(self, names: dict[str, Binding] | None = None) -> Env:
        """A nested scope."""
        return Env(self, names)

    def with_facts(self, facts: Facts) -> Env:
        """The same names under other facts."""
        if facts is self.facts:
            return self
        return Env(self.parent, self.names, facts)

    def visible(self) -> dict[str, Binding]:
        """All names that can be read here."""
        merged: dict[str, Binding] = {}
        env: Env | None = self
        while env is not None:
            for name, binding in env.names.items():
                merged.setdefault(name, binding)
            env = env.parent
        return merged


def reference_key(expr: Expr, env: Env) -> Key | None:
    """The key of a reference (a name, its members, its constant indexes), or None for any other expression."""
    members: list[Any] = []
    current = expr
    while True:
        if isinstance(current, Member):
            members.append(current.name)
            current = current.target
        elif isinstance(current, Index) and isinstance(current.index, Literal):
            value = current.index.value
            members.append(value if isinstance(value, str) else ("[]", value))
            current = current.target
        elif isinstance(current, Name):
            binding = env.lookup(current.name)
            return None if binding is None else (binding, *reversed(members))
        else:
            return None


def set_fact(facts: Facts, key: Key, type_: Type) -> Facts:
    """The facts with one more."""
    return {**facts, key: type_}


def in_doubt(facts: Facts | None, before: Facts) -> Facts | None:
    """The facts, where those that are not of ``before`` come from something faulty."""
    if facts is None or facts is before:
        return facts
    return {key: type_ if before.get(key) is type_ else type_.with_doubt() for key, type_ in facts.items()}


def join_facts(a: Facts | None, b: Facts | None) -> Facts | None:
    """What holds after two ways came together; None is a way that never gets there."""
    if a is None:
        return b
    if b is None or a is b:
        return a
    joined: dict[Key, Type] = {}
    for key, type_ in a.items():
        other = b.get(key)
        if other is None:
            continue
        if type_ is other or same(type_, other):
            joined[key] = type_
            continue
        both = join(type_, other)
        known = declared(key)
        # A fact that says no more than the declaration would only be carried along.
        if known is None or not _says_no_more(both, known):
            joined[key] = both
    return joined


def _says_no_more(fact: Type, known: Type) -> bool:
    """Whether a fact is the declaration again, its constants in whatever order the tests came."""
    if same(fact, known):
        return True
    if fact.kind != known.kind or fact.nullable != known.nullable or fact.values is None:
        return False
    if known.values is None:
        return fact.kind == "boolean" and len(fact.values) == 2
    return len(fact.values) == len(known.values) and all(each in known.values for each in fact.values)


def all_facts(base: Facts, ways: Iterable[Facts | None]) -> Facts | None:
    """What holds after several ways were all gone, each from ``base`` (the branches of a parallel)."""
    merged: dict[Key, Type] | None = None
    for facts in ways:
        if facts is None:
            return None
        if merged is None:
            merged = {**facts}
        else:
            merged.update((key, type_) for key, type_ in facts.items() if base.get(key) is not type_)
    return base if merged is None else merged


def declared(key: Key) -> Type | None:
    """The type of a reference without any facts, as far as it can be told."""
    type_: Type = key[0].type
    for member in key[1:]:
        if isinstance(member, str):
            field = type_.fields.get(member)
            if field is None:
                return None
            type_ = field_type(field, member)
        elif type_.item is not None:
            type_ = type_.item
        else:
            return None
    return type_


def settled(names: dict[str, Binding], facts: Facts | None) -> dict[str, Binding]:
    """The names that a list binds with the types that they have at its end: what encloses the list binds these."""
    if not facts or not names:
        return names
    own = {id(binding): name for name, binding in names.items()}
    found: dict[str, list[Key]] = {}
    for key in facts:
        name = own.get(id(key[0]))
        if name is not None:
            found.setdefault(name, []).append(key)
    if not found:
        return names
    result = dict(names)
    for name, keys in found.items():
        binding = names[name]
        type_ = binding.type
        for key in sorted(keys, key=len):
            type_ = _refined(type_, key[1:], facts[key])
        result[name] = Binding(name, type_, binding.node, binding.source)
    return result


def _refined(type_: Type, members: Key, fact: Type) -> Type:
    """The type with what is known of one of its members put in."""
    if not members:
        return fact
    name = members[0]
    field = type_.fields.get(name) if isinstance(name, str) else None
    if field is None:
        return type_
    inner = _refined(field_type(field, name), members[1:], fact)
    return type_.with_field(name, Field(inner, False, field.source))
