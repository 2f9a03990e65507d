"""The facts that a test gives: what is known once an expression came out true, or false (language page, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analyzer.expressions.ast import Binary, Expr, Filter, Index, ListLiteral, Literal, Member, Unary
from analyzer.expressions.scope import NO_FACTS, REFERENCES, Env, Facts, Key, join_facts, reference_key, set_fact
from analyzer.expressions.types import (
    NEVER,
    NULL,
    Type,
    can_be_equal,
    constant,
    field_type,
    join_all,
    same,
)
from analyzer.language.suggest import nearest


class Narrowing:
    """Works out facts.

    ``type_of`` gives an expression's type without reporting; ``chain_of`` that of a reference when no `?.` in it ends
    it early, and whether one may.
    """

    __slots__ = ("chain_of", "type_of")

    def __init__(
        self, type_of: Callable[[Expr, Env], Type], chain_of: Callable[[Expr, Env], tuple[Type, bool]]
    ) -> None:
        self.type_of = type_of
        self.chain_of = chain_of

    def assume(self, expr: Expr, truth: bool, env: Env) -> Facts | None:
        """The facts once ``expr`` came out as ``truth``; None when it cannot come out so."""
        held, failed = self.outcomes(expr, env)
        return held if truth else failed

    def outcomes(self, expr: Expr, env: Env) -> tuple[Facts | None, Facts | None]:
        """The facts once ``expr`` came out true, and once it came out false. Each operand is looked at once."""
        if isinstance(expr, Unary) and expr.op == "not":
            held, failed = self.outcomes(expr.operand, env)
            return failed, held
        if isinstance(expr, Binary) and expr.op in ("and", "or"):
            held, failed = self.outcomes(expr.left, env)
            passed = held if expr.op == "and" else failed
            right = (None, None) if passed is None else self.outcomes(expr.right, env.with_facts(passed))
            if expr.op == "and":
                return right[0], join_facts(failed, right[1])
            return join_facts(held, right[0]), right[1]
        return self._test(expr, True, env), self._test(expr, False, env)

    def _test(self, expr: Expr, truth: bool, env: Env) -> Facts | None:
        """The facts of a condition that no connective makes up."""
        if isinstance(expr, Binary):
            if expr.op in ("==", "!="):
                return self._equality(expr, (expr.op == "==") == truth, env)
            if expr.op == "in" and isinstance(expr.right, ListLiteral):
                return self._membership(expr.left, expr.right, truth, env)
            if expr.op in ("<", "<=", ">", ">=", "in"):
                return env.facts
        return self.narrow_to(expr, constant(truth), env)

    def _equality(self, expr: Binary, equal: bool, env: Env) -> Facts | None:
        facts: Facts | None = env.facts
        for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
            if facts is None:
                return None
            here = env.with_facts(facts)
            type_ = self.type_of(other, here)
            if isinstance(side, Literal) and self._meant(other, side, here) is not None:
                continue
            near = self._meant(side, other, here) if isinstance(other, Literal) else None
            if near is not None:
                type_ = constant(near)
            if equal:
                facts = self.narrow_to(side, type_, here)
                continue
            constant_value, value = single(type_)
            if constant_value:
                facts = self.narrow_not(side, value, here)
        return facts

    def _meant(self, side: Expr, literal: Literal, env: Env) -> str | None:
        """What a literal that is compared with ``side`` was meant to be, so that nothing follows from a slip."""
        if not isinstance(literal.value, str):
            return None
        values = self.type_of(side, env).values
        if values is None or literal.value in values:
            return None
        return meant(constant(literal.value), self.type_of(side, env.with_facts(NO_FACTS)))

    def _membership(self, left: Expr, right: ListLiteral, truth: bool, env: Env) -> Facts | None:
        items = [self.type_of(item, env) for item in right.items]
        if truth:
            return self.narrow_to(left, join_all(items), env) if items else None
        facts: Facts | None = env.facts
        for item in items:
            constant_value, value = single(item)
            if constant_value and facts is not None:
                facts = self.narrow_not(left, value, env.with_facts(facts))
        return facts

    def narrow_to(self, expr: Expr, wanted: Type, env: Env) -> Facts | None:
        """The facts once the value of ``expr`` is known to be one of ``wanted``."""
        if isinstance(expr, REFERENCES):
            type_, short = self.chain_of(expr, env)
            narrowed = meet(type_, wanted)
            if narrowed.kind == "never":
                return self._cut_short(expr, env) if short and wanted.may_be_null else None
            key = reference_key(expr, env)
            facts: Facts | None = env.facts
            given = narrowed.kind != "any" and not narrowed.may_be_null and not (short and wanted.may_be_null)
            facts = self._links_not_null(expr, env, given)
            if facts is None or key is None:
                return facts
            return self._record(expr, key, narrowed, env.with_facts(facts))
        if isinstance(expr, Literal):
            return env.facts if can_be_equal(constant(expr.value), wanted) else None
        default = _default_of(expr)
        if default is not None:
            left, right = default
            if not can_be_equal(self.type_of(right, env), wanted):
                return self.narrow_to(left, wanted.not_null(), env)
        elif _is_test(expr) and wanted.kind == "boolean" and wanted.values is not None and len(wanted.values) == 1:
            return self.assume(expr, wanted.values[0], env)
        return env.facts

    def narrow_not(self, expr: Expr, value: Any, env: Env) -> Facts | None:
        """The facts once the value of ``expr`` is known not to be the constant ``value``."""
        if isinstance(expr, REFERENCES):
            type_, short = self.chain_of(expr, env)
            narrowed = without(type_, value)
            if narrowed.kind == "never":
                return self._cut_short(expr, env) if short and value is not None else None
            key = reference_key(expr, env)
            facts: Facts | None = env.facts
            if value is None:
                facts = self._links_not_null(expr, env, True)
            if facts is None or key is None or narrowed is type_:
                return facts
            return self._record(expr, key, narrowed, env.with_facts(facts))
        default = _default_of(expr)
        if default is not None:
            left, right = default
            type_ = self.type_of(right, env)
            only = type_.kind == "null" if value is None else type_.values == (value,) and not type_.nullable
            if only:
                facts = self.narrow_not(left, None, env)
                return None if facts is None or value is None else self.narrow_not(left, value, env.with_facts(facts))
        elif _is_test(expr) and isinstance(value, bool):
            return self.assume(expr, not value, env)
        return env.facts

    def _cut_short(self, expr: Expr, env: Env) -> Facts | None:
        """The chain gave null, which its own end cannot: what stands before its last `?.` is null."""
        current = expr
        while isinstance(current, (Member, Index)):
            if isinstance(current, Member) and current.optional:
                return self.narrow_to(current.target, NULL, env)
            current = current.target
        return env.facts

    def _links_not_null(self, expr: Expr, env: Env, given: bool) -> Facts | None:
        """A chain that gave a value was not cut short: no target in it is null. ``given`` false: it may have been, and
        only what stands before its first `?.` is known not to be null."""
        facts: Facts | None = env.facts
        targets: list[Expr] = []
        current = expr
        while isinstance(current, (Member, Index)):
            if not given and isinstance(current, Member) and current.optional:
                targets.clear()
            else:
                targets.append(current.target)
            current = current.target
        for target in reversed(targets):
            if facts is None:
                return None
            here = env.with_facts(facts)
            type_ = self.type_of(target, here)
            key = reference_key(target, here)
            if type_.nullable and key is not None:
                facts = self._record(target, key, type_.not_null(), here)
            elif type_.kind == "null":
                return None
        return facts

    def _record(self, expr: Expr, key: Key, type_: Type, env: Env) -> Facts | None:
        """Keep a fact, and what it tells about the fields that go together with it."""
        facts = set_fact(env.facts, key, type_)
        if not isinstance(expr, Member):
            return facts
        parent = self.type_of(expr.target, env)
        if parent.kind == "union":
            return _one_form(facts, key, type_, parent)
        return _together(facts, key[:-1], parent) if parent.ways else facts


def _one_form(facts: Facts, key: Key, type_: Type, parent: Type) -> Facts | None:
    """What is known of a value that has one of several forms once one of its members is known; None: none is left."""
    left = [form for form in parent.options if _may_have(form, key[-1], type_)]
    if len(left) == len(parent.options):
        return facts
    found = join_all(left)
    if parent.nullable:
        found = _with_reasons(found, parent)
    return None if not left else set_fact(facts, key[:-1], found.with_doubt(parent.doubt))


def _may_have(form: Type, name: str, type_: Type) -> bool:
    """Whether a member of a form can have a value of a type; one that is not declared is there in open forms only."""
    field = form.fields.get(name)
    if field is None:
        return form.kind != "object" or not form.closed
    return meet(field_type(field, name), type_).kind != "never"


def _together(facts: Facts, root: Key, parent: Type) -> Facts | None:
    """What is known of a record's fields once some of the ways that it can come about in are out; None: all are."""
    known = {name: fact for name in parent.fields if (fact := facts.get((*root, name))) is not None}
    left = [
        way
        for way in parent.ways
        if all(meet(way.get(name, NULL), fact).kind != "never" for name, fact in known.items())
    ]
    if len(left) == len(parent.ways):
        return facts
    found = {**facts}
    for name, field in parent.fields.items():
        type_ = known.get(name) or field_type(field, name)
        there = join_all(way.get(name, NULL) for way in left)
        # Of what is not known, nothing is left to say once the ways without it are out: it may be null for itself.
        untold = there.kind == "any" and type_.kind == "any" and not there.nullable
        narrowed = there if untold else meet(type_, there)
        if narrowed.kind == "never":
            return None
        if not same(narrowed, type_):
            found[(*root, name)] = narrowed
    return found


