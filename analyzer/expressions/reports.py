"""What typing says about expressions: findings with their places, their reasons and their repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from analyzer.expressions.absorbing import default_for
from analyzer.expressions.ast import Binary, Expr, Filter, Index, Literal, Member
from analyzer.expressions.filters import FILTERS
from analyzer.expressions.narrowing import meant
from analyzer.expressions.types import Reason, Type, because, constant, describe
from analyzer.language.suggest import hint, nearest
from analyzer.language.words import shown
from analyzer.model.problems import EditDraft, FixDraft, Place, Problem, Problems, as_place
from analyzer.syntax.nodes import Node, Scalar
from analyzer.syntax.scalars import offset_in_source
from analyzer.syntax.source import Source

#: What is not said of code that is never reached: it cannot happen there.
_UNSAID_WHEN_DEAD: Final = frozenset(
    {"nullable-access", "nullable-value", "needless-guard", "always-true", "never-true"}
)


#: What is said of a member that is only bound later, and where it is.
Unbound: TypeAlias = "tuple[str, list[tuple[Node | Place, str]]]"


class Site:
    """Where an expression stands: the scalar that holds it. Turns offsets inside it into spans of the file."""

    __slots__ = ("scalar", "source")

    def __init__(self, source: Source, scalar: Scalar) -> None:
        self.source = source
        self.scalar = scalar

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The file's span of a part of the decoded scalar."""
        scalar = self.scalar
        if scalar.origin is not None:
            return scalar.start, scalar.end
        first = offset_in_source(self.source, scalar, start)
        if end <= start:
            return first, first
        return first, offset_in_source(self.source, scalar, end - 1) + 1


