"""The analyzer's word on a Workfile against all its executions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import analyzer.model.typing as model_typing
from analyzer.expressions.ast import Expr
from analyzer.expressions.reports import Site
from analyzer.expressions.scope import Env
from analyzer.expressions.types import Type, join
from analyzer.expressions.typing import ExpressionTyper
from analyzer.model.build import build_workflow
from analyzer.model.nodes import Workflow, all_steps
from analyzer.model.problems import Problem, Problems
from analyzer.model.resolve import Resolver
from analyzer.syntax.source import Source
from analyzer.workspace.documents import Document
from analyzer.workspace.project import Project, project_for
from tests.typing.executor import Executor, TooManyExecutions
from tests.typing.shapes import manifest_text

NULL_RULES = ("nullable-access", "nullable-value")
LIMIT = 1_500


@cache
def project() -> Project:
    """A folder with the manifest of ``lab``."""
    folder = Path(tempfile.mkdtemp(prefix="typing-"))
    (folder / "connectors").mkdir()
    (folder / "connectors" / "lab.connector.yaml").write_text(manifest_text(), encoding="utf-8")
    return project_for(str(folder / "generated.workfile.yaml"))


class RecordingTyper(ExpressionTyper):
    """Keeps the type that it gave each expression."""

    __slots__ = ("given",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.given: dict[tuple[int, int, int], Type] = {}

    def infer(self, expr: Expr, env: Env, site: Site) -> Type:
        type_ = super().infer(expr, env, site)
        if not self.quiet:
            key = (site.scalar.start, expr.start, expr.end)
            self.given[key] = join(self.given[key], type_) if key in self.given else type_
        return type_


@dataclass
class Analysed:
    """A Workfile with what the analyzer found."""

    text: str
    workflow: Workflow
    source: Source
    problems: list[Problem]
    given: dict[tuple[int, int, int], Type]


def analyse(text: str) -> Analysed:
    """Build, resolve and type a Workfile."""
    path = str(Path(project().root) / "generated.workfile.yaml")
    document = Document(path, text.encode())
    problems = Problems()
    assert not document.tree.problems, document.tree.problems[0].message
    workflow = build_workflow(path, document.tree.root, problems)
    Resolver(workflow, project(), problems, lambda _: None).run()
    kept, model_typing.ExpressionTyper = model_typing.ExpressionTyper, RecordingTyper  # type: ignore[misc]
    try:
        typer = model_typing.WorkflowTyper(workflow, document.source, problems)
        typer.run()
    finally:
        model_typing.ExpressionTyper = kept  # type: ignore[misc]
    assert isinstance(typer.expressions, RecordingTyper)
    return Analysed(text, workflow, document.source, problems.items, typer.expressions.given)


def contains(type_: Type, value: Any) -> bool:
    """Whether a value at run time is one of a static type."""
    if value is None:
        return type_.nullable or type_.kind in ("null", "any")
    if type_.kind == "any":
        return True
    if type_.kind == "union":
        return any(contains(option, value) for option in type_.options)
    if type_.values is not None and not any(value == each and type(value) is type(each) for each in type_.values):
        return False
    if isinstance(value, dict):
        return type_.kind == "object" and all(_has(type_, name, each) for name, each in value.items())
    if isinstance(value, list):
        return type_.kind == "list" and (type_.item is None or all(contains(type_.item, each) for each in value))
    kinds = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string", "timestamp")}
    return type_.kind in kinds[type(value)]


def _has(type_: Type, name: str, value: Any) -> bool:
    field = type_.fields.get(name)
    if field is None:
        return not type_.closed
    return (value is None and field.optional) or contains(field.type, value)


def faults_of(text: str) -> list[str]:
    """What the analyzer got wrong about a Workfile, in words; raises ``TooManyExecutions``."""
    analysed = analyse(text)
    real = Executor(analysed.workflow, analysed.source, free=False, limit=LIMIT)
    real.run()
    found = [*_judge_nulls(analysed, real), *_judge_types(analysed, real)]
    if analysed.workflow.states is not None or _places(analysed, "unknown-member"):
        return found
    for loose in (False, True):
        try:
            free = Executor(analysed.workflow, analysed.source, free=True, limit=LIMIT, loose=loose)
            free.run()
        except TooManyExecutions:
            return found
        imprecise = [*_judge_precision(analysed, real, free)]
        if not imprecise:
            return found
    return [*found, *imprecise]


def _places(analysed: Analysed, *rules: str) -> set[tuple[str, int, int]]:
    return {(each.rule, each.start, each.end) for each in analysed.problems if each.rule in rules}


def _words(analysed: Analysed, place: tuple[str, int, int]) -> str:
    rule, start, end = place
    line = analysed.source.line_column(start)[0] + 1
    return f"{rule} at line {line}: {analysed.text[start:end]}"


def _judge_nulls(analysed: Analysed, real: Executor) -> Iterator[str]:
    if _places(analysed, "unknown-member"):
        return  # what follows from a test that cannot be read as it was meant is not told
    for start, end in sorted(real.notes.missing):
        yield f"not reported: {_words(analysed, ('unknown-member', start, end))}"
    reported = _places(analysed, *NULL_RULES)
    for place in sorted(real.notes.nulls - reported):
        yield f"not reported: {_words(analysed, place)}"
    needless = {(start, end) for _, start, end in _places(analysed, "needless-guard")}
    for (start, end), null in sorted(real.notes.guards.items()):
        if null and (start, end) in needless:
            yield f"needed: {_words(analysed, ('needless-guard', start, end))}"
    for problem in analysed.problems:
        if problem.rule not in (*NULL_RULES, "needless-guard", "never-true", "always-true", "unknown-member"):
            yield f"unexpected {_words(analysed, (problem.rule, problem.start, problem.end))}: {problem.message}"


def _judge_types(analysed: Analysed, real: Executor) -> Iterator[str]:
    if _places(analysed, "unknown-member"):
        return
    for key, values in real.notes.values.items():
        type_ = analysed.given.get(key)
        for value in values.values():
            if type_ is not None and not contains(type_, value):
                scalar, start, end = key
                yield f"{analysed.text[scalar : scalar + end + 10]} [{start}:{end}] is {type_}, but was {value}"
                break
    for step in all_steps(analysed.workflow):
        assert step.binding is not None
        for value in real.bindings.get(id(step), ()):
            if not contains(step.binding, value):
                yield f"{step.path} binds {step.binding}, but was {value}"
                break
        if id(step) in real.faulted and not step.may_fault:
            yield f"{step.path} faults, but may_fault is false"


def _judge_precision(analysed: Analysed, real: Executor, free: Executor) -> Iterator[str]:
    for place in sorted(real.notes.nulls - free.notes.nulls):
        yield f"free guards missed {_words(analysed, place)}"
    literal = {place for place in _places(analysed, "nullable-value") if analysed.text[place[1] : place[2]] == "null"}
    for place in sorted(_places(analysed, *NULL_RULES) - free.notes.nulls - literal):
        yield f"cannot be: {_words(analysed, place)}"
