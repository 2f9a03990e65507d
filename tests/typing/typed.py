"""Typing one expression, or one Workfile given as text, for tests."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.expressions.ast import Name
from analyzer.expressions.parser import parse_expression, parse_template
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Binding, Env
from analyzer.expressions.types import Type
from analyzer.expressions.typing import ExpressionTyper
from analyzer.model.problems import Problem, Problems
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.source import Source
from tests.typing.judge import Analysed, analyse


@dataclass
class Typed:
    """What typing says about one expression."""

    type: Type
    problems: list[Problem]
    may_fault: bool

    @property
    def rules(self) -> list[str]:
        return [each.rule for each in self.problems]


def typed(text: str, **names: Type) -> Typed:
    """Type ``{{ text }}`` where the names are bound."""
    scalar, typer, env = _prepared(text, names)
    type_ = typer.scalar_type(scalar, env)
    return Typed(type_, typer.problems.items, typer.may_fault)


def narrowed(condition: str, truth: bool, reference: str, **names: Type) -> Type | None:
    """The type of a reference once a condition came out so; None when it cannot."""
    scalar, typer, env = _prepared(condition, names)
    expr = parse_template(scalar.text).interpolations[0].expr
    facts = typer.outcomes(expr, env)[0 if truth else 1]
    if facts is None:
        return None
    return typer.quiet_type(parse_expression(reference)[0], env.with_facts(facts))


def _prepared(text: str, names: dict[str, Type]) -> tuple[Scalar, ExpressionTyper, Env]:
    whole = "{{ " + text + " }}"
    assert not parse_template(whole).problems, text
    typer = ExpressionTyper(Source(whole, "x.workfile.yaml"), Problems(), _no_such_name, lambda _: None)
    env = Env(None, {name: Binding(name, type_) for name, type_ in names.items()})
    return Scalar(0, len(whole), whole, whole), typer, env


def _no_such_name(expr: Name, site: Site, env: Env) -> Type:
    raise AssertionError(f"{expr.name} is not bound")


@dataclass
class Found:
    """A finding in a test Workfile."""

    rule: str
    line: int
    text: str
    message: str
    related: list[tuple[int, str]]


TAIL = 'workfile: "1.0"\nname: test\n'


def findings(body: str) -> list[Found]:
    """What typing finds in a Workfile; lines count from 1 in ``body``, behind which the other root keys stand."""
    return _found(analyse(body + TAIL))


def _found(analysed: Analysed) -> list[Found]:
    def line(offset: int) -> int:
        return analysed.source.line_column(offset)[0] + 1

    return [
        Found(
            each.rule,
            line(each.start),
            analysed.text[each.start : each.end],
            each.message,
            [(line(place.start), text) for place, text in each.related if not place.path],
        )
        for each in analysed.problems
    ]