class Reports:
    """Reports about the expressions of one file.

    ``may_fault`` collects whether what was typed since it was cleared can fault, ``faults`` counts errors. ``dead`` is
    above 0 while what is typed is never reached, ``quiet`` while nothing is to be said. ``held`` takes what is needless
    as long as it is not known whether that is to be told; while ``only_needless`` nothing else is. ``wanted`` is the
    type that is wanted of the string that is typed, None when that is not known. ``unbound`` tells of a member that is
    only bound later.
    """

    __slots__ = (
        "dead",
        "faults",
        "held",
        "may_fault",
        "only_needless",
        "problems",
        "quiet",
        "source",
        "unbound",
        "wanted",
    )

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.may_fault = False
        self.faults = 0
        self.dead = 0
        self.quiet = 0
        self.held: list[Problem] | None = None
        self.only_needless = False
        self.wanted: Type | None = None
        self.unbound: Callable[[Member], Unbound | None] | None = None

    def report(
        self,
        rule: str,
        where: Expr | tuple[int, int],
        site: Site,
        message: str,
        *,
        why: Iterable[Reason] = (),
        fixes: tuple[FixDraft, ...] = (),
    ) -> None:
        """Report at an expression, or at a span of the decoded scalar."""
        needless = rule == "needless-guard"
        if not needless:
            self.may_fault = True
            self.faults += not self.quiet and rule not in ("always-true", "never-true")
        if self.only_needless and not needless:
            return
        if self.quiet or (self.dead and rule in _UNSAID_WHEN_DEAD):
            return
        start, end = (where.start, where.end) if isinstance(where, Expr) else where
        related = self.places(why)
        if site.scalar.origin is not None:
            fixes = ()
            origin = site.scalar.origin
            related.append((Place(origin.start, origin.end), "the anchored text that is used here"))
        first, last = site.span(start, end)
        if needless and self.held is not None:
            self.held.append(Problem(rule, first, last, message, tuple(related), fixes))
        else:
            self.problems.report(rule, (first, last), message, related=related, fixes=fixes)

    def places(self, why: Iterable[Reason]) -> list[tuple[Place, str]]:
        """Where the reasons stand, in this file or in that of a child workflow."""
        own = self.source.path
        return [(as_place(r.node, "" if r.path == own else r.path), r.text) for r in why if r.node is not None]

    def tell(self, held: Iterable[Problem]) -> None:
        """Report what was held back."""
        for each in held:
            span = (each.start, each.end)
            self.problems.report(each.rule, span, each.message, related=each.related, fixes=each.fixes)

    def nullable_value(self, expr: Expr, type_: Type, site: Site, consequence: str) -> None:
        """Report a value that may be null where null does not fit."""
        text = site.scalar.text[expr.start : expr.end]
        self.report(
            "nullable-value",
            expr,
            site,
            f"`{shown(text)}` may be null, and {consequence}: {because(type_)}. "
            "Give a default with `??`, or test it first.",
            why=type_.why,
        )

    def needless_link(self, expr: Member, site: Site) -> None:
        text = site.scalar.text
        at = text.rfind("?.", expr.target.end, expr.name_start)
        if at < 0:
            return
        fixes = self.replace(site, at, at + 2, ".", "Use `.`")
        target = shown(text[expr.target.start : expr.target.end])
        self.report("needless-guard", (at, at + 2), site, f"`{target}` is never null here: `.` is enough.", fixes=fixes)

    def replace(self, site: Site, start: int, end: int, text: str, title: str) -> tuple[FixDraft, ...]:
        first, last = site.span(start, end)
        return (FixDraft(title, "safe", (EditDraft(first, last, text),)),)

    def null_access(self, target: Expr, what: str, type_: Type, site: Site, member: Member | None = None) -> None:
        text = shown(site.scalar.text[target.start : target.end])
        verb = "is always null here" if type_.kind == "null" else "may be null"
        fixes: tuple[FixDraft, ...] = ()
        if member is not None and type_.kind != "null":
            fixes = self._optional_link(target, member, site)
        where = target if member is None else (target.start, member.name_end)
        self.report(
            "nullable-access",
            where,
            site,
            f"`{text}` {verb}, and reading {what} of null is a fault: {because(type_)}. Use `?.`, or test it first.",
            why=type_.why,
            fixes=fixes,
        )

    def _optional_link(self, target: Expr, member: Member, site: Site) -> tuple[FixDraft, ...]:
        """`?.` in place of `.`, where null may come out, or with a default that is likely meant."""
        text = site.scalar.text
        found = default_for(text, member, self.wanted)
        at = text.rfind(".", target.end, member.name_start)
        if at < 0 or found is None:
            return ()
        end, default = found
        first, _ = site.span(at, at + 1)
        edits = [EditDraft(first, first, "?")]
        if default:
            last = site.span(end - 1, end)[1]
            edits.append(EditDraft(last, last, default))
        return (FixDraft(f"Use `?.` with `{default.strip()}`" if default else "Use `?.`", "unsafe", tuple(edits)),)

    def unknown_member(self, expr: Member, target: Type, site: Site) -> None:
        later = self.unbound(expr) if self.unbound is not None else None
        if later is not None:
            self.may_fault = True
            if not self.quiet and not self.only_needless:
                span = site.span(expr.name_start, expr.name_end)
                self.problems.report("used-before-bound", span, later[0], related=later[1])
            return
        names = list(target.fields)
        near = nearest(expr.name, names)
        if target.kind in ("string", "list") and expr.name in ("length", "size", "count"):
            message = f"A {target.kind} has no member `{expr.name}`; write `| length`."
        elif target.kind != "object":
            message = f"A value of type `{describe(target)}` has no members, so not `{expr.name}`."
        elif not names:
            message = f"The type declares no members, so `{expr.name}` cannot be read."
        else:
            listed = ", ".join(f"`{name}`" for name in names[:12])
            message = f"There is no member `{expr.name}`; it has {listed}.{hint(expr.name, names)}"
        fixes: tuple[FixDraft, ...] = ()
        if near is not None:
            first, last = site.span(expr.name_start, expr.name_end)
            fixes = (FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(first, last, near),)),)
        self.report("unknown-member", (expr.name_start, expr.name_end), site, message, fixes=fixes)

    def forms_with(
        self, name: str, target: Type, expr: Member | Index, where: tuple[int, int], site: Site
    ) -> tuple[Type, ...]:
        """The forms of a value that have a member; reports that there is not one in every form."""
        forms = target.options
        having = tuple(form for form in forms if name in form.fields or form.additional is not None)
        if len(having) == len(forms) or any(form.kind != "object" for form in forms):
            return forms
        if not name:
            return ()
        if not having:
            every = Type("object", fields={each: field for form in forms for each, field in form.fields.items()})
            if isinstance(expr, Member):
                self.unknown_member(expr, every, site)
            else:
                self.unknown_index(expr.index, name, every, site)
            return ()
        text = shown(site.scalar.text[expr.target.start : expr.target.end])
        tag = _tag_of(having, [form for form in forms if form not in having])
        if tag is None:
            common = [each for each in forms[0].fields if all(each in form.fields for form in forms)]
            rest = f": read what every form has, {', '.join(f'`{each}`' for each in common[:12])}." if common else "."
            message = f"Not every form of `{text}` has `{name}`, and no member tells which one it is{rest}"
        else:
            first = describe(constant(next(value for form in having for value in form.fields[tag].type.values or ())))
            test = f"{text}.{tag} == {first}"
            message = f"Not every form of `{text}` has `{name}`: test which one it is first, as in `{test}`."
        self.report("unknown-member", where, site, message)
        return having

    def unknown_index(self, expr: Expr, name: str, target: Type, site: Site) -> None:
        """Report a constant index that no member has."""
        message = f"There is no member `{name}`.{hint(name, target.fields)}"
        self.report(
            "unknown-member", expr, site, message, fixes=self._instead(expr, nearest(name, target.fields), site)
        )

    def _instead(self, expr: Expr, near: str | None, site: Site) -> tuple[FixDraft, ...]:
        """Write another string in place of a literal, in its quotes."""
        quote = site.scalar.text[expr.start : expr.start + 1]
        if near is None or not isinstance(expr, Literal) or quote not in ("'", '"') or quote in near or "\\" in near:
            return ()
        first, last = site.span(expr.start, expr.end)
        return (FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(first, last, f"{quote}{near}{quote}"),)),)

    def never_equal(self, expr: Binary, left: Type, right: Type, site: Site) -> None:
        """Report an equality of what is never equal; a constant that is nearly one of the other side's is a slip."""
        advice = ""
        fixes: tuple[FixDraft, ...] = ()
        for side, own, other in ((expr.left, left, right), (expr.right, right, left)):
            near = meant(own, other)
            if near is not None:
                advice, fixes = f" Did you mean `{near}`?", self._instead(side, near, site)
        reason = f"`{describe(left)}` never equals `{describe(right)}`"
        self.settled(expr, expr.op == "!=", site, reason, advice, fixes)

    def unknown_filter(self, expr: Filter, site: Site) -> None:
        near = nearest(expr.name, FILTERS)
        fixes: tuple[FixDraft, ...] = ()
        if near is not None:
            first, last = site.span(expr.name_start, expr.name_end)
            fixes = (FixDraft(f"Change to `{near}`", "unsafe", (EditDraft(first, last, near),)),)
        suffix = f" Did you mean `{near}`?" if near else ""
        where = (expr.name_start, expr.name_end)
        self.report("unknown-filter", where, site, f"There is no filter `{expr.name}`.{suffix}", fixes=fixes)

    def settled(
        self, expr: Expr, truth: bool, site: Site, reason: str, advice: str = "", fixes: tuple[FixDraft, ...] = ()
    ) -> None:
        """Report an expression that always comes out the same."""
        rule = "always-true" if truth else "never-true"
        fault = self.may_fault
        self.report(rule, expr, site, f"This is always {str(truth).lower()}: {reason}.{advice}", fixes=fixes)
        self.may_fault = fault


def _tag_of(having: Iterable[Type], others: Iterable[Type]) -> str | None:
    """A member that every form has and whose constants tell some forms from the others."""
    forms, rest = [*having], [*others]
    for name in forms[0].fields:
        fields = [form.fields.get(name) for form in (*forms, *rest)]
        if all(field is not None and field.type.values and not field.optional for field in fields):
            own = {value for form in forms for value in form.fields[name].type.values or ()}
            if all(own.isdisjoint(form.fields[name].type.values or ()) for form in rest):
                return name
    return None