def single(type_: Type) -> tuple[bool, Any]:
    """Whether the type is that of exactly one constant (null among them), and which."""
    if type_.kind == "null":
        return True, None
    if type_.values is not None and len(type_.values) == 1 and not type_.nullable:
        return True, type_.values[0]
    return False, None


def meant(constant_type: Type, other: Type) -> str | None:
    """The string of ``other`` that one constant, which is none of its, is nearly: a slip in writing it."""
    there, value = single(constant_type)
    if not there or not isinstance(value, str) or other.values is None or value in other.values:
        return None
    return nearest(value, [each for each in other.values if isinstance(each, str)])


def may_be_settled(left: Type, right: Type) -> bool:
    """Whether types decide an equality, or nothing is known of a side any more.

    Facts only narrow: what the narrowed types leave open is open without the facts too.
    """
    if "never" in (left.kind, right.kind) or not can_be_equal(left, right):
        return True
    return single(left)[0] and single(right)[0]


def _is_test(expr: Expr) -> bool:
    """Whether an expression is itself a test, of which ``assume`` knows more than its type."""
    if isinstance(expr, Unary):
        return expr.op == "not"
    return isinstance(expr, Binary) and expr.op in ("and", "or", "==", "!=", "in", "<", "<=", ">", ">=")


def _default_of(expr: Expr) -> tuple[Expr, Expr] | None:
    if isinstance(expr, Binary) and expr.op == "??":
        return expr.left, expr.right
    if isinstance(expr, Filter) and expr.name == "default" and len(expr.args) == 1:
        return expr.target, expr.args[0]
    return None


