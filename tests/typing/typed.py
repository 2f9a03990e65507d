"""Typing one expression, or one Workfile given as text, for tests."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.expressions.ast import Name
from analyzer.expressions.parser import parse_template
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
    whole = "{{ " + text + " }}"
    assert not parse_template(whole).problems, text
    source = Source(whole, "x.workfile.yaml")
    problems = Problems()
    typer = ExpressionTyper(source, problems, _no_such_name, lambda _: None)
    env = Env(None, {name: Binding(name, type_) for name, type_ in names.items()})
    type_ = typer.scalar_type(Scalar(0, len(whole), whole, whole), env)
    return Typed(type_, problems.items, typer.may_fault)


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


HEAD = 'workfile: "1.0"\nname: test\n'


def findings(body: str) -> list[Found]:
    """What typing finds in a Workfile; lines count from 1 in ``body``."""
    return _found(analyse(HEAD + body))


def _found(analysed: Analysed) -> list[Found]:
    def line(offset: int) -> int:
        return analysed.source.line_column(offset)[0] + 1 - HEAD.count("\n")

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
