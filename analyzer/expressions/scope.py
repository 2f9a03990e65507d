"""What an expression can see: bindings by name, and facts about them that hold where it stands.

Bindings never change (single assignment), so a fact, once its test dominates a place, holds there for good. A fact is
the narrowed type of a *reference*: a binding and the members read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from analyzer.expressions.ast import Expr, Index, Literal, Member, Name
from analyzer.expressions.types import Type, join, same
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


def join_facts(a: Facts | None, b: Facts | None) -> Facts | None:
    """What holds after two ways came together; None is a way that never gets there."""
    if a is None:
        return b
    if b is None or a is b:
        return a
    joined: dict[Key, Type] = {}
    for key, type_ in a.items():
        other = b.get(key)
        if other is not None:
            joined[key] = type_ if same(type_, other) else join(type_, other)
    return joined