def meet(type_: Type, wanted: Type) -> Type:
    """The part of ``type_`` that can equal a value of ``wanted``."""
    if wanted.kind == "any" or type_.kind == "never":
        return type_
    if type_.kind == "any":
        known = type_.closed and not type_.nullable
        return NEVER if known and wanted.kind == "null" else wanted.with_doubt(type_.doubt)
    if type_.kind == "null" or wanted.kind == "null":
        return NULL if type_.may_be_null and wanted.may_be_null else NEVER
    inner = _meet_not_null(type_.not_null(), wanted.not_null()).with_doubt(type_.doubt)
    if type_.nullable and wanted.nullable:
        return NULL if inner.kind == "never" else _with_reasons(inner, type_)
    return inner


def _with_reasons(inner: Type, type_: Type) -> Type:
    result = inner.with_null()
    for reason in type_.why:
        result = result.with_null(reason)
    return result


def _meet_not_null(type_: Type, wanted: Type) -> Type:
    if type_.kind == "union":
        return join_all(_meet_not_null(option, wanted) for option in type_.options)
    if not can_be_equal(type_, wanted):
        return NEVER
    allowed = [option for option in (wanted.options or (wanted,)) if can_be_equal(type_, option)]
    if any(option.values is None for option in allowed):
        return type_
    values = dict.fromkeys(value for option in allowed for value in option.values or ())
    possible = set(values) if type_.values is None else set(type_.values)
    return join_all(constant(value) for value in values if value in possible)


def without(type_: Type, value: Any) -> Type:
    """The part of ``type_`` that is not the constant ``value``."""
    if value is None:
        return type_.not_null()
    known = (True, False) if type_.kind == "boolean" and type_.values is None else type_.values
    if known is None or isinstance(value, float):
        return type_
    rest = tuple(each for each in known if each != value or isinstance(each, bool) != isinstance(value, bool))
    if len(rest) == len(known):
        return type_
    inner = Type(type_.kind, values=rest, doubt=type_.doubt) if rest else NEVER
    if not type_.nullable:
        return inner
    return NULL if inner.kind == "never" else _with_reasons(inner, type_)
