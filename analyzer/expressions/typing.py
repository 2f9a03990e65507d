"""Static types of expressions, with facts (language page, section 4, *Static types and nullability*).

``ExpressionTyper.infer`` gives the type of an expression where it stands and reports what cannot be;
``outcomes`` gives the facts that hold once an expression came out true, or false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from analyzer.expressions.ast import (
    Bad,
    Binary,
    Expr,
    Filter,
    Index,
    Interpolation,
    ListLiteral,
    Literal,
    MapLiteral,
    Member,
    Name,
    Template,
    Unary,
)
from analyzer.expressions.cursor import LimitProblem
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.narrowing import Narrowing, may_be_settled, single
from analyzer.expressions.operators import operator_type
from analyzer.expressions.parser import parse_template
from analyzer.expressions.reports import Reports, Site
from analyzer.expressions.scope import NO_FACTS, REFERENCES, Env, Facts, in_doubt, reference_key
from analyzer.expressions.signatures import apply_signature
from analyzer.expressions.types import (
    ANY,
    BOOLEAN,
    NEVER,
    NULL,
    STRING,
    Field,
    Reason,
    Type,
    can_be_equal,
    constant,
    describe,
    field_type,
    join,
    join_all,
    list_of,
    record,
    sentence,
)
from analyzer.expressions.walk import same_chain
from analyzer.language.words import shown
from analyzer.model.problems import Problems
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.source import Source

#: How many parts of one expression are looked at again to learn facts; past it nothing more is learned from it.
MAX_QUIET: Final = 5_000
TEXT_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "timestamp", "duration"})


class ExpressionTyper(Reports):
    """Types the expressions of one file.

    ``unknown_name`` is asked what a name is that no scope has; it reports and gives a stand-in type. ``read`` is told
    each step whose binding is read. ``silent`` while only what is read counts.
    """

    __slots__ = ("_assumed", "_budget", "narrowing", "read", "silent", "unknown_name")

    def __init__(
        self,
        source: Source,
        problems: Problems,
        unknown_name: Callable[[Name, Site, Env], Type],
        read: Callable[[object], None],
    ) -> None:
        super().__init__(source, problems)
        self.unknown_name = unknown_name
        self.read = read
        self.silent = False
        self.narrowing = Narrowing(self.quiet_type, self._quiet_chain)
        self._budget = MAX_QUIET
        self._assumed = False

    # ---- templates -------------------------------------------------------------------------------

    def template(self, scalar: Scalar) -> Template:
        """The parsed template of a scalar; what does not parse is reported once, and ``Bad`` stands for it."""
        template = parse_template(scalar.text)
        if template.problems:
            site = Site(self.source, scalar)
            for problem in template.problems:
                rule = "limit-exceeded" if isinstance(problem, LimitProblem) else "expression-syntax"
                self.problems.report(rule, site.span(problem.start, problem.end), sentence(problem.message))
            self.may_fault = True
            return template.unread()
        return template

    def scalar_type(self, scalar: Scalar, env: Env, wanted: Type | None = None) -> Type:
        """The type of a YAML scalar: a literal, a whole-value interpolation, or joined text.

        ``wanted`` is the type of its place, where it is known: repairs must fit there.
        """
        self.wanted = wanted
        if scalar.broken:
            return ANY
        if type(scalar.value) is not str:
            return constant(scalar.value)
        if "{{" not in scalar.value:
            return constant(scalar.value)
        template = self.template(scalar)
        site = Site(self.source, scalar)
        self._budget = MAX_QUIET
        if template.problems:
            self._note_reads(parse_template(scalar.text), env, site)
            return ANY
        self._assumed = False
        self.held = []
        type_ = self._interpolated(template, env, site)
        held, self.held = self.held, None
        if self._assumed and held:
            # That the left side of a `??` was null keeps faults away from the right one, but makes no guard needless
            # there: people do not reason so far. What is needless is found without it.
            fault, self.only_needless = self.may_fault, True
            self._interpolated(template, env, site)
            self.may_fault, self.only_needless = fault, False
        else:
            self.tell(held)
        return type_

    def _interpolated(self, template: Template, env: Env, site: Site) -> Type:
        if template.whole:
            return self.infer(template.interpolations[0].expr, env, site)
        for part in template.interpolations:
            self._joined_text(part, env, site)
        return STRING

    def _note_reads(self, template: Template, env: Env, site: Site) -> None:
        """What a template that does not parse reads counts as read; of the parts with a problem no more is said."""
        parts = template.interpolations
        faulty = [[each for each in template.problems if part.start <= each.start < part.end] for part in parts]
        told = sum(map(len, faulty)) == len(template.problems)  # else it is not sure where the parts are
        problems, quiet = self.problems, Problems()
        for part, own in zip(parts, faulty, strict=True):
            self.silent = bool(own) or not told
            self.problems = quiet if self.silent else problems
            self.infer(part.expr, env, site)
        self.problems, self.silent = problems, False
        self.may_fault = True

    def _joined_text(self, part: Interpolation, env: Env, site: Site) -> None:
        type_ = self.infer(part.expr, env, site)
        if type_.may_be_null:
            self.nullable_value(part.expr, type_, site, "null cannot be joined as text")
            return
        if type_.kind == "any":
            self.may_fault = True
            return
        for option in type_.options or (type_,):
            if option.kind not in TEXT_KINDS and option.kind not in ("any", "never"):
                self.report(
                    "type-mismatch",
                    part.expr,
                    site,
                    f"A value of type `{describe(type_)}` cannot be joined as text; make a string of it with `| json`.",
                )
                return

    def quiet_type(self, expr: Expr, env: Env) -> Type:
        """The type of an expression without reporting or marking anything (for narrowing)."""
        self.quiet += 1
        fault = self.may_fault
        try:
            return self.infer(expr, env, _NOWHERE)
        finally:
            self.quiet -= 1
            self.may_fault = fault

    def _quiet_chain(self, expr: Expr, env: Env) -> tuple[Type, bool]:
        """The type of a reference when no `?.` ends it early, and whether one may (for narrowing)."""
        self.quiet += 1
        fault = self.may_fault
        try:
            type_, short = self._chain(expr, env, _NOWHERE)
            return type_, short is not None
        finally:
            self.quiet -= 1
            self.may_fault = fault

    def outcomes(self, expr: Expr, env: Env) -> tuple[Facts | None, Facts | None]:
        """The facts once ``expr`` came out true, and once it came out false; None when it cannot."""
        self._budget = MAX_QUIET
        return self.narrowing.outcomes(expr, env)

    def cases(self, expr: Expr, value: Any, env: Env) -> tuple[Facts | None, Facts | None]:
        """The facts once ``expr`` has been equal to a constant, and once it has not."""
        self._budget = MAX_QUIET
        return self.narrowing.narrow_to(expr, constant(value), env), self.narrowing.narrow_not(expr, value, env)

    # ---- inference -------------------------------------------------------------------------------

    def infer(self, expr: Expr, env: Env, site: Site) -> Type:
        """The static type of an expression under the facts of ``env``."""
        if self.quiet:
            self._budget -= 1
            if self._budget < 0:
                return ANY
        if isinstance(expr, REFERENCES):
            return self._reference(expr, env, site)
        if isinstance(expr, Literal):
            return constant(expr.value)
        if isinstance(expr, Binary):
            return self._binary(expr, env, site)
        if isinstance(expr, Filter):
            return self._filter(expr, env, site)
        if isinstance(expr, Unary):
            return self._unary(expr, env, site)
        if isinstance(expr, ListLiteral):
            return list_of(join_all(self.infer(item, env, site) for item in expr.items) if expr.items else NEVER)
        if isinstance(expr, MapLiteral):
            return record({item.key: Field(self.infer(item.value, env, site)) for item in expr.items})
        assert isinstance(expr, Bad)
        return ANY

    def _reference(self, expr: Expr, env: Env, site: Site) -> Type:
        type_ = self._value(expr, env, site)
        if not self.quiet:
            self._mark_inside(type_)
        return type_

    def _value(self, expr: Expr, env: Env, site: Site) -> Type:
        """The type of an expression that more may be read of, so that what is inside it does not count as read."""
        if not isinstance(expr, REFERENCES):
            return self.infer(expr, env, site)
        type_, short = self._chain(expr, env, site)
        if short is None:
            return type_
        result = type_.with_null()
        for reason in short:
            result = result.with_null(reason)
        return result

    def _mark_inside(self, type_: Type, depth: int = 0) -> None:
        """A composite that is read as a whole reads every step inside it."""
        if depth > 32:
            return
        if type_.item is not None:
            self._mark_inside(type_.item, depth + 1)
        for field in type_.fields.values():
            if field.source is not None:
                self.read(field.source)
                self._mark_inside(field.type, depth + 1)

    def _chain(self, expr: Expr, env: Env, site: Site) -> tuple[Type, tuple[Reason, ...] | None]:
        """The type of a member chain, and why it may have been cut short by ``?.`` (None when it cannot)."""
        if isinstance(expr, Name):
            return self._name(expr, env, site), None
        if isinstance(expr, Member):
            target, short = self._target(expr.target, env, site)
            gone = target.kind in ("null", "never")
            target, short = self._link(expr, target, short, site)
            type_ = self._member(expr, target, site)
        elif isinstance(expr, Index):
            target, short = self._target(expr.target, env, site)
            gone = target.kind in ("null", "never")
            index = self.infer(expr.index, env, site)
            if target.may_be_null:
                self.null_access(expr.target, "an element", target, site)
                target = present(target)
            type_ = self._index(expr, target, index, site)
        else:
            return self.infer(expr, env, site), None
        if gone or target is LOST:
            return type_, short
        key = reference_key(expr, env) if env.facts else None
        found = type_ if key is None else env.facts.get(key, type_)
        return (found.with_doubt() if target.doubt else found), short

    def _target(self, expr: Expr, env: Env, site: Site) -> tuple[Type, tuple[Reason, ...] | None]:
        """The target of a member or index; parentheses end its chain, so that null is a value of it."""
        if isinstance(expr, Name) or same_chain(expr):
            return self._chain(expr, env, site)
        return self._value(expr, env, site), None

    def _name(self, expr: Name, env: Env, site: Site) -> Type:
        binding = env.lookup(expr.name)
        if binding is None:
            if self.quiet or self.silent:
                return ANY
            self.may_fault = True
            return self.unknown_name(expr, site, env)
        if binding.source is not None and not self.quiet:
            self.read(binding.source)
        return env.facts.get((binding,), binding.type)

    def _link(
        self, expr: Member, target: Type, short: tuple[Reason, ...] | None, site: Site
    ) -> tuple[Type, tuple[Reason, ...] | None]:
        """The ``.`` or ``?.`` between a target and its member."""
        if expr.optional:
            if target.may_be_null:
                reasons = target.why
                return target.not_null(), reasons if short is None else (*short, *reasons)
            if target.kind not in ("any", "never") and not target.doubt:
                self.needless_link(expr, site)
            return target, short
        if target.may_be_null:
            self.null_access(expr.target, f"`{expr.name}`", target, site, expr)
            return present(target), short
        return target, short

    def _member(self, expr: Member, target: Type, site: Site) -> Type:
        if target.kind in ("any", "never"):
            self.may_fault = self.may_fault or target.kind == "any"
            return target
        if target.kind == "union":
            forms = self.forms_with(expr.name, target, expr, (expr.name_start, expr.name_end), site)
            return self._of_forms(forms, target, lambda form: self._member(expr, form, site))
        field = target.fields.get(expr.name)
        if field is not None:
            if field.source is not None and not self.quiet:
                self.read(field.source)
            return field_type(field, expr.name)
        if target.additional is not None:
            self.may_fault = True
            return target.additional
        if expr.name:
            self.unknown_member(expr, target, site)
        return ANY

    def _of_forms(self, forms: tuple[Type, ...], target: Type, read: Callable[[Type], Type]) -> Type:
        """What is read of some forms of a value: in doubt, when others do not have it."""
        found = join_all(read(form.not_null()) for form in forms) if forms else ANY
        return found if len(forms) == len(target.options) else found.with_doubt()

    def _index(self, expr: Index, target: Type, index: Type, site: Site) -> Type:
        if target.kind in ("any", "never"):
            self.may_fault = True
            return target
        if target.kind == "union":
            name, forms = single(index)[1], target.options
            if isinstance(name, str):
                forms = self.forms_with(name, target, expr, (expr.index.start, expr.index.end), site)
            return self._of_forms(forms, target, lambda form: self._index(expr, form, index, site))
        if target.kind not in ("list", "object"):
            self.report(
                "type-mismatch", expr.target, site, f"`{describe(target)}` has no elements: only lists and maps have."
            )
            return ANY
        wanted = "integer" if target.kind == "list" else "string"
        if index.may_be_null:
            self.nullable_value(expr.index, index, site, "an index must not be null")
            return ANY
        if index.kind not in (wanted, "any", "never"):
            self.report(
                "type-mismatch",
                expr.index,
                site,
                f"A {target.kind} is indexed by {_a(wanted)}, not by `{describe(index)}`.",
            )
            return ANY
        self.may_fault = True
        if target.kind == "list":
            return target.item or ANY
        return self._object_index(expr, target, index, site)

    def _object_index(self, expr: Index, target: Type, index: Type, site: Site) -> Type:
        name = index.values[0] if index.values is not None and len(index.values) == 1 else None
        if isinstance(name, str):
            field = target.fields.get(name)
            if field is not None:
                if field.source is not None and not self.quiet:
                    self.read(field.source)
                return field_type(field, name)
            if target.additional is None:
                self.unknown_index(expr.index, name, target, site)
                return ANY
            return target.additional
        self._mark_inside(target)
        types = [field_type(field, key) for key, field in target.fields.items()]
        if target.additional is not None:
            types.append(target.additional)
        return join_all(types) if types else ANY

    # ---- operators -------------------------------------------------------------------------------

    def _unary(self, expr: Unary, env: Env, site: Site) -> Type:
        operand = self.infer(expr.operand, env, site)
        if expr.op == "not":
            self._boolean_operand(expr.operand, operand, "not", site)
            if operand.kind == "boolean" and operand.values is not None and len(operand.values) == 1:
                return constant(not operand.values[0])
            return BOOLEAN
        if operand.may_be_null:
            self.nullable_value(expr.operand, operand, site, "`-` needs a number")
            return ANY
        if operand.kind == "any":
            self.may_fault = True
            return ANY
        if operand.kind not in ("integer", "number", "never"):
            self.report("type-mismatch", expr.operand, site, f"`-` needs a number, not `{describe(operand)}`.")
            return ANY
        if operand.values is not None:
            return join_all(constant(-value) for value in operand.values)
        return operand

    def _boolean_operand(self, expr: Expr, type_: Type, op: str, site: Site) -> None:
        if type_.kind not in ("boolean", "null", "any", "never"):
            self.report("type-mismatch", expr, site, f"`{op}` takes booleans only, and this is `{describe(type_)}`.")
        elif type_.may_be_null:
            self.nullable_value(expr, type_, site, f"`{op}` takes booleans only")
        elif type_.kind == "any":
            self.may_fault = True

    def _binary(self, expr: Binary, env: Env, site: Site) -> Type:
        op = expr.op
        if op == "??":
            return self._coalesce(expr.left, expr.right, expr, env, site)
        faults = self.faults
        left = self.infer(expr.left, env, site)
        if op in ("and", "or"):
            return self._logical(expr, left, faults, env, site)
        right = self.infer(expr.right, env, site)
        if op in ("==", "!="):
            self._equality(expr, left, right, env, site)
            return BOOLEAN
        for operand, type_ in ((expr.left, left), (expr.right, right)):
            if type_.may_be_null and not (op == "in" and operand is expr.left and right.kind in ("list", "any")):
                self.nullable_value(operand, type_, site, f"`{op}` does not take null")
                return BOOLEAN if op in _COMPARISONS else ANY
        outcome = operator_type(op, left, right)
        if outcome.may_fault and not (op in "/%" and _nonzero(expr.right)):
            self.may_fault = True
        if outcome.message is not None:
            where = expr.left if outcome.left else expr.right
            self.report("type-mismatch", where, site, outcome.message)
        elif op == "in":
            self._membership(expr, left, env, site)
        return outcome.type

    def _logical(self, expr: Binary, left: Type, faults: int, env: Env, site: Site) -> Type:
        self._boolean_operand(expr.left, left, expr.op, site)
        facts = self.narrowing.assume(expr.left, expr.op == "and", env)
        if self.faults > faults:
            facts = in_doubt(facts, env.facts)
        self._infer_under(facts, expr.right, env, site, expr.op)
        return BOOLEAN

    def _infer_under(self, facts: Facts | None, expr: Expr, env: Env, site: Site, logical: str = "") -> Type:
        """The type of an operand that is evaluated under some facts only; None: it never is, and cannot fault.

        ``logical`` is the operator that takes it, when that takes booleans.
        """
        dead, fault = facts is None, self.may_fault
        self.dead += dead
        type_ = self.infer(expr, env if facts is None else env.with_facts(facts), site)
        if logical:
            self._boolean_operand(expr, type_, logical, site)
        self.dead -= dead
        if dead:
            self.may_fault = fault
        return type_

    def _coalesce(self, left_expr: Expr, right_expr: Expr, whole: Expr, env: Env, site: Site) -> Type:
        left = self.infer(left_expr, env, site)
        right = self._default(left_expr, left, right_expr, env, site)
        if left.kind == "any" and not left.nullable:
            return ANY
        if not left.may_be_null:
            if left.kind != "never" and not left.doubt:
                text = shown(site.scalar.text[left_expr.start : left_expr.end])
                end = right_expr.end
                if isinstance(whole, Filter):  # its own closing parenthesis; the span may hold one around it too
                    end = max(end, site.scalar.text.find(")", end) + 1)
                fixes = self.replace(site, left_expr.end, end, "", "Remove the default")
                if isinstance(right_expr, Bad) or "\n" in site.scalar.text[whole.start : whole.end]:
                    fixes = ()
                self.report(
                    "needless-guard",
                    (whole.op_start, whole.op_end) if isinstance(whole, Binary) else (left_expr.end, end),
                    site,
                    f"`{text}` is never null here: the default is never used.",
                    fixes=fixes,
                )
            return left
        return join(left.not_null(), right)

    def _default(self, left_expr: Expr, left: Type, right: Expr, env: Env, site: Site) -> Type:
        """The type of the right side of ``??``: it is evaluated only when the left one is null."""
        facts: Facts | None = env.facts
        if not left.may_be_null:
            facts = None if left.kind not in ("any", "never") else facts
        elif not self.only_needless:
            facts = self.narrowing.narrow_to(left_expr, NULL, env)
            self._assumed = self._assumed or facts is not env.facts
        return self._infer_under(facts, right, env, site)

    def _equality(self, expr: Binary, left: Type, right: Type, env: Env, site: Site) -> None:
        for operand, other, side in ((expr.left, right, expr.right), (expr.right, left, expr.left)):
            if isinstance(operand, Literal) and operand.value is None:
                if not other.may_be_null and other.kind not in ("any", "never") and not other.doubt:
                    outcome = "false" if expr.op == "==" else "true"
                    text = shown(site.scalar.text[side.start : side.end])
                    self.report(
                        "needless-guard", expr, site, f"`{text}` is never null here: this test is always {outcome}."
                    )
                return
        # Settled by types and enum members, not by what an earlier test found: that a second guard repeats a first one
        # is no mistake.
        if env.facts and may_be_settled(left, right):
            bare = env.with_facts(NO_FACTS)
            left, right = self.quiet_type(expr.left, bare), self.quiet_type(expr.right, bare)
        if not can_be_equal(left, right):
            self.never_equal(expr, left, right, site)
        elif single(left)[0] and single(right)[0]:
            self.settled(expr, expr.op == "==", site, "both sides are the same constant")

    def _membership(self, expr: Binary, left: Type, env: Env, site: Site) -> None:
        if not isinstance(expr.right, ListLiteral) or left.kind == "any" or not expr.right.items:
            return
        items = [self.quiet_type(item, env) for item in expr.right.items]
        if not any(can_be_equal(left, item) for item in items):
            self.settled(expr, False, site, f"`{describe(left)}` equals no element of the list")
        elif left.values is not None and not left.nullable:
            known = [value for constant_value, value in map(single, items) if constant_value]
            if all(any(value == each and type(value) is type(each) for each in known) for value in left.values):
                self.settled(expr, True, site, "the list has every value that it can be")

    # ---- filters ---------------------------------------------------------------------------------

    def _filter(self, expr: Filter, env: Env, site: Site) -> Type:
        known = FILTERS.get(expr.name)
        if known is None:
            self.infer(expr.target, env, site)
            for arg in expr.args:
                self.infer(arg, env, site)
            if expr.name:
                self.unknown_filter(expr, site)
            return ANY
        if expr.name == "default" and len(expr.args) == 1:
            return self._coalesce(expr.target, expr.args[0], expr, env, site)
        target = self.infer(expr.target, env, site)
        args = [self.infer(arg, env, site) for arg in expr.args]
        return self._apply_filter(expr, known, target, args, site)

    def _apply_filter(self, expr: Filter, known: Any, target: Type, args: list[Type], site: Site) -> Type:
        outcome = apply_signature(known, target, args)
        if outcome.may_fault:
            self.may_fault = True
        if outcome.fault is None:
            return outcome.type
        position, kind, message = outcome.fault
        if position is None:
            self.report("type-mismatch", (expr.name_start, expr.name_end), site, message)
        else:
            where = expr.target if position < 0 else expr.args[position]
            type_ = target if position < 0 else args[position]
            if kind == "null" and type_.may_be_null:
                self.nullable_value(where, type_, site, f"`{expr.name}` does not take null")
            elif kind == "null":
                self.report("nullable-value", where, site, message, why=type_.item.why if type_.item else ())
            else:
                self.report("type-mismatch", where, site, message)
        return outcome.type


class _Nowhere(Site):
    """A site for quiet inference; nothing is reported there."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Source("", ""), Scalar(0, 0, "", ""))


#: What is read of a value that is always null: that was reported, and no fact says more of it.
LOST: Final = Type("any")
_NOWHERE: Final = _Nowhere()
_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "in"})


def present(type_: Type) -> Type:
    """What is left of a value that should not be null, in doubt; of one that always is, nothing is known."""
    return LOST if type_.kind == "null" else type_.not_null().with_doubt()


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _nonzero(expr: Expr) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, int | float) and expr.value != 0
