"""Expressions that the client writes: conditions, log messages, what is evaluated in a frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.expressions.ast import Expr, Interpolation, Name
from analyzer.expressions.evaluate import evaluate
from analyzer.expressions.faults import Fault
from analyzer.expressions.parser import parse_expression, parse_template
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Binding, Env
from analyzer.expressions.types import ANY, INTEGER, STRING, Field, Type, record
from analyzer.expressions.typing import ExpressionTyper
from analyzer.expressions.values import Marked, Value, to_text
from analyzer.model.names import NameFaults
from analyzer.model.nodes import Step
from analyzer.model.problems import Problems
from analyzer.syntax.nodes import Scalar
from analyzer.syntax.source import Source
from lsp_server.dap.sources import Spot, WorkFile
from lsp_server.scopes import RecordingTyper, unbound_at
from sim_runtime.timeline import shown

MAX_EXPRESSION: Final = 20_000

#: What makes an expression of the client's senseless where it stands. That something may be null is for it to see.
_REFUSED: Final = frozenset(
    {
        "expression-syntax",
        "limit-exceeded",
        "unknown-name",
        "unknown-member",
        "unknown-filter",
        "not-visible",
        "used-before-bound",
        "type-mismatch",
    }
)
_LOG_PART: Final = re.compile(r"\{\{(.*?)\}\}|\{([^{}]*)\}", re.DOTALL)
_BRACES: Final = re.compile(r"\s*\{\{(.*)\}\}\s*", re.DOTALL)
_HITS: Final = re.compile(r"\s*(>=|<=|==|=|>|<|%)?\s*([0-9]{1,9})\s*")

#: What a condition of an exception filter reads.
_ERROR: Final = record(
    {
        "code": Field(STRING.with_null()),
        "message": Field(STRING.with_null()),
        "details": Field(ANY),
        "path": Field(STRING),
        "reason": Field(STRING.with_null()),
        "attempt": Field(INTEGER.with_null()),
    }
)

Lookup = Callable[[str], Value]


class BadExpression(Exception):
    """An expression is refused; the message says why."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """The parts of a log message: texts and expressions."""

    parts: tuple[str | Expr, ...]

    def text(self, lookup: Lookup) -> str:
        """The message; what has no value says why in its place."""
        return "".join(part if isinstance(part, str) else _shown_value(part, lookup) for part in self.parts)


def _shown_value(expr: Expr, lookup: Lookup) -> str:
    try:
        value = evaluate(expr, lookup)
    except (Fault, KeyError) as error:
        return f"<{reason_of(error)}>"
    return text_of(value)


def text_of(value: Value) -> str:
    """A value for people: texts as they are, everything else as JSON."""
    if isinstance(value, Marked):
        return text_of(value.value)
    if isinstance(value, dict | list):
        return shown(value)
    return "null" if value is None else to_text(value)


def reason_of(error: Fault | KeyError) -> str:
    """Why an expression has no value."""
    return error.message if isinstance(error, Fault) else f"nothing here is called `{error.args[0]}`"


def read_expression(text: str) -> Expr:
    """An expression, with or without braces around it. Raises ``BadExpression``."""
    if len(text) > MAX_EXPRESSION:
        raise BadExpression(f"an expression has at most {MAX_EXPRESSION:,} characters")
    inside = _BRACES.fullmatch(text)
    bare = inside[1] if inside is not None else text
    if inside is not None and "{{" in bare:
        template = parse_template(text.strip())
        if template.problems or not template.whole or not isinstance(template.parts[0], Interpolation):
            raise BadExpression("write one expression")
        return template.parts[0].expr
    if not bare.strip():
        raise BadExpression("an expression is missing")
    expr, problems = parse_expression(bare.strip())
    if problems:
        raise BadExpression(problems[0].message)
    return expr


def read_log(text: str, check: Callable[[str], None]) -> LogMessage:
    """A log message with ``{{ expression }}`` and ``{expression}`` in it; ``check`` looks at each. Raises
    ``BadExpression``."""
    if len(text) > MAX_EXPRESSION:
        raise BadExpression(f"a log message has at most {MAX_EXPRESSION:,} characters")
    parts: list[str | Expr] = []
    position = 0
    for found in _LOG_PART.finditer(text):
        if found.start() > position:
            parts.append(text[position : found.start()])
        expression = found[1] if found[1] is not None else found[2]
        parts.append(read_expression(expression))
        check(expression)
        position = found.end()
    if position < len(text):
        parts.append(text[position:])
    return LogMessage(tuple(parts))


def read_hits(text: str) -> Callable[[int], bool]:
    """Whether the n-th hit stops: ``3`` the third, ``>= 3``, ``< 3``, ``% 3`` every third. Raises ``BadExpression``."""
    found = _HITS.fullmatch(text)
    if found is None:
        raise BadExpression("a hit condition is a count such as `3`, `>= 3`, `< 3` or `% 3`")
    op, wanted = found[1] or "==", int(found[2])
    if op == "%":
        if not wanted:
            raise BadExpression("`% 0` never comes: write the number of hits from one stop to the next")
        return lambda hits: hits % wanted == 0
    return {
        "==": lambda hits: hits == wanted,
        "=": lambda hits: hits == wanted,
        ">=": lambda hits: hits >= wanted,
        "<=": lambda hits: hits <= wanted,
        ">": lambda hits: hits > wanted,
        "<": lambda hits: hits < wanted,
    }[op]


class Checker:
    """Checks expressions against what can be read before the steps of a Workfile; its scopes are made when needed."""

    def __init__(self, file: WorkFile) -> None:
        self._file = file
        self._typer: RecordingTyper | None = None

    def check(self, text: str, spots: Sequence[Spot], boolean: bool) -> None:
        """Raises ``BadExpression`` for what can have no sense before one of the spots."""
        for spot in spots:
            if isinstance(spot.node, Step):
                self._check(_in_braces(text), spot.node, boolean)

    def _check(self, text: str, step: Step, boolean: bool) -> None:
        if self._typer is None:
            self._typer = RecordingTyper(self._file.workflow, self._file.source)
            self._typer.run()
        typer = self._typer
        if step not in typer.before:
            return
        lists = list(unbound_at(step))
        hidden = {id(each) for steps, first in lists for each in steps[first:]}
        names = NameFaults(self._file.workflow)  # stands where the step does, so that it can say what comes later
        for steps, first in reversed(lists):
            names.enter_list(steps)
            names.enter_step(steps[first])
        _refuse(text, _without(typer.before[step], hidden), boolean, names.unknown)


def _refuse(text: str, env: Env, boolean: bool, unknown: Callable[[Name, Site, Env, Problems], Type]) -> None:
    """Raises ``BadExpression`` for an expression that can have no sense in a scope."""
    problems = Problems()
    checker = ExpressionTyper(
        Source(text), problems, lambda expr, site, scope: unknown(expr, site, scope, problems), lambda _step: None
    )
    found = checker.scalar_type(Scalar(0, len(text), text, text), env)
    refused = next((each for each in problems.items if each.rule in _REFUSED), None)
    if refused is not None:
        raise BadExpression(refused.message)
    if boolean and found is not ANY and found.kind not in ("boolean", "any", "never", "union"):
        raise BadExpression(f"a condition is true or false, and this is a value of type `{found.kind}`")


def _without(env: Env, hidden: set[int]) -> Env:
    """A scope, and those around it, without what some steps bind."""
    names = {name: each for name, each in env.names.items() if id(each.source) not in hidden}
    return Env(None if env.parent is None else _without(env.parent, hidden), names, env.facts)


def check_filter(text: str) -> None:
    """Raises ``BadExpression`` for a condition of an exception filter that can have no sense: it reads ``error``."""

    def unknown(expr: Name, site: Site, _env: Env, problems: Problems) -> Type:
        problems.report(
            "unknown-name",
            site.span(expr.start, expr.end),
            f"nothing is called `{expr.name}` here: a condition of a filter reads `error`",
        )
        return ANY

    _refuse(_in_braces(text), Env(None, {"error": Binding("error", _ERROR)}), True, unknown)


def _in_braces(text: str) -> str:
    bare = _BRACES.fullmatch(text)
    return "{{ " + (bare[1] if bare is not None else text).strip() + " }}"
